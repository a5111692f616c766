/* A node of the new graph while it is written:
 *
 *     Emission node;
 *     TRY(emission_begin(&node, scope, name, "Switch", 2));
 *     emission_input(&node, data);
 *     emission_type(&node, "T", dtype);
 *     TRY(emission_end(&node));
 *
 * Errors: OUT_OF_RANGE when the graph has more nodes than its limit. */
#pragma once

#include "gateway/expand/expansion.h"

enum { EMISSION_ATTRS_MAX = 4 };

typedef struct Emission {
    const Scope *scope;
    NodeDef def;
    Slice *inputs;
    size_t input_max;
    Attr attrs[EMISSION_ATTRS_MAX];
} Emission;

/* Begins a node on the scope's device, with room for `input_max` inputs. */
MUST_USE Status emission_begin(
    Emission *emission, const Scope *scope, Slice name, const char *op, size_t input_max);
void emission_input(Emission *emission, Slice input); /* "" is left out */
void emission_inputs(Emission *emission, const Endpoints *inputs);
void emission_type(
    Emission *emission, const char *name, Dtype dtype); /* DTYPE_INVALID: the linker infers it */
void emission_int(Emission *emission, const char *name, int64_t value);
void emission_bool(Emission *emission, const char *name, bool value);
void emission_string(Emission *emission, const char *name, Slice value);
void emission_value(Emission *emission, const char *name, AttrValue value);
MUST_USE Status emission_end(Emission *emission);

/* Appends a finished node to the new graph. */
MUST_USE Status expand_emit(Expansion *expansion, const NodeDef *def);

MUST_USE Status emit_identity(
    const Scope *scope, Slice name, Slice input, Dtype dtype, const Endpoints *controls);
MUST_USE Status emit_no_op(const Scope *scope, Slice name, const Endpoints *controls);

/* Writes a Switch: name:0 has the value when the predicate is false, name:1 when it is true. */
MUST_USE Status emit_switch(const Scope *scope, Slice name, Slice data, Slice predicate, Dtype dtype);

/* Write a constant scalar or vector of bools or integers. */
MUST_USE Status emit_int(const Scope *scope, Slice name, Dtype dtype, int64_t value);
MUST_USE Status emit_ints(const Scope *scope, Slice name, Dtype dtype, const int64_t *values, size_t count);

/* The functions below name the node "<member>/<part>", after the member that is being written. */

MUST_USE Status emit_number(
    const Scope *scope, const char *part, Dtype dtype, int64_t value, Slice *ret_name);
MUST_USE Status emit_cast(
    const Scope *scope, const char *part, Slice input, Dtype from, Dtype to, Slice *ret_result);

/* Reshapes a tensor of one element, which ONNX takes for a scalar, to a scalar. */
MUST_USE Status emit_scalar(
    const Scope *scope, const char *part, Slice input, Dtype dtype, Slice *ret_scalar);

typedef struct Binary {
    const char *op;
    Slice left;
    Slice right;
    Dtype dtype; /* DTYPE_INVALID: the op has no T */
} Binary;
MUST_USE Status emit_binary(const Scope *scope, const char *part, Binary binary, Slice *ret_result);
