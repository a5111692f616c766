/* Groups of at most 4 outputs have a thread for each element; others are cut into tiles of 16 or 64. */
#include "tests/support/cmocka_all.h"
#include "tests/support/convolution_cases.h"
#include "tests/support/cuda_kernels.h"

static void
onnx_convolves_in_one_to_three_dimensions(void **state)
{
    (void)state;
    cuda_kernels_compare(onnx_convolutions, COUNT_OF(onnx_convolutions));
}

static void
tensorflow_convolves_with_channels_first_and_last(void **state)
{
    (void)state;
    cuda_kernels_compare(tensorflow_convolutions, COUNT_OF(tensorflow_convolutions));
}

static void
large_outputs_are_cut_into_large_tiles(void **state)
{
    (void)state;
    cuda_kernels_compare(large_convolutions, COUNT_OF(large_convolutions));
}

static void
fused_convolutions_apply_their_steps(void **state)
{
    (void)state;
    cuda_kernels_compare(fused_convolutions, COUNT_OF(fused_convolutions));
}

static void
no_elements_and_more_than_a_block_has_threads(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "Conv2D", .attrs = SAME, .inputs = {"T[0,5,6,3]", "T[3,3,3,4] numbers 1"}},
        {.op = "Conv3D",
            .attrs = "strides=[1,1,1,1,1]; padding=SAME",
            .inputs = {"T[0,3,4,3,2]", "T[2,2,2,2,5] numbers 1"}},
        {.op = "Conv3D",
            .attrs = "strides=[1,1,1,1,1]; padding=SAME",
            .inputs = {"T[1,4,5,5,2] numbers 1", "T[2,2,2,2,5] numbers 2"}},
        {.op = "DepthwiseConv2dNative", .attrs = SAME, .inputs = {"T[0,5,5,3]", "T[3,3,3,2] numbers 1"}},
        {.op = "DepthwiseConv2dNative",
            .attrs = SAME,
            .inputs = {"T[1,7,7,3] numbers 1", "T[3,3,3,2] numbers 2"}},
        {.op = "_FusedConv2D",
            .attrs = SAME "; " FUSED("BiasAdd"),
            .inputs = {"T[0,3,3,2]", "T[3,3,2,5] numbers 1", "T[5] numbers 3"}},
        {.op = "_FusedConv2D",
            .attrs = SAME "; " FUSED("BiasAdd"),
            .inputs = {"T[1,8,7,2] numbers 1", "T[3,3,2,5] numbers 2", "T[5] numbers 3"}},
        {.op = "_FusedDepthwiseConv2dNative",
            .attrs = SAME "; " FUSED("BiasAdd"),
            .inputs = {"T[0,3,3,2]", "T[2,2,2,1] numbers 1", "T[2] numbers 3"}},
        {.op = "_FusedDepthwiseConv2dNative",
            .attrs = SAME "; " FUSED("BiasAdd"),
            .inputs = {"T[1,10,13,3] numbers 1", "T[2,2,3,1] numbers 2", "T[3] numbers 3"}},
        {.op = "FusedDepthwiseConv2dNative",
            .attrs = SAME "; " FUSED("BiasAdd"),
            .inputs = {"T[0,3,3,2]", "T[2,2,2,1] numbers 1", "T[2] numbers 3"}},
        {.op = "FusedDepthwiseConv2dNative",
            .attrs = SAME "; " FUSED("BiasAdd"),
            .inputs = {"T[1,10,13,3] numbers 1", "T[2,2,3,1] numbers 2", "T[3] numbers 3"}},
        {.op = "_FusedOnnxConv",
            .attrs = FUSED("BiasAdd"),
            .inputs = {"T[0,2,4,4]", "T[6,2,3,3] numbers 1", "T[6] numbers 3"}},
        {.op = "_FusedOnnxConv",
            .attrs = FUSED("BiasAdd"),
            .inputs = {"T[1,2,9,9] numbers 1", "T[6,2,3,3] numbers 2", "T[6] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("convolution");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(onnx_convolves_in_one_to_three_dimensions),
        cmocka_unit_test(tensorflow_convolves_with_channels_first_and_last),
        cmocka_unit_test(large_outputs_are_cut_into_large_tiles),
        cmocka_unit_test(fused_convolutions_apply_their_steps),
        cmocka_unit_test(no_elements_and_more_than_a_block_has_threads),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/convolution", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
