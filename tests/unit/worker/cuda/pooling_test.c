/* Windows of 256 elements or more are shared by the threads of a block. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
the_largest_of_a_window_is_found(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "MaxPool",
            .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
            .inputs = {"T[2,5,5,3] numbers 1"}},
        {.op = "MaxPool",
            .attrs = "ksize=[1,1,3,2]; strides=[1,1,2,1]; padding=VALID; data_format=NCHW",
            .inputs = {"T[1,3,7,4] numbers 1"}},
        {.op = "MaxPool3D",
            .attrs = "ksize=[1,2,2,2,1]; strides=[1,1,2,1,1]; padding=SAME",
            .inputs = {"T[1,3,4,3,2] numbers 1"}},
        {.op = "onnx::MaxPool", .attrs = "kernel_shape=[3]; strides=[2]", .inputs = {"T[1,2,9] numbers 1"}},
        {.op = "onnx::MaxPool",
            .attrs = "kernel_shape=[3,3]; pads=[1,1,1,1]; strides=[2,2]; dilations=[2,1]; ceil_mode=1",
            .inputs = {"T[2,2,7,8] numbers 1"}},
        {.op = "onnx::MaxPool",
            .attrs = "kernel_shape=[2,2]; pads=[2,2,0,0]",
            .inputs = {"T[1,1,3,3] numbers 1"}}, /* windows of padding alone */
        {.op = "onnx::MaxPool", .attrs = "kernel_shape=[17,17]", .inputs = {"T[1,2,18,17] numbers 1"}},
        {.op = "onnx::GlobalMaxPool", .inputs = {"T[2,3,4,5] numbers 1"}},
        {.op = "onnx::GlobalMaxPool", .inputs = {"T[2,2,16,17] numbers 1"}},
        {.op = "onnx::MaxPool", .attrs = "kernel_shape=[2,2]", .inputs = {"T[0,1,3,3]"}},
        {.op = "onnx::MaxPool", .attrs = "kernel_shape=[4,4]", .inputs = {"T[1,1,3,3] numbers 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
nan_is_the_largest(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "onnx::MaxPool", .attrs = "kernel_shape=[3]", .inputs = {"T[1,1,6] 1 nan 3 nan inf -inf"}},
        {.op = "onnx::GlobalMaxPool", .inputs = {"T[1,1,300] 1 2 nan 7 ..."}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
norms_of_windows_count_no_padding(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "onnx::LpPool", .attrs = "kernel_shape=[3]; strides=[2]; p=1", .inputs = {"T[1,2,9]"}},
        {.op = "onnx::LpPool",
            .attrs = "kernel_shape=[3,3]; pads=[1,1,1,1]; strides=[2,2]; dilations=[2,1]; ceil_mode=1; p=3",
            .inputs = {"T[2,2,7,8]"}},
        {.op = "onnx::LpPool",
            .attrs = "kernel_shape=[2,2]; pads=[2,2,0,0]; p=2",
            .inputs = {"T[1,1,3,3] numbers 1"}}, /* windows of padding alone */
        {.op = "onnx::LpPool", .attrs = "kernel_shape=[17,17]; p=2", .inputs = {"T[1,2,18,17] numbers 1"}},
        {.op = "onnx::LpPool", .attrs = "kernel_shape=[3]; p=2", .inputs = {"T[1,1,6] 1 nan 3 0 inf -inf"}},
        {.op = "onnx::LpPool", .attrs = "kernel_shape=[2,2]; p=1", .inputs = {"T[0,1,3,3]"}},
        {.op = "onnx::GlobalLpPool", .attrs = "p=2", .inputs = {"T[2,3,4,5]"}},
        {.op = "onnx::GlobalLpPool", .attrs = "p=3", .inputs = {"T[2,2,16,17]"}},
        {.op = "onnx::GlobalLpPool", .attrs = "p=2", .inputs = {"T[0,3,4,5]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
the_mean_counts_what_is_there(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "AvgPool",
            .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
            .inputs = {"T[2,5,5,3] numbers 1"}},
        {.op = "AvgPool3D",
            .attrs = "ksize=[1,1,2,2,2]; strides=[1,1,1,1,1]; padding=SAME; data_format=NCDHW",
            .inputs = {"T[1,2,3,3,3] numbers 1"}},
        {.op = "onnx::AveragePool",
            .attrs = "kernel_shape=[3,3]; pads=[1,1,1,1]; strides=[2,2]; ceil_mode=1",
            .inputs = {"T[1,2,6,7] numbers 1"}},
        {.op = "onnx::AveragePool",
            .attrs = "kernel_shape=[3,3]; pads=[1,1,1,1]; strides=[2,2]; ceil_mode=1; count_include_pad=1",
            .inputs = {"T[1,2,6,7] numbers 1"}},
        {.op = "onnx::AveragePool",
            .attrs = "kernel_shape=[2]; pads=[1,1]; dilations=[3]; count_include_pad=1",
            .inputs = {"T[1,2,6] numbers 1"}},
        {.op = "onnx::AveragePool", .attrs = "kernel_shape=[16,17]", .inputs = {"T[1,2,17,17] numbers 1"}},
        {.op = "onnx::GlobalAveragePool", .inputs = {"T[2,3,7,7] numbers 1"}},
        {.op = "onnx::GlobalAveragePool", .inputs = {"T[2,2,19,17] numbers 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
no_elements_and_more_than_a_block_has_threads(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "MaxPool",
            .attrs = "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=SAME",
            .inputs = {"T[0,5,5,3]"}},
        {.op = "MaxPool",
            .attrs = "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=SAME",
            .inputs = {"T[1,10,9,3] numbers 1"}},
        {.op = "AvgPool",
            .attrs = "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=SAME",
            .inputs = {"T[0,5,5,3]"}},
        {.op = "AvgPool",
            .attrs = "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=SAME",
            .inputs = {"T[1,10,9,3] numbers 1"}},
        {.op = "MaxPool3D",
            .attrs = "ksize=[1,2,2,2,1]; strides=[1,1,1,1,1]; padding=SAME",
            .inputs = {"T[0,3,4,3,2]"}},
        {.op = "MaxPool3D",
            .attrs = "ksize=[1,2,2,2,1]; strides=[1,1,1,1,1]; padding=SAME",
            .inputs = {"T[1,5,6,5,2] numbers 1"}},
        {.op = "AvgPool3D",
            .attrs = "ksize=[1,2,2,2,1]; strides=[1,1,1,1,1]; padding=SAME",
            .inputs = {"T[0,3,4,3,2]"}},
        {.op = "AvgPool3D",
            .attrs = "ksize=[1,2,2,2,1]; strides=[1,1,1,1,1]; padding=SAME",
            .inputs = {"T[1,5,6,5,2] numbers 1"}},
        {.op = "onnx::MaxPool", .attrs = "kernel_shape=[2,2]; pads=[1,1,0,0]", .inputs = {"T[0,1,3,3]"}},
        {.op = "onnx::MaxPool",
            .attrs = "kernel_shape=[2,2]; pads=[1,1,0,0]",
            .inputs = {"T[1,3,10,9] numbers 1"}},
        {.op = "onnx::AveragePool", .attrs = "kernel_shape=[2,2]; pads=[1,1,0,0]", .inputs = {"T[0,1,3,3]"}},
        {.op = "onnx::AveragePool",
            .attrs = "kernel_shape=[2,2]; pads=[1,1,0,0]",
            .inputs = {"T[1,3,10,9] numbers 1"}},
        {.op = "onnx::GlobalMaxPool", .inputs = {"T[0,3,4,5]"}},
        {.op = "onnx::GlobalMaxPool", .inputs = {"T[100,3,2,1] numbers 1"}},
        {.op = "onnx::GlobalAveragePool", .inputs = {"T[0,3,4,5]"}},
        {.op = "onnx::GlobalAveragePool", .inputs = {"T[100,3,2,1] numbers 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("pooling");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_of_a_window_is_found),
        cmocka_unit_test(nan_is_the_largest),
        cmocka_unit_test(norms_of_windows_count_no_padding),
        cmocka_unit_test(the_mean_counts_what_is_there),
        cmocka_unit_test(no_elements_and_more_than_a_block_has_threads),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/pooling", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
