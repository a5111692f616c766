/* Parts of complex numbers. Expected values are TensorFlow 2.21.0's. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
complex_numbers_are_taken_apart_and_put_together(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Real",
            .inputs = {"complex64[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float32[6] 1 -3 0 -1 inf 0"}},
        {.op = "Real",
            .attrs = "Tout=float64",
            .inputs = {"complex128[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float64[6] 1 -3 0 -1 inf 0"}},
        {.op = "Real", .inputs = {"complex64[0,2]"}, .outputs = {"float32[0,2]"}},
        {.op = "Imag",
            .inputs = {"complex64[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float32[6] 2 0.5 0 0 1 -2"}},
        {.op = "Imag",
            .attrs = "Tout=float64",
            .inputs = {"complex128[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float64[6] 2 0.5 0 0 1 -2"}},
        {.op = "Imag", .inputs = {"complex64[0,2]"}, .outputs = {"float32[0,2]"}},
        {.op = "ComplexAbs",
            .inputs = {"complex64[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float32[6] 2.23606801 3.04138136 0 1 inf 2"}},
        {.op = "ComplexAbs",
            .attrs = "Tout=float64",
            .inputs = {"complex128[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float64[6] 2.2360679774997898 3.0413812651491097 0 1 inf 2"}},
        {.op = "ComplexAbs", .inputs = {"complex64[0,2]"}, .outputs = {"float32[0,2]"}},
        {.op = "Angle",
            .inputs = {"complex64[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float32[6] 1.10714877 2.97644401 0 3.14159274 0 -1.57079637"}},
        {.op = "Angle",
            .attrs = "Tout=float64",
            .inputs = {"complex128[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"float64[6] 1.1071487177940904 2.9764439761751662 0 3.1415926535897931 0 "
                        "-1.5707963267948966"}},
        {.op = "Angle", .inputs = {"complex64[0,2]"}, .outputs = {"float32[0,2]"}},
        {.op = "ComplexAbs",
            .inputs = {"complex64[2] 2.99999989e+30 4.00000006e+30 nan 1"},
            .outputs = {"float32[2] 4.99999992e+30 nan"}},
        {.op = "Conj",
            .inputs = {"complex64[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"complex64[6] 1 -2 -3 -0.5 0 -0 -1 -0 inf -1 0 2"}},
        {.op = "Conj",
            .inputs = {"complex128[6] 1 2 -3 0.5 0 0 -1 0 inf 1 0 -2"},
            .outputs = {"complex128[6] 1 -2 -3 -0.5 0 -0 -1 -0 inf -1 0 2"}},
        {.op = "Complex",
            .inputs = {"float32[2,3] 1.09000003 -0.779999971 -0.910000026 0.180000007 1.27999997 0.50999999",
                "float32[3] -0.119999997 0.379999995 0.519999981"},
            .outputs =
                {"complex64[2,3] 1.09000003 -0.119999997 -0.779999971 0.379999995 -0.910000026 0.519999981 "
                 "0.180000007 -0.119999997 1.27999997 0.379999995 0.50999999 0.519999981"}},
        {.op = "Complex",
            .attrs = "Tout=complex128",
            .inputs = {"float64[2] 1 2", "float64[] 3"},
            .outputs = {"complex128[2] 1 3 2 3"}},
        {.op = "Exp",
            .inputs = {"complex64[4] 1 2 -3 0.5 0 0 0 3.14159274"},
            .outputs =
                {"complex64[4] -1.13120425 2.47172666 0.0436922647 0.0238691941 1 0 -1 -8.74227766e-08"},
            .tolerance = 2e-06},
        {.op = "Exp",
            .inputs = {"complex128[2] 1 2 -3 0.5"},
            .outputs = {"complex128[2] -1.1312043837568135 2.4717266720048188 0.043692263007281178 "
                        "0.02386919206778745"},
            .tolerance = 1e-12},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complex_numbers_are_taken_apart_and_put_together),
    };
    return cmocka_run_group_tests_name("reference/fourier_parts", tests, NULL, NULL);
}
