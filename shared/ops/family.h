/* One op family: the signatures and shape rules of operations that belong together. Every definition.c in a
 * folder of shared/ops defines one of these; the build collects them.
 *
 * Signatures are those that TensorFlow's op registry prints:
 *
 *     "MatMul(a:T, b:T)->(product:T) {transpose_a:bool=false, transpose_b:bool=false, T:type}"
 *     "ConcatV2(values:N*T, axis:Tidx)->(output:T) {N:int, T:type, Tidx:type=DT_INT32}"
 *     "IdentityN(input:T)->(output:T) {T:types}"              T is a list of types: one tensor each
 *     "Pack(values:N*T, …)->(output:T) {N:int>=1, …}"         a number below its minimum is refused
 *     "RandomUniform!(shape:T)->(output:dtype) {…}"           '!' marks an op with state
 *     "BatchMatMul(…)->(…) {…, ~grad_x:bool=false}"           '~': only the default of this later attribute
 *                                                             is accepted
 *     "onnx::Conv(X:T, W:T, B?:T)->(Y:T) {…, T:type}"         '?' marks an optional input (ONNX)
 *
 * Fixed dtypes have TensorFlow's names (float, int32, …).
 *
 * Threads:   any; families are immutable. */
#pragma once

#include "shared/graph/graph.h"
#include "shared/graph/op.h"

typedef struct OpDefinition {
    const char *signature;
    unsigned flags; /* bits of OP_… in shared/graph/op.h */
    InferShapes infer_shapes;
} OpDefinition;

typedef struct OpFamily {
    const OpDefinition *definitions;
    size_t definition_count;
    const char *file; /* the source file that defines them; its folder is the family */
} OpFamily;

/* A row of a family's table: signature, bits of OP_…, shape rule. */
#define OP(text, bits, rule)                                                                                 \
    {                                                                                                        \
        .signature = (text), .flags = (bits), .infer_shapes = (rule)                                         \
    }

extern const OpFamily *const op_family_table[];
extern const size_t op_family_table_count;

#define OP_FAMILY(name, table)                                                                               \
    extern const OpFamily op_family_##name;                                                                  \
    const OpFamily op_family_##name = {                                                                      \
        .definitions = (table), .definition_count = COUNT_OF(table), .file = __FILE__}
