/* Biases and normalisation, against the formulas. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
biases_lie_along_channels(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "BiasAdd",
            .inputs = {"float32[2,2] 1 2 3 4", "float32[2] 10 20"},
            .outputs = {"float32[2,2] 11 22 13 24"}},
        {.op = "BiasAdd",
            .attrs = "data_format=NCHW",
            .inputs = {"float32[1,2,1,2] 1 2 3 4", "float32[2] 10 20"},
            .outputs = {"float32[1,2,1,2] 11 12 23 24"}},
        {.op = "BiasAddV1", .inputs = {"int32[1,2] 1 2", "int32[2] 10 20"}, .outputs = {"int32[1,2] 11 22"}},
        {.op = "BiasAdd",
            .inputs = {"float32[2,2] 1 ...", "float32[3] 1 ..."},
            .error = "the number of channels is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "BiasAdd",
            .inputs = {"float32[2] 1 ...", "float32[2] 1 ..."},
            .error = "a value of rank 1 has no channels",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "BiasAddGrad", .inputs = {"float32[2,2] 1 2 3 4"}, .outputs = {"float32[2] 4 6"}},
        {.op = "BiasAddGrad",
            .attrs = "data_format=NCHW",
            .inputs = {"float32[1,2,1,2] 1 2 3 4"},
            .outputs = {"float32[2] 3 7"}},
    };
    RUN(cases);
}

static void
batches_normalise(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "FusedBatchNorm",
            .attrs = "is_training=false; epsilon=0.5",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "float32[2] 1 2", "float32[2] 0 1", "float32[2] 1 1",
                "float32[2] 0.5 3.5"},
            .outputs = {"float32[1,1,2,2] 0 2 2 4", "float32[2] 1 1", "float32[2] 0.5 3.5", "float32[2] 1 1",
                "float32[2] 0.5 3.5"}},
        {.op = "FusedBatchNormV3",
            .attrs = "is_training=true; epsilon=0; data_format=NCHW",
            .inputs = {"float32[1,1,1,2] 1 3", "float32[1] 1", "float32[1] 0", "float32[0]", "float32[0]"},
            .outputs = {"float32[1,1,1,2] -1 1", "float32[1] 2", "float32[1] 2", "float32[1] 2",
                "float32[1] 1", "float32[] 0"}},
        {.op = "FusedBatchNormV3", /* a moving average with the statistics that are given */
            .attrs = "epsilon=0.001; exponential_avg_factor=0.25",
            .inputs = {"float32[1,2,2,2] 0 1 2.8284270763397217 5.196152687072754 8 11.180339813232422 "
                       "14.696938514709473 18.5202579498291",
                "float32[2] 1 2", "float32[2] 0 0.5", "float32[2] 1 -1", "float32[2] 2 3"},
            .outputs = {"float32[1,2,2,2] -1.140990972518921 -1.9190614223480225 -0.635265052318573 "
                        "-0.6461102962493896 0.28941795229911804 1.1692614555358887 1.4868381023406982 "
                        "3.3959100246429443",
                "float32[2] 2.3453354835510254 1.493546962738037",
                "float32[2] 11.926161766052246 16.73798179626465",
                "float32[2] 6.381341457366943 8.974187850952148",
                "float32[2] 31.278484344482422 43.46394348144531", "float32[] 0"}},
        {.op = "FusedBatchNormV3",
            .attrs = "exponential_avg_factor=0.25",
            .inputs = {"float32[1,1,1,2] 1 3", "float32[2] 1 1", "float32[2] 0 0", "float32[0]",
                "float32[0]"},
            .error = "the number of channels is 2 on one side and 0 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "FusedBatchNormV2",
            .attrs = "is_training=false; epsilon=0",
            .inputs = {"float16[1,1,1,1] 3", "float32[1] 2", "float32[1] 1", "float32[1] 1", "float32[1] 4"},
            .outputs = {"float16[1,1,1,1] 3", "float32[1] 1"}},
        {.op = "FusedBatchNorm",
            .attrs = "is_training=false",
            .inputs = {"float32[1,1,1,2] 1 2", "float32[1] 1", "float32[2] 0 0", "float32[2] 0 0",
                "float32[2] 1 1"},
            .error = "the number of channels is 2 on one side and 1 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::BatchNormalization",
            .attrs = "epsilon=0",
            .inputs = {"float32[1,2,1] 3 5", "float32[2] 1 2", "float32[2] 0 1", "float32[2] 1 1",
                "float32[2] 4 4"},
            .outputs = {"float32[1,2,1] 1 5"}},
        {.op = "onnx::InstanceNormalization",
            .attrs = "epsilon=0",
            .inputs = {"float32[2,1,2] 1 3 10 30", "float32[1] 2", "float32[1] 1"},
            .outputs = {"float32[2,1,2] -1 3 -1 3"}},
        {.op = "onnx::LayerNormalization",
            .attrs = "epsilon=0",
            .inputs = {"float32[2,2] 1 3 10 30", "float32[2] 1 2", "float32[2] 0 1"},
            .outputs = {"float32[2,2] -1 3 -1 3", "float32[2,1] 2 20", "float32[2,1] 1 0.1"}},
        {.op = "onnx::LayerNormalization",
            .attrs = "axis=0; epsilon=0",
            .inputs = {"float64[2] 1 3", "float64[1] 2"},
            .outputs = {"float64[2] -2 2", "float32[1] 2", "float32[1] 1"}},
        {.op = "onnx::LayerNormalization",
            .inputs = {"float32[2,2] 1 3 10 30", "float32[3] 1 2 3"},
            .error = "shape [3] does not broadcast to [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
onnx_normalises_rows_groups_and_axes(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::RMSNormalization",
            .attrs = "epsilon=0",
            .inputs = {"float32[2,2] 1 7 -6 8", "float32[2] 1 2"},
            .outputs = {"float32[2,2] 0.2 2.8 -0.8485281374 2.2627416998"}},
        {.op = "onnx::RMSNormalization",
            .attrs = "axis=0; epsilon=0.5",
            .inputs = {"float16[2,1] 1 -2", "float32[] 3"},
            .outputs = {"float32[2,1] 1.7320508075688772 -3.4641016151377544"}},
        {.op = "onnx::RMSNormalization",
            .inputs = {"float64[2,0]", "float64[0]"},
            .outputs = {"float64[2,0]"}},
        {.op = "onnx::RMSNormalization",
            .inputs = {"float32[2,2] 1 ...", "float32[3] 1 ..."},
            .error = "shape [3] does not broadcast to [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RMSNormalization",
            .attrs = "axis=2",
            .inputs = {"float32[2,2] 1 ...", "float32[2] 1 ..."},
            .error = "axis 2 is not within a tensor of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::GroupNormalization",
            .attrs = "num_groups=2; epsilon=0",
            .inputs = {"float32[1,4,1] 1 3 10 30", "float32[4] 1 2 1 2", "float32[4] 0 1 0 1"},
            .outputs = {"float32[1,4,1] -1 3 -1 3"}},
        {.op = "onnx::GroupNormalization",
            .attrs = "num_groups=2; epsilon=0; scales_groups=1",
            .inputs = {"bfloat16[1,4] 1 3 10 30", "bfloat16[2] 1 2", "bfloat16[2] 0 1"},
            .outputs = {"bfloat16[1,4] -1 1 -1 3"}},
        {.op = "onnx::GroupNormalization",
            .attrs = "num_groups=3",
            .inputs = {"float32[1,4] 1 ...", "float32[4] 1 ...", "float32[4] 1 ..."},
            .error = "4 channels cannot be cut into 3 groups",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::GroupNormalization",
            .attrs = "num_groups=0",
            .inputs = {"float32[1,4] 1 ...", "float32[4] 1 ...", "float32[4] 1 ..."},
            .error = "num_groups is 0, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::GroupNormalization",
            .attrs = "num_groups=2",
            .inputs = {"float32[1,4] 1 ...", "float32[2] 1 ...", "float32[2] 1 ..."},
            .error = "the number of channels is 4 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::GroupNormalization",
            .attrs = "num_groups=2",
            .inputs = {"float32[4] 1 ...", "float32[2] 1 ...", "float32[2] 1 ..."},
            .error = "an input of rank 1 has no channels",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::MeanVarianceNormalization",
            .attrs = "axes=[0,-1]",
            .inputs = {"float32[2,2,1] 1 10 3 30"},
            .outputs = {"float32[2,2,1] -1 -1 1 1"}},
        {.op = "onnx::MeanVarianceNormalization",
            .inputs = {"float16[1,2,1,2] 1 3 5 5"},
            .outputs = {"float16[1,2,1,2] -1 1 0 0"}},
        {.op = "onnx::MeanVarianceNormalization",
            .inputs = {"float32[2,2] 1 ..."},
            .error = "axis 2 is not within a tensor of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LpNormalization",
            .inputs = {"float32[2,2] 3 -4 0 0"},
            .outputs = {"float32[2,2] 0.6 -0.8 0 0"}},
        {.op = "onnx::LpNormalization",
            .attrs = "p=1; axis=0",
            .inputs = {"float64[2,2] 3 -4 1 0"},
            .outputs = {"float64[2,2] 0.75 -1 0.25 0"}},
        {.op = "onnx::LpNormalization",
            .attrs = "axis=1",
            .inputs = {"float32[1099511627776,0,1]"},
            .outputs = {"float32[1099511627776,0,1]"}},
        {.op = "onnx::GroupNormalization",
            .attrs = "num_groups=1",
            .inputs = {"float32[1099511627776,1,0]", "float32[1] 1", "float32[1] 1"},
            .outputs = {"float32[1099511627776,1,0]"}},
        {.op = "onnx::LpNormalization",
            .attrs = "p=3",
            .inputs = {"float32[1] 1"},
            .error = "p is 3, neither 1 nor 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
rows_of_a_sum_normalise(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "com.microsoft::SkipLayerNormalization",
            .attrs = "epsilon=0",
            .inputs = {"float32[1,2,2] 1 2 6 10", "float32[2,2] 0 1 4 20", "float32[2] 1 2",
                "float32[2] 0 1"},
            .outputs = {"float32[1,2,2] -1 3 -1 3", "float32[1,2,1] 2 20", "float32[1,2,1] 1 0.1",
                "float32[1,2,2] 1 3 10 30"}},
        {.op = "com.microsoft::SkipLayerNormalization",
            .attrs = "epsilon=0",
            .inputs = {"float16[2,2] 0 2 9 29", "float16[1,2] 0 0", "float16[2] 1 2", "", "float16[2] 1 1"},
            .outputs = {"float16[2,2] -1 2 -1 2", "float32[2,1] 2 20", "float32[2,1] 1 0.1",
                "float16[2,2] 1 3 10 30"}},
        {.op = "com.microsoft::SkipSimplifiedLayerNormalization",
            .attrs = "epsilon=0",
            .inputs = {"float64[1,2] 1 6", "float64[1,2] 0 0", "float64[2] 1 2", "float64[2] 0 1"},
            .outputs = {"float64[1,2] 0.2 2.8", "float32[1,1] 0", "float32[1,1] 0.2", "float64[1,2] 1 7"}},
        {.op = "com.microsoft::SkipSimplifiedLayerNormalization",
            .inputs = {"float32[0,2]", "float32[0,2]", "float32[2] 1 1"},
            .outputs = {"float32[0,2]", "float32[0,1]", "float32[0,1]", "float32[0,2]"}},
        {.op = "com.microsoft::SkipLayerNormalization",
            .inputs = {"float32[2,2] 1 ...", "float32[3,2] 1 ...", "float32[2] 1 1"},
            .error = "a skip of shape [3,2] cannot be added to the rows of [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::SkipLayerNormalization",
            .inputs = {"float32[2,2] 1 ...", "float32[2,1] 1 ...", "float32[2] 1 1"},
            .error = "a skip of shape [2,1] cannot be added to the rows of [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::SkipLayerNormalization",
            .inputs = {"float32[2,2] 1 ...", "float32[] 1", "float32[2] 1 1"},
            .error = "a skip of shape [] cannot be added to the rows of [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::SkipLayerNormalization",
            .inputs = {"float32[2,2] 1 ...", "float32[2,2] 1 ...", "float32[3] 1 1 1"},
            .error = "the size of a row is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::SkipLayerNormalization",
            .inputs = {"float32[] 1", "float32[] 1", "float32[1] 1"},
            .error = "an input of rank 0 has no rows",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
responses_are_local(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "LRN",
            .attrs = "depth_radius=1; bias=1; alpha=1; beta=1",
            .inputs = {"float32[1,1,1,3] 1 2 3"},
            .outputs = {"float32[1,1,1,3] 0.16666666666666666 0.13333333333333333 0.21428571428571427"}},
        {.op = "LRN",
            .attrs = "depth_radius=9223372036854775807; bias=1; alpha=1; beta=1",
            .inputs = {"float32[1,1,1,2] 1 2"},
            .outputs = {"float32[1,1,1,2] 0.16666666666666666 0.3333333333333333"}},
        {.op = "LRN",
            .attrs = "depth_radius=-9223372036854775808; bias=1; alpha=1; beta=1",
            .inputs = {"float32[1,1,1,2] 1 2"},
            .error = "depth_radius is -9223372036854775808, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::LRN",
            .attrs = "size=3; bias=1; alpha=3; beta=1",
            .inputs = {"float32[1,3,1,1] 1 2 3"},
            .outputs = {"float32[1,3,1,1] 0.16666666666666666 0.13333333333333333 0.21428571428571427"}},
        {.op = "onnx::LRN",
            .attrs = "size=2; bias=1; alpha=2; beta=0.5",
            .inputs = {"float32[1,2,1] 1 2"},
            .outputs = {"float32[1,2,1] 0.40824829046386307 0.894427191"}},
    };
    RUN(cases);
}

static void
statistics_that_are_no_floats_have_no_kernel(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "FusedBatchNormV2",
            .inputs = {"float32[1,1,1,1] 1", "string[1] '1'", "string[1] '0'", "string[1] '0'",
                "string[1] '1'"},
            .error = "no reference kernel for 'FusedBatchNormV2' of float32",
            .error_code = STATUS_UNIMPLEMENTED},
        {.op = "onnx::BatchNormalization",
            .inputs = {"float32[1,1,1,1] 1", "float32[1] 1", "float32[1] 0", "string[1] '0'",
                "string[1] '1'"},
            .error = "no reference kernel for 'onnx::BatchNormalization' of float32",
            .error_code = STATUS_UNIMPLEMENTED},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biases_lie_along_channels),
        cmocka_unit_test(batches_normalise),
        cmocka_unit_test(onnx_normalises_rows_groups_and_axes),
        cmocka_unit_test(rows_of_a_sum_normalise),
        cmocka_unit_test(responses_are_local),
        cmocka_unit_test(statistics_that_are_no_floats_have_no_kernel),
    };
    return cmocka_run_group_tests_name("reference/normalization", tests, NULL, NULL);
}
