/* Numbers rounded to steps. Expected values are TensorFlow 2.21.0's. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static const OpCase step_cases[] = {
    {.op = "FakeQuantWithMinMaxArgs",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -6.02352953 -0.988235295 -0.282352954 0 0.0941176489 0.470588237 "
                    "0.988235295 5.97647047 0.235294119 -0.517647088 1.50588238 2.49411774"}},
    {.op = "FakeQuantWithMinMaxArgsGradient",
        .inputs = {"float32[3,4] -0.800000012 -1.32000005 -0.25 0.419999987 1.13999999 0.109999999 "
                   "-0.550000012 -0.779999971 0.75 1.63 0.270000011 -1.23000002",
            "float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -0 -1.32000005 -0.25 0.419999987 1.13999999 0.109999999 -0.550000012 "
                    "-0 0.75 1.63 0.270000011 -1.23000002"}},
    {.op = "FakeQuantWithMinMaxArgs",
        .attrs = "min=-1.0; max=1.0",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -0.996078491 -0.996078491 -0.298039228 0 0.101960793 0.48627454 "
                    "1.00392163 1.00392163 0.250980407 -0.501960814 1.00392163 1.00392163"}},
    {.op = "FakeQuantWithMinMaxArgsGradient",
        .attrs = "min=-1.0; max=1.0",
        .inputs = {"float32[3,4] -0.959999979 1.60000002 0.200000003 -1.73000002 -0.0799999982 -1.15999997 "
                   "-0.629999995 -0.49000001 -0.709999979 0.550000012 -0.0599999987 -0.589999974",
            "float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -0 0 0.200000003 -1.73000002 -0.0799999982 -1.15999997 -0.629999995 -0 "
                    "-0.709999979 0.550000012 -0 -0"}},
    {.op = "FakeQuantWithMinMaxArgs",
        .attrs = "min=-1.0; max=1.0; num_bits=4",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -0.933333397 -0.933333397 -0.266666681 0 0.13333334 0.533333361 "
                    "1.06666672 1.06666672 0.266666681 -0.533333361 1.06666672 1.06666672"}},
    {.op = "FakeQuantWithMinMaxArgsGradient",
        .attrs = "min=-1.0; max=1.0; num_bits=4",
        .inputs = {"float32[3,4] 0.409999996 0.829999983 -1.63999999 -0.25999999 -0.980000019 -0.170000002 "
                   "-1.28999996 0.0199999996 -0.0399999991 -0.300000012 -1.04999995 -0.400000006",
            "float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] 0 0 -1.63999999 -0.25999999 -0.980000019 -0.170000002 -1.28999996 0 "
                    "-0.0399999991 -0.300000012 -0 -0"}},
    {.op = "FakeQuantWithMinMaxArgs",
        .attrs = "min=0.0; max=6.0; narrow_range=true",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] 0 0 0 0 0.0944881886 0.496062994 0.992125988 6 0.259842515 0 "
                    "1.51181102 2.50393701"}},
    {.op = "FakeQuantWithMinMaxArgsGradient",
        .attrs = "min=0.0; max=6.0; narrow_range=true",
        .inputs = {"float32[3,4] -1.09000003 -1.36000001 0.219999999 -1.11000001 1.16999996 0.720000029 "
                   "-2 0.270000011 -1.10000002 0.0299999993 0.0399999991 -1.99000001",
            "float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -0 -0 0 -1.11000001 1.16999996 0.720000029 -2 0 -1.10000002 0 "
                    "0.0399999991 -1.99000001"}},
    {.op = "FakeQuantWithMinMaxArgs",
        .attrs = "min=0.5; max=2.0",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] 0 0 0 0 0.100000001 0.488235295 1 1.5 0.252941191 0 1.5 1.5"}},
    {.op = "FakeQuantWithMinMaxArgsGradient",
        .attrs = "min=0.5; max=2.0",
        .inputs = {"float32[3,4] -0.230000004 -0.25999999 0.959999979 -1.17999995 0.74000001 -1.10000002 "
                   "-0.330000013 -0.839999974 1.45000005 0.569999993 2.43000007 0.639999986",
            "float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -0 -0 0 -1.17999995 0.74000001 -1.10000002 -0.330000013 -0 1.45000005 "
                    "0 2.43000007 0"}},
    {.op = "FakeQuantWithMinMaxArgs",
        .attrs = "min=-3.0; max=-1.0; num_bits=3",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] -2 -0.857142925 -0.285714298 0 0 0 0 0 0 -0.571428597 0 0"}},
    {.op = "FakeQuantWithMinMaxArgsGradient",
        .attrs = "min=-3.0; max=-1.0; num_bits=3",
        .inputs = {"float32[3,4] 0.839999974 0.839999974 -0.610000014 -0.0700000003 1.35000002 -0.400000006 "
                   "0.189999998 -0.0199999996 0.610000014 -0.360000014 -0.150000006 0.239999995",
            "float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5"},
        .outputs = {"float32[3,4] 0 0.839999974 -0.610000014 -0.0700000003 0 -0 0 -0 0 -0.360000014 -0 0"}},
    {.op = "FakeQuantWithMinMaxArgs",
        .inputs = {"float32[2] inf -inf"},
        .outputs = {"float32[2] 5.97647047 -6.02352953"}},
    {.op = "FakeQuantWithMinMaxArgs", .inputs = {"float32[0,2]"}, .outputs = {"float32[0,2]"}},
    {.op = "FakeQuantWithMinMaxVars",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5",
            "float32[] -1", "float32[] 1"},
        .outputs = {"float32[3,4] -0.996078491 -0.996078491 -0.298039228 0 0.101960793 0.48627454 "
                    "1.00392163 1.00392163 0.250980407 -0.501960814 1.00392163 1.00392163"}},
    {.op = "FakeQuantWithMinMaxVars",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5",
            "float32[] 0", "float32[] 0"},
        .outputs = {"float32[3,4] 0 0 0 0 0 0 0 0 0 0 0 0"}},
    {.op = "FakeQuantWithMinMaxVars",
        .attrs = "num_bits=3",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5",
            "float32[] -0.300000012", "float32[] 2"},
        .outputs = {"float32[3,4] -0.328571409 -0.328571409 -0.328571409 0 0 0.328571409 0.985714197 "
                    "1.97142839 0.328571409 -0.328571409 1.64285707 1.97142839"}},
    {.op = "FakeQuantWithMinMaxVars",
        .attrs = "narrow_range=true; num_bits=8",
        .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5",
            "float32[] 0", "float32[] 6"},
        .outputs = {"float32[3,4] 0 0 0 0 0.0944881886 0.496062994 0.992125988 6 0.259842515 0 "
                    "1.51181102 2.50393701"}},
};

static void
numbers_are_rounded_to_steps_between_limits(void **state)
{
    (void)state;
    RUN(step_cases);
}

static void
each_channel_has_its_limits(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "FakeQuantWithMinMaxVarsPerChannel",
            .inputs = {"float32[3,4] -9 -1 -0.300000012 0 0.100000001 0.49000001 1 7 0.25 -0.5 1.5 2.5",
                "float32[4] -1 -2 0 0", "float32[4] 1 0.5 0 3"},
            .outputs = {"float32[3,4] -0.996078491 -1 0 0 0.101960793 0.490196109 0 3 0.250980407 -0.5 0 "
                        "2.5058825"}},
        {.op = "FakeQuantWithMinMaxVarsPerChannel",
            .attrs = "num_bits=4",
            .inputs = {"float32[4] -9 -1 -0.300000012 0", "float32[4] -1 -2 0 -1", "float32[4] 1 0.5 1 3"},
            .outputs = {"float32[4] -0.933333397 -1 0 0"}},
        {.op = "FakeQuantWithMinMaxVarsPerChannel",
            .inputs = {"float32[0,1]", "float32[1] -1", "float32[1] 1"},
            .outputs = {"float32[0,1]"}},
    };
    RUN(cases);
}

static void
limits_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "FakeQuantWithMinMaxVars",
            .inputs = {"float32[1] 1", "float32[] 2", "float32[] 1"},
            .error = "the lower limit 2 is not below the upper one, 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "FakeQuantWithMinMaxVars",
            .inputs = {"float32[1] 1", "float32[] nan", "float32[] 1"},
            .error = "the lower limit nan is not below the upper one, 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "FakeQuantWithMinMaxVars",
            .inputs = {"float32[1] 1", "float32[1] 2", "float32[] 1"},
            .error = "input 1 has shape [1], not rank 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "FakeQuantWithMinMaxVarsPerChannel",
            .inputs = {"float32[2] 1 1", "float32[1] -2", "float32[1] 1"},
            .error = "the number of channels is 1 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_rounded_to_steps_between_limits),
        cmocka_unit_test(each_channel_has_its_limits),
        cmocka_unit_test(limits_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("reference/quantize_fake", tests, NULL, NULL);
}
