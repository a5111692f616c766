/* Elements counted, told apart and ranked, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
elements_are_counted_and_ranked(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Bincount",
            .inputs = {"int32[5] 1 1 5 0 9", "int32[] 6", "float32[0]"},
            .outputs = {"float32[6] 1 2 0 0 0 1"}},
        {.op = "Bincount",
            .inputs = {"int32[5] 1 1 5 0 9", "int32[] 6", "int32[0]"},
            .outputs = {"int32[6] 1 2 0 0 0 1"}},
        {.op = "Bincount",
            .inputs = {"int32[5] 1 1 5 0 9", "int32[] 6", "int64[0]"},
            .outputs = {"int64[6] 1 2 0 0 0 1"}},
        {.op = "Bincount",
            .inputs = {"int32[5] 1 1 5 0 9", "int32[] 6", "float64[0]"},
            .outputs = {"float64[6] 1 2 0 0 0 1"}},
        {.op = "Bincount",
            .inputs = {"int32[2,2] 1 1 5 0", "int32[] 4", "float32[2,2] 0.5 0.25 1 2"},
            .outputs = {"float32[4] 2 0.75 0 0"}},
        {.op = "Bincount",
            .inputs = {"int32[0]", "int32[] 3", "float32[0]"},
            .outputs = {"float32[3] 0 ..."}},
        {.op = "Bincount",
            .inputs = {"int32[1] -1", "int32[] 3", "float32[0]"},
            .error = "element 0 is -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Bincount",
            .inputs = {"int32[1] 1", "int32[] -3", "float32[0]"},
            .error = "-3 bins are not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Bincount",
            .inputs = {"int32[1] 1", "int32[] 3", "float32[2] 1 2"},
            .error = "weights have shape [2], not [1] or no elements",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "HistogramFixedWidth",
            .inputs = {"float32[7] -1 0 1.5 2 5 15 5", "float32[2] 0 5", "int32[] 5"},
            .outputs = {"int32[5] 2 1 1 0 3"}},
        {.op = "HistogramFixedWidth",
            .attrs = "dtype=int64",
            .inputs = {"float64[2,2] 1 2 3 4", "float64[2] 1 4", "int32[] 3"},
            .outputs = {"int64[3] 1 1 2"}},
        {.op = "HistogramFixedWidth",
            .inputs = {"int32[5] -1 0 7 3 9", "int32[2] 0 9", "int32[] 4"},
            .outputs = {"int32[4] 2 1 0 2"}},
        {.op = "HistogramFixedWidth",
            .inputs = {"float32[1] 1", "float32[2] 5 5", "int32[] 3"},
            .error = "the range ends at 5, not above 5",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "HistogramFixedWidth",
            .inputs = {"float32[1] 1", "float32[2] 0 5", "int32[] 0"},
            .error = "0 bins are not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Bucketize",
            .attrs = "boundaries=[0.0,10.0,100.0]",
            .inputs = {"float32[3,2] -5 1e+04 1.5e+02 1e+01 5 1e+02"},
            .outputs = {"int32[3,2] 0 3 3 2 1 3"}},
        {.op = "Bucketize",
            .attrs = "boundaries=[0.5]",
            .inputs = {"int32[2] 0 1"},
            .outputs = {"int32[2] 0 1"}},
        {.op = "NthElement",
            .inputs = {"float32[2,4] 3 1 2 5 9 7 8 7", "int32[] 1"},
            .outputs = {"float32[2] 2 7"}},
        {.op = "NthElement",
            .attrs = "reverse=true",
            .inputs = {"float32[4] 3 1 2 5", "int32[] 0"},
            .outputs = {"float32[] 5"}},
        {.op = "NthElement",
            .inputs = {"int32[2,4] 3 1 2 5 9 7 8 7", "int32[] 1"},
            .outputs = {"int32[2] 2 7"}},
        {.op = "NthElement",
            .attrs = "reverse=true",
            .inputs = {"int32[4] 3 1 2 5", "int32[] 0"},
            .outputs = {"int32[] 5"}},
        {.op = "NthElement",
            .inputs = {"uint8[2,4] 3 1 2 5 9 7 8 7", "int32[] 1"},
            .outputs = {"uint8[2] 2 7"}},
        {.op = "NthElement",
            .attrs = "reverse=true",
            .inputs = {"uint8[4] 3 1 2 5", "int32[] 0"},
            .outputs = {"uint8[] 5"}},
        {.op = "NthElement",
            .inputs = {"float64[2,4] 3 1 2 5 9 7 8 7", "int32[] 1"},
            .outputs = {"float64[2] 2 7"}},
        {.op = "NthElement",
            .attrs = "reverse=true",
            .inputs = {"float64[4] 3 1 2 5", "int32[] 0"},
            .outputs = {"float64[] 5"}},
        {.op = "NthElement",
            .inputs = {"float32[2,3] -1.18 -0.04 -0.51 -0.09 -0.54 1.35", "int32[] 3"},
            .error = "n is 3, not within 3 elements",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "NthElement",
            .inputs = {"float32[] 1", "int32[] 0"},
            .error = "a scalar has no n-th element",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "InvertPermutation", .inputs = {"int32[5] 3 4 0 2 1"}, .outputs = {"int32[5] 2 4 3 0 1"}},
        {.op = "InvertPermutation", .inputs = {"int64[0]"}, .outputs = {"int64[0]"}},
        {.op = "InvertPermutation",
            .inputs = {"int32[2] 0 2"},
            .error = "which is no place of a permutation of 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "InvertPermutation",
            .inputs = {"int32[2] 1 1"},
            .error = "or is there twice",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
unique_elements_are_found(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Unique",
            .inputs = {"int32[9] 1 1 2 4 4 4 7 8 8"},
            .outputs = {"int32[5] 1 2 4 7 8", "int32[9] 0 0 1 2 2 2 3 4 4"}},
        {.op = "Unique",
            .attrs = "out_idx=int64",
            .inputs = {"float32[6] 1 -0 0 1 nan nan"},
            .outputs = {"float32[4] 1 -0 nan nan", "int64[6] 0 1 1 0 2 3"}},
        {.op = "Unique", .inputs = {"float32[0]"}, .outputs = {"float32[0]", "int32[0]"}},
        {.op = "UniqueV2",
            .inputs = {"int32[3,3] 1 0 0 1 0 0 2 0 0", "int64[1] 0"},
            .outputs = {"int32[2,3] 1 0 0 2 0 0", "int32[3] 0 0 1"}},
        {.op = "UniqueV2",
            .inputs = {"int8[3,3] 1 0 0 1 0 0 2 0 0", "int32[1] 1"},
            .outputs = {"int8[3,2] 1 0 1 0 2 0", "int32[3] 0 1 1"}},
        {.op = "UniqueV2", /* slices without elements are equal */
            .inputs = {"float32[2,3,0]", "int32[1] 1"},
            .outputs = {"float32[2,1,0]", "int32[3] 0 0 0"}},
        {.op = "UniqueV2",
            .inputs = {"uint8[3] 3 3 1", "int32[0]"},
            .outputs = {"uint8[2] 3 1", "int32[3] 0 0 1"}},
        {.op = "UniqueWithCounts",
            .inputs = {"int64[9] 1 1 2 4 4 4 7 8 8"},
            .outputs = {"int64[5] 1 2 4 7 8", "int32[9] 0 0 1 2 2 2 3 4 4", "int32[5] 2 1 3 1 2"}},
        {.op = "UniqueWithCountsV2",
            .inputs = {"float64[2,2,2] 1 2 1 2 3 4 3 4", "int64[1] 1"},
            .outputs = {"float64[2,1,2] 1 2 3 4", "int32[2] 0 0", "int32[1] 2"}},
        {.op = "Unique",
            .inputs = {"string[5] 'b' 'a' 'b' '' 'a'"},
            .outputs = {"string[3] 'b' 'a' ''", "int32[5] 0 1 0 2 1"}},
        {.op = "UniqueWithCounts",
            .inputs = {"string[2] 'x' 'x'"},
            .outputs = {"string[1] 'x'", "int32[2] 0 0", "int32[1] 2"}},
        {.op = "Unique",
            .inputs = {"float32[2,2] 1.07 -0.74 0.29 -0.9"},
            .error = "input 0 has shape [2,2], not rank 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "UniqueV2",
            .inputs = {"float32[2,2] -0.19 -0.59 0.63 -0.52", "int32[1] 2"},
            .error = "axis 2 is not within a tensor of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
numbers_of_each_row_are_counted_apart(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "DenseBincount",
            .inputs = {"int32[4] 1 1 0 7", "int32[] 4", "float32[0]"},
            .outputs = {"float32[4] 1 2 0 0"}},
        {.op = "DenseBincount",
            .inputs = {"int64[4] 1 1 0 7", "int64[] 4", "int64[4] 1 2 3 4"},
            .outputs = {"int64[4] 3 3 0 0"}},
        {.op = "DenseBincount",
            .inputs = {"int32[2,2] 1 1 0 2", "int32[] 3", "float32[0]"},
            .outputs = {"float32[2,3] 0 2 0 1 0 1"}},
        {.op = "DenseBincount",
            .attrs = "binary_output=true",
            .inputs = {"int32[2,2] 1 1 0 2", "int32[] 3", "float32[0]"},
            .outputs = {"float32[2,3] 0 1 0 1 0 1"}},
        {.op = "DenseBincount",
            .attrs = "binary_output=true",
            .inputs = {"int32[3] 0 1 0", "int32[] 3", "float32[3] 0 5 2"},
            .outputs = {"float32[3] 1 1 0"}},
        {.op = "DenseBincount",
            .inputs = {"int32[2,2] 1 1 0 2", "int32[] 3", "float32[2,2] 0.5 1 2 4"},
            .outputs = {"float32[2,3] 0 1.5 0 2 0 4"}},
        {.op = "DenseBincount",
            .inputs = {"int32[2,0]", "int32[] 3", "float32[0]"},
            .outputs = {"float32[2,3] 0 0 0 0 0 0"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_counted_and_ranked),
        cmocka_unit_test(unique_elements_are_found),
        cmocka_unit_test(numbers_of_each_row_are_counted_apart),
    };
    return cmocka_run_group_tests_name("reference/count", tests, NULL, NULL);
}
