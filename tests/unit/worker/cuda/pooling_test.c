/* Windows of 256 elements or more are shared by the threads of a block. */
#include "tests/support/cuda_on_cpu/kernel_rival.h"

static const Dtype floats[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64};
static const Dtype numbers[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_INT8,
    DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT8, DTYPE_UINT16, DTYPE_UINT32, DTYPE_UINT64};

#define COMPARE(cases, dtypes) cuda_cases_compare(cases, COUNT_OF(cases), dtypes, COUNT_OF(dtypes))

static void
the_largest_of_a_window_is_found(void **state)
{
    (void)state;
    const OpCase cases[] = {
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
    COMPARE(cases, numbers);
}

static void
nan_is_the_largest(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::MaxPool", .attrs = "kernel_shape=[3]", .inputs = {"T[1,1,6] 1 nan 3 nan inf -inf"}},
        {.op = "onnx::GlobalMaxPool", .inputs = {"T[1,1,300] 1 2 nan 7 ..."}},
    };
    COMPARE(cases, floats);
}

static void
the_mean_counts_what_is_there(void **state)
{
    (void)state;
    const OpCase cases[] = {
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
    COMPARE(cases, floats);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_of_a_window_is_found),
        cmocka_unit_test(nan_is_the_largest),
        cmocka_unit_test(the_mean_counts_what_is_there),
    };
    return cmocka_run_group_tests_name("worker/cuda/kernels/pooling", tests, NULL, NULL);
}
