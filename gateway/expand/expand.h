/* Turns a graph with functions into one without: calls are inlined; If, Case, While and ONNX's If, Loop
 * and Scan become Switch and Merge, Enter, Exit, NextIteration and LoopCond (TensorFlow's function
 * inlining and LowerFunctionalOps). This is done once, when a graph is loaded; plans are made of the
 * result.
 *
 * All names stay valid: a node that was expanded leaves a NoOp of its name, which runs when all of it has
 * run, and whose attribute "_outputs" lists the endpoints that give its outputs (graph_endpoint() reads
 * it). Nodes of a function's body are called "<caller>/<name>".
 *
 * Effects in a function happen before its outputs have values, in the order of the body's control edges,
 * and only where the call is reached. As in TensorFlow, they are what the function's control outputs name,
 * if a PartitionedCall calls it, or an If or While that its author wants lowered
 * ("_lower_using_switch_merge"); for any other caller they are all stateful nodes.
 *
 * A function that calls itself is called where the circle closes: the result has it as a function of its
 * own, with _Arg and _Retval nodes, and a _Branch node there.
 *
 * Ownership: the result references the author's graph (GraphDef.origin).
 * Threads:   one; nothing is kept between calls.
 * Errors:    INVALID_ARGUMENT with a JSON pointer for a function that does not exist or does not fit its
 *            caller; OUT_OF_RANGE for a result of more than `node_count_max` nodes. */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph_def.h"

/* Returns a new reference to `def` itself when there is nothing to expand. */
MUST_USE Status graph_expand(Call *call, GraphDef *def, uint64_t node_count_max, GraphDef **ret_def);
