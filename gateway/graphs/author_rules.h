/* Rules for the graphs of authors, which Sluice itself may break when it brings a graph into another form.
 *
 * Threads: pure functions.
 * Errors:  INVALID_ARGUMENT, with the node's name. */
#pragma once

#include "shared/graph/graph.h"

/* Refuses ops that only Sluice writes (OP_INTERNAL), also in functions. */
MUST_USE Status author_check_ops(Call *call, const GraphDef *def);

/* Refuses nodes that change a constant, also behind ops that pass references on: an author who meant a
 * variable would lose the value with the step. Let through are scatters, and an Assign that scatters alone
 * read: so does TensorFlow's freezing leave a variable that was filled and scattered into. They change a copy
 * that is the step's own. */
MUST_USE Status author_check_constants(Call *call, const Graph *graph);
