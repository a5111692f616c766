/* The different elements and slices of tensors, on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
different_elements(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"Unique", NULL, {"T[9]"}},
        {"Unique", "out_idx=int64", {"T[333]"}},
        {"Unique", NULL, {"T[0]"}},
        {"Unique", NULL, {"T[1]"}},
        {"Unique", NULL, {"float32[8] nan 0 -0 nan 1 0 1 nan"}},
        {"Unique", NULL, {"float16[6] nan 0 -0 nan 0.5 -0"}},
        {"Unique", NULL, {"int64[4] 9223372036854775807 -9223372036854775808 -1 9223372036854775807"}},
        {"Unique", NULL, {"uint64[4] 18446744073709551615 0 18446744073709551615 1"}},
        {"UniqueWithCounts", NULL, {"T[9]"}},
        {"UniqueWithCounts", "out_idx=int64", {"T[333]"}},
        {"UniqueWithCounts", NULL, {"T[0]"}},
        {"UniqueWithCounts", NULL, {"float32[5] nan nan 2 -0 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* More than one block sorts, and more than one tile. */
static void
many_elements(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"UniqueWithCounts", NULL, {"int32[2048]"}},
        {"UniqueWithCounts", NULL, {"float64[2049]"}},
        {"UniqueWithCounts", "out_idx=int64", {"float32[5000]"}},
        {"UniqueWithCounts", NULL, {"bool[4097]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
different_slices(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"UniqueV2", NULL, {"T[4,2] 1 0 1 1 1 0 0 1", "int64[1] 0"}},
        {"UniqueV2", NULL, {"T[2,4] 1 1 0 1 0 1 0 0", "int64[1] 1"}},
        {"UniqueV2", NULL, {"T[2,300]", "int32[1] -1"}},
        {"UniqueV2", NULL, {"T[5]", "int64[0]"}},
        {"UniqueV2", NULL, {"T[0,3]", "int64[1] 0"}},
        {"UniqueV2", NULL, {"T[3,0]", "int64[1] 0"}},
        {"UniqueV2", NULL, {"T[2,3]", "int64[1] 2"}},
        {"UniqueV2", NULL, {"float32[3,2] nan 1 nan 1 -0 0", "int64[1] 0"}},
        {"UniqueWithCountsV2", NULL, {"T[4,2] 1 0 1 1 1 0 0 1", "int64[1] 0"}},
        {"UniqueWithCountsV2", "out_idx=int64", {"T[2,4,3]", "int32[1] 1"}},
        {"UniqueWithCountsV2", NULL, {"T[300]", "int64[0]"}},
        {"UniqueWithCountsV2", NULL, {"T[3,0,2]", "int64[1] 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Slices are ordered by their elements, or stay as they come. */
static void
slices_in_an_order(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::Unique", NULL, {"T[9]"}},
        {"onnx::Unique", "sorted=0", {"T[9]"}},
        {"onnx::Unique", NULL, {"T[3,111]"}},
        {"onnx::Unique", "axis=0", {"T[0]"}},
        {"onnx::Unique", NULL, {"T[0,3]"}},
        {"onnx::Unique", NULL, {"T[]"}},
        {"onnx::Unique", "axis=0", {"T[4,2] 1 0 1 1 1 0 0 1"}},
        {"onnx::Unique", "axis=1", {"T[2,4] 1 1 0 1 0 1 0 0"}},
        {"onnx::Unique", "axis=-1; sorted=0", {"T[2,300]"}},
        {"onnx::Unique", "axis=1", {"T[2,300]"}},
        {"onnx::Unique", "axis=1", {"T[2,40,3]"}},
        {"onnx::Unique", "axis=0", {"T[3,0]"}},
        {"onnx::Unique", "axis=1", {"T[2,0]"}},
        {"onnx::Unique", "axis=2", {"T[2,3]"}},
        {"onnx::Unique", NULL, {"int32[5000]"}},
        {"onnx::Unique", NULL, {"float32[4097]"}},
        {"onnx::Unique", NULL, {"float64[10] nan 0 -0 nan 1 -inf inf 1 nan -2"}},
        {"onnx::Unique", NULL, {"float16[6] nan 0 -0 nan 0.5 -1"}},
        {"onnx::Unique", "axis=0", {"float32[5,2] nan 1 0 nan nan 0 nan 1 -0 nan"}},
        {"onnx::Unique", "axis=0", {"float32[3,2] 0 2 -0 1 0 2"}},
        {"onnx::Unique", NULL, {"int64[4] 9223372036854775807 -9223372036854775808 -1 9223372036854775807"}},
        {"onnx::Unique", NULL, {"uint64[4] 18446744073709551615 0 18446744073709551615 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("unique");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(different_elements),
        cmocka_unit_test(many_elements),
        cmocka_unit_test(different_slices),
        cmocka_unit_test(slices_in_an_order),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/unique", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
