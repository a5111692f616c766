/* ONNX's DFT and STFT on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

/* Lengths of every factor, of several, of a prime that is none, and of one. */
static void
lines_of_any_length(void **state)
{
    (void)state;
    static const char *const inputs[] = {"T[2,1,1] numbers 1", "T[2,2,2] numbers 1", "T[2,4,2] numbers 1",
        "T[1,8,1] numbers 1", "T[1,30,2] numbers 1", "T[1,77,2] numbers 1", "T[2,13,1] numbers 1",
        "T[3,17,2] numbers 1", "T[2,19,1] numbers 1", "T[1,300,2] numbers 1", "T[0,4,2]"};
    for (size_t index = 0; index < COUNT_OF(inputs); index++) {
        CudaKernelCase cases[] = {
            {"onnx::DFT", NULL, {inputs[index], "", "int64[] 1"}},
            {"onnx::DFT", "inverse=1", {inputs[index], "", "int64[] 1"}},
        };
        cuda_kernels_compare(cases, COUNT_OF(cases));
    }
}

/* Axes with lines side by side, lines that are filled up or cut, and one side of a spectrum. */
static void
lines_of_any_place(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::DFT", NULL, {"T[3,5,2,2] numbers 1", "", "int64[] 0"}},
        {"onnx::DFT", NULL, {"T[2,6,5,1] numbers 1", "", "int64[] 1"}},
        {"onnx::DFT", NULL, {"T[2,5,2] numbers 1", "int64[] 8", "int64[] 1"}},
        {"onnx::DFT", NULL, {"T[2,5,2] numbers 1", "int64[] 3", "int64[] 1"}},
        {"onnx::DFT", NULL, {"T[2,0,2]", "int64[] 3", "int64[] 1"}},
        {"onnx::DFT", "onesided=1", {"T[2,6,1] numbers 1", "", "int64[] 1"}},
        {"onnx::DFT", "onesided=1", {"T[2,3,4,1] numbers 1", "int64[] 17", "int64[] 1"}},
        {"onnx::DFT", "onesided=1; inverse=1", {"T[2,4,2] numbers 1", "", "int64[] 1"}},
        {"onnx::DFT", "onesided=1; inverse=1", {"T[2,4,3,2] numbers 1", "int64[] 17", "int64[] 1"}},
        {"onnx::DFT", "onesided=1; inverse=1", {"T[2,9,2] numbers 1", "int64[] 7", "int64[] 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
frames_of_signals(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::STFT", NULL, {"T[2,40,1] numbers 1", "int64[] 5", "T[16] numbers 2"}},
        {"onnx::STFT", "onesided=0", {"T[2,40,2] numbers 1", "int64[] 7", "T[17] numbers 2"}},
        {"onnx::STFT", NULL, {"T[1,400,1] numbers 1", "int32[] 3", "", "int32[] 8"}},
        {"onnx::STFT", "onesided=0", {"T[1,9,1] numbers 1", "int64[] 3", "", "int64[] 9"}},
        {"onnx::STFT", NULL, {"T[0,40,1]", "int64[] 5", "T[16]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("fourier");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_any_length),
        cmocka_unit_test(lines_of_any_place),
        cmocka_unit_test(frames_of_signals),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/fourier", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
