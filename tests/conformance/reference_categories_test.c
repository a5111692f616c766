/* Labels mapped to others, and categories as ones and zeros, against ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

/* The last one of equal keys counts, as ONNX asks. */
static void
labels_become_the_values_of_their_keys(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"string[3] 'a' 'z' 'b'", "string[2] 'a' 'b'", "int64[2] 5 6", "int64[] -1"},
            .outputs = {"int64[3] 5 -1 6"}},
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"float32[4] 1 nan -0 7", "float32[3] nan 0 1", "string[3] 'n' 'zero' 'one'",
                "string[] '_Unused'"},
            .outputs = {"string[4] 'one' 'n' 'zero' '_Unused'"}},
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"int64[2,2] 1 2 1 9", "int64[3] 1 2 1", "float32[3] 0.5 1.5 2.5", "float32[1] -0"},
            .outputs = {"float32[2,2] 2.5 1.5 2.5 -0"}},
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"float64[] 2", "float64[2] 1 2", "int16[2] 7 8", "int16[] -1"},
            .outputs = {"int16[] 8"}},
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"string[0]", "string[1] 'a'", "string[1] 'b'", "string[] ''"},
            .outputs = {"string[0]"}},
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"string[1] 'x'", "string[0]", "int64[0]", "int64[] 3"},
            .outputs = {"int64[1] 3"}},
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"int64[1] 1", "int64[2] 1 2", "int64[3] 1 2 3", "int64[] 3"},
            .error = "the number of keys and values is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_MapLabels",
            .inputs = {"int64[1] 1", "int64[1] 1", "int64[1] 1", "int64[2] 3 4"},
            .error = "the default has 2 elements, not one",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
categories_become_rows_with_a_one(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::OneHotEncoder",
            .attrs = "cats_strings=[a,b]",
            .inputs = {"string[3] 'a' 'z' 'b'"},
            .outputs = {"float32[3,2] 1 0 0 0 0 1"}},
        {.op = "ai.onnx.ml::OneHotEncoder",
            .attrs = "cats_int64s=[1,3,5]",
            .inputs = {"float32[2,1] 1.7 3"},
            .outputs = {"float32[2,1,3] 1 0 0 0 1 0"}},
        {.op = "ai.onnx.ml::OneHotEncoder",
            .attrs = "cats_int64s=[1,3]",
            .inputs = {"int32[] 3"},
            .outputs = {"float32[2] 0 1"}},
        {.op = "ai.onnx.ml::OneHotEncoder",
            .attrs = "cats_int64s=[1,3]",
            .inputs = {"int64[0,2]"},
            .outputs = {"float32[0,2,2]"}},
        {.op = "ai.onnx.ml::OneHotEncoder",
            .attrs = "cats_int64s=[1,3,5]; zeros=0",
            .inputs = {"int64[2] 3 9"},
            .error = "element 1 is none of the 3 categories, and zeros=0 asks for one of them",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::OneHotEncoder",
            .attrs = "cats_int64s=[1,3,5]",
            .inputs = {"string[1] 'a'"},
            .error = "categories of integers do not fit an input of strings",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_become_the_values_of_their_keys),
        cmocka_unit_test(categories_become_rows_with_a_one),
    };
    return cmocka_run_group_tests_name("reference/categories", tests, NULL, NULL);
}
