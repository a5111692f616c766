/* Permutations inverted and values counted on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
inverses_of_permutations(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"InvertPermutation", NULL, {"T[5] 3 4 0 2 1"}},
        {"InvertPermutation", NULL, {"T[1] 0"}},
        {"InvertPermutation", NULL, {"T[0]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* The first element that is wrong is named: one that is no place, or that was there before. */
static void
no_permutations(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"InvertPermutation", NULL, {"T[4] 0 1 4 9"}},
        {"InvertPermutation", NULL, {"T[4] 0 2 2 9"}},
        {"InvertPermutation", NULL, {"int32[4] 0 -1 0 5"}},
        {"InvertPermutation", NULL, {"int64[2] 9223372036854775807 0"}},
        {"InvertPermutation", NULL, {"uint64[2] 1 18446744073709551615"}},
        {"InvertPermutation", NULL, {"int16[333]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
a_permutation_larger_than_a_block(void **state)
{
    enum { COUNT = 777, STEP = 100 };
    char text[8 * COUNT];
    int size = snprintf(text, sizeof text, "int32[%d]", COUNT);
    (void)state;
    for (int n = 0; n < COUNT; n++) {
        size += snprintf(text + size, sizeof text - (size_t)size, " %d", n * STEP % COUNT);
    }
    cuda_kernels_compare(&(CudaKernelCase){"InvertPermutation", NULL, {text}}, 1);
}

static void
values_in_bins(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"HistogramFixedWidth", NULL, {"T[9]", "T[2] 0 5", "int32[] 5"}},
        {"HistogramFixedWidth", "dtype=int64", {"T[3,333]", "T[2] 1 4", "int32[] 7"}},
        {"HistogramFixedWidth", NULL, {"T[0]", "T[2] 1 4", "int32[] 3"}},
        {"HistogramFixedWidth", NULL, {"T[777]", "T[2] 0 9", "int32[] 1"}},
        {"HistogramFixedWidth", NULL, {"T[777]", "T[2] 0 9", "int32[] 2000"}},
        {"HistogramFixedWidth", "dtype=int64", {"float32[777]", "float32[2] -1 1", "int32[] 1025"}},
        {"HistogramFixedWidth", NULL, {"T[8] nan inf -inf -0 0 0.5 2 2.5", "T[2] 0 2", "int32[] 4"}},
        {"HistogramFixedWidth", NULL, {"float64[4] nan 1 -inf inf", "float64[2] -inf inf", "int32[] 4"}},
        {"HistogramFixedWidth", NULL,
            {"int64[3] 9223372036854775807 -9223372036854775808 0",
                "int64[2] -9223372036854775808 9223372036854775807", "int32[] 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
ranges_that_do_not_ascend(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"HistogramFixedWidth", NULL, {"T[9]", "T[2] 5 5", "int32[] 5"}},
        {"HistogramFixedWidth", NULL, {"T[0]", "T[2] 5 2", "int32[] 5"}},
        {"HistogramFixedWidth", NULL, {"float64[2]", "float64[2] 0.25 -1e300", "int32[] 5"}},
        {"HistogramFixedWidth", NULL, {"float32[2]", "float32[2] nan 1", "int32[] 5"}},
        {"HistogramFixedWidth", NULL, {"float32[2]", "float32[2] 0 1", "int32[] 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("count");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses_of_permutations),
        cmocka_unit_test(no_permutations),
        cmocka_unit_test(a_permutation_larger_than_a_block),
        cmocka_unit_test(values_in_bins),
        cmocka_unit_test(ranges_that_do_not_ascend),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/count", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
