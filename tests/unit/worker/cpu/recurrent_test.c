/* RNN, GRU and LSTM beside the reference kernels: all directions, batches, with and without biases and first
 * states, lengths of sequences, clipping, peepholes, and weights that each run computes. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SERIES(time, batch, inputs)                                                                          \
    {                                                                                                        \
        .rank = 3, .dims = { time, batch, inputs }                                                           \
    }

/* Weights of `rows` gates and units, of 5 inputs and 7 units. */
#define WEIGHTS(directions, rows)                                                                            \
    "w = Const() dtype=float32 value=float32<" directions "," rows ",5>(~0.3)\n"                             \
    "r = Const() dtype=float32 value=float32<" directions "," rows ",7>(~0.5)\n"
#define BIASES(directions, count) "b = Const() dtype=float32 value=float32<" directions "," count ">(~0.5)\n"
#define STATES(name, directions, batch)                                                                      \
    name " = Const() dtype=float32 value=float32<" directions "," batch ",7>(~1)\n"

#define LENGTHS(batch, numbers) "n = Const() dtype=int32 value=int32<" batch ">(" numbers ")\n"
#define PEEPHOLES(directions) "p = Const() dtype=float32 value=float32<" directions ",21>(~0.5)\n"

/* Inputs are up to 8, and a chain's errors grow with its length. */
#define ERROR_MAX 2e-5F

