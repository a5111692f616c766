/* One use of a function: its nodes are written out under names of their own, with the caller's arguments and
 * attributes. */
#pragma once

#include "gateway/expand/expansion.h"

/* Writes the nodes of the function, or a call of it where it would contain itself. */
MUST_USE Status expand_use(const Scope *scope, const Use *use, Used *ret_used);

/* Uses the function that an attribute of the member names; use.function and its attributes are ignored. */
MUST_USE Status expand_use_attr(const Scope *scope, Use use, const char *attr, Used *ret_used);

/* Uses the function of the attribute "body", each of whose outputs must be one value, as in ONNX. */
MUST_USE Status expand_use_body(const Scope *scope, Use use, const FunctionDef *body, Used *ret_used);

/* Gives every member its name, attributes and outputs; then writes their nodes. */
MUST_USE Status scope_open(Scope *scope, const NodeDef *nodes, size_t node_count);
MUST_USE Status scope_write(Scope *scope);

/* Returns the member's data inputs, then its control inputs, as the new graph names them (reference.c). */
MUST_USE Status resolve_inputs(
    const Scope *scope, const Member *member, Endpoints *ret_data, Endpoints *ret_controls);

/* Returns the `offset`-th of the tensors that a text in a body names: an argument, or an output of a node. */
MUST_USE Status resolve_reference(
    const Scope *scope, const Member *member, Slice text, size_t offset, Slice *ret_endpoint);

/* Binds placeholders among the node's attributes, and makes names of nodes and frames those of the new graph
 * (attributes.c). */
MUST_USE Status bind_attrs(const Scope *scope, Member *member);

const AttrValue *member_attr(const Member *member, const char *name); /* NULL when the node has none */
int64_t member_int(const Member *member, const char *name, int64_t otherwise);
Dtype member_type(const Member *member, const char *name, size_t index); /* of a list; else DTYPE_INVALID */

/* Returns true when the author wants Switch and Merge in the node's place ("_lower_using_switch_merge"). */
bool member_wants_lowering(const Member *member);

/* Return the function that an attribute names, or its definition; INVALID_ARGUMENT when it names none. */
MUST_USE Status member_function_ref(
    const Scope *scope, const Member *member, const char *attr, const FunctionRef **ret_function);
MUST_USE Status member_function(
    const Scope *scope, const Member *member, const char *attr, const FunctionDef **ret_function);

/* Return how many tensors an argument of the function stands for in this use, and their dtypes. */
MUST_USE Status argument_size(const Scope *scope, const FunctionArgument *argument, size_t *ret_count);
Dtype argument_type(const Scope *scope, const FunctionArgument *argument, size_t index);
