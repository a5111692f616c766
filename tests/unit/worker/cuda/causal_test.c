/* Convolutions over the positions up to each one, with a state, on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
convolutions_with_a_state(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::CausalConvWithState", NULL, {"T[2,3,7]", "T[3,1,4]", "T[3]", "T[2,3,3]"}},
        {"onnx::CausalConvWithState", "activation=silu", {"T[2,3,7]", "T[3,1,4]", "T[3]", "T[2,3,3]"}},
        {"onnx::CausalConvWithState", "activation=swish", {"T[1,2,300]", "T[2,1,3]", "", "T[1,2,2]"}},
        {"onnx::CausalConvWithState", NULL, {"T[1,2,5]", "T[2,1,3]"}},
        {"onnx::CausalConvWithState", NULL, {"T[1,1,1] 3", "T[1,1,3]", "T[1]", "T[1,1,2] 1 2"}},
        {"onnx::CausalConvWithState", NULL, {"T[1,1,2]", "T[1,1,1]"}},
        {"onnx::CausalConvWithState", NULL, {"T[1,1,0]", "T[1,1,3]", "", "T[1,1,2]"}},
        {"onnx::CausalConvWithState", NULL, {"T[0,2,3]", "T[2,1,2]", "", ""}},
        {"onnx::CausalConvWithState", NULL, {"T[1,0,3]", "T[0,1,2]", "", ""}},
        {"onnx::CausalConvWithState", NULL, {"T[1,2,3]", "T[1,1,2]", "", ""}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("causal");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_with_a_state),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/causal", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
