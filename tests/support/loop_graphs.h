/* Loops as graph literals (graph_literals.h), put together from pieces so that each test states only its
 * differences. */
#pragma once

/* Counts `I` from 0 while it is below `LIMIT` (both int32) in loop FRAME: the parts "I_merge", "cond",
 * "I_body" (the count in the body) and "I_exit". `ANCHOR` must be made inside the enclosing loop. */
#define LOOP_COUNTER(I, FRAME, START, LIMIT, ATTRS)                                                          \
    I "_enter = Enter(" START ") T=int32 frame_name='" FRAME "' " ATTRS "\n" I "_limit = Enter(" LIMIT       \
      ") T=int32 is_constant=true frame_name='" FRAME "' " ATTRS "\n" I "_merge = Merge(" I "_enter, " I     \
      "_next) T=int32 N=2\n" I "_less = Less(" I "_merge, " I "_limit) T=int32\n" I "_cond = LoopCond(" I    \
      "_less)\n" I "_switch = Switch(" I "_merge, " I "_cond) T=int32\n" I "_body = Identity(" I             \
      "_switch:1) T=int32\n" I "_one = Const(^" I "_body) dtype=int32 value=int32(1)\n" I "_add = Add(" I    \
      "_body, " I "_one) T=int32\n" I "_next = NextIteration(" I "_add) T=int32\n" I "_exit = Exit(" I       \
      "_switch) T=int32\n"

/* Carries float32 `V`, which begins as `START`, round loop FRAME of counter `I`; the body reads "V_body"
 * and makes "V_new". */
#define LOOP_VARIABLE(V, I, FRAME, START, ATTRS)                                                             \
    V "_enter = Enter(" START ") T=float32 frame_name='" FRAME "' " ATTRS "\n" V "_merge = Merge(" V         \
      "_enter, " V "_next) T=float32 N=2\n" V "_switch = Switch(" V "_merge, " I "_cond) T=float32\n" V      \
      "_body = Identity(" V "_switch:1) T=float32\n" V "_next = NextIteration(" V "_new) T=float32\n" V      \
      "_exit = Exit(" V "_switch) T=float32\n"

/* Feeds of the whole graphs below: x (float32) and n (int32); their fetch is v_exit. */

#define LOOP_FEEDS                                                                                           \
    "x = Placeholder() dtype=float32\n"                                                                      \
    "n = Placeholder() dtype=int32\n"                                                                        \
    "zero = Const() dtype=int32 value=int32(0)\n"

/* v ← exp(-v) · k + i, with a constant of the loop and the count in every turn. */
#define LOOP_CHAOTIC(ATTRS)                                                                                  \
    LOOP_FEEDS LOOP_COUNTER("i", "loop", "zero", "n", ATTRS) LOOP_VARIABLE("v", "i", "loop", "x",            \
        ATTRS) "slope = Sigmoid(x) T=float32\n"                                                              \
               "k = Enter(slope) T=float32 frame_name='loop' is_constant=true " ATTRS "\n"                   \
               "minus = Neg(v_body) T=float32\n"                                                             \
               "exp = Exp(minus) T=float32\n"                                                                \
               "mul = Mul(exp, k) T=float32\n"                                                               \
               "turn = Cast(i_body) SrcT=int32 DstT=float32\n"                                               \
               "v_new = Add(mul, turn) T=float32\n"

/* for i in 0…n: for j in 0…i: v ← sin(v) + j, then v ← v · 1.5 */
#define LOOP_NESTED                                                                                          \
    LOOP_FEEDS LOOP_COUNTER("i", "outer", "zero", "n", "") LOOP_VARIABLE(                                    \
        "v", "i", "outer", "x", "") "start = Const(^i_body) dtype=int32 value=int32(0)\n" LOOP_COUNTER("j",  \
        "outer/inner", "start", "i_body", "parallel_iterations=3") LOOP_VARIABLE("w", "j", "outer/inner",    \
        "v_body", "parallel_iterations=3") "sin = Sin(w_body) T=float32\n"                                   \
                                           "turn = Cast(j_body) SrcT=int32 DstT=float32\n"                   \
                                           "w_new = Add(sin, turn) T=float32\n"                              \
                                           "more = Const(^v_body) dtype=float32 value=float32(1.5)\n"        \
                                           "v_new = Mul(w_exit, more) T=float32\n"

/* v ← exp(v) in even turns, v ← v · v + 1 in odd ones. */
#define LOOP_BRANCHING                                                                                       \
    LOOP_FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "")                                                    \
        LOOP_VARIABLE("v", "i", "loop", "x", "") "two = Const(^i_body) dtype=int32 value=int32(2)\n"         \
                                                 "nil = Const(^i_body) dtype=int32 value=int32(0)\n"         \
                                                 "rest = FloorMod(i_body, two) T=int32\n"                    \
                                                 "even = Equal(rest, nil) T=int32\n"                         \
                                                 "s = Switch(v_body, even) T=float32\n"                      \
                                                 "minus = Neg(s:1) T=float32\n"                              \
                                                 "exp = Exp(minus) T=float32\n"                              \
                                                 "square = Mul(s, s) T=float32\n"                            \
                                                 "pivot = Identity(s) T=float32\n"                           \
                                                 "one = Const(^pivot) dtype=float32 value=float32(1)\n"      \
                                                 "sum = Add(square, one) T=float32\n"                        \
                                                 "v_new = Merge(sum, exp) T=float32 N=2\n"

/* This loop turns only when n is above 2; both branches compute. */
#define LOOP_UNTAKEN                                                                                         \
    LOOP_FEEDS                                                                                               \
    "two = Const() dtype=int32 value=int32(2)\n"                                                             \
    "p = Less(two, n) T=int32\n"                                                                             \
    "ns = Switch(n, p) T=int32\n"                                                                            \
    "xs = Switch(x, p) T=float32\n"                                                                          \
    "pivot = Identity(ns:1) T=int32\n"                                                                       \
    "start = Const(^pivot) dtype=int32 value=int32(0)\n" LOOP_COUNTER("i", "loop", "start", "ns:1", "")      \
        LOOP_VARIABLE("u", "i", "loop", "xs:1", "") "cos = Cos(u_body) T=float32\n"                          \
                                                    "u_new = Add(cos, u_body) T=float32\n"                   \
                                                    "exp = Exp(xs) T=float32\n"                              \
                                                    "minus = Neg(exp) T=float32\n"                           \
                                                    "v_exit = Merge(minus, u_exit) T=float32 N=2\n"

/* A partition whose argument goes round for ever: its result never comes. */
#define LOOP_ENDLESS                                                                                         \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "e = Enter(x) T=float32 frame_name='for/ever'\n"                                                         \
    "m = Merge(e, next) T=float32 N=2\n"                                                                     \
    "yes = Const(^m) dtype=bool value=bool(1)\n"                                                             \
    "c = LoopCond(yes)\n"                                                                                    \
    "s = Switch(m, c) T=float32\n"                                                                           \
    "next = NextIteration(s:1) T=float32\n"                                                                  \
    "out = Exit(s) T=float32\n"                                                                              \
    "o = _Retval(out) T=float32 index=0\n"
