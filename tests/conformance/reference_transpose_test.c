/* Dimensions permuted, and blocks moved between space and channels, against NumPy's results. */
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions_are_exchanged),
        cmocka_unit_test(blocks_move_between_space_and_channels),
    };
    return cmocka_run_group_tests_name("reference/transpose", tests, NULL, NULL);
}
