/* Fourier transforms, against ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

/* Lengths that are powers of two, products of other small primes, primes (17) and twice that. */
static void
an_axis_is_transformed_to_its_spectrum_and_back(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::DFT",
            .inputs = {"float32[1,8,1] 3.2 -1.2 -1.1 -2.1 1.7 -4.6 3.5 -1.5", "", "int64[] 1"},
            .outputs = {"float32[1,8,2] -2.099999 0 4.328427 2.620101 2.5 2.200001 -1.328428 -6.579899 16.7 "
                        "-8.217741e-07 -1.328426 6.5799 2.5 -2.2 4.328428 -2.620102"},
            .tolerance = 1e-5},
        {.op = "onnx::DFT",
            .attrs = "inverse=1",
            .inputs = {"float32[1,6,2] 0.6 -0.5 2.9 -4.1 -0.6 -0.8 2.3 -2.2 -0.3 -1.8 0.1 1.2", "",
                "int64[] -2"},
            .outputs = {"float32[1,6,2] 0.833333 -1.366667 0.6623186 0.6191771 1.21766 0.4557793 -0.9333329 "
                        "0.3333337 -0.6009937 -0.439113 -0.5789846 -0.1025104"},
            .tolerance = 1e-5},
        {.op = "onnx::DFT",
            .inputs = {"float32[2,5,2,1] -2.2 2.3 1.8 1 1.8 -1.4 -0.2 -1.9 -0.5 1.1 -1.4 -0.8 -1.4 -1.7 -1.3 "
                       "-0 -2.2 0.5 3.3 1.5",
                "int64[] 7", "int64[] 1"},
            .outputs =
                {"float32[2,7,2,2] 0.6999997 -1.311302e-06 1.100001 8.34465e-07 -0.84758 -3.292332 3.955797 "
                 "1.884716 -4.658724 -0.7393285 2.84004 -3.927859 -2.543696 0.3338286 0.7041639 1.396336 "
                 "-2.543697 -0.3338264 0.7041609 -1.396336 -4.658725 0.7393306 2.840045 3.927858 -0.8475744 "
                 "3.292331 3.955793 -1.884721 -2.999999 1.66893e-06 -0.5000001 4.172325e-07 -2.974671 "
                 "4.74833 -3.66187 1.762999 0.7686252 -3.499223 0.8252656 0.8755452 -1.19395 4.95316 "
                 "0.2866055 1.712531 -1.193954 -4.95316 0.2866051 -1.71253 0.7686288 3.499223 0.8252648 "
                 "-0.875546 -2.974679 -4.748328 -3.661872 -1.762994"},
            .tolerance = 1e-5},
        {.op = "onnx::DFT",
            .attrs = "onesided=1",
            .inputs = {"float32[1,17,1] -0.4 -1.8 -1.5 3.4 0.1 -1.3 0.4 4.2 0.2 1.2 0.6 -0.7 -2.3 -0.7 -0.4 "
                       "1.2 1.7",
                "", "int64[] 1"},
            .outputs = {"float32[1,9,2] 3.9 -4.351139e-06 -3.724329 -4.665925 4.868181 6.312739 -6.7361 "
                        "3.973549 -4.702424 8.650054 8.975217 4.19803 -1.598205 -2.899716 0.2917952 "
                        "-0.8960496 -2.724149 -6.065354"},
            .tolerance = 1e-5},
        {.op = "onnx::DFT",
            .attrs = "onesided=1",
            .inputs = {"float32[3,4,1] 1.9 0.6 1.8 -1.5 2.5 1 -0.6 1 -0.2 2.3 3 4.4", "int64[] 2",
                "int64[] 0"},
            .outputs = {"float32[2,4,2] 4.4 0 1.6 0 1.2 0 -0.5 0 -0.6 2.185569e-07 -0.4 8.742278e-08 2.4 "
                        "-5.245367e-08 -2.5 8.742278e-08"},
            .tolerance = 1e-5},
        {.op = "onnx::DFT",
            .inputs = {"float32[1,34,2] -2.8 -2.9 -1 0.3 1.8 0.6 -4 -0.6 1.7 0.5 1.5 -0.4 -0.4 0.4 0.8 0.4 "
                       "0.2 -1.3 0.8 0.2 2.3 2.4 0.4 -0.8 -1.3 0.8 0.2 -0.7 0.1 -1.2 1.4 -0.9 2.4 0.8 1.2 "
                       "-2.2 0.3 1.5 -1.9 -0.5 0.1 -2.7 0.6 1.7 -1.7 0.7 -2.6 -0.1 -3.2 2.2 0.8 -0 -1.6 2.5 "
                       "3.9 -3.7 2.5 3.3 0.7 -2.4 1.7 -0.4 -1.2 -2.5 1.1 1.6 -1.2 1",
                "", "int64[] 1"},
            .outputs =
                {"float32[1,34,2] 3.6 -2.4 -2.989035 -6.193551 0.2801559 5.082644 -17.92823 6.824315 "
                 "-0.1387602 -3.487123 -0.7373137 -11.46404 -3.585305 16.84462 -2.791795 -8.378233 -2.603984 "
                 "-8.403115 -17.79002 -15.20563 2.356656 -15.60712 -3.824655 6.360542 -11.20318 -6.274487 "
                 "-14.20229 7.905058 -9.732594 -17.30531 25.06293 -7.230273 16.34121 6.293346 2.8 20 "
                 "-2.506333 -4.940125 -0.5219615 -11.1603 6.048748 -7.694539 -1.646259 -5.351098 -17.96732 "
                 "-21.03654 -11.54272 5.548943 -5.15721 -3.479617 -3.728764 -6.360089 0.5198208 -2.240349 "
                 "0.8161035 4.247692 4.461602 -10.48024 4.350911 -0.1202773 1.06571 9.477854 -22.29628 "
                 "4.326603 -8.979222 -21.0499 -1.030623 4.350333"},
            .tolerance = 1e-5},
        {.op = "onnx::DFT",
            .attrs = "onesided=1; inverse=1",
            .inputs = {"float32[1,5,2] -2.3 1.6 0.1 -0.4 -0.2 1.7 1.5 1.1 0.3 0.2", "", "int64[] 1"},
            .outputs =
                {"float32[1,8,1] 0.09999999 -1.121231 0.175 0.2237437 -0.7 -0.3787689 -0.575 -0.02374368"},
            .tolerance = 1e-5},
    };
    RUN(cases);
}

