/* Places of values in sorted lines. Expected values are TensorFlow 2.21.0's. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
values_are_placed_in_sorted_lines(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "LowerBound",
            .inputs = {"int32[2,4] 1 2 2 4 3 5 5 5", "int32[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 1 3 3 4 1 1 0 0 4"}},
        {.op = "LowerBound",
            .inputs = {"float32[2,4] 1 2 2 4 3 5 5 5", "float32[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 1 3 3 4 1 1 0 0 4"}},
        {.op = "LowerBound",
            .inputs = {"uint8[2,4] 1 2 2 4 3 5 5 5", "uint8[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 1 3 3 4 1 1 0 0 4"}},
        {.op = "LowerBound",
            .inputs = {"int64[2,4] 1 2 2 4 3 5 5 5", "int64[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 1 3 3 4 1 1 0 0 4"}},
        {.op = "LowerBound",
            .inputs = {"float64[2,4] 1 2 2 4 3 5 5 5", "float64[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 1 3 3 4 1 1 0 0 4"}},
        {.op = "LowerBound",
            .attrs = "out_type=int64",
            .inputs = {"float32[2,0]", "float32[2,1] 1 1"},
            .outputs = {"int64[2,1] 0 0"}},
        {.op = "LowerBound",
            .inputs = {"float32[1,3] -1 0 1", "float32[1,3] nan inf -inf"},
            .outputs = {"int32[1,3] 0 3 0"}},
        {.op = "LowerBound", .inputs = {"float32[1,3] 0 0 0", "float32[1,0]"}, .outputs = {"int32[1,0]"}},
        {.op = "UpperBound",
            .inputs = {"int32[2,4] 1 2 2 4 3 5 5 5", "int32[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 3 3 4 4 4 4 1 0 4"}},
        {.op = "UpperBound",
            .inputs = {"float32[2,4] 1 2 2 4 3 5 5 5", "float32[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 3 3 4 4 4 4 1 0 4"}},
        {.op = "UpperBound",
            .inputs = {"uint8[2,4] 1 2 2 4 3 5 5 5", "uint8[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 3 3 4 4 4 4 1 0 4"}},
        {.op = "UpperBound",
            .inputs = {"int64[2,4] 1 2 2 4 3 5 5 5", "int64[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 3 3 4 4 4 4 1 0 4"}},
        {.op = "UpperBound",
            .inputs = {"float64[2,4] 1 2 2 4 3 5 5 5", "float64[2,5] 0 2 3 4 9 5 5 3 1 6"},
            .outputs = {"int32[2,5] 0 3 3 4 4 4 4 1 0 4"}},
        {.op = "UpperBound",
            .attrs = "out_type=int64",
            .inputs = {"float32[2,0]", "float32[2,1] 1 1"},
            .outputs = {"int64[2,1] 0 0"}},
        {.op = "UpperBound",
            .inputs = {"float32[1,3] -1 0 1", "float32[1,3] nan inf -inf"},
            .outputs = {"int32[1,3] 3 3 0"}},
        {.op = "UpperBound", .inputs = {"float32[1,3] 0 0 0", "float32[1,0]"}, .outputs = {"int32[1,0]"}},
    };
    RUN(cases);
}

static void
rows_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "LowerBound",
            .inputs = {"float32[2,1] 1 2", "float32[1,1] 1"},
            .error = "the number of rows is 2 on one side and 1 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "UpperBound",
            .inputs = {"float32[2] 1 2", "float32[1,1] 1"},
            .error = "input 0 has shape [2], not rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_placed_in_sorted_lines),
        cmocka_unit_test(rows_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("reference/order_bounds", tests, NULL, NULL);
}
