#include "tests/support/cuda_on_cpu/kernel_rival.h"

static void
responses_are_normalised_over_channels(void **state)
{
    (void)state;
    static const Dtype floats[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64};
    const OpCase cases[] = {
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
    cuda_cases_compare(cases, COUNT_OF(cases), floats, COUNT_OF(floats));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_are_normalised_over_channels),
    };
    return cmocka_run_group_tests_name("worker/cuda/kernels/response", tests, NULL, NULL);
}
