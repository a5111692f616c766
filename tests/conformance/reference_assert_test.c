/* Checks of values, in TensorFlow's words. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

#define FAILS(types, entries, text, ...)                                                                     \
    {                                                                                                        \
        .op = "Assert", .attrs = "summarize=" entries "; T=[" types "]",                                     \
        .inputs = {"bool[] 0", __VA_ARGS__}, .error = "assertion failed: " text,                             \
        .error_code = STATUS_INVALID_ARGUMENT                                                                \
    }

static void
assertions_hold_or_show_their_data(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Assert", .attrs = "T=[DT_FLOAT]", .inputs = {"bool[] 1", "float32[2] 1 2"}},
        FAILS("DT_FLOAT,DT_INT32", "3", "[1.5] [[0 1 2...]...]", "float32[] 1.5",
            "int32[2,5] 0 1 2 3 4 5 6 7 8 9"),
        FAILS("DT_STRING,DT_STRING,DT_BOOL,DT_BOOL", "3", "[abc] [x y\\n z\\\"...] [1] [1 0]",
            "string[] 'abc'", "string[4] 'x' 'y\n' 'z\"' 'w'", "bool[] 1", "bool[2] 1 0"),
        FAILS("DT_FLOAT", "20", "[0.1 1e+10 1e-05 nan inf -inf 0.333333343 123456792 1e+07 16777216]",
            "float32[10] 0.1 1e10 1e-5 nan inf -inf 0.33333334 123456792 1e7 16777216"),
        FAILS("DT_DOUBLE", "-1", "[0.1 10000000000 1e-05 0.33333333333333331 123456789 1e+22]",
            "float64[6] 0.1 1e10 1e-5 0.33333333333333331 123456789 1e22"),
        FAILS("DT_INT8", "5", "[[[0 1 2 3][4...]]...]", "int8[2,2,4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"),
        FAILS("DT_UINT8", "30", "[[[0 1][2 3]][[4 5][6 7]]]", "uint8[2,2,2] 0 1 2 3 4 5 6 7"),
        FAILS("DT_FLOAT,DT_HALF", "5", "[] [0.0999755859]", "float32[0]", "float16[] 0.1"),
        FAILS("DT_FLOAT", "0", "[...]", "float32[] 5"),
        {.op = "Assert",
            .attrs = "T=[DT_FLOAT]",
            .inputs = {"bool[1] 1", "float32[] 1"},
            .error = "input 0 has shape [1], not rank 0",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assertions_hold_or_show_their_data),
    };
    return cmocka_run_group_tests_name("reference/assert", tests, NULL, NULL);
}
