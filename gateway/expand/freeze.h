/* A model that is served: variables whose values came with it, and that nothing its signatures need assigns
 * to, become constants (TensorFlow's convert_variables_to_constants). Reads of them stay under their names;
 * what would restore or assign to them, and is needed by no signature, goes.
 *
 * Which variable has which value in the checkpoint the graph itself says: its RestoreV2 names the tensors,
 * and what assigns its outputs the variables.
 *
 * Ownership: the result references the graph's definition (GraphDef.origin).
 * Errors:    INVALID_ARGUMENT for a value of another dtype than its variable's. */
#pragma once

#include "shared/graph/graph.h"

/* A new reference to graph->def when nothing is to be frozen. Warnings name the variables, and why others are
 * none of them. */
MUST_USE Status graph_freeze(Call *call, const Graph *graph, GraphDef **ret_def);
