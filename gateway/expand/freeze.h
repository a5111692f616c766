/* Freezes a model that is served. Variables whose values came with it, and that no node its signatures
 * need changes, become constants (TensorFlow's convert_variables_to_constants): nodes that read them keep
 * their names, assignments that no signature needs are dropped. A variable that is changed stays one, and
 * begins with its value: "_Restored…" (shared/ops/variable/definition.c). A lookup table whose rows are in
 * the checkpoint begins with them (shared/ops/lookup/definition.c).
 *
 * The graph itself says which variable has which value in the checkpoint: its RestoreV2 names the tensors,
 * and assignments of the RestoreV2's outputs name the variables. If variables are changed, these restores
 * can still be run, to set them back; RestoreV2 then gives what came with the model.
 *
 * Ownership: the result references the graph's definition (GraphDef.origin).
 * Errors:    INVALID_ARGUMENT for a value of another dtype than its variable's or table's. */
#pragma once

#include "shared/graph/graph.h"

/* Returns a new reference to graph->def when nothing is to be frozen. */
MUST_USE Status graph_freeze(Call *call, const Graph *graph, GraphDef **ret_def);
