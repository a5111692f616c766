/* Gradients of sparse segments, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
rows_get_their_segments_gradient(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "SparseSegmentSumGrad",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36", "int32[4] 0 3 0 1", "int32[4] 0 0 1 1",
                "int32[] 5"},
            .outputs = {"float32[5,3] 0.22999999 -0.67 1 0.1 -0.54 0.36 0 0 0 0.13 -0.13 0.64 0 0 0"}},
        {.op = "SparseSegmentMeanGrad",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36", "int32[4] 0 3 0 1", "int32[4] 0 0 1 1",
                "int32[] 5"},
            .outputs = {"float32[5,3] 0.114999995 -0.335 0.5 0.05 -0.27 0.18 0 0 0 0.065 -0.065 0.32 0 0 0"}},
        {.op = "SparseSegmentSqrtNGrad",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36", "int32[4] 0 3 0 1", "int32[4] 0 0 1 1",
                "int32[] 5"},
            .outputs = {"float32[5,3] 0.16263455 -0.47376156 0.70710677 0.07071068 -0.38183767 0.25455844 0 "
                        "0 0 0.09192388 -0.09192388 0.45254833 0 0 0"}},
        {.op = "SparseSegmentMeanGrad",
            .inputs = {"float64[2] 1 2", "int64[2] 2 2", "int32[2] 0 1", "int32[] 3"},
            .outputs = {"float64[3] 0 0 3"}},
    };
    RUN(cases);
}

static void
indices_outside_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "SparseSegmentMeanGrad",
            .inputs = {"float64[2] 1 2", "int64[1] 2", "int32[1] 2", "int32[] 3"},
            .error = "element 0 of input 2 is 2, not within 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseSegmentSumGrad",
            .inputs = {"float64[2] 1 2", "int64[1] 3", "int32[1] 1", "int32[] 3"},
            .error = "element 0 of input 1 is 3, not within 3",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_get_their_segments_gradient),
        cmocka_unit_test(indices_outside_are_refused),
    };
    return cmocka_run_group_tests_name("reference/segment_gradient", tests, NULL, NULL);
}
