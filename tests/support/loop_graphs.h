/* Loops as graph literals (graph_literals.h), put together from pieces so that each test says what differs.
 */
#pragma once

/* Counts `I` from 0 while it is below `LIMIT` (both int32) in loop FRAME: the parts "I_merge", "cond",
 * "I_body" (the count in the body) and "I_exit". `ANCHOR` must be made inside the loop around. */
#define LOOP_COUNTER(I, FRAME, START, LIMIT, ATTRS)                                                          \
    I "_enter = Enter(" START ") T=int32 frame_name='" FRAME "' " ATTRS "\n" I "_limit = Enter(" LIMIT       \
      ") T=int32 is_constant=true frame_name='" FRAME "' " ATTRS "\n" I "_merge = Merge(" I "_enter, " I     \
      "_next) T=int32 N=2\n" I "_less = Less(" I "_merge, " I "_limit) T=int32\n" I "_cond = LoopCond(" I    \
      "_less)\n" I "_switch = Switch(" I "_merge, " I "_cond) T=int32\n" I "_body = Identity(" I             \
      "_switch:1) T=int32\n" I "_one = Const(^" I "_body) dtype=int32 value=int32(1)\n" I "_add = Add(" I    \
      "_body, " I "_one) T=int32\n" I "_next = NextIteration(" I "_add) T=int32\n" I "_exit = Exit(" I       \
      "_switch) T=int32\n"

/* Carries float32 `V`, at first `START`, round loop FRAME of counter `I`; the body reads "V_body" and makes
 * "V_new". */
#define LOOP_VARIABLE(V, I, FRAME, START, ATTRS)                                                             \
    V "_enter = Enter(" START ") T=float32 frame_name='" FRAME "' " ATTRS "\n" V "_merge = Merge(" V         \
      "_enter, " V "_next) T=float32 N=2\n" V "_switch = Switch(" V "_merge, " I "_cond) T=float32\n" V      \
      "_body = Identity(" V "_switch:1) T=float32\n" V "_next = NextIteration(" V "_new) T=float32\n" V      \
      "_exit = Exit(" V "_switch) T=float32\n"
