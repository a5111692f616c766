/* Elements selected by index, against NumPy's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
elements_are_chosen_by_index(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Gather",
            .inputs = {"float32[3,2] 1 2 3 4 5 6", "int32[2] 2 0"},
            .outputs = {"float32[2,2] 5 6 1 2"}},
        {.op = "GatherV2",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "int64[2,1] 2 0", "int32[] 1"},
            .outputs = {"float32[2,2,1] 3 1 6 4"}},
        {.op = "GatherV2",
            .inputs = {"float32[3] 1 2 3", "int32[] 1", "int32[] -1"},
            .outputs = {"float32[] 2"}},
        {.op = "GatherV2",
            .attrs = "batch_dims=1",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "int32[2,2] 0 2 1 0", "int32[] 1"},
            .outputs = {"float32[2,2] 1 3 5 4"}},
        {.op = "GatherV2",
            .inputs = {"float32[3] 1 2 3", "int32[1] 3", "int32[] 0"},
            .error = "index 3 at 0 is not within 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "GatherV2",
            .inputs = {"float32[3] 1 2 3", "int32[1] -1", "int32[] 0"},
            .error = "index -1 at 0 is not within 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "GatherV2",
            .inputs = {"float32[3] 1 2 3", "int32[0]", "int32[] 0"},
            .outputs = {"float32[0]"}},
        {.op = "GatherNd",
            .inputs = {"float32[2,2] 1 2 3 4", "int32[2,2] 0 1 1 0"},
            .outputs = {"float32[2] 2 3"}},
        {.op = "GatherNd",
            .inputs = {"float32[2,2] 1 2 3 4", "int32[1,1] 1"},
            .outputs = {"float32[1,2] 3 4"}},
        {.op = "GatherNd",
            .inputs = {"float32[2,2] 1 2 3 4", "int32[1,2] 1 2"},
            .error = "index 2 at 1 is not within 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "GatherNd",
            .inputs = {"float32[2] 1 2", "int32[1,2] 1 2"},
            .error = "2 coordinates for a tensor of rank 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Gather",
            .attrs = "axis=1",
            .inputs = {"float32[2,2] 1 2 3 4", "int64[1] -1"},
            .outputs = {"float32[2,1] 2 4"}},
        {.op = "onnx::Gather",
            .inputs = {"float32[2] 1 2", "int64[1] -3"},
            .error = "index -3 at 0 is not within 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::GatherND",
            .attrs = "batch_dims=1",
            .inputs = {"int32[2,2,2] 0 1 2 3 4 5 6 7", "int64[2,1] 1 0"},
            .outputs = {"int32[2,2] 2 3 4 5"}},
        {.op = "onnx::GatherElements",
            .attrs = "axis=1",
            .inputs = {"int32[2,2] 1 2 3 4", "int64[2,2] 0 0 -1 0"},
            .outputs = {"int32[2,2] 1 1 4 3"}},
        {.op = "onnx::GatherElements",
            .inputs = {"int32[3,3] 1 2 3 4 5 6 7 8 9", "int32[2,3] 1 2 0 2 0 0"},
            .outputs = {"int32[2,3] 4 8 3 7 2 3"}},
        {.op = "onnx::GatherElements",
            .attrs = "axis=0",
            .inputs = {"int32[1,1] 1", "int64[1,2] 0 0"},
            .error = "dimension 1 of the indices is 2, above 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "OneHot",
            .inputs = {"int64[3] 0 2 -1", "int32[] 3", "float32[] 1", "float32[] 0"},
            .outputs = {"float32[3,3] 1 0 0 0 0 1 0 0 0"}},
        {.op = "OneHot",
            .attrs = "axis=0",
            .inputs = {"int32[2] 0 1", "int32[] 3", "int8[] 5", "int8[] -5"},
            .outputs = {"int8[3,2] 5 -5 -5 5 -5 -5"}},
        {.op = "OneHot",
            .inputs = {"int64[1] 0", "int32[] -1", "float32[] 1", "float32[] 0"},
            .error = "depth is -1",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
onnx_one_hot_counts_negative_indices_from_the_end(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::OneHot",
            .inputs = {"int64[3] 0 7 -1", "int64[1] 3", "int32[2] 2 5"},
            .outputs = {"int32[3,3] 5 2 2 2 2 2 2 2 5"}},
        {.op = "onnx::OneHot",
            .attrs = "axis=0",
            .inputs = {"float32[2] 1 -3.5", "float32[] 3.5", "float32[2] 0 1"},
            .outputs = {"float32[3,2] 0 1 1 0 0 0"}},
        {.op = "onnx::OneHot",
            .attrs = "axis=-2",
            .inputs = {"uint8[1,2] 1 200", "float64[] 2", "bool[2] 0 1"},
            .outputs = {"bool[1,2,2] 0 0 1 0"}},
        {.op = "onnx::OneHot",
            .inputs = {"int32[] -2", "int8[] 2", "float16[2] 1 3"},
            .outputs = {"float16[2] 3 1"}},
        {.op = "onnx::OneHot",
            .inputs = {"int32[0]", "float16[] 2", "float16[2] 1 3"},
            .outputs = {"float16[0,2]"}},
        {.op = "onnx::OneHot",
            .inputs = {"int32[1] 0", "int64[] 0", "float32[2] 1 3"},
            .error = "the depth is 0, not above 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::OneHot",
            .inputs = {"int32[1] 0", "float32[] nan", "float32[2] 1 3"},
            .error = "the depth is -1, not above 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::OneHot",
            .inputs = {"int32[1] 0", "int64[2] 1 2", "float32[2] 1 3"},
            .error = "the depth has shape [2], not one value",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::OneHot",
            .inputs = {"int32[1] 0", "int64[] 2", "float32[3] 1 3 4"},
            .error = "the values have shape [3], not [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::OneHot",
            .attrs = "axis=2",
            .inputs = {"int32[1] 0", "int64[] 2", "float32[2] 1 3"},
            .error = "axis 2 is not within a tensor of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
a_condition_keeps_slices(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::Compress",
            .attrs = "axis=0",
            .inputs = {"float32[3,2] 1 2 3 4 5 6", "bool[3] 0 1 1"},
            .outputs = {"float32[2,2] 3 4 5 6"}},
        {.op = "onnx::Compress",
            .attrs = "axis=-1",
            .inputs = {"int8[3,2] 1 2 3 4 5 6", "bool[1] 1"},
            .outputs = {"int8[3,1] 1 3 5"}},
        {.op = "onnx::Compress",
            .inputs = {"float32[3,2] 1 2 3 4 5 6", "bool[5] 0 1 0 0 1"},
            .outputs = {"float32[2] 2 5"}},
        {.op = "onnx::Compress", .inputs = {"bool[2] 1 0", "bool[0]"}, .outputs = {"bool[0]"}},
        {.op = "onnx::Compress",
            .attrs = "axis=1",
            .inputs = {"float32[1,2] 1 2", "bool[3] 0 0 1"},
            .error = "index 2 is not within 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Compress",
            .attrs = "axis=2",
            .inputs = {"float32[1,2] 1 2", "bool[1] 0"},
            .error = "axis 2 is not within a tensor of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_keeps_slices),
        cmocka_unit_test(onnx_one_hot_counts_negative_indices_from_the_end),
        cmocka_unit_test(elements_are_chosen_by_index),
    };
    return cmocka_run_group_tests_name("reference/gather", tests, NULL, NULL);
}
