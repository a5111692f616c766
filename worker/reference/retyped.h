/* A node as it would be with other dtypes, for a kernel that has another kernel of the same op compute its
 * node: float16 as float32, strings as numbers.
 *
 * Ownership: one block of memory holds the retyped node with its dtypes and attributes; memory_free() frees
 *            it. All else is the first node's, which must outlive it.
 * Threads:   any.
 * Errors:    NULL: no memory. */
#pragma once

#include "shared/graph/graph.h"

/* Has `dtype_for` replace the dtypes of inputs, of outputs and of attributes that are one dtype. Attributes
 * that are lists of dtypes stay. */
MUST_USE Node *retyped_node(const Node *node, Dtype (*dtype_for)(Dtype dtype));
