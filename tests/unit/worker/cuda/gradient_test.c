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
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/gradient", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
