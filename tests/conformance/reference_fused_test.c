/* Convolutions and products with what follows them. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

/* A filter of one place: the sums are 2, 4, 6 and -2, -4, -6 in the two channels. */
#define PLACES "float32[1,1,3,1] 1 2 3", "float32[1,1,1,2] 2 -2"
#define SAME "strides=[1,1,1,1]; padding=SAME; num_args="

static void
a_bias_an_addend_and_an_activation_follow(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedConv2D",
            .attrs = SAME "0",
            .inputs = {PLACES},
            .outputs = {"float32[1,1,3,2] 2 -2 4 -4 6 -6"}},
        {.op = "_FusedConv2D",
            .attrs = SAME "1; fused_ops=[BiasAdd]",
            .inputs = {PLACES, "float32[2] 1 2"},
            .outputs = {"float32[1,1,3,2] 3 0 5 -2 7 -4"}},
        {.op = "_FusedConv2D",
            .attrs = SAME "2; fused_ops=[BiasAdd,Add]",
            .inputs = {PLACES, "float32[2] 1 2", "float32[1,1,3,2] 1 2 3 4 5 6"},
            .outputs = {"float32[1,1,3,2] 4 2 8 2 12 2"}},
        {.op = "_FusedConv2D",
            .attrs = SAME "2; fused_ops=[BiasAdd,Add,Relu]",
            .inputs = {PLACES, "float32[2] 1 2", "float32[1,1,3,2] -4 2 3 nan 5 3"},
            .outputs = {"float32[1,1,3,2] 0 2 8 nan 12 0"}},
        {.op = "_FusedDepthwiseConv2dNative",
            .attrs = SAME "1; fused_ops=[BiasAdd,Relu6]",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "float32[1,1,2,1] 2 -1", "float32[2] 1 3"},
            .outputs = {"float32[1,1,2,2] 3 1 6 0"}},
        {.op = "FusedDepthwiseConv2dNative",
            .attrs = SAME "1; fused_ops=[BiasAdd,Relu6]",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "float32[1,1,2,1] 2 -1", "float32[2] 1 3"},
            .outputs = {"float32[1,1,2,2] 3 1 6 0"}},
        {.op = "_FusedConv2D",
            .attrs = "strides=[1,1,1,1]; padding=SAME; data_format=NCHW; num_args=1; fused_ops=[BiasAdd]",
            .inputs = {"float32[1,1,1,3] 1 2 3", "float32[1,1,1,2] 2 -2", "float32[2] 1 2"},
            .outputs = {"float32[1,2,1,3] 3 5 7 0 -2 -4"}},
        {.op = "_FusedOnnxConv",
            .attrs = "num_args=1; fused_ops=[BiasAdd,LeakyRelu]; leakyrelu_alpha=0.5",
            .inputs = {"float32[1,1,3] 1 2 3", "float32[2,1,1] 2 -2", "float32[2] 1 2"},
            .outputs = {"float32[1,2,3] 3 5 7 0 -1 -2"}},
        {.op = "_FusedMatMul",
            .attrs = "transpose_b=true; num_args=1; fused_ops=[BiasAdd,Relu]",
            .inputs = {"float32[1,2] 1 2", "float32[2,2] 1 1 -1 -1", "float32[2] 1 2"},
            .outputs = {"float32[1,2] 4 0"}},
        {.op = "_FusedBatchMatMulV2",
            .attrs = "num_args=1; fused_ops=[BiasAdd]",
            .inputs = {"float32[2,1,1] 1 2", "float32[1,2] 3 4", "float32[2] 1 2"},
            .outputs = {"float32[2,1,2] 4 6 7 10"}},
    };
    RUN(cases);
}

static void
a_batch_normalisation_follows(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedConv2D",
            .attrs = SAME "4; epsilon=1; fused_ops=[FusedBatchNorm,Relu]",
            .inputs = {PLACES, "float32[2] 2 1", "float32[2] 1 4", "float32[2] 1 -1", "float32[2] 3 0"},
            .outputs = {"float32[1,1,3,2] 2 3 4 1 6 0"}},
    };
    RUN(cases);
}

/* Inputs whose sums are 1 and -1; expected values are TensorFlow's for the ops alone. */
#define ACTIVATED(name, values)                                                                              \
    {                                                                                                        \
        .op = "_FusedMatMul", .attrs = "num_args=0; fused_ops=[" name "]",                                   \
        .inputs = {"float32[2,1] 1 -1", "float32[1,1] 1"}, .outputs = {                                      \
            "float32[2,1] " values                                                                           \
        }                                                                                                    \
    }

static void
every_activation_is_itself(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        ACTIVATED("Elu", "1 -0.63212055"),
        ACTIVATED("GeluApproximate", "0.841192 -0.15880796"),
        ACTIVATED("GeluExact", "0.8413447 -0.15865526"),
        ACTIVATED("LeakyRelu", "1 -0.2"),
        ACTIVATED("Relu", "1 0"),
        ACTIVATED("Relu6", "1 0"),
        ACTIVATED("Sigmoid", "0.7310586 0.26894143"),
        ACTIVATED("Tanh", "0.7615942 -0.7615942"),
        ACTIVATED("_FusedHardSwish", "0.6666667 -0.33333334"),
        ACTIVATED("_FusedSwish", "0.7310586 -0.26894143"),
    };
    RUN(cases);
}

static void
steps_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const OpCase cases[] = {
        {.op = "_FusedMatMul",
            .attrs = "num_args=0; fused_ops=[Moon]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1"},
            .error = "fused_ops has 'Moon' as its step 0, which is not known",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedMatMul",
            .attrs = "num_args=1; fused_ops=[Relu,BiasAdd]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1] 1"},
            .error = "fused_ops has 'BiasAdd' as its step 1, which comes too late",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedMatMul",
            .attrs = "num_args=2; fused_ops=[BiasAdd]",
            .inputs = {"float32[1,1] 1", "float32[1,1] 1", "float32[1] 1", "float32[1] 1"},
            .error = "fused_ops take 1 operands, not 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedMatMul",
            .attrs = "num_args=1; fused_ops=[BiasAdd]",
            .inputs = {"float32[1,1] 1", "float32[1,2] 1 2", "float32[3] 1 2 3"},
            .error = "the number of channels is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedMatMul",
            .attrs = "num_args=1; fused_ops=[Add]",
            .inputs = {"float32[1,1] 1", "float32[1,2] 1 2", "float32[2] 1 2"},
            .error = "the addend has shape [2], not [1,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "_FusedConv2D",
            .attrs = SAME "0; filter_format=OIHW",
            .inputs = {PLACES},
            .error = "filter_format 'OIHW'",
            .error_code = STATUS_UNIMPLEMENTED},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bias_an_addend_and_an_activation_follow),
        cmocka_unit_test(a_batch_normalisation_follows),
        cmocka_unit_test(every_activation_is_itself),
        cmocka_unit_test(steps_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("reference/fused", tests, NULL, NULL);
}
