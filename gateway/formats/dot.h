/* Draws a graph for Graphviz: a node is a box, data edges are solid and have their port, control edges
 * dashed.
 *
 * Threads: any.
 * Errors:  the Buffer has failed when memory was short. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/graph/graph_def.h"

void dot_write(Buffer *buffer, const GraphDef *def);

/* One of several partitions that run together, drawn in a frame. A tensor that goes from one to another is
 * an ellipse between its _Send and its _Recv. */
typedef struct DotPartition {
    const char *title;
    const GraphDef *def;
} DotPartition;

void dot_write_partitions(Buffer *buffer, const DotPartition *partitions, size_t count);