static const NearCase CASES[] = {
    {WEIGHTS("1", "28") "y = onnx::LSTM(x, w, r) T=float32 hidden_size=7", SERIES(6, 3, 5), ERROR_MAX},
    {WEIGHTS("1", "28")
            BIASES("1", "56") "y = onnx::LSTM(x, w, r, b) T=float32 hidden_size=7 direction='reverse'",
        SERIES(9, 1, 5), ERROR_MAX},
    {WEIGHTS("2", "28") BIASES("2", "56") STATES("h", "2", "3") STATES("c", "2",
         "3") "y = onnx::LSTM(x, w, r, b, , h, c) T=float32 hidden_size=7 direction='bidirectional'",
        SERIES(4, 3, 5), ERROR_MAX},
    {WEIGHTS("1", "21") "y = onnx::GRU(x, w, r) T=float32 hidden_size=7", SERIES(6, 3, 5), ERROR_MAX},
    {WEIGHTS("1", "7") "y = onnx::RNN(x, w, r) T=float32 hidden_size=7", SERIES(8, 1, 5), ERROR_MAX},
    {WEIGHTS("2", "7") BIASES("2", "14") STATES(
         "h", "2", "3") "y = onnx::RNN(x, w, r, b, , h) T=float32 hidden_size=7 direction='bidirectional'",
        SERIES(5, 3, 5), ERROR_MAX},
    /* Exporters may name the activations that are usual anyway. */
    {WEIGHTS("1", "7") "y = onnx::RNN(x, w, r) T=float32 hidden_size=7 activations=['Relu']", SERIES(3, 2, 5),
        1e-4F},
    {WEIGHTS("1", "28") "y = onnx::LSTM(x, w, r) T=float32 hidden_size=7 "
                        "activations=['Sigmoid','tanh','Tanh']",
        SERIES(4, 2, 5), ERROR_MAX},
    {WEIGHTS("1", "21") "y = onnx::GRU(x, w, r) T=float32 hidden_size=7 activations=['Sigmoid','Tanh']",
        SERIES(4, 2, 5), ERROR_MAX},
    /* So large that the directions run side by side. */
    {"w = Const() dtype=float32 value=float32<2,256,33>(~0.2)\n"
     "r = Const() dtype=float32 value=float32<2,256,64>(~0.2)\n"
     "y = onnx::LSTM(x, w, r) T=float32 hidden_size=64 direction='bidirectional'",
        SERIES(21, 2, 33), ERROR_MAX},
    {WEIGHTS("2", "21") BIASES("2", "42") STATES(
         "h", "2", "3") "y = onnx::GRU(x, w, r, b, , h) T=float32 hidden_size=7 direction='bidirectional'",
        SERIES(6, 3, 5), ERROR_MAX},
    {WEIGHTS("2", "21") BIASES("2", "42") STATES(
         "h", "2", "2") "y = onnx::GRU(x, w, r, b, , h) T=float32 hidden_size=7 direction='bidirectional' "
                        "linear_before_reset=1",
        SERIES(5, 2, 5), ERROR_MAX},
    {WEIGHTS("1", "28") "axes = Const() dtype=int32 value=int32<3>(0;1;2)\n"
                        "zero = Const() dtype=float32 value=float32(0)\n"
                        "s = Max(x, axes) T=float32 Tidx=int32 keep_dims=true\nz = Mul(s, zero) T=float32\n"
                        "v = Add(w, z) T=float32\nu = Add(r, z) T=float32\n"
                        "y = onnx::LSTM(x, v, u) T=float32 hidden_size=7",
        SERIES(3, 2, 5), ERROR_MAX},
    /* Sequences of several lengths, one empty and one beyond the time there is. */
    {WEIGHTS("1", "28") LENGTHS("4", "3;6;0;9") "y = onnx::LSTM(x, w, r, , n) T=float32 hidden_size=7",
        SERIES(6, 4, 5), ERROR_MAX},
    {WEIGHTS("2", "28") BIASES("2", "56") STATES("h", "2", "3") STATES("c", "2", "3") LENGTHS("3",
         "4;-1;2") "y = onnx::LSTM(x, w, r, b, n, h, c) T=float32 hidden_size=7 direction='bidirectional'",
        SERIES(4, 3, 5), ERROR_MAX},
    {WEIGHTS("1", "28") STATES("h", "1", "2") STATES("c", "1", "2") LENGTHS("2",
         "2;3") "l = onnx::LSTM(x, w, r, , n, h, c) T=float32 hidden_size=7\ny = Sub(l:1, l:2) T=float32",
        SERIES(4, 2, 5), ERROR_MAX},
    {WEIGHTS("2", "21") BIASES("2", "42") STATES("h", "2", "3") LENGTHS(
         "3", "5;1;3") "y = onnx::GRU(x, w, r, b, n, h) T=float32 hidden_size=7 direction='bidirectional'",
        SERIES(5, 3, 5), ERROR_MAX},
    {WEIGHTS("1", "21") LENGTHS("3", "2;5;0") "l = onnx::GRU(x, w, r, , n) T=float32 hidden_size=7 "
                                              "linear_before_reset=1\ny = Neg(l:1) T=float32",
        SERIES(5, 3, 5), ERROR_MAX},
    {WEIGHTS("1", "7") LENGTHS("2", "1;3") "y = onnx::RNN(x, w, r, , n) T=float32 hidden_size=7 "
                                           "direction='reverse'",
        SERIES(4, 2, 5), ERROR_MAX},
    /* Clipping, and an LSTM's peepholes. */
    {WEIGHTS("1", "28") "y = onnx::LSTM(x, w, r) T=float32 hidden_size=7 clip=0.5", SERIES(6, 2, 5),
        ERROR_MAX},
    {WEIGHTS("1", "21") "y = onnx::GRU(x, w, r) T=float32 hidden_size=7 clip=0.5", SERIES(6, 2, 5),
        ERROR_MAX},
    {WEIGHTS("1", "7") "y = onnx::RNN(x, w, r) T=float32 hidden_size=7 clip=0.5", SERIES(6, 2, 5), ERROR_MAX},
    {WEIGHTS("1", "28") PEEPHOLES("1") "y = onnx::LSTM(x, w, r, , , , , p) T=float32 hidden_size=7",
        SERIES(6, 2, 5), ERROR_MAX},
    {WEIGHTS("2", "28") BIASES("2", "56") PEEPHOLES("2")
            LENGTHS("2", "6;4") "y = onnx::LSTM(x, w, r, b, n, , , p) T=float32 hidden_size=7 "
                                "direction='bidirectional' clip=3.0",
        SERIES(6, 2, 5), ERROR_MAX},
    /* The last states. */
    {WEIGHTS("1", "28") "l = onnx::LSTM(x, w, r) T=float32 hidden_size=7\ny = Sub(l:1, l:2) T=float32",
        SERIES(4, 2, 5), ERROR_MAX},
    {WEIGHTS("1", "7") "l = onnx::RNN(x, w, r) T=float32 hidden_size=7\ny = Neg(l:1) T=float32",
        SERIES(4, 2, 5), ERROR_MAX},
    {WEIGHTS("1", "21") "l = onnx::GRU(x, w, r) T=float32 hidden_size=7\ny = Neg(l:1) T=float32",
        SERIES(4, 2, 5), ERROR_MAX},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
    };
    return cmocka_run_group_tests_name("worker/cpu/recurrent", tests, NULL, NULL);
}
