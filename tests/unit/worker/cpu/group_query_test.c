/* com.microsoft::GroupQueryAttention beside its reference kernel: prompts, steps behind a past of another
 * length for each example, buffers with more room than tokens, rotation, windows. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define FLOATS(name, shape, values) name " = Const() dtype=float32 value=float32" shape "(" values ")\n"
#define INTEGERS(name, shape, values) name " = Const() dtype=int32 value=int32" shape "(" values ")\n"
#define LENGTHS(shape, lengths, total) INTEGERS("l", shape, lengths) INTEGERS("t", "", total)
#define ANGLES(shape) FLOATS("c", shape, "0.5;-0.25;1;0.75") FLOATS("s", shape, "1;0.75;-0.5")
#define NUMBERS "0.5;-2;1.25;3;-0.75;0.125;2.5"
#define GROUPS(inputs) "y = com.microsoft::GroupQueryAttention(" inputs ") T=float32 scale=0.02 "

/* New keys k and values v, and the past p and w in `room` places, of two heads of size 16. */
#define STEP(batch, tokens, room)                                                                            \
    FLOATS("k", "<" batch "," tokens ",32>", NUMBERS)                                                        \
    FLOATS("v", "<" batch "," tokens ",32>", NUMBERS ";-4")                                                  \
    FLOATS("p", "<" batch ",2," room ",16>", NUMBERS ";7;-5;1")                                              \
    FLOATS("w", "<" batch ",2," room ",16>", NUMBERS ";-1;9")

/* Scores are sums of up to 24 products in float32, which the reference has in double; numbers are up to 9. */
#define ERROR 0x1p-17F

static const NearCase CASES[] = {
    {LENGTHS("<2>", "8;3", "9") ANGLES("<20,8>") GROUPS("x, , , , , l, t, c, s") "num_heads=4 kv_num_heads=2 "
                                                                                 "do_rotary=1",
        SHAPE3(2, 9, 128), ERROR},
    {STEP("2", "1", "20") LENGTHS("<2>", "20;11", "21") ANGLES("<30,4>")
            GROUPS("x, k, v, p, w, l, t, c, s") "num_heads=4 kv_num_heads=2 do_rotary=1 rotary_interleaved=1",
        SHAPE3(2, 1, 64), ERROR},
    {STEP("2", "3", "40") LENGTHS("<2>", "20;2", "21")
            GROUPS("x, k, v, p, w, l, t") "num_heads=8 kv_num_heads=2 softcap=3.5",
        SHAPE3(2, 3, 128), ERROR},
    {STEP("1", "5", "70") LENGTHS("<1>", "74", "75")
            GROUPS("x, k, v, p, w, l, t") "num_heads=2 kv_num_heads=2 local_window_size=9",
        SHAPE3(1, 5, 32), ERROR},
    {STEP("1", "4", "33") LENGTHS("<1>", "3", "4") GROUPS("x, k, v, p, w, l, t") "num_heads=4 kv_num_heads=2",
        SHAPE3(1, 4, 64), ERROR},
    /* Several blocks of rows share keys, which lie side by side with the queries and are rotated. */
    {LENGTHS("<1>", "299", "300") ANGLES("<300,8>")
            GROUPS("x, , , , , l, t, c, s") "num_heads=4 kv_num_heads=1 do_rotary=1 local_window_size=170",
        SHAPE3(1, 300, 96), ERROR},
    /* The last value is infinite: a token that does not see it does not notice it. */
    {FLOATS("k", "<1,3,8>", NUMBERS) FLOATS("a", "<1,2,8>", NUMBERS) FLOATS("b", "<1,1,8>", "inf;1;2;3")
            INTEGERS("axis", "", "1") "v = ConcatV2(a, b, axis) T=float32 Tidx=int32 N=2\n" LENGTHS(
                "<1>", "2", "3") GROUPS("x, k, v, , , l, t") "num_heads=2 kv_num_heads=1",
        SHAPE3(1, 3, 16), ERROR},
    /* A value of the past that lies behind the window is infinite, and no token notices it. */
    {FLOATS("k", "<1,1,8>", NUMBERS) FLOATS("p", "<1,1,4,8>", NUMBERS ";-3") FLOATS("b", "<1,1,3,8>", NUMBERS)
            FLOATS("a", "<1,1,1,8>", "inf;1") INTEGERS("axis", "",
                "2") "w = ConcatV2(a, b, axis) T=float32 Tidx=int32 N=2\n" LENGTHS("<1>", "4", "5")
                GROUPS("x, k, k, p, w, l, t") "num_heads=2 kv_num_heads=1 local_window_size=3",
        SHAPE3(1, 1, 16), ERROR},
    {LENGTHS("<0>", "", "1") GROUPS("x, , , , , l, t") "num_heads=4 kv_num_heads=2", SHAPE3(0, 1, 128), 0},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
