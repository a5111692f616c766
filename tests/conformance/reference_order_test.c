/* The largest elements and their positions, against NumPy's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
the_largest_come_first(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ArgMax", .inputs = {"float32[2,3] 1 3 3 2 1 0", "int32[] 1"}, .outputs = {"int64[2] 1 0"}},
        {.op = "ArgMax",
            .attrs = "output_type=int32",
            .inputs = {"int8[2,2] 1 3 2 3", "int32[] 0"},
            .outputs = {"int32[2] 1 0"}},
        {.op = "ArgMin", .inputs = {"float32[3] 3 1 1", "int32[] -1"}, .outputs = {"int64[] 1"}},
        {.op = "ArgMax",
            .inputs = {"float32[2,0]", "int32[] 1"},
            .error = "dimension 1 is empty and has no extreme",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::ArgMax",
            .attrs = "axis=1; select_last_index=1",
            .inputs = {"float32[1,3] 1 3 3"},
            .outputs = {"int64[1,1] 2"}},
        {.op = "onnx::ArgMin",
            .attrs = "keepdims=0",
            .inputs = {"float32[3] 3 1 nan"},
            .outputs = {"int64[] 2"}},
        {.op = "TopKV2",
            .inputs = {"float32[2,4] 1 4 4 2 0 -1 5 5", "int32[] 2"},
            .outputs = {"float32[2,2] 4 4 5 5", "int32[2,2] 1 2 2 3"}},
        {.op = "TopKV2",
            .inputs = {"int64[3] 9007199254740993 9007199254740992 1", "int32[] 1"},
            .outputs = {"int64[1] 9007199254740993", "int32[1] 0"}},
        {.op = "TopKV2", /* a heap */
            .attrs = "sorted=false",
            .inputs = {"float32[10] 0.78 0.80 0.49 0.36 0.73 0.07 0.19 0.89 0.44 0.92", "int32[] 5"},
            .outputs = {"float32[5] 0.73 0.78 0.89 0.80 0.92", "int32[5] 4 0 7 1 9"}},
        {.op = "TopKV2", /* all of a line is sorted nevertheless */
            .attrs = "sorted=false",
            .inputs = {"int32[4] 3 7 3 9", "int32[] 4"},
            .outputs = {"int32[4] 9 7 3 3", "int32[4] 3 1 0 2"}},
        {.op = "TopKV2",
            .inputs = {"int32[7] 1 5 5 5 0 5 2", "int32[] 4"},
            .outputs = {"int32[4] 5 5 5 5", "int32[4] 1 2 3 5"}},
        {.op = "TopK",
            .attrs = "k=1",
            .inputs = {"float32[3] 1 4 2"},
            .outputs = {"float32[1] 4", "int32[1] 1"}},
        {.op = "TopKV2", /* NaN is the largest number, whatever k is */
            .inputs = {"float32[3] 1 3 nan", "int32[] 1"},
            .outputs = {"float32[1] nan", "int32[1] 2"}},
        {.op = "TopKV2",
            .inputs = {"float32[5] 3 nan 3 5 nan", "int32[] 4"},
            .outputs = {"float32[4] nan nan 5 3", "int32[4] 1 4 3 0"}},
        {.op = "onnx::TopK",
            .inputs = {"float32[4] -inf nan 3 inf", "int64[1] 2"},
            .outputs = {"float32[2] nan inf", "int64[2] 1 3"}},
        {.op = "onnx::TopK",
            .attrs = "largest=0",
            .inputs = {"float32[4] nan -inf 3 nan", "int64[1] 3"},
            .outputs = {"float32[3] -inf 3 nan", "int64[3] 1 2 0"}},
        {.op = "TopKV2", .inputs = {"float32[3] 1 4 2", "int32[] 0"}, .outputs = {"float32[0]", "int32[0]"}},
        {.op = "TopKV2",
            .inputs = {"float32[3] 1 4 2", "int32[] 4"},
            .error = "k is 4, not 0 to 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "TopKV2",
            .inputs = {"float32[3] 1 4 2", "int32[] -1"},
            .error = "k is -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::TopK",
            .attrs = "axis=0; largest=0",
            .inputs = {"float32[3,1] 3 1 2", "int64[1] 2"},
            .outputs = {"float32[2,1] 1 2", "int64[2,1] 1 2"}},
    };
    RUN(cases);
}

/* TensorFlow begins with the lowest finite number at position 0, and NaN is never above it. */
static void
extremes_overlook_nan_as_tensorflow_does(void **state)
{
    (void)state;
    static const Dtype floats[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64};
    static const struct {
        const char *numbers;
        const char *largest;
        const char *smallest;
    } rows[] = {
        {"[3] 1 nan 3", "int64[] 2", "int64[] 0"},
        {"[3] nan 1 3", "int64[] 2", "int64[] 1"},
        {"[3] 3 1 nan", "int64[] 0", "int64[] 1"},
        {"[2] nan nan", "int64[] 0", "int64[] 0"},
        {"[3] -inf nan -inf", "int64[] 0", "int64[] 0"},
        {"[2] nan -inf", "int64[] 0", "int64[] 1"},
        {"[2] nan inf", "int64[] 1", "int64[] 0"},
        {"[5] 3 nan 3 5 1", "int64[] 3", "int64[] 4"},
    };
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        for (size_t n = 0; n < COUNT_OF(floats); n++) {
            char input[64];
            (void)snprintf(input, sizeof input, "%s%s", dtype_name(floats[n]), rows[row].numbers);
            const OpCase cases[] = {
                {.op = "ArgMax", .inputs = {input, "int32[] 0"}, .outputs = {rows[row].largest}},
                {.op = "ArgMin", .inputs = {input, "int32[] 0"}, .outputs = {rows[row].smallest}},
            };
            RUN(cases);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_come_first),
        cmocka_unit_test(extremes_overlook_nan_as_tensorflow_does),
    };
    return cmocka_run_group_tests_name("reference/order", tests, NULL, NULL);
}
