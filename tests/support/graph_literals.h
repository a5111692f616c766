/* Graphs written down in a test, one node a line, linked against a handful of ops:
 *
 *     x = Placeholder() dtype=float32 shape=<2,3>
 *     n = Const() dtype=int32 value=int32(4)                   a scalar tensor
 *     w = Const() dtype=float32 value=float32<2,3>(0.5)        all elements equal
 *     v = Const() dtype=float32 value=float32<2,3>(1;-2)       1, -2, 1, -2, 1, -2
 *     r = Const() dtype=bfloat16 value=bfloat16<2,3>(~0.5)     drawn from -0.5 to 0.5, of a floating dtype
 *     s = Split(n, x) num_split=2 T=float32 _note='free' _class=['loc:@x','loc:@n'] _types=[int8]
 *     y = Add(s, s:1, ^x) T=float32 @/job:worker/task:1        where the node wants to run
 *     z = MatMul(y, w) T=float32 transpose_a=true
 *
 * Functions stand before the nodes; "@f{T:float32;n:2}" is one with what it binds, "$T" a placeholder:
 *
 *     function f(x:$T, many:$N*$T, any:$*Tin) -> (y:$T) y=add:z:0 {done=effect}
 *     add = AddV2(x, many:1) T=$T
 *     effect = NoOp()
 *     end */
#pragma once

#include "shared/graph/graph.h"

/* Returns a GraphDef that owns all its memory; NULL without memory. A text that breaks the form aborts the
 * test. */
GraphDef *graph_literal(const char *text);

/* Returns the nodes, one a line: "y = Add(x, w:1, ^z)". */
const char *graph_literal_text(Arena *arena, const GraphDef *def);
/* Returns the nodes of functions, each behind "function f:". */
const char *graph_literal_library_text(Arena *arena, const GraphDef *def);

/* Finds one of the ops for literals: Add, Assign, Const, Enter, Exit, Fill, Identity, IdentityN, LoopCond,
 * MatMul, Merge, NextIteration, NoOp, Pack, Placeholder, Split, Variable, onnx::Add, onnx::Clip with
 * TensorFlow's and ONNX's signatures; and Test, from float32 to bool. */
const Op *literal_op_find(Slice name);
