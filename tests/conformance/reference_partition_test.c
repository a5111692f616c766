/* Slices dealt out and put together, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
slices_are_dealt_out_and_stitched(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "DynamicPartition",
            .attrs = "num_partitions=3",
            .inputs = {"float32[5,2] -1.69 1.12 -0.25 0.89 1.91 0.15 0 -1.71 -0.93 -0", "int32[5] 2 0 0 2 0"},
            .outputs = {"float32[3,2] -0.25 0.89 1.91 0.15 -0.93 -0", "float32[0,2]",
                "float32[2,2] -1.69 1.12 0 -1.71"}},
        {.op = "DynamicPartition",
            .attrs = "num_partitions=2",
            .inputs = {"float32[2,2,2] 0.72 1.21 -0.48 -1.74 -0.85 1.64 -1.15 -0.19", "int32[2,2] 0 1 1 1"},
            .outputs = {"float32[1,2] 0.72 1.21", "float32[3,2] -0.48 -1.74 -0.85 1.64 -1.15 -0.19"}},
        {.op = "DynamicPartition",
            .attrs = "num_partitions=2",
            .inputs = {"float32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2] 1 2", "int32[] 1"},
            .error = "more than 16 dimensions",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DynamicPartition",
            .attrs = "num_partitions=2",
            .inputs = {"float32[] 3", "int32[] 1"},
            .outputs = {"float32[0]", "float32[1] 3"}},
        {.op = "DynamicPartition",
            .attrs = "num_partitions=2",
            .inputs = {"float32[0,3]", "int32[0]"},
            .outputs = {"float32[0,3]", "float32[0,3]"}},
        {.op = "DynamicPartition",
            .attrs = "num_partitions=2",
            .inputs = {"float32[2] 1.72 -1.9", "int32[2] 0 2"},
            .error = "partition 2 at 1 is not within 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DynamicPartition",
            .attrs = "num_partitions=2",
            .inputs = {"float32[2] 0.4 1.8", "int32[1] 0"},
            .error = "a dimension of the partitions is 2 on one side and 1 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DynamicStitch",
            .inputs = {"int32[] 6", "int32[2] 4 1", "int32[2,2] 5 2 0 3", "float32[2] 61 62",
                "float32[2,2] 41 42 11 12", "float32[2,2,2] 51 52 21 22 1 2 31 32"},
            .outputs = {"float32[7,2] 1 2 11 12 21 22 31 32 41 42 51 52 61 62"}},
        {.op = "DynamicStitch",
            .inputs = {"int32[0]", "int32[2] 0 1", "int64[0]", "int64[2] 5 6"},
            .outputs = {"int64[2] 5 6"}},
        {.op = "ParallelDynamicStitch",
            .inputs = {"int32[] 6", "int32[2] 4 1", "int32[2,2] 5 2 0 3", "float32[2] 61 62",
                "float32[2,2] 41 42 11 12", "float32[2,2,2] 51 52 21 22 1 2 31 32"},
            .outputs = {"float32[7,2] 1 2 11 12 21 22 31 32 41 42 51 52 61 62"}},
        {.op = "ParallelDynamicStitch",
            .inputs = {"int32[0]", "int32[2] 0 1", "int64[0]", "int64[2] 5 6"},
            .outputs = {"int64[2] 5 6"}},
        {.op = "DynamicStitch",
            .inputs = {"int32[2] 0 1", "int32[1] 1", "float32[2] 1 2", "float32[1] 3"},
            .outputs = {"float32[2] 1 3"}},
        {.op = "DynamicStitch",
            .inputs = {"int32[1] -1", "float32[1] 1"},
            .error = "index -1 at 0 is below 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DynamicStitch",
            .inputs = {"int32[2] 0 1", "float32[1] 1"},
            .error = "data 0 of shape [1] does not fit indices of shape [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
rows_are_joined(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ParallelConcat",
            .attrs = "shape=[2,2]",
            .inputs = {"float32[1,2] -1.08 0.19", "float32[1,2] 1.64 -1.47"},
            .outputs = {"float32[2,2] -1.08 0.19 1.64 -1.47"}},
        {.op = "ParallelConcat",
            .attrs = "shape=[3,2]",
            .inputs = {"float32[1,2] 0.09 1", "float32[1,2] 0.68 -0.13"},
            .error = "the values make shape [2,2], not [3,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_dealt_out_and_stitched),
        cmocka_unit_test(rows_are_joined),
    };
    return cmocka_run_group_tests_name("reference/partition", tests, NULL, NULL);
}
