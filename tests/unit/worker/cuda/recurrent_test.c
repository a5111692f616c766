#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

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
    static const CudaKernelCase cases[] = {
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
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
both_directions_have_their_own_weights(void **state)
{
    (void)state;
#define BOTH "hidden_size=3; direction=bidirectional"
#define WEIGHTS "T[2,12,5] numbers 2", "T[2,12,3] numbers 3", "T[2,24] numbers 4"
    static const CudaKernelCase cases[] = {
        {.op = "onnx::LSTM",
            .attrs = BOTH,
            .inputs = {"T[4,2,5] numbers 1", WEIGHTS, "int32[2] 4 2", "T[2,2,3] numbers 5",
                "T[2,2,3] numbers 6", "T[2,9] numbers 7"}},
        {.op = "onnx::LSTM", .attrs = BOTH "; layout=1", .inputs = {"T[2,4,5] numbers 1", WEIGHTS}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* The reset gate before the product of the states, and behind it. */
static void
states_pass_the_gates_of_a_gru(void **state)
{
    (void)state;
#define GRU_WEIGHTS "T[1,12,5] numbers 2", "T[1,12,4] numbers 3"
#define GRU_BOTH                                                                                             \
    "T[4,2,5] numbers 1", "T[2,9,5] numbers 2", "T[2,9,3] numbers 3", "T[2,18] numbers 4", "int32[2] 4 2",   \
        "T[2,2,3] numbers 5"
    static const CudaKernelCase cases[] = {
        {"onnx::GRU", "hidden_size=4", {X, GRU_WEIGHTS}},
        {"onnx::GRU", "hidden_size=4", {X, GRU_WEIGHTS, "T[1,24] numbers 4", "int32[2] 2 -1", H}},
        {"onnx::GRU", "hidden_size=4; linear_before_reset=1",
            {X, GRU_WEIGHTS, "T[1,24] numbers 4", "int32[2] 3 1", H}},
        {"onnx::GRU", "hidden_size=4; direction=reverse; clip=0.5; activations=[HardSigmoid,Softsign]",
            {X, GRU_WEIGHTS, "T[1,24] numbers 4", "int32[2] 2 3", H}},
        {"onnx::GRU", "hidden_size=3; direction=bidirectional", {GRU_BOTH}},
        {"onnx::GRU", "hidden_size=3; direction=bidirectional; linear_before_reset=1", {GRU_BOTH}},
        {"onnx::GRU", "hidden_size=3; direction=bidirectional; layout=1",
            {"T[2,4,5] numbers 1", "T[2,9,5] numbers 2", "T[2,9,3] numbers 3", "T[2,18] numbers 4",
                "int32[2] 1 4", "T[2,2,3] numbers 5"}},
        {"onnx::GRU", "hidden_size=4", {"T[0,2,5]", GRU_WEIGHTS, "", "", H}},
        {"onnx::GRU", "hidden_size=4; activations=[Sigmoid,Nothing]", {X, GRU_WEIGHTS}},
        {"onnx::GRU", "hidden_size=100",
            {"T[2,3,5] numbers 1", "T[1,300,5] numbers 2", "T[1,300,100] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
states_of_a_cell_without_gates(void **state)
{
    (void)state;
#define RNN_WEIGHTS "T[1,4,5] numbers 2", "T[1,4,4] numbers 3"
    static const CudaKernelCase cases[] = {
        {"onnx::RNN", "hidden_size=4", {X, RNN_WEIGHTS}},
        {"onnx::RNN", "hidden_size=4; activations=[Relu]; clip=2",
            {X, RNN_WEIGHTS, "T[1,8] numbers 4", "int32[2] 2 3", H}},
        {"onnx::RNN", "hidden_size=3; direction=bidirectional; layout=1",
            {"T[2,4,5] numbers 1", "T[2,3,5] numbers 2", "T[2,3,3] numbers 3", "T[2,6] numbers 4",
                "int32[2] 1 4", "T[2,2,3] numbers 5"}},
        {"onnx::RNN", "hidden_size=4", {"T[3,0,5]", RNN_WEIGHTS}},
        {"onnx::RNN", "hidden_size=100",
            {"T[2,3,5] numbers 1", "T[1,100,5] numbers 2", "T[1,100,100] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
activations_are_found_by_name(void **state)
{
    (void)state;
#define ACTIVATED(names)                                                                                     \
    {                                                                                                        \
        .op = "onnx::LSTM", .attrs = "hidden_size=4; activations=[" names "]", .inputs = { X, W, R, B }      \
    }
    static const CudaKernelCase cases[] = {
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
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
no_elements_and_more_than_a_block_has_threads(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "onnx::LSTM",
            .attrs = "hidden_size=100",
            .inputs = {"T[2,3,5] numbers 1", "T[1,400,5] numbers 2", "T[1,400,100] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("recurrent");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_pass_through_time),
        cmocka_unit_test(both_directions_have_their_own_weights),
        cmocka_unit_test(states_pass_the_gates_of_a_gru),
        cmocka_unit_test(states_of_a_cell_without_gates),
        cmocka_unit_test(activations_are_found_by_name),
        cmocka_unit_test(no_elements_and_more_than_a_block_has_threads),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/recurrent", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
