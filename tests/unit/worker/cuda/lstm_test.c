#include "tests/support/cuda_on_cpu/kernel_rival.h"

static const Dtype wide[] = {DTYPE_FLOAT32, DTYPE_FLOAT64};

#define COMPARE(cases) cuda_cases_compare(cases, COUNT_OF(cases), wide, COUNT_OF(wide))

/* Three points in time, two sequences, inputs of 5, 4 hidden units. */
#define X "T[3,2,5] numbers 1"
#define W "T[1,16,5] numbers 2"
#define R "T[1,16,4] numbers 3"
#define B "T[1,32] numbers 4"
#define H "T[1,2,4] numbers 5"
#define C "T[1,2,4] numbers 6"
#define P "T[1,12] numbers 7"

static void
states_pass_through_time(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::LSTM", .attrs = "hidden_size=4", .inputs = {X, W, R}},
        {.op = "onnx::LSTM", .attrs = "hidden_size=4", .inputs = {X, W, R, B, "", H, C, P}},
        {.op = "onnx::LSTM", .attrs = "hidden_size=4; direction=reverse", .inputs = {X, W, R, B}},
        {.op = "onnx::LSTM",
            .attrs = "hidden_size=4; direction=reverse; input_forget=1; clip=0.5",
            .inputs = {X, W, R, B, "int32[2] 2 0", H, C, P}},
        {.op = "onnx::LSTM",
            .attrs = "hidden_size=4; layout=1",
            .inputs = {"T[2,3,5] numbers 1", W, R, B, "int32[2] 3 1", "T[2,1,4] numbers 5",
                "T[2,1,4] numbers 6"}},
        {.op = "onnx::LSTM", .attrs = "hidden_size=4", .inputs = {"T[0,2,5]", W, R, B, "", H, C}},
        {.op = "onnx::LSTM", .attrs = "hidden_size=4", .inputs = {"T[3,0,5]", W, R, B}},
    };
    COMPARE(cases);
}

static void
both_directions_have_their_own_weights(void **state)
{
    (void)state;
#define BOTH "hidden_size=3; direction=bidirectional"
#define WEIGHTS "T[2,12,5] numbers 2", "T[2,12,3] numbers 3", "T[2,24] numbers 4"
    const OpCase cases[] = {
        {.op = "onnx::LSTM",
            .attrs = BOTH,
            .inputs = {"T[4,2,5] numbers 1", WEIGHTS, "int32[2] 4 2", "T[2,2,3] numbers 5",
                "T[2,2,3] numbers 6", "T[2,9] numbers 7"}},
        {.op = "onnx::LSTM", .attrs = BOTH "; layout=1", .inputs = {"T[2,4,5] numbers 1", WEIGHTS}},
    };
    COMPARE(cases);
}

static void
activations_are_found_by_name(void **state)
{
    (void)state;
#define ACTIVATED(names)                                                                                     \
    {                                                                                                        \
        .op = "onnx::LSTM", .attrs = "hidden_size=4; activations=[" names "]", .inputs = { X, W, R, B }      \
    }
    const OpCase cases[] = {
        ACTIVATED("HardSigmoid,Softsign,relu"),
        ACTIVATED("Sigmoid,Elu,ScaledTanh"),
        ACTIVATED("sigmoid,LeakyRelu,Softplus"),
        ACTIVATED("Sigmoid,ThresholdedRelu,Affine"),
        ACTIVATED("Sigmoid,Tanh,Nothing"),
        {.op = "onnx::LSTM",
            .attrs = "hidden_size=4; activations=[HardSigmoid,Affine,Tanh]; activation_alpha=[0.3,0.5]; "
                     "activation_beta=[0.4,0.1]",
            .inputs = {X, W, R, B}},
    };
    COMPARE(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_pass_through_time),
        cmocka_unit_test(both_directions_have_their_own_weights),
        cmocka_unit_test(activations_are_found_by_name),
    };
    return cmocka_run_group_tests_name("worker/cuda/kernels/lstm", tests, NULL, NULL);
}
