/* Nodes that stand for more than themselves. The three functions of form.c begin and end the expansion of
 * each; the others are the columns of the table in expand.c. */
#pragma once

#include "gateway/expand/scope.h"

/* Returns what the parts of a node must wait for: its only control input, or a NoOp behind several; "" for
 * none. */
MUST_USE Status form_start(
    const Scope *scope, const Member *member, const Endpoints *controls, Slice *ret_control);

/* Makes an argument wait for `start` too; leaves it as it is when that is "". */
MUST_USE Status form_gate(
    const Scope *scope, const Member *member, Slice start, size_t index, Dtype dtype, Slice *argument);

/* Writes a NoOp of the node's own name, behind all outputs and `controls`. */
MUST_USE Status form_finish(Scope *scope, Member *member, const Endpoints *controls);

MUST_USE Status call_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status call_expand(Scope *scope, Member *member);

MUST_USE Status branch_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status if_expand(Scope *scope, Member *member);
MUST_USE Status case_expand(Scope *scope, Member *member);
MUST_USE Status onnx_if_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status onnx_if_expand(Scope *scope, Member *member);

MUST_USE Status while_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status while_expand(Scope *scope, Member *member);

MUST_USE Status onnx_loop_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status onnx_loop_expand(Scope *scope, Member *member);
MUST_USE Status onnx_scan_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status onnx_scan_expand(Scope *scope, Member *member);
