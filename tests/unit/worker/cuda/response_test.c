#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
responses_are_normalised_over_channels(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "LRN", .inputs = {"T[2,3,3,13] numbers 1"}},
        {.op = "LRN",
            .attrs = "depth_radius=1; bias=2; alpha=0.5; beta=0.75",
            .inputs = {"T[1,2,2,4] numbers 1"}},
        {.op = "LRN", .attrs = "depth_radius=-1", .inputs = {"T[1,1,1,1] 1"}},
        {.op = "onnx::LRN", .attrs = "size=3", .inputs = {"T[2,5,3,3] numbers 1"}},
        {.op = "onnx::LRN",
            .attrs = "size=4; alpha=0.1; beta=0.6; bias=1.5",
            .inputs = {"T[1,7,2,3] numbers 1"}},
        {.op = "onnx::LRN", .attrs = "size=0", .inputs = {"T[1,1,1,1] 1"}},
        {.op = "onnx::LRN", .attrs = "size=3", .inputs = {"T[0,5,3,3]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
gradients_of_responses(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "LRNGrad", .inputs = {"T[2,3,3,13]", "T[2,3,3,13]", "T[2,3,3,13]"}},
        {.op = "LRNGrad",
            .attrs = "depth_radius=1; bias=2; alpha=0.5; beta=0.75",
            .inputs = {"T[1,9,8,5]", "T[1,9,8,5]", "T[1,9,8,5]"}},
        {.op = "LRNGrad",
            .attrs = "depth_radius=0",
            .inputs = {"T[1,1,1,3] 1 2 3", "T[1,1,1,3] nan inf 1", "T[1,1,1,3] 1 1 1"}},
        {.op = "LRNGrad", .attrs = "depth_radius=-1", .inputs = {"T[1,1,1,1]", "T[1,1,1,1]", "T[1,1,1,1]"}},
        {.op = "LRNGrad", .inputs = {"T[0,1,1,3]", "T[0,1,1,3]", "T[0,1,1,3]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
no_elements_and_more_than_a_block_has_threads(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "LRN", .inputs = {"T[0,3,3,5]"}},
        {.op = "LRN", .inputs = {"T[1,9,7,5] numbers 1"}},
        {.op = "onnx::LRN", .attrs = "size=3", .inputs = {"T[1,5,9,7] numbers 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("response");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_are_normalised_over_channels),
        cmocka_unit_test(gradients_of_responses),
        cmocka_unit_test(no_elements_and_more_than_a_block_has_threads),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/response", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
