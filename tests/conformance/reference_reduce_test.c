/* Reductions, against NumPy's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
dimensions_fold(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Sum", .inputs = {"float32[2,3] 1 2 3 4 5 6", "int32[1] 0"}, .outputs = {"float32[3] 5 7 9"}},
        {.op = "Sum",
            .attrs = "keep_dims=true",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "int32[1] -1"},
            .outputs = {"float32[2,1] 6 15"}},
        {.op = "Sum", .inputs = {"float32[2,3] 1 2 3 4 5 6", "int32[2] 0 1"}, .outputs = {"float32[] 21"}},
        {.op = "Sum", .inputs = {"float32[2] 1 2", "int32[0]"}, .outputs = {"float32[2] 1 2"}},
        {.op = "Sum",
            .inputs = {"float32[2,2,2] 1 2 3 4 5 6 7 8", "int32[2] 0 2"},
            .outputs = {"float32[2] 14 22"}},
        {.op = "Sum",
            .inputs = {"float32[1,2] 1 2", "int32[2] 0 -2"},
            .error = "dimension 0 is reduced twice",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Sum", .inputs = {"float32[0,2]", "int32[1] 0"}, .outputs = {"float32[2] 0 0"}},
        {.op = "Sum", .inputs = {"int8[3] 100 100 100", "int32[] 0"}, .outputs = {"int8[] 44"}},
        {.op = "Sum", .inputs = {"float16[2] 1.5 2.5", "int32[] 0"}, .outputs = {"float16[] 4"}},
        {.op = "Sum",
            .inputs = {"float32[2] 1 2", "int32[] 1"},
            .error = "axis 1 is not within a tensor of rank 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Mean", .inputs = {"float32[4] 1 2 3 4", "int32[] 0"}, .outputs = {"float32[] 2.5"}},
        {.op = "Mean", .inputs = {"int32[3] 1 2 4", "int32[] 0"}, .outputs = {"int32[] 2"}},
        {.op = "Mean", .inputs = {"float32[0]", "int32[] 0"}, .outputs = {"float32[] nan"}},
        {.op = "Max", .inputs = {"float32[2,2] 1 nan 3 -4", "int32[] 1"}, .outputs = {"float32[2] nan 3"}},
        {.op = "Max", .inputs = {"int8[2] -128 -127", "int32[] 0"}, .outputs = {"int8[] -127"}},
        {.op = "Max", .inputs = {"float32[0]", "int32[] 0"}, .outputs = {"float32[] -inf"}},
        {.op = "Max", .inputs = {"int32[0]", "int32[] 0"}, .outputs = {"int32[] -2147483648"}},
        {.op = "Min", .inputs = {"uint8[2] 200 255", "int32[] 0"}, .outputs = {"uint8[] 200"}},
        {.op = "Min", .inputs = {"int16[0]", "int32[] 0"}, .outputs = {"int16[] 32767"}},
        {.op = "Prod", .inputs = {"float32[3] 2 3 4", "int32[] 0"}, .outputs = {"float32[] 24"}},
        {.op = "Prod", .inputs = {"int32[0]", "int32[] 0"}, .outputs = {"int32[] 1"}},
        {.op = "All", .inputs = {"bool[2,2] 1 0 1 1", "int32[] 1"}, .outputs = {"bool[2] 0 1"}},
        {.op = "Any", .inputs = {"bool[2,2] 0 0 0 1", "int32[] 1"}, .outputs = {"bool[2] 0 1"}},
        {.op = "EuclideanNorm", .inputs = {"float32[2] 3 4", "int32[] 0"}, .outputs = {"float32[] 5"}},
    };
    RUN(cases);
}

static void
onnx_reduces_all_without_axes(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::ReduceSum", .inputs = {"float32[2,2] 1 2 3 4"}, .outputs = {"float32[1,1] 10"}},
        {.op = "onnx::ReduceSum",
            .attrs = "keepdims=0",
            .inputs = {"float32[2,2] 1 2 3 4", "int64[1] 1"},
            .outputs = {"float32[2] 3 7"}},
        {.op = "onnx::ReduceSum", .inputs = {"float32[2] 1 2", "int64[0]"}, .outputs = {"float32[1] 3"}},
        {.op = "onnx::ReduceSum",
            .attrs = "noop_with_empty_axes=1",
            .inputs = {"float32[2] 1 2", "int64[0]"},
            .outputs = {"float32[2] 1 2"}},
        {.op = "onnx::ReduceMax",
            .inputs = {"float32[1,3] 1 5 2", "int64[1] -1"},
            .outputs = {"float32[1,1] 5"}},
        {.op = "onnx::ReduceMax", .attrs = "keepdims=0", .inputs = {"bool[2] 0 1"}, .outputs = {"bool[] 1"}},
        {.op = "onnx::ReduceMin",
            .attrs = "keepdims=0",
            .inputs = {"int64[2] 4 -5"},
            .outputs = {"int64[] -5"}},
        {.op = "onnx::ReduceMean",
            .attrs = "keepdims=0",
            .inputs = {"float64[2] 4 5"},
            .outputs = {"float64[] 4.5"}},
        {.op = "onnx::ReduceProd",
            .attrs = "keepdims=0",
            .inputs = {"float32[2] 4 5"},
            .outputs = {"float32[] 20"}},
        {.op = "onnx::ReduceL1",
            .attrs = "keepdims=0",
            .inputs = {"float32[2] -4 5"},
            .outputs = {"float32[] 9"}},
        {.op = "onnx::ReduceL1",
            .attrs = "keepdims=0",
            .inputs = {"int32[2] -4 5"},
            .outputs = {"int32[] 9"}},
        {.op = "onnx::ReduceL2",
            .attrs = "keepdims=0",
            .inputs = {"float32[2] 3 -4"},
            .outputs = {"float32[] 5"}},
        {.op = "onnx::ReduceSumSquare",
            .attrs = "keepdims=0",
            .inputs = {"float32[2] 3 -4"},
            .outputs = {"float32[] 25"}},
        {.op = "onnx::ReduceLogSum",
            .attrs = "keepdims=0",
            .inputs = {"float32[2] 1 1"},
            .outputs = {"float32[] 0.693147181"}},
        {.op = "onnx::ReduceLogSumExp",
            .attrs = "keepdims=0",
            .inputs = {"float32[3] 1000 1000 -inf"},
            .outputs = {"float32[] 1000.69315"}},
        {.op = "onnx::ReduceLogSumExp",
            .attrs = "keepdims=0",
            .inputs = {"float32[0]"},
            .outputs = {"float32[] -inf"}},
    };
    RUN(cases);
}

static void
sums_run(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Cumsum",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "int32[] 1"},
            .outputs = {"float32[2,3] 1 3 6 4 9 15"}},
        {.op = "Cumsum",
            .attrs = "exclusive=true; reverse=true",
            .inputs = {"int32[3] 1 2 3", "int32[] 0"},
            .outputs = {"int32[3] 5 3 0"}},
        {.op = "Cumprod",
            .inputs = {"float64[2,2] 1 2 3 4", "int32[] 0"},
            .outputs = {"float64[2,2] 1 2 3 8"}},
        {.op = "Cumsum",
            .inputs = {"int32[3] 1 2 3", "int32[] 1"},
            .error = "axis 1 is not within a tensor of rank 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::CumSum",
            .attrs = "exclusive=1",
            .inputs = {"float32[3] 1 2 3", "int64[] 0"},
            .outputs = {"float32[3] 0 1 3"}},
        {.op = "L2Loss", .inputs = {"float32[2,1] 3 4"}, .outputs = {"float32[] 12.5"}},
    };
    RUN(cases);
}

static void
running_products_of_onnx(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::CumProd",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "int64[] 1"},
            .outputs = {"float32[2,3] 1 2 6 4 20 120"}},
        {.op = "onnx::CumProd",
            .attrs = "exclusive=1; reverse=1",
            .inputs = {"int32[3] 2 3 4", "int32[] -1"},
            .outputs = {"int32[3] 12 4 1"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_products_of_onnx),
        cmocka_unit_test(dimensions_fold),
        cmocka_unit_test(onnx_reduces_all_without_axes),
        cmocka_unit_test(sums_run),
    };
    return cmocka_run_group_tests_name("reference/reduce", tests, NULL, NULL);
}
