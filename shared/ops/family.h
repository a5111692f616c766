/* One op family: the signatures and shape rules of operations that belong together. Every
 * definition.c in a folder of shared/ops defines one of these; the build collects them.
 *
 * A signature is written as TensorFlow's registry prints it (reference/tf_ops: taken over, not retyped):
 *
 *     "MatMul(a:T, b:T)->(product:T) {transpose_a:bool=false, transpose_b:bool=false, T:type}"
 *     "ConcatV2(values:N*T, axis:Tidx)->(output:T) {N:int, T:type, Tidx:type=DT_INT32}"
 *     "IdentityN(input:T)->(output:T) {T:types}"               a list of types: one tensor each
 *     "RandomUniform!(shape:T)->(output:dtype) {…}"            '!' marks it stateful
 *     "onnx::Conv(X:T, W:T, B?:T)->(Y:T) {auto_pad:string=NOTSET, strides:ints=[], T:type}"
 *                                                              '?' marks an optional input (ONNX)
 *
 *     "BatchMatMul(…)->(…) {…, ~grad_x:bool=false}"            '~' marks an attribute of later versions, of
 * which only the default is understood
 *
 *     "Pack(values:N*T, …)->(output:T) {N:int>=1, …}"          a number below its minimum is refused
 *
 * Fixed dtypes are written as TensorFlow does (float, int32, …). Threads: immutable. */
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
