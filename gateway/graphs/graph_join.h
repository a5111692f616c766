/* A graph and what was added to it afterwards, as one definition (TensorFlow's ExtendSession).
 *
 * Ownership: the result references its parts, which hold the nodes' texts and constants.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT, with JSON pointers into the last part, for a name that an earlier part has, a
 *            function whose name stands for another body, another producer version; a model's ports in what
 *            is added. */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph_def.h"

/* Joins nodes and functions in the order of the parts; the ports of a model are the first part's. Returns
 * a new reference to the only part when there is one. */
MUST_USE Status graph_join(Call *call, GraphDef *const *parts, size_t part_count, GraphDef **ret_def);