static void
frames_of_a_signal_are_transformed(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::STFT",
            .inputs = {"float32[1,11,1] 1.2 0.5 1.4 -0.6 -4.9 2.1 4.4 0.9 -0.2 -0.3 -0.2", "int64[] 3",
                "float32[4] 0 -2.2 -1 -2"},
            .outputs = {"float32[1,3,3,2] -1.3 0 1.4 2.3 -1.5 8.74228e-09 -0.1199994 0 2.099998 -19.58 -4.08 "
                        "1.730971e-07 -1.18 0 -0.1999998 2.58 1.58 -1.206434e-07"},
            .tolerance = 1e-5},
        {.op = "onnx::STFT",
            .attrs = "onesided=0",
            .inputs = {"float32[2,6,1] 0.5 -0.6 1 -0.3 2 0.4 4.4 -3.8 -1.3 1.8 5.1 -0.5", "int64[] 2", "",
                "int64[] 3"},
            .outputs =
                {"float32[2,2,3,2] 0.8999998 -2.980232e-08 0.3000007 1.385641 0.2999996 -1.385641 2.7 "
                 "-3.278255e-07 0.1500009 1.991859 0.1499991 -1.991858 -0.6999997 1.072884e-06 6.950001 "
                 "2.165061 6.95 -2.165064 5.599999 -1.251698e-06 -4.749999 2.857886 -4.750002 -2.857883"},
            .tolerance = 1e-5},
        {.op = "onnx::STFT",
            .attrs = "onesided=0",
            .inputs = {"float32[1,5,2] 0.1 -0.5 2.7 -0.6 1.4 -0.6 -2.5 0.6 1 2.6", "int64[] 1",
                "float32[3] -0.2 -1.2 1.1"},
            .outputs = {"float32[1,3,3,2] -1.720001 0.1600009 2.025117 4.209601 -0.3651162 -4.069601 "
                        "-4.969999 1.500001 1.726961 -1.496648 1.623039 0.3566465 3.82 2.259998 -5.430372 "
                        "-2.595446 0.770371 0.6954474"},
            .tolerance = 1e-5},
        {.op = "onnx::STFT", /* a frame as long as the signal */
            .inputs = {"float64[1,4,1] 1 2 3 4", "int32[] 5"},
            .outputs = {"float64[1,1,3,2] 10 0 -2 2 -2 0"}},
    };
    RUN(cases);
}

