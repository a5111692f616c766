/* Sizes are those at which tiles of 16 (and of 64) are empty, whole, or have a line too many. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
matrices_multiply_also_transposed(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "MatMul", .inputs = {"T[1,1] numbers 1", "T[1,1] numbers 2"}},
        {.op = "MatMul", .inputs = {"T[17,33] numbers 1", "T[33,16] numbers 2"}},
        {.op = "MatMul", .attrs = "transpose_a=true", .inputs = {"T[5,17] numbers 1", "T[5,31] numbers 2"}},
        {.op = "MatMul", .attrs = "transpose_b=true", .inputs = {"T[16,40] numbers 1", "T[3,40] numbers 2"}},
        {.op = "MatMul",
            .attrs = "transpose_a=true; transpose_b=true",
            .inputs = {"T[18,2] numbers 1", "T[35,18] numbers 2"}},
        {.op = "MatMul", .inputs = {"T[0,3]", "T[3,2] numbers 1"}},
        {.op = "MatMul", .inputs = {"T[2,0]", "T[0,2]"}},
        {.op = "MatMul", .inputs = {"T[2,3] numbers 1", "T[2,3] numbers 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
large_outputs_are_cut_into_large_tiles(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "MatMul", .inputs = {"T[513,20] numbers 1", "T[20,514] numbers 2"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
batches_broadcast(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "BatchMatMul", .inputs = {"T[3,4,5] numbers 1", "T[3,5,6] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[2,1,4,5] numbers 1", "T[3,5,6] numbers 2"}},
        {.op = "BatchMatMulV2",
            .attrs = "adj_x=true; adj_y=true",
            .inputs = {"T[1,3,5,4] numbers 1", "T[2,1,6,5] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[2,3,4,5] numbers 1", "T[5,6] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[0,4,5]", "T[5,6] numbers 2"}},
        {.op = "onnx::MatMul", .inputs = {"T[5] numbers 1", "T[2,5,3] numbers 2"}},
        {.op = "onnx::MatMul", .inputs = {"T[2,3,5] numbers 1", "T[5] numbers 2"}},
        {.op = "onnx::MatMul", .inputs = {"T[7] numbers 1", "T[7] numbers 2"}},
        {.op = "onnx::MatMul", .inputs = {"T[4,7] numbers 1", "T[7,2] numbers 2"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
gemm_adds_what_broadcasts(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "onnx::Gemm", .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2"}},
        {.op = "onnx::Gemm", .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2", "T[5] numbers 3"}},
        {.op = "onnx::Gemm",
            .attrs = "alpha=0.5; beta=2; transA=1",
            .inputs = {"T[4,3] numbers 1", "T[4,5] numbers 2", "T[3,1] numbers 3"}},
        {.op = "onnx::Gemm",
            .attrs = "beta=0.25; transB=1",
            .inputs = {"T[3,4] numbers 1", "T[5,4] numbers 2", "T[3,5] numbers 3"}},
        {.op = "onnx::Gemm", .inputs = {"T[3,0]", "T[0,5]", "T[] numbers 3"}},
        {.op = "onnx::Gemm", .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2", "T[2] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

#define FUSED(steps) "fused_ops=[" steps "]; epsilon=0.001; leakyrelu_alpha=0.3"

static void
fused_products_apply_their_steps(void **state)
{
    (void)state;
#define PRODUCT "T[3,4] numbers 1", "T[4,5] numbers 2"
#define ACTIVATED(name)                                                                                      \
    {                                                                                                        \
        .op = "_FusedMatMul", .attrs = FUSED("BiasAdd," name), .inputs = { PRODUCT, "T[5] numbers 3" }       \
    }
    static const CudaKernelCase cases[] = {
        {.op = "_FusedMatMul", .attrs = FUSED("BiasAdd"), .inputs = {PRODUCT, "T[5] numbers 3"}},
        ACTIVATED("Elu"),
        ACTIVATED("GeluApproximate"),
        ACTIVATED("GeluExact"),
        ACTIVATED("LeakyRelu"),
        ACTIVATED("Relu"),
        ACTIVATED("Relu6"),
        ACTIVATED("Sigmoid"),
        ACTIVATED("Tanh"),
        ACTIVATED("_FusedHardSwish"),
        ACTIVATED("_FusedSwish"),
        {.op = "_FusedMatMul",
            .attrs = FUSED("BiasAdd,Add,Relu"),
            .inputs = {PRODUCT, "T[5] numbers 3", "T[3,5] numbers 4"}},
        {.op = "_FusedMatMul", .attrs = FUSED("Relu"), .inputs = {"T[1,2] nan 1", "T[2,3] 1 ..."}},
        {.op = "_FusedMatMul",
            .attrs = FUSED("FusedBatchNorm,Relu"),
            .inputs = {PRODUCT, "T[5] numbers 3", "T[5] numbers 4", "T[5] numbers 5", "T[5] 0.5 2 ..."}},
        {.op = "_FusedBatchMatMulV2",
            .attrs = FUSED("BiasAdd,Tanh"),
            .inputs = {"T[2,3,4] numbers 1", "T[2,4,5] numbers 2", "T[5] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
no_elements_and_more_than_a_block_has_threads(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "BatchMatMul", .inputs = {"T[0,4,5]", "T[0,5,6]"}},
        {.op = "BatchMatMul", .inputs = {"T[3,9,4] numbers 1", "T[3,4,11] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[3,9,4] numbers 1", "T[4,11] numbers 2"}},
        {.op = "onnx::MatMul", .inputs = {"T[0,5]", "T[5,3] numbers 1"}},
        {.op = "onnx::MatMul", .inputs = {"T[17,5] numbers 1", "T[5,19] numbers 2"}},
        {.op = "onnx::Gemm", .inputs = {"T[0,4]", "T[4,5] numbers 1"}},
        {.op = "onnx::Gemm", .inputs = {"T[17,4] numbers 1", "T[4,19] numbers 2", "T[19] numbers 3"}},
        {.op = "_FusedMatMul",
            .attrs = FUSED("BiasAdd"),
            .inputs = {"T[0,4]", "T[4,5] numbers 1", "T[5] numbers 3"}},
        {.op = "_FusedMatMul",
            .attrs = FUSED("BiasAdd"),
            .inputs = {"T[17,4] numbers 1", "T[4,19] numbers 2", "T[19] numbers 3"}},
        {.op = "_FusedBatchMatMulV2",
            .attrs = FUSED("BiasAdd"),
            .inputs = {"T[0,3,4]", "T[4,5] numbers 1", "T[5] numbers 3"}},
        {.op = "_FusedBatchMatMulV2",
            .attrs = FUSED("BiasAdd"),
            .inputs = {"T[3,9,4] numbers 1", "T[3,4,11] numbers 2", "T[11] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("matmul");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_multiply_also_transposed),
        cmocka_unit_test(large_outputs_are_cut_into_large_tiles),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(gemm_adds_what_broadcasts),
        cmocka_unit_test(fused_products_apply_their_steps),
        cmocka_unit_test(no_elements_and_more_than_a_block_has_threads),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/matmul", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
