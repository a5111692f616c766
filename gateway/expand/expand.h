/* From a graph with functions to one without: calls are inlined, If, Case, While and ONNX's If, Loop and Scan
 * become Switch and Merge, Enter, Exit, NextIteration and LoopCond (TensorFlow's function inlining and
 * LowerFunctionalOps). It is done once, when a graph is loaded; plans are made of the result.
 *
 * What an author can name stays nameable: a node that was expanded leaves a NoOp of its name behind, which
 * ends when all of it has, and whose attribute "_outputs" says where its outputs are now (graph_endpoint()
 * reads it). Nodes of a function's body are called "<caller>/<name>".
 *
 * What has effects in a function happens before the function's outputs are there, in the order that the body
 * asks for, and only where the call is reached. As TensorFlow has it, of a function that PartitionedCall
 * calls, or an If or While that its author wants lowered ("_lower_using_switch_merge"), that is what its
 * control outputs name; of any other, all that is stateful.
 *
 * A function that calls itself is called where the circle closes: the result has it as a function of its own,
 * with _Arg and _Retval nodes, and a _Branch node there.
 *
 * Ownership: the result references the author's graph (GraphDef.origin).
 * Threads:   one; nothing is kept.
 * Errors:    INVALID_ARGUMENT with a JSON pointer for a function that does not exist or does not fit
 * its caller; OUT_OF_RANGE when there are more than `node_count_max` nodes at the end. */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph_def.h"

/* A new reference to `def` itself when there is nothing to expand. */
MUST_USE Status graph_expand(Call *call, GraphDef *def, uint64_t node_count_max, GraphDef **ret_def);
