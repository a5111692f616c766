/* Elements moved: transposing, padding, choosing by index, sorting; against NumPy's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
dimensions_are_exchanged(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Transpose",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "int32[2] 1 0"},
            .outputs = {"float32[3,2] 1 4 2 5 3 6"}},
        {.op = "Transpose",
            .inputs = {"int8[2,1,2] 1 2 3 4", "int64[3] 2 0 1"},
            .outputs = {"int8[2,2,1] 1 3 2 4"}},
        {.op = "Transpose", .inputs = {"float32[] 1", "int32[0]"}, .outputs = {"float32[] 1"}},
        {.op = "Transpose",
            .inputs = {"float32[2,2] 1 ...", "int32[2] 0 0"},
            .error = "axis 0 is given twice",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Transpose",
            .inputs = {"float32[2,2] 1 ...", "int32[1] 0"},
            .error = "1 axes do not permute rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Transpose", .inputs = {"bool[1,2,2] 1 0 0 0"}, .outputs = {"bool[2,2,1] 1 0 0 0"}},
        {.op = "onnx::Transpose",
            .attrs = "perm=[1,0]",
            .inputs = {"float64[2,2] 1 2 3 4"},
            .outputs = {"float64[2,2] 1 3 2 4"}},
        {.op = "ReverseV2",
            .inputs = {"int32[2,2] 1 2 3 4", "int32[1] -1"},
            .outputs = {"int32[2,2] 2 1 4 3"}},
        {.op = "ReverseV2",
            .inputs = {"int32[2,2] 1 2 3 4", "int32[2] 0 1"},
            .outputs = {"int32[2,2] 4 3 2 1"}},
        {.op = "ReverseV2", .inputs = {"int32[0]", "int32[1] 0"}, .outputs = {"int32[0]"}},
        {.op = "ReverseV2",
            .inputs = {"int32[2] 1 2", "int32[2] 0 -1"},
            .error = "axis 0 is given twice",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
blocks_move_between_space_and_channels(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "DepthToSpace",
            .attrs = "block_size=2",
            .inputs = {"int32[1,1,1,4] 1 2 3 4"},
            .outputs = {"int32[1,2,2,1] 1 2 3 4"}},
        {.op = "DepthToSpace",
            .attrs = "block_size=2",
            .inputs = {"int32[1,1,2,4] 1 2 3 4 5 6 7 8"},
            .outputs = {"int32[1,2,4,1] 1 2 5 6 3 4 7 8"}},
        {.op = "SpaceToDepth",
            .attrs = "block_size=2",
            .inputs = {"int32[1,2,4,1] 1 2 5 6 3 4 7 8"},
            .outputs = {"int32[1,1,2,4] 1 2 3 4 5 6 7 8"}},
        {.op = "SpaceToDepth",
            .attrs = "block_size=2; data_format=NCHW",
            .inputs = {"int32[1,1,2,2] 1 2 3 4"},
            .outputs = {"int32[1,4,1,1] 1 2 3 4"}},
        {.op = "onnx::DepthToSpace",
            .attrs = "blocksize=2",
            .inputs = {"int32[1,8,1,1] 1 2 3 4 5 6 7 8"},
            .outputs = {"int32[1,2,2,2] 1 3 5 7 2 4 6 8"}},
        {.op = "onnx::DepthToSpace",
            .attrs = "blocksize=2; mode=CRD",
            .inputs = {"int32[1,8,1,1] 1 2 3 4 5 6 7 8"},
            .outputs = {"int32[1,2,2,2] 1 2 3 4 5 6 7 8"}},
        {.op = "onnx::SpaceToDepth",
            .attrs = "blocksize=2",
            .inputs = {"int32[1,2,2,2] 1 3 5 7 2 4 6 8"},
            .outputs = {"int32[1,8,1,1] 1 2 3 4 5 6 7 8"}},
        {.op = "SpaceToDepth",
            .attrs = "block_size=2",
            .inputs = {"int32[1,3,2,1] 1 ..."},
            .error = "3 is no multiple of 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SpaceToDepth",
            .attrs = "block_size=0",
            .inputs = {"int32[1,3,2,1] 1 ..."},
            .error = "block_size is 0, not 1 to 32768",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
borders_are_padded(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Pad", .inputs = {"int32[2] 1 2", "int32[1,2] 1 2"}, .outputs = {"int32[5] 0 1 2 0 0"}},
        {.op = "Pad", .inputs = {"int32[1,1] 5", "int32[2,2] 1 0 0 1"}, .outputs = {"int32[2,2] 0 0 5 0"}},
        {.op = "PadV2",
            .inputs = {"float32[1] 1", "int32[1,2] 1 1", "float32[] 9"},
            .outputs = {"float32[3] 9 1 9"}},
        {.op = "MirrorPad",
            .attrs = "mode=REFLECT",
            .inputs = {"int32[3] 1 2 3", "int32[1,2] 2 2"},
            .outputs = {"int32[7] 3 2 1 2 3 2 1"}},
        {.op = "MirrorPad",
            .attrs = "mode=SYMMETRIC",
            .inputs = {"int32[3] 1 2 3", "int32[1,2] 2 3"},
            .outputs = {"int32[8] 2 1 1 2 3 3 2 1"}},
        {.op = "MirrorPad",
            .attrs = "mode=REFLECT",
            .inputs = {"int32[2] 1 2", "int32[1,2] 2 0"},
            .error = "dimension 0 of 2 cannot be padded by 2 and 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Pad",
            .inputs = {"int32[2] 1 2", "int32[1,2] -1 0"},
            .error = "dimension 0 is padded by -1 and 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Pad",
            .inputs = {"int32[2] 1 2", "int32[2,2] 0 0 0 0"},
            .error = "paddings of shape [2,2] do not fit rank 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Pad",
            .inputs = {"int32[2] 1 2", "int64[1,2] 9223372036854775807 9223372036854775807"},
            .error = "are too many",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.op = "onnx::Pad",
            .inputs = {"float32[1,2] 1 2", "int64[4] 0 1 1 0"},
            .outputs = {"float32[2,3] 0 1 2 0 0 0"}},
        {.op = "onnx::Pad",
            .inputs = {"float32[1,2] 1 2", "int64[2] 1 0", "float32[] 7", "int64[1] -1"},
            .outputs = {"float32[1,3] 7 1 2"}},
        {.op = "onnx::Pad", .inputs = {"float32[3] 1 2 3", "int64[2] -1 1"}, .outputs = {"float32[3] 2 3 0"}},
        {.op = "onnx::Pad",
            .attrs = "mode=edge",
            .inputs = {"float32[2] 1 2", "int64[2] 2 1"},
            .outputs = {"float32[5] 1 1 1 2 2"}},
        {.op = "onnx::Pad",
            .attrs = "mode=wrap",
            .inputs = {"float32[3] 1 2 3", "int64[2] 4 1"},
            .outputs = {"float32[8] 3 1 2 3 1 2 3 1"}},
        {.op = "onnx::Pad",
            .attrs = "mode=reflect",
            .inputs = {"float32[3] 1 2 3", "int64[2] 1 1"},
            .outputs = {"float32[5] 2 1 2 3 2"}},
        {.op = "onnx::Pad",
            .inputs = {"float32[3] 1 2 3", "int64[2] -2 -2"},
            .error = "dimension 0 of 3 cannot be padded by -2 and -2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Pad",
            .attrs = "mode=glue",
            .inputs = {"float32[3] 1 2 3", "int64[2] 1 1"},
            .error = "there is no padding mode 'glue'",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions_are_exchanged),
        cmocka_unit_test(blocks_move_between_space_and_channels),
        cmocka_unit_test(borders_are_padded),
        cmocka_unit_test(elements_are_chosen_by_index),
        cmocka_unit_test(the_largest_come_first),
        cmocka_unit_test(sums_run),
    };
    return cmocka_run_group_tests_name("reference/place", tests, NULL, NULL);
}
