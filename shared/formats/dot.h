/* A graph as Graphviz draws it: a node a box, data edges solid with their port, control edges dashed.
 *
 * Threads: any.
 * Errors:  without memory the Buffer has failed. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/graph/graph_def.h"

void dot_write(Buffer *buffer, const GraphDef *def);
