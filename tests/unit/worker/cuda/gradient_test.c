/* The image's gradient has a thread for each element, the filter's a block. */
#include "tests/support/cmocka_all.h"
#include "tests/support/convolution_cases.h"
#include "tests/support/cuda_kernels.h"

static void
gradients_gather(void **state)
{
    (void)state;
    cuda_kernels_compare(convolution_gradients, COUNT_OF(convolution_gradients));
}

/* Strides that leave gaps between the windows, groups, dilations, paddings of the output, one to three
 * dimensions; with and without a bias. */
static const CudaKernelCase transposed[] = {
    {.op = "onnx::ConvTranspose", .inputs = {"T[1,1,3,3] numbers 1", "T[1,2,3,3] numbers 2"}},
    {.op = "onnx::ConvTranspose",
        .attrs = "strides=[3,2]; output_padding=[1,1]; pads=[1,0,0,1]",
        .inputs = {"T[2,3,4,5] numbers 1", "T[3,2,3,3] numbers 2", "T[2] numbers 3"}},
    {.op = "onnx::ConvTranspose",
        .attrs = "strides=[4]",
        .inputs = {"T[1,2,5] numbers 1", "T[2,3,2] numbers 2", "T[3] 1 -2 3"}},
    {.op = "onnx::ConvTranspose",
        .attrs = "group=2; dilations=[2,2]",
        .inputs = {"T[1,4,3,3] numbers 1", "T[4,3,2,2] numbers 2", "T[6] numbers 3"}},
    {.op = "onnx::ConvTranspose",
        .attrs = "auto_pad=SAME_UPPER; strides=[2,2,2]",
        .inputs = {"T[1,2,3,3,3] numbers 1", "T[2,5,3,3,3] numbers 2", "T[5] numbers 3"}},
    {.op = "onnx::ConvTranspose",
        .attrs = "output_shape=[10,8]; strides=[3,2]",
        .inputs = {"T[1,1,3,3] numbers 1", "T[1,2,3,3] numbers 2"}},
    {.op = "onnx::ConvTranspose", .inputs = {"T[0,1,3,3]", "T[1,2,3,3] numbers 2", "T[2] numbers 3"}},
    {.op = "onnx::ConvTranspose", .inputs = {"T[1,0,3,3]", "T[0,2,3,3]", "T[2] numbers 3"}},
};

static void
transposed_convolutions_gather_and_add_their_bias(void **state)
{
    (void)state;
    cuda_kernels_compare(transposed, COUNT_OF(transposed));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("gradient");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_gather),
        cmocka_unit_test(transposed_convolutions_gather_and_add_their_bias),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/gradient", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
