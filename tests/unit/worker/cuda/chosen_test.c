/* Elements and rows that are chosen by the values of elements: outputs that are as large as the card says. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
coordinates_of_what_is_not_zero(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"Where", NULL, {"T[4,7]"}},
        {"Where", NULL, {"T[]"}},
        {"Where", NULL, {"T[] 0"}},
        {"Where", NULL, {"T[2,3] 0 0 0 0 0 0"}},
        {"Where", NULL, {"T[2,3] 1 1 1 1 1 1"}},
        {"Where", NULL, {"float32[6] nan -0 0 inf -inf 0.5"}},
        {"Where", NULL, {"T[3,5,2,2,3]"}},
        {"Where", NULL, {"T[0,3]"}},
        {"Where", NULL, {"T[333]"}},
        {"onnx::NonZero", NULL, {"T[4,7]"}},
        {"onnx::NonZero", NULL, {"T[]"}},
        {"onnx::NonZero", NULL, {"T[0,3]"}},
        {"onnx::NonZero", NULL, {"T[2,5,40]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Sizes at the edges of a tile of 2,048, and more tiles than a block has threads. */
static void
sequences_of_many_tiles(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"Where", NULL, {"bool[2047]"}},
        {"Where", NULL, {"bool[2048]"}},
        {"Where", NULL, {"bool[2049]"}},
        {"Where", NULL, {"int8[3,2048]"}},
        {"Where", NULL, {"bool[263,2048]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
rows_for_which_a_condition_holds(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::Compress", NULL, {"T[2,3]", "bool[6] 1 0 1 1 0 1"}},
        {"onnx::Compress", "axis=0", {"T[3,5]", "bool[3] 1 0 1"}},
        {"onnx::Compress", "axis=-1", {"T[3,5]", "bool[5] 0 1 0 0 1"}},
        {"onnx::Compress", "axis=1", {"T[3,5,7]", "bool[2] 0 1"}},
        {"onnx::Compress", "axis=1", {"T[2,333,3]", "bool[333]"}},
        {"onnx::Compress", "axis=1", {"T[2,3]", "bool[3] 0 0 0"}},
        {"onnx::Compress", "axis=1", {"T[2,3]", "bool[0]"}},
        {"onnx::Compress", "axis=1", {"T[2,3]", "bool[5] 1 0 1 0 0"}},
        {"onnx::Compress", "axis=1", {"T[2,3]", "bool[5] 1 0 1 1 1"}},
        {"onnx::Compress", "axis=1", {"T[2,0]", "bool[1] 1"}},
        {"onnx::Compress", "axis=0", {"T[0,3]", "bool[0]"}},
        {"onnx::Compress", NULL, {"T[0,3]", "bool[1] 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
rows_dealt_out_to_parts(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"DynamicPartition", "num_partitions=3", {"T[6]", "int32[6] 2 0 1 0 2 2"}},
        {"DynamicPartition", "num_partitions=2", {"T[4,3]", "int32[4] 1 1 1 1"}},
        {"DynamicPartition", "num_partitions=2", {"T[2,2,3]", "int32[2,2] 1 0 0 1"}},
        {"DynamicPartition", "num_partitions=2", {"T[]", "int32[] 1"}},
        {"DynamicPartition", "num_partitions=2", {"T[0,3]", "int32[0]"}},
        {"DynamicPartition", "num_partitions=2", {"T[3,0]", "int32[3] 0 1 0"}},
        {"DynamicPartition", "num_partitions=2", {"T[3]", "int32[3] 0 2 -1"}},
        {"DynamicPartition", "num_partitions=2", {"T[3,0]", "int32[3] 0 1 -7"}},
        {"DynamicPartition", "num_partitions=12", {"float32[333,2]", "int32[333]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("chosen");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coordinates_of_what_is_not_zero),
        cmocka_unit_test(sequences_of_many_tiles),
        cmocka_unit_test(rows_for_which_a_condition_holds),
        cmocka_unit_test(rows_dealt_out_to_parts),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/chosen", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
