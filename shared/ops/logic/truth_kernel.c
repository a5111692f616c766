/* The truth of a condition: a scalar number is true unless it is zero, a scalar string unless it is empty,
 * any other tensor if it has elements (TensorFlow's ToBool). */
#include <string.h>

#include "worker/runtime/kernel.h"

static bool
truth_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_STRING || dtype_is_copyable(node->input_dtypes[0]);
}

/* Returns true for zero of either sign. A float's sign is in its last byte. */
static bool
is_zero(const Tensor *scalar)
{
    static const unsigned char zeros[16] = {0};
    unsigned char bytes[16] = {0};
    size_t size = dtype_size(scalar->dtype);
    memcpy(bytes, scalar->data, size);
    bool is_complex = scalar->dtype == DTYPE_COMPLEX64 || scalar->dtype == DTYPE_COMPLEX128;
    if (is_complex || dtype_is_floating(scalar->dtype)) {
        bytes[size - 1] &= 0x7f;
        bytes[size / 2 - 1] &= is_complex ? 0x7f : 0xff;
    }
    return memcmp(bytes, zeros, size) == 0;
}

static bool
is_true(const Tensor *tensor)
{
    if (tensor->shape.rank > 0) {
        return tensor_element_count(tensor) > 0;
    }
    return tensor->dtype == DTYPE_STRING ? ((const Slice *)tensor->data)->size > 0 : !is_zero(tensor);
}

static Status
truth_compute(KernelContext *context)
{
    Shape scalar = shape_scalar();
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, DTYPE_BOOL, &scalar, &output));
    *(bool *)output->data = is_true(&context->inputs[0]);
    return STATUS_OK;
}

static const Kernel truth_kernels[] = {
    {.op = "ToBool", .supports = truth_supports, .compute = truth_compute, .is_cheap = true},
};

KERNEL_FAMILY(reference, logic_truth, truth_kernels);
