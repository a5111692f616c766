/* Square matrices on the card: more than a block has threads, none, singular ones. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

#define WELL "T[3,3] 4 1 -2 1 5 0.5 -2 0.5 6"
#define TWO "T[2,2,2] 1 2 3 4 0 1 1 0"
#define SINGULAR "T[2,2,2] 1 2 3 4 1 2 2 4"

static void
factors_and_determinants(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"Cholesky", NULL, {WELL}},
        {"Cholesky", NULL, {"T[2,2,2] 4 1 1 3 1 2 2 1"}},
        {"Cholesky", NULL, {"T[2,2] nan 1 1 3"}},
        {"Cholesky", NULL, {"T[17,17]"}},
        {"Cholesky", NULL, {"T[0,3,3]"}},
        {"Cholesky", NULL, {"T[2,0,0]"}},
        {"MatrixDeterminant", NULL, {WELL}},
        {"MatrixDeterminant", NULL, {SINGULAR}},
        {"MatrixDeterminant", NULL, {"T[100,2,2]"}},
        {"MatrixDeterminant", NULL, {"T[2,2] nan 1 2 3"}},
        {"MatrixDeterminant", NULL, {"T[2,0,0]"}},
        {"MatrixDeterminant", NULL, {"T[0,3,3]"}},
        {"LogMatrixDeterminant", NULL, {WELL}},
        {"LogMatrixDeterminant", NULL, {SINGULAR}},
        {"LogMatrixDeterminant", NULL, {"T[17,17]"}},
        {"LogMatrixDeterminant", NULL, {"T[0,3,3]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
solutions(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"MatrixInverse", NULL, {WELL}},
        {"MatrixInverse", "adjoint=true", {TWO}},
        {"MatrixInverse", NULL, {SINGULAR}},
        {"MatrixInverse", NULL, {"T[17,17]"}},
        {"MatrixInverse", NULL, {"T[0,3,3]"}},
        {"MatrixSolve", NULL, {WELL, "T[3,200]"}},
        {"MatrixSolve", "adjoint=true", {TWO, "T[2,2,1]"}},
        {"MatrixSolve", NULL, {SINGULAR, "T[2,2,1]"}},
        {"MatrixSolve", NULL, {WELL, "T[3,0]"}},
        {"MatrixSolve", NULL, {"T[0,3,3]", "T[0,3,1]"}},
        {"MatrixTriangularSolve", NULL, {WELL, "T[3,200]"}},
        {"MatrixTriangularSolve", "lower=false", {WELL, "T[3,2]"}},
        {"MatrixTriangularSolve", "adjoint=true", {WELL, "T[3,2]"}},
        {"MatrixTriangularSolve", NULL, {"T[2,2,2] 1 0 3 4 1 1 1 0", "T[2,2,1]"}},
        {"MatrixTriangularSolve", NULL, {"T[0,3,3]", "T[0,3,1]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("matrix");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_and_determinants),
        cmocka_unit_test(solutions),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/matrix", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
