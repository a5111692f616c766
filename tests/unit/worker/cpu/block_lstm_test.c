/* TensorFlow's LSTM cells beside the reference kernels: batches, sequences that end before their tensor,
 * clipped states, both orders of gates, peepholes, which are left to the reference, and weights that each run
 * computes. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SERIES(time, batch, inputs)                                                                          \
    {                                                                                                        \
        .rank = 3, .dims = { time, batch, inputs }                                                           \
    }

#define VALUE(name, shape, size) name " = Const() dtype=float32 value=float32<" shape ">(~" size ")\n"

/* States of a batch of 3 and 7 units, and weights of 5 inputs. */
#define PARAMETERS(batch)                                                                                    \
    VALUE("c", batch ",7", "1")                                                                              \
    VALUE("h", batch ",7", "1") VALUE("w", "12,28", "0.4") VALUE("p", "7", "0.5") VALUE("b", "28", "0.5")
#define LENGTH(count) "n = Const() dtype=int64 value=int64(" count ")\n"
#define BLOCK(op, attributes) "l = " op "(n, x, c, h, w, p, p, p, b) T=float32 " attributes "\n"
/* All of what the op gives. */
#define SUM "s = AddN(l, l:1, l:2, l:3, l:4, l:5, l:6) T=float32 N=7\ny = Neg(s) T=float32"

/* Inputs are up to 8, and a chain's errors grow with its length. */
#define ERROR_MAX 2e-5F

static const NearCase CASES[] = {
    {PARAMETERS("3") LENGTH("6") BLOCK("BlockLSTM", "") SUM, SERIES(6, 3, 5), ERROR_MAX},
    {PARAMETERS("1") LENGTH("4") BLOCK("BlockLSTM", "forget_bias=0.0 cell_clip=0.5") SUM, SERIES(9, 1, 5),
        ERROR_MAX},
    {PARAMETERS("2") LENGTH("0") BLOCK("BlockLSTM", "") SUM, SERIES(3, 2, 5), ERROR_MAX},
    {PARAMETERS("3") LENGTH("5") BLOCK("BlockLSTMV2", "") SUM, SERIES(5, 3, 5), ERROR_MAX},
    {PARAMETERS("3") LENGTH("5") BLOCK("BlockLSTM", "use_peephole=true") SUM, SERIES(5, 3, 5), ERROR_MAX},
    {PARAMETERS("3") "l = LSTMBlockCell(x, c, h, w, p, p, p, b) T=float32\n" SUM, {.rank = 2, .dims = {3, 5}},
        ERROR_MAX},
    {PARAMETERS("3") "zero = Const() dtype=float32 value=float32(0)\n"
                     "z = Mul(x, zero) T=float32\naxes = Const() dtype=int32 value=int32<2>(0;1)\n"
                     "o = Sum(z, axes) T=float32 Tidx=int32\nv = Add(w, o) T=float32\n"
                     "l = LSTMBlockCell(x, c, h, v, p, p, p, b) T=float32\n" SUM,
        {.rank = 2, .dims = {3, 5}}, ERROR_MAX},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
    };
    return cmocka_run_group_tests_name("worker/cpu/block_lstm", tests, NULL, NULL);
}