static void
there_may_be_nothing_to_transform(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::DFT", .inputs = {"float32[0,4,1]"}, .outputs = {"float32[0,4,2]"}},
        {.op = "onnx::DFT", .inputs = {"float32[3,1] 1 2 3", "int32[] 1"}, .outputs = {"float32[1,2] 1 0"}},
        {.op = "onnx::DFT", .inputs = {"float16[1,0,1]", "int64[] 2"}, .outputs = {"float16[1,2,2] 0 0 0 0"}},
        {.op = "onnx::STFT",
            .inputs = {"float32[0,4,1]", "int64[] 2", "float32[2] 1 1"},
            .outputs = {"float32[0,2,2,2]"}},
    };
    RUN(cases);
}

static void
transforms_that_are_not_defined_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::DFT",
            .inputs = {"float32[1,4,3] 0 ..."},
            .error = "the last dimension is 3, not 1 (real) or 2 (complex)",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::DFT",
            .inputs = {"float32[1,4,1] 0 ...", "", "int64[] 2"},
            .error = "axis 2 is the last one, which has the parts of complex numbers",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::DFT",
            .inputs = {"float32[1,4,1] 0 ...", "", "int64[] -4"},
            .error = "axis -4 is not within a tensor of rank 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::DFT",
            .inputs = {"float32[1,4,1] 0 ...", "int64[] 0"},
            .error = "input 1 is 0, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::DFT",
            .inputs = {"float32[1,0,1]"},
            .error = "a transform of no numbers is not defined",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::DFT",
            .attrs = "onesided=1",
            .inputs = {"float32[1,4,2] 0 ..."},
            .error = "a onesided transform reads real numbers, not complex ones",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::DFT",
            .attrs = "onesided=1; inverse=1",
            .inputs = {"float32[1,4,1] 0 ..."},
            .error = "a onesided transform reads complex numbers, not real ones",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::STFT",
            .inputs = {"float32[1,4,1] 0 ...", "int64[] 1", "float32[3] 1 ...", "int64[] 2"},
            .error = "the number of a frame's samples is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::STFT",
            .inputs = {"float32[1,4,1] 0 ...", "int64[] 0", "float32[3] 1 ..."},
            .error = "input 1 is 0, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::STFT",
            .inputs = {"float32[1,4,1] 0 ...", "int64[] 1", "", "int64[] 5"},
            .error = "a frame of 5 samples does not fit into a signal of 4",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_is_transformed_to_its_spectrum_and_back),
        cmocka_unit_test(frames_of_a_signal_are_transformed),
        cmocka_unit_test(there_may_be_nothing_to_transform),
        cmocka_unit_test(transforms_that_are_not_defined_are_refused),
    };
    return cmocka_run_group_tests_name("reference/fourier", tests, NULL, NULL);
}
