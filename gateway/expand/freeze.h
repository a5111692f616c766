/* A model that is served: variables whose values came with it, and that nothing its signatures need changes,
 * become constants (TensorFlow's convert_variables_to_constants). Reads of them stay under their names; what
 * would assign to them, and is needed by no signature, goes. A variable that is changed stays one, and its
 * value becomes its first: "_Restored…" (shared/ops/variable/definition.c).
 *
 * Which variable has which value in the checkpoint the graph itself says: its RestoreV2 names the tensors,
 * and what assigns its outputs the variables. In a model with variables that are changed these restores can
 * be run, to set them back; RestoreV2 gives what came with the model.
 *
 * Ownership: the result references the graph's definition (GraphDef.origin).
 * Errors:    INVALID_ARGUMENT for a value of another dtype than its variable's. */
#pragma once

#include "shared/graph/graph.h"

/* A new reference to graph->def when nothing is to be frozen. Warnings name the variables. */
MUST_USE Status graph_freeze(Call *call, const Graph *graph, GraphDef **ret_def);
