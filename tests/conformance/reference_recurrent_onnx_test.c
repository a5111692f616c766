/* Recurrent networks. What ONNX's suite does not show: each direction, lengths, activations, errors. Expected
 * values are worked out by hand of one unit with weights of 1 and Relu or Affine as activation. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
states_add_up_forwards_and_backwards(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::RNN",
            .attrs = "activations=[Relu]; hidden_size=1",
            .inputs = {"float32[3,1,1] 1 2 3", "float32[1,1,1] 1", "float32[1,1,1] 1"},
            .outputs = {"float32[3,1,1,1] 1 3 6", "float32[1,1,1] 6"}},
        {.op = "onnx::RNN",
            .attrs = "activations=[relu,Affine]; activation_alpha=[2.0,2.0]; direction=bidirectional",
            .inputs = {"float32[2,1,1] 1 2", "float32[2,1,1] 1 1", "float32[2,1,1] 1 1"},
            .outputs = {"float32[2,2,1,1] 1 10 3 4", "float32[2,1,1] 3 10"}},
        {.op = "onnx::RNN",
            .attrs = "activations=[Relu]; direction=reverse; clip=4.0",
            .inputs = {"float64[2,1,1] 1 4", "float64[1,1,1] 1", "float64[1,1,1] 1", "float64[1,2] 0.5 0.5"},
            .outputs = {"float64[2,1,1,1] 4 4", "float64[1,1,1] 4"}},
    };
    RUN(cases);
}

static void
short_sequences_end_in_zeros(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::RNN",
            .attrs = "activations=[Relu]",
            .inputs = {"float32[2,2,1] 1 2 3 4", "float32[1,1,1] 1", "float32[1,1,1] 1", "", "int32[2] 2 1",
                "float32[1,2,1] 10 20"},
            .outputs = {"float32[2,1,2,1] 11 22 14 0", "float32[1,2,1] 14 22"}},
    };
    RUN(cases);
}

static void
networks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::RNN",
            .attrs = "activations=[Sine]",
            .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1"},
            .error = "there is no activation 'Sine'",
            .error_code = STATUS_UNIMPLEMENTED},
        {.op = "onnx::GRU",
            .attrs = "hidden_size=1",
            .inputs = {"float32[2,1,1] 3 5", "float32[1,3,1] 0 0 0", "float32[1,3,1] 0 0 0", "", "",
                "float32[1,1,1] 1"},
            .outputs = {"float32[2,1,1,1] 0.5 0.25", "float32[1,1,1] 0.25"}},
        {.op = "onnx::LSTM",
            .inputs = {"float32[1,1,2] 1 1", "float32[1,4,1] 1 1 1 1", "float32[1,4,1] 1 1 1 1"},
            .error = "inputs is 2 on one side and 1 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_add_up_forwards_and_backwards),
        cmocka_unit_test(short_sequences_end_in_zeros),
        cmocka_unit_test(networks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
