/* Singular values on the card: tall and wide matrices, of lower rank, in batches, and what has no elements.
 */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
singular_values_and_bases(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"Svd", NULL, {"T[3,3] 4 1 -2 1 5 0.5 -2 0.5 6"}},
        {"Svd", NULL, {"T[2,5,3]"}},
        {"Svd", NULL, {"T[3,5]"}},
        {"Svd", "full_matrices=true", {"T[5,2]"}},
        {"Svd", "full_matrices=true", {"T[2,2,4]"}},
        {"Svd", "compute_uv=false", {"T[2,6,4]"}},
        {"Svd", NULL, {"T[1,1] -3"}},
        {"Svd", NULL, {"T[17,18]"}},
        {"Svd", NULL, {"T[300,2]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Bases are completed where singular values are 0; NaN goes on. */
static void
matrices_of_lower_rank(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"Svd", NULL, {"T[3,3] 1 2 3 2 4 6 -1 -2 -3"}},
        {"Svd", NULL, {"T[4,2] 0 0 0 0 0 0 0 0"}},
        {"Svd", "full_matrices=true", {"T[2,4] 0 0 0 0 1 0 0 0"}},
        {"Svd", NULL, {"T[2,2] nan 1 1 2"}},
        {"Svd", NULL, {"T[3,0]"}},
        {"Svd", "full_matrices=true", {"T[3,0]"}},
        {"Svd", NULL, {"T[0,2,3]"}},
        {"Svd", NULL, {"T[3]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("svd");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_values_and_bases),
        cmocka_unit_test(matrices_of_lower_rank),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/svd", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
