/* ONNX's Attention beside its reference kernel: in both layouts, with masks, windows and a past, with heads
 * of the key that several heads of the query share. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }
#define CONST(name, dtype, shape, values)                                                                    \
    name " = Const() dtype=" dtype " value=" dtype shape "(" values ")\n"
#define TYPES " T1=float32 T2=float32 scale=0.02 "

/* The keys are the first two heads of x, of its first batch and positions. */
#define SLICE_OF(name, sizes)                                                                                \
    CONST("begin" name, "int32", "<4>", "0;0;1;0")                                                           \
    CONST("size" name, "int32", "<4>", sizes)                                                                \
    name " = Slice(x, begin" name ", size" name ") T=float32 Index=int32\n"

static const NearCase CASES[] = {
    {"y = onnx::Attention(x, x, x)" TYPES, SHAPE4(2, 3, 37, 16), 0x1p-18F},
    {"y = onnx::Attention(x, x, x)" TYPES "is_causal=1", SHAPE4(1, 2, 300, 8), 0x1p-18F},
    {"y = onnx::Attention(x, x, x)" TYPES "q_num_heads=4 kv_num_heads=4 softcap=3.5", SHAPE3(3, 29, 64),
        0x1p-18F},
    {SLICE_OF("k", "2;2;20;16") "y = onnx::Attention(x, k, k)" TYPES "is_causal=1", SHAPE4(2, 6, 50, 16),
        0x1p-18F},
    {SLICE_OF("k", "2;2;20;16") SLICE_OF("p", "2;2;33;16") "y = onnx::Attention(x, k, k, , p, p)" TYPES
                                                           "is_causal=1 left_window_size=17",
        SHAPE4(2, 6, 50, 16), 0x1p-18F},
    /* Several blocks of rows read keys that are joined with those of the past. */
    {CONST("k", "float32", "<1,20,16>", "0.5;-2;1.25;3;-0.75") CONST("p", "float32", "<1,1,33,16>",
         "1;-3;2;0.5;7;-1;4") "y = onnx::Attention(x, k, k, , p, p)" TYPES "q_num_heads=4 kv_num_heads=1",
        SHAPE3(1, 150, 64), 0x1p-18F},
    {CONST("m", "bool", "<37,30>", "1;0") "y = onnx::Attention(x, x, x, m) U=bool" TYPES,
        SHAPE4(2, 3, 37, 16), 0x1p-18F},
    {CONST("m", "float32", "<2,1,1,37>", "0.5;-2;-inf") "y = onnx::Attention(x, x, x, m) U=float32" TYPES
                                                        "is_causal=1",
        SHAPE4(2, 3, 37, 16), 0x1p-18F},
    {CONST("n", "int64", "<2>", "5;0") "y = onnx::Attention(x, x, x, , , , n)" TYPES
                                       "right_window_size=2 left_window_size=3",
        SHAPE4(2, 3, 7, 16), 0x1p-18F},
    {"a = onnx::Attention(x, x, x)" TYPES "is_causal=1 score_outputs=1 qk_matmul_output_mode=3\n"
     "y = Neg(a:3) T=float32",
        SHAPE4(1, 2, 270, 8), 0x1p-18F},
    {"a = onnx::Attention(x, x, x)" TYPES "score_outputs=1 softcap=0.5 qk_matmul_output_mode=1\n"
     "y = Neg(a:3) T=float32",
        SHAPE4(2, 2, 27, 8), 0x1p-18F},
    {"y = onnx::Attention(x, x, x)" TYPES, SHAPE4(2, 3, 0, 16), 0},
    /* The last value is infinite: a row that does not see it weighs it by 0, which is NaN, whatever rows are
     * computed beside it. */
    {CONST("a", "float32", "<1,2,299,8>", "0.5") CONST("b", "float32", "<1,2,1,8>", "inf;1;2;3")
            CONST("axis", "int32", "", "2") "v = ConcatV2(a, b, axis) T=float32 Tidx=int32 N=2\n"
                                            "y = onnx::Attention(x, x, v)" TYPES "is_causal=1",
        SHAPE4(1, 2, 300, 8), 0x1p-18F},
    {CONST("c", "float32", "<9,8>", "0.5;-0.25;1") CONST("s", "float32", "<9,8>", "1;0.75")
            CONST("p", "int64", "<2,5>", "8;0;3") "y = onnx::RotaryEmbedding(x, c, s, p) T=float32",
        SHAPE4(2, 3, 5, 16), 0x1p-20F},
    {CONST("c", "float32", "<3,700,5>", "0.5;-0.25;1")
            CONST("s", "float32", "<3,700,5>", "1;0.75") "y = onnx::RotaryEmbedding(x, c, s) T=float32 "
                                                         "num_heads=4 interleaved=1 rotary_embedding_dim=10",
        SHAPE3(3, 700, 64), 0x1p-20F},
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
