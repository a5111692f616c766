/* Rules for the graphs of authors, which Sluice itself may break when it brings a graph into another form.
 *
 * Threads: pure functions.
 * Errors:  INVALID_ARGUMENT, with the node's name. */
#pragma once

#include "shared/graph/graph.h"

/* Refuses ops that only Sluice writes (OP_INTERNAL), also in functions. */
MUST_USE Status author_check_ops(Call *call, const GraphDef *def);

/* Refuses assignments to a constant that nobody reads, and that would be lost, before freezing leaves
 * constants in place of variables. Where another node reads the result, it reads a copy that was changed: so
 * are the initialisations that TensorFlow's freezing leaves in a graph. */
MUST_USE Status author_check_constants(Call *call, const Graph *graph);
