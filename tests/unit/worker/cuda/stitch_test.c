/* Rows collected from several tensors on the card, as many as the largest index says. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
rows_in_the_places_of_their_indices(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"DynamicStitch", NULL,
            {"int32[] 6", "int32[2] 4 1", "int32[2,2] 5 2 0 3", "T[2]", "T[2,2]", "T[2,2,2]"}},
        {"DynamicStitch", NULL, {"int32[0]", "int32[2] 0 1", "T[0]", "T[2]"}},
        {"DynamicStitch", NULL, {"int32[0]", "T[0,3]"}},
        {"DynamicStitch", NULL, {"int32[3] 0 1 1", "int32[1] 1", "T[3]", "T[1]"}},
        {"DynamicStitch", NULL, {"int32[4] 3 3 0 3", "int32[2] 5 5", "T[4,2]", "T[2,2]"}},
        {"DynamicStitch", NULL, {"int32[2] 3 1", "T[2,0]"}},
        {"DynamicStitch", NULL, {"int32[3] 0 -1 2", "T[3]"}},
        {"DynamicStitch", NULL, {"int32[2] 0 1", "T[1]"}},
        {"DynamicStitch", NULL, {"int32[3] 299 0 7", "T[3,5]"}},
        {"ParallelDynamicStitch", NULL,
            {"int32[] 6", "int32[2] 4 1", "int32[2,2] 5 2 0 3", "T[2]", "T[2,2]", "T[2,2,2]"}},
        {"ParallelDynamicStitch", NULL, {"int32[3] 2 2 2", "T[3,300]"}},
        {"ParallelDynamicStitch", NULL, {"int32[0]", "T[0]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("stitch");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_the_places_of_their_indices),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/stitch", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
