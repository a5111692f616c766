/* Tensors without elements may have dimensions of any size: a kernel that counted them out would hold its
 * thread for hours, whatever its deadline. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

#define BEHIND "[1099511627776,0]"
#define BETWEEN "[1099511627776,2,0]"

#define UNCHANGED(name, shape, ...)                                                                          \
    {                                                                                                        \
        .op = (name), .inputs = {"float32" shape}, .outputs = {"float32" shape}, __VA_ARGS__                 \
    }

static void
lines_without_elements_are_not_counted_out(void **state)
{
    (void)state;
    const OpCase cases[] = {
        UNCHANGED("Softmax", BEHIND),
        UNCHANGED("LogSoftmax", BEHIND),
        UNCHANGED("onnx::Softmax", BEHIND),
        UNCHANGED("onnx::LogSoftmax", BETWEEN, .attrs = "axis=1"),
        UNCHANGED("onnx::Hardmax", BETWEEN, .attrs = "axis=1"),
        UNCHANGED("LRN", "[1,2,1099511627776,0]"),
        UNCHANGED("onnx::LRN", BETWEEN, .attrs = "size=1"),
        {.op = "Cumsum", .inputs = {"float32" BEHIND, "int32[] 1"}, .outputs = {"float32" BEHIND}},
        {.op = "Cumprod", .inputs = {"float32" BETWEEN, "int32[] 1"}, .outputs = {"float32" BETWEEN}},
        {.op = "onnx::TopK",
            .attrs = "axis=1",
            .inputs = {"float32" BETWEEN, "int64[1] 1"},
            .outputs = {"float32[1099511627776,1,0]", "int64[1099511627776,1,0]"}},
        {.op = "ArgMax", .inputs = {"float32" BETWEEN, "int32[] 1"}, .outputs = {"int64" BEHIND}},
        {.op = "onnx::Unique",
            .attrs = "axis=1; sorted=0",
            .inputs = {"float32" BEHIND},
            .outputs = {"float32" BEHIND, "int64[0]", "int64[0]", "int64[0]"}},
        {.op = "onnx::GatherND",
            .inputs = {"float32[0]", "int64" BEHIND},
            .outputs = {"float32[1099511627776,0]"}},
    };
    RUN(cases);
}

static void
channels_without_elements_are_not_counted_out(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "BiasAddGrad", .inputs = {"float32" BEHIND}, .outputs = {"float32[0]"}},
        {.op = "BiasAddGrad",
            .attrs = "data_format=NCHW",
            .inputs = {"float32" BETWEEN},
            .outputs = {"float32[2] 0 0"}},
        {.op = "onnx::BatchNormalization",
            .inputs = {"float32" BETWEEN, "float32[2] 1 1", "float32[2] 0 0", "float32[2] 0 0",
                "float32[2] 1 1"},
            .outputs = {"float32" BETWEEN}},
        {.op = "onnx::InstanceNormalization",
            .inputs = {"float32" BETWEEN, "float32[2] 1 1", "float32[2] 0 0"},
            .outputs = {"float32" BETWEEN}},
    };
    RUN(cases);
}

static void
windows_without_elements_are_not_counted_out(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::GlobalAveragePool",
            .inputs = {"float64[1,2,0,1099511627776]"},
            .outputs = {"float64[1,2,1,1] nan nan"}},
        {.op = "onnx::GlobalMaxPool",
            .inputs = {"float32[1,2,1099511627776,0]"},
            .outputs = {"float32[1,2,1,1] -inf -inf"}},
        {.op = "onnx::GlobalLpPool",
            .attrs = "p=2",
            .inputs = {"float32[1,2,1099511627776,0]"},
            .outputs = {"float32[1,2,1,1] 0 0"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_without_elements_are_not_counted_out),
        cmocka_unit_test(windows_without_elements_are_not_counted_out),
        cmocka_unit_test(channels_without_elements_are_not_counted_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
