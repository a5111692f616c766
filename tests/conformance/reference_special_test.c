/* Special functions, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
special_functions_are_computed(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Digamma",
            .inputs = {"float32[8] 0.1 1 2.5 1e+01 5e+01 -0.5 -2.3 0.001"},
            .outputs = {"float32[8] -10.423755 -0.5772159 0.7031568 2.2517526 3.9019897 0.036489964 3.317324 "
                        "-1000.57556"},
            .tolerance = 2e-05},
        {.op = "Zeta",
            .inputs = {"float32[5] 1.5 2 3 7.5 2e+01", "float32[5] 0.5 1 2.5 0.1 3"},
            .outputs = {"float32[5] 4.776538 1.644934 0.11810202 31622774 2.8771746e-10"},
            .tolerance = 1e-05},
        {.op = "Zeta", .inputs = {"float32[2] 1 0.5", "float32[1] 2"}, .outputs = {"float32[2] inf nan"}},
        {.op = "Polygamma",
            .inputs = {"float32[5] 0 1 2 3 5", "float32[5] 1.5 2 0.5 3 1"},
            .outputs = {"float32[5] 0.036489964 0.6449341 -16.828794 0.11893941 122.08118"},
            .tolerance = 1e-05},
        {.op = "Igamma",
            .inputs = {"float32[6] 0.5 1 2 5 1e+01 3", "float32[6] 0.1 1 5 2 12 0"},
            .outputs = {"float32[6] 0.34527916 0.6321205 0.9595723 0.05265302 0.7576076 0"},
            .tolerance = 1e-05},
        {.op = "Igammac",
            .inputs = {"float32[6] 0.5 1 2 5 1e+01 3", "float32[6] 0.1 1 5 2 12 0"},
            .outputs = {"float32[6] 0.65472084 0.36787945 0.040427685 0.947347 0.24239245 1"},
            .tolerance = 1e-05},
        {.op = "Igamma",
            .inputs = {"float32[2,1] -1 1", "float32[2] 1 -1"},
            .outputs = {"float32[2,2] nan nan 0.6321205 nan"}},
        {.op = "Betainc",
            .inputs = {"float32[6] 0.5 1 2 5 1e+01 3", "float32[6] 1 0.5 3 2 1 0.2",
                "float32[6] 0.1 0.5 0.9 0.3 0.99 1"},
            .outputs = {"float32[6] 0.31622776 0.2928932 0.9963 0.010935005 0.9043821 1"},
            .tolerance = 1e-05},
        {.op = "Betainc",
            .inputs = {"float32[3] -1 1 1", "float32[3] 1 0 1", "float32[3] 0.5 0.5 2"},
            .outputs = {"float32[3] nan ..."}},
        {.op = "NextAfter",
            .inputs = {"float32[4] 1 1 0 -1", "float32[4] 2 0 1 -1"},
            .outputs = {"float32[4] 1.0000001 0.99999994 1e-45 -1"},
            .tolerance = 1e-300},
        {.op = "Digamma",
            .inputs = {"float64[8] 0.1 1 2.5 1e+01 5e+01 -0.5 -2.3 0.001"},
            .outputs =
                {"float64[8] -10.423754940411076 -0.5772156649015323 0.7031566406452434 2.2517525890667214 "
                 "3.9019896734278925 0.03648997397857645 3.317323157561823 -1000.5755719318104"},
            .tolerance = 1e-10},
        {.op = "Zeta",
            .inputs = {"float64[5] 1.5 2 3 7.5 2e+01", "float64[5] 0.5 1 2.5 0.1 3"},
            .outputs = {"float64[5] 4.776537947554834 1.6449340668482266 0.11810202582086368 "
                        "31622777.095030937 2.8771746654611316e-10"},
            .tolerance = 1e-11},
        {.op = "Zeta", .inputs = {"float64[2] 1 0.5", "float64[1] 2"}, .outputs = {"float64[2] inf nan"}},
        /* Terms of numbers below 0, of which there may be 4e15. */
        {.op = "Zeta",
            .inputs = {"float64[6] 2 4 3 2 3 3", "float64[6] -1e12 -2.5 -1.25 -0.001 -0.75 -0.5"},
            .outputs = {"float64[6] inf 32.457979369864604 -61.86068339183118 1000001.6473414318 "
                        "62.2934995983981 0.41439832211716"},
            .tolerance = 1e-11},
        {.op = "Zeta",
            .inputs = {"float64[1] 2", "float64[1] -1000000000000.5"},
            .outputs = {"float64[1] 9.869604401088358"},
            .tolerance = 1e-11},
        {.op = "Polygamma",
            .inputs = {"float64[5] 0 1 2 3 5", "float64[5] 1.5 2 0.5 3 1"},
            .outputs = {"float64[5] 0.03648997397857645 0.6449340668482266 -16.828796644234316 "
                        "0.11893940226682916 122.08116743813383"},
            .tolerance = 1e-11},
        {.op = "Igamma",
            .inputs = {"float64[6] 0.5 1 2 5 1e+01 3", "float64[6] 0.1 1 5 2 12 0"},
            .outputs = {"float64[6] 0.345279153981423 0.6321205588285578 0.9595723180054873 "
                        "0.052653017343711125 0.757607838329488 0"},
            .tolerance = 1e-10},
        {.op = "Igammac",
            .inputs = {"float64[6] 0.5 1 2 5 1e+01 3", "float64[6] 0.1 1 5 2 12 0"},
            .outputs = {"float64[6] 0.6547208460185769 0.36787944117144233 0.04042768199451279 "
                        "0.9473469826562889 0.24239216167051197 1"},
            .tolerance = 1e-10},
        {.op = "Igamma",
            .inputs = {"float64[2,1] -1 1", "float64[2] 1 -1"},
            .outputs = {"float64[2,2] nan nan 0.6321205588285578 nan"}},
        {.op = "Betainc",
            .inputs = {"float64[6] 0.5 1 2 5 1e+01 3", "float64[6] 1 0.5 3 2 1 0.2",
                "float64[6] 0.1 0.5 0.9 0.3 0.99 1"},
            .outputs = {"float64[6] 0.31622776601683805 0.2928932188134524 0.9963 0.010935000000000002 "
                        "0.9043820750088043 1"},
            .tolerance = 1e-10},
        {.op = "Betainc",
            .inputs = {"float64[3] -1 1 1", "float64[3] 1 0 1", "float64[3] 0.5 0.5 2"},
            .outputs = {"float64[3] nan ..."}},
        {.op = "NextAfter",
            .inputs = {"float64[4] 1 1 0 -1", "float64[4] 2 0 1 -1"},
            .outputs = {"float64[4] 1.0000000000000002 0.9999999999999999 5e-324 -1"},
            .tolerance = 1e-300},
        {.op = "LeftShift", .inputs = {"int8[3] 1 3 5", "int8[3] 0 2 6"}, .outputs = {"int8[3] 1 12 64"}},
        {.op = "RightShift",
            .inputs = {"int8[3] 100 -128 5", "int8[3] 1 2 0"},
            .outputs = {"int8[3] 50 -32 5"}},
        {.op = "LeftShift", .inputs = {"uint8[3] 1 3 5", "uint8[3] 0 2 6"}, .outputs = {"uint8[3] 1 12 64"}},
        {.op = "RightShift",
            .inputs = {"uint8[3] 100 200 5", "uint8[3] 1 2 0"},
            .outputs = {"uint8[3] 50 50 5"}},
        {.op = "LeftShift", .inputs = {"int32[3] 1 3 5", "int32[3] 0 2 6"}, .outputs = {"int32[3] 1 12 320"}},
        {.op = "RightShift",
            .inputs = {"int32[3] 100 -128 5", "int32[3] 1 2 0"},
            .outputs = {"int32[3] 50 -32 5"}},
        {.op = "LeftShift", .inputs = {"int64[3] 1 3 5", "int64[3] 0 2 6"}, .outputs = {"int64[3] 1 12 320"}},
        {.op = "RightShift",
            .inputs = {"int64[3] 100 -128 5", "int64[3] 1 2 0"},
            .outputs = {"int64[3] 50 -32 5"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_functions_are_computed),
    };
    return cmocka_run_group_tests_name("reference/special", tests, NULL, NULL);
}
