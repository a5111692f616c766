/* Slices moved to places: scatters and blocks of space, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
blocks_move_between_space_and_batch(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "SpaceToBatchND",
            .inputs = {"float32[1,4,4,1] 0 1 2 3 4 5 6 7 8 9 1e+01 11 12 13 14 15", "int32[2] 2 2",
                "int32[2,2] 0 ..."},
            .outputs = {"float32[4,2,2,1] 0 2 8 1e+01 1 3 9 11 4 6 12 14 5 7 13 15"}},
        {.op = "BatchToSpaceND",
            .inputs = {"int32[4,2,2,1] 0 2 8 10 1 3 9 11 4 6 12 14 5 7 13 15", "int64[2] 2 2",
                "int32[2,2] 0 ..."},
            .outputs = {"int32[1,4,4,1] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"}},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[2,3,2,2] 0 1 2 3 4 5 6 7 8 9 1e+01 11 12 13 14 15 16 17 18 19 2e+01 21 22 23",
                "int32[2] 2 3", "int32[2,2] 1 0 2 2"},
            .outputs = {"float32[12,2,2,2] 0 0 0 0 0 0 6 7 0 0 0 0 0 0 18 19 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                        "0 0 0 0 4 5 0 0 0 0 0 0 16 17 0 0 0 0 2 3 0 0 1e+01 11 0 0 14 15 0 0 22 23 0 0 0 0 "
                        "0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 8 9 0 0 12 13 0 0 2e+01 21 0 0"}},
        {.op = "BatchToSpaceND",
            .inputs = {"int32[12,2,2,2] 0 0 0 0 0 0 6 7 0 0 0 0 0 0 18 19 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                       "0 0 0 4 5 0 0 0 0 0 0 16 17 0 0 0 0 2 3 0 0 10 11 0 0 14 15 0 0 22 23 0 0 0 0 0 0 0 "
                       "0 0 0 0 0 0 0 0 0 0 1 0 0 8 9 0 0 12 13 0 0 20 21 0 0",
                "int64[2] 2 3", "int32[2,2] 1 0 2 2"},
            .outputs = {"int32[2,3,2,2] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23"}},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[1,5] 0 1 2 3 4", "int32[1] 3", "int32[1,2] 2 2"},
            .outputs = {"float32[3,3] 0 1 4 0 2 0 0 3 0"}},
        {.op = "BatchToSpaceND",
            .inputs = {"int32[3,3] 0 1 4 0 2 0 0 3 0", "int64[1] 3", "int32[1,2] 2 2"},
            .outputs = {"int32[1,5] 0 1 2 3 4"}},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[2,4,3,2] 0 1 2 3 4 5 6 7 8 9 1e+01 11 12 13 14 15 16 17 18 19 2e+01 21 22 23 "
                       "24 25 26 27 28 29 3e+01 31 32 33 34 35 36 37 38 39 4e+01 41 42 43 44 45 46 47",
                "int32[1] 2", "int32[1,2] 0 2"},
            .outputs = {"float32[4,3,3,2] 0 1 2 3 4 5 12 13 14 15 16 17 0 0 0 0 0 0 24 25 26 27 28 29 36 37 "
                        "38 39 4e+01 41 0 0 0 0 0 0 6 7 8 9 1e+01 11 18 19 2e+01 21 22 23 0 0 0 0 0 0 3e+01 "
                        "31 32 33 34 35 42 43 44 45 46 47 0 0 0 0 0 0"}},
        {.op = "BatchToSpaceND",
            .inputs = {"int32[4,3,3,2] 0 1 2 3 4 5 12 13 14 15 16 17 0 0 0 0 0 0 24 25 26 27 28 29 36 37 38 "
                       "39 40 41 0 0 0 0 0 0 6 7 8 9 10 11 18 19 20 21 22 23 0 0 0 0 0 0 30 31 32 33 34 35 "
                       "42 43 44 45 46 47 0 0 0 0 0 0",
                "int64[1] 2", "int32[1,2] 0 2"},
            .outputs = {"int32[2,4,3,2] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 "
                        "26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47"}},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[1,1,2,1,2] 0 1 2 3", "int32[3] 1 2 3", "int32[3,2] 0 0 1 1 5 3"},
            .outputs = {"float32[6,1,2,3,2] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                        "2 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0"}},
        {.op = "BatchToSpaceND",
            .inputs = {"int32[6,1,2,3,2] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2 3 "
                       "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0",
                "int64[3] 1 2 3", "int32[3,2] 0 0 1 1 5 3"},
            .outputs = {"int32[1,1,2,1,2] 0 1 2 3"}},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[3,2] 0 1 2 3 4 5", "int32[0]", "int32[0,2]"},
            .outputs = {"float32[3,2] 0 1 2 3 4 5"}},
        {.op = "BatchToSpaceND",
            .inputs = {"int32[3,2] 0 1 2 3 4 5", "int64[0]", "int32[0,2]"},
            .outputs = {"int32[3,2] 0 1 2 3 4 5"}},
        {.op = "SpaceToBatch",
            .attrs = "block_size=2",
            .inputs = {"uint8[1,3,4,1] 0 1 2 3 4 5 6 7 8 9 10 11", "int32[2,2] 1 0 0 0"},
            .outputs = {"uint8[4,2,2,1] 0 0 4 6 0 0 5 7 0 2 8 10 1 3 9 11"}},
        {.op = "BatchToSpace",
            .attrs = "block_size=2",
            .inputs = {"float64[8,2,1,1] 0 1 2 3 4 5 6 7 8 9 1e+01 11 12 13 14 15", "int32[2,2] 1 0 0 1"},
            .outputs = {"float64[2,3,1,1] 8 1 9 1e+01 3 11"}},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[0,2]", "int32[1] 2", "int32[1,2] 0 0"},
            .outputs = {"float32[0,1]"}},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[1,3] -2 0.96 0.89", "int32[1] 2", "int32[1,2] 0 0"},
            .error = "3 does not divide by blocks of 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "BatchToSpaceND",
            .inputs = {"float32[3,1] 0.47 -1.35 0.22", "int32[1] 2", "int32[1,2] 0 0"},
            .error = "3 does not divide by blocks of 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "BatchToSpaceND",
            .inputs = {"float32[2,1] -0.77 1.91", "int32[1] 2", "int32[1,2] 2 1"},
            .error = "2 cannot be cropped by 2 and 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[2,1] 1.12 -1.85", "int32[1] 0", "int32[1,2] 2 1"},
            .error = "block size 0 is 0, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[2,1] -1.48 -1.37", "int32[1] 1", "int32[1,2] -1 1"},
            .error = "paddings or crops of dimension 1 are not within",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SpaceToBatchND",
            .inputs = {"float32[2] -0.6 -1.91", "int32[1] 1", "int32[1,2] 0 1"},
            .error = "an input of rank 1 has no batch and 1 dimensions",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
slices_are_scattered(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ScatterNd",
            .inputs = {"int32[4,1] 4 3 1 4", "float32[4] 9 1e+01 11 12", "int32[1] 8"},
            .outputs = {"float32[8] 0 11 0 1e+01 21 0 0 0"}},
        {.op = "ScatterNd",
            .inputs = {"int64[2,1] 0 2", "float32[2,2,2] -1.47 -1.12 1.2 0.03 0.06 -1.48 -0.34 -1.77",
                "int64[3] 3 2 2"},
            .outputs = {"float32[3,2,2] -1.47 -1.12 1.2 0.03 0 0 0 0 0.06 -1.48 -0.34 -1.77"}},
        {.op = "ScatterNd",
            .inputs = {"int32[2,2] 0 1 1 0", "int64[2] 1 3", "int32[2] 2 2"},
            .outputs = {"int64[2,2] 0 1 3 0"}},
        {.op = "ScatterNd",
            .inputs = {"int32[0,1]", "float32[0,2]", "int32[2] 2 2"},
            .outputs = {"float32[2,2] 0 ..."}},
        {.op = "ScatterNd",
            .inputs = {"int32[1,2,1] 0 1", "float64[1,2] 1 2", "int32[1] 2"},
            .outputs = {"float64[2] 1 2"}},
        {.op = "ScatterNd",
            .inputs = {"int32[1,1] 2", "float32[1] 1", "int32[1] 2"},
            .error = "index 2 at 0 is not within 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ScatterNd",
            .inputs = {"int32[1,1] 0", "float32[2] 1 2", "int32[1] 2"},
            .error = "the updates have shape [2], not [1]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ScatterNd",
            .inputs = {"int32[1,1] 0", "float32[1] 1", "int32[1] -2"},
            .error = "dimension 0 is -2, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "TensorScatterUpdate",
            .inputs = {"float32[4,2] 3 0 -1 -3 -4 -2 -2 -4", "int32[3,1] 3 1 3", "float32[3,2] 1 1 2 1 2 -4"},
            .outputs = {"float32[4,2] 3 0 2 1 -4 -2 2 -4"}},
        {.op = "TensorScatterUpdate",
            .inputs = {"int32[4,2] 0 -2 1 -1 4 -5 -1 -2", "int32[3,1] 3 1 3", "int32[3,2] 3 -3 3 -2 4 -3"},
            .outputs = {"int32[4,2] 0 -2 3 -2 4 -5 4 -3"}},
        {.op = "TensorScatterAdd",
            .inputs = {"float32[4,2] -4 4 1 4 -1 4 1 2", "int32[3,1] 3 1 3", "float32[3,2] 3 4 1 -1 1 -1"},
            .outputs = {"float32[4,2] -4 4 2 3 -1 4 5 5"}},
        {.op = "TensorScatterAdd",
            .inputs = {"int32[4,2] 0 2 -1 -5 0 -3 0 -1", "int32[3,1] 3 1 3", "int32[3,2] 0 -4 2 -1 -1 -1"},
            .outputs = {"int32[4,2] 0 2 1 -6 0 -3 -1 -6"}},
        {.op = "TensorScatterSub",
            .inputs = {"float32[4,2] -3 3 2 1 1 3 -5 1", "int32[3,1] 3 1 3", "float32[3,2] -3 1 3 -1 2 3"},
            .outputs = {"float32[4,2] -3 3 -1 2 1 3 -4 -3"}},
        {.op = "TensorScatterSub",
            .inputs = {"int32[4,2] -2 -2 -1 -5 -3 3 3 -3", "int32[3,1] 3 1 3", "int32[3,2] 0 1 3 -5 2 -2"},
            .outputs = {"int32[4,2] -2 -2 -4 0 -3 3 1 -2"}},
        {.op = "TensorScatterMin",
            .inputs = {"float32[4,2] 2 3 0 0 -5 1 -1 -4", "int32[3,1] 3 1 3", "float32[3,2] 3 -2 4 0 -1 2"},
            .outputs = {"float32[4,2] 2 3 0 0 -5 1 -1 -4"}},
        {.op = "TensorScatterMin",
            .inputs = {"int32[4,2] -2 4 1 1 0 4 -3 2", "int32[3,1] 3 1 3", "int32[3,2] 2 1 -2 -3 -5 -1"},
            .outputs = {"int32[4,2] -2 4 -2 -3 0 4 -5 -1"}},
        {.op = "TensorScatterMax",
            .inputs = {"float32[4,2] 4 -2 -5 -4 -5 -2 -3 -5", "int32[3,1] 3 1 3",
                "float32[3,2] 0 3 -2 4 -3 -1"},
            .outputs = {"float32[4,2] 4 -2 -2 4 -5 -2 0 3"}},
        {.op = "TensorScatterMax",
            .inputs = {"int32[4,2] 4 0 -4 2 1 1 -2 4", "int32[3,1] 3 1 3", "int32[3,2] 4 4 3 3 1 -1"},
            .outputs = {"int32[4,2] 4 0 3 3 1 1 4 4"}},
        {.op = "TensorScatterUpdate",
            .inputs = {"bool[3] 1 0 1", "int32[1,1] 1", "bool[1] 1"},
            .outputs = {"bool[3] 1 ..."}},
        {.op = "TensorScatterAdd",
            .inputs = {"float32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2] 1 2", "int32[2,0]",
                "float32[2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] 1 2"},
            .error = "more than 16 dimensions",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "TensorScatterAdd",
            .inputs = {"int8[2] 127 1", "int32[1,1] 0", "int8[1] 1"},
            .outputs = {"int8[2] -128 1"}},
        {.op = "TensorScatterAdd",
            .inputs = {"float32[1] 1", "int32[1,1] -1", "float32[1] 1"},
            .error = "index -1 at 0 is not within 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ScatterNdNonAliasingAdd",
            .inputs = {"float32[2] 1 2", "int32[2,1] 1 1", "float32[2] 1 5"},
            .outputs = {"float32[2] 1 8"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_move_between_space_and_batch),
        cmocka_unit_test(slices_are_scattered),
    };
    return cmocka_run_group_tests_name("reference/scatter", tests, NULL, NULL);
}
