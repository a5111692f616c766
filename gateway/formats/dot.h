/* A graph as Graphviz draws it: a node a box, data edges solid with their port, control edges dashed.
 *
 * Threads: any.
 * Errors:  without memory the Buffer has failed. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/graph/graph_def.h"

void dot_write(Buffer *buffer, const GraphDef *def);

/* Partitions that run together, as one drawing: each in a frame of its own. A tensor that goes from one to
 * another is an ellipse between its _Send and its _Recv. */
typedef struct DotPartition {
    const char *title;
    const GraphDef *def;
} DotPartition;

void dot_write_partitions(Buffer *buffer, const DotPartition *partitions, size_t count);
