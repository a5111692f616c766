/* Numbers counted in rows. Expected values are TensorFlow 2.21.0's. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
numbers_are_counted_in_each_row(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "RaggedBincount",
            .attrs = "binary_output=false",
            .inputs = {"int64[4] 0 3 3 5", "int64[5] 1 1 9 0 2", "int64[] 4", "float32[0]"},
            .outputs = {"float32[3,4] 0 2 0 0 0 0 0 0 1 0 1 0"}},
        {.op = "RaggedBincount",
            .attrs = "binary_output=true",
            .inputs = {"int64[4] 0 3 3 5", "int64[5] 1 1 9 0 2", "int64[] 4", "float32[0]"},
            .outputs = {"float32[3,4] 0 1 0 0 0 0 0 0 1 0 1 0"}},
        {.op = "RaggedBincount",
            .inputs = {"int64[3] 0 3 5", "int32[5] 1 1 9 0 2", "int32[] 3", "float32[5] 0.5 0.25 7 1 2"},
            .outputs = {"float32[2,3] 0 0.75 0 1 0 2"}},
        {.op = "RaggedBincount",
            .inputs = {"int64[2] 0 2", "int32[2] 1 1", "int32[] 2", "int32[2] 3 4"},
            .outputs = {"int32[1,2] 0 7"}},
        {.op = "RaggedBincount",
            .inputs = {"int64[1] 0", "int32[0]", "int32[] 2", "int32[0]"},
            .outputs = {"int32[0,2]"}},
    };
    RUN(cases);
}

static void
splits_and_bins_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "RaggedBincount",
            .inputs = {"int64[2] 0 3", "int32[2] 1 1", "int32[] 2", "float32[0]"},
            .error = "splits go from 0 to 3, not from 0 to 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedBincount",
            .inputs = {"int64[3] 0 3 2", "int32[2] 1 1", "int32[] 2", "float32[0]"},
            .error = "splits go down from 3 to 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedBincount",
            .inputs = {"int64[2] 0 2", "int32[2] 1 -1", "int32[] 2", "float32[0]"},
            .error = "element 1 is -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedBincount",
            .inputs = {"int64[2] 0 2", "int32[2] 1 1", "int32[] -2", "float32[0]"},
            .error = "-2 bins are not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedBincount",
            .inputs = {"int64[0]", "int32[2] 1 1", "int32[] 2", "float32[0]"},
            .error = "the splits have no element, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RaggedBincount",
            .inputs = {"int64[2] 0 2", "int32[2] 1 1", "int32[] 2", "float32[1] 1"},
            .error = "the number of weights is 1 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_counted_in_each_row),
        cmocka_unit_test(splits_and_bins_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("reference/count_ragged", tests, NULL, NULL);
}
