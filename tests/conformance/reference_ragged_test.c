/* Ragged tensors made rectangular, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
rows_are_filled_up_with_the_default_value(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[4] 0 2 2 5"},
            .outputs = {"float32[3,3] 1 2 -1 -1 -1 -1 3 4 5"}},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int32[2] 2 2", "float32[5] 1 2 3 4 5", "float32[] -1", "int32[4] 0 2 2 5"},
            .outputs = {"float32[2,2] 1 2 -1 -1"}},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[FIRST_DIM_SIZE,VALUE_ROWIDS]",
            .inputs = {"int64[2] 4 -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[] 4",
                "int64[5] 0 0 2 2 2"},
            .outputs = {"float32[4,3] 1 2 -1 -1 -1 -1 3 4 5 -1 -1 -1"}},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS,ROW_SPLITS]",
            .inputs = {"int64[3] -1 2 2", "float32[5] 1 2 3 4 5", "float32[] 0", "int64[3] 0 1 3",
                "int64[4] 0 2 2 5"},
            .outputs = {"float32[2,2,2] 1 2 0 0 0 0 3 4"}},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[FIRST_DIM_SIZE,VALUE_ROWIDS,VALUE_ROWIDS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] 0", "int64[] 2", "int64[3] 0 1 1",
                "int64[5] 0 0 2 2 2"},
            .outputs = {"float32[2,2,3] 1 2 0 0 0 0 0 0 0 3 4 5"}},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "int32[3,2] 0 1 2 3 4 5", "int32[2] 8 9", "int64[3] 0 1 3"},
            .outputs = {"int32[2,2,2] 0 1 8 9 2 3 4 5"}},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "string[3] 'a' 'bc' 'd'", "string[] '-'", "int64[3] 0 1 3"},
            .outputs = {"string[2,2] 'a' '-' 'bc' 'd'"}},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[0]", "float32[] -1", "int64[3] 0 0 0"},
            .outputs = {"float32[2,0]"}},
    };
    RUN(cases);
}

static void
partitions_that_tell_no_rows_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[4] 0 2 1 5"},
            .error = "row split 2 is 1, below 2 before it",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[3] 1 2 5"},
            .error = "row splits of 2 rows are 3 numbers from 0 on, not 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[FIRST_DIM_SIZE,VALUE_ROWIDS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[] 2",
                "int64[5] 0 0 2 2 2"},
            .error = "row id 2 at 2 is not from 0 to 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[FIRST_DIM_SIZE,VALUE_ROWIDS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[] -2",
                "int64[5] 0 0 2 2 2"},
            .error = "the first partition tells no number of rows",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[3] 0 2 4"},
            .error = "the partitions tell of 4 values, not of 5",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_IDS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[3] 0 2 5"},
            .error = "row_partition_types are ROW_SPLITS, and VALUE_ROWIDS behind one FIRST_DIM_SIZE; number "
                     "0 is not",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS,ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[3] 0 2 5"},
            .error = "row_partition_types does not name 1 partitions",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[FIRST_DIM_SIZE]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[] 2"},
            .error = "no partition tells the rows",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[3] 1 2 3", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[3] 0 2 5"},
            .error = "the shape has 3 dimensions, the ragged tensor has 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[2] -1 -2", "float32[5] 1 2 3 4 5", "float32[] -1", "int64[3] 0 2 5"},
            .error = "dimension 1 of the shape is -2, below -1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[2] 1 2", "int64[3] 0 2 5"},
            .error = "the default value does not broadcast to a value",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedTensorToTensor",
            .attrs = "row_partition_types=[ROW_SPLITS]",
            .inputs = {"int64[] -1", "float32[5] 1 2 3 4 5", "float32[] 1", "int64[1,3] 0 2 5"},
            .error = "partition 0 of the rows is no vector",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_filled_up_with_the_default_value),
        cmocka_unit_test(partitions_that_tell_no_rows_are_refused),
    };
    return cmocka_run_group_tests_name("reference/ragged", tests, NULL, NULL);
}
