/* onnx::EyeLike: element (n, n + k) is 1. */
#include "worker/reference/cast.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"

static Status
eye_like_compute(KernelContext *context)
{
    static const int64_t ONE = 1;
    int64_t diagonal = node_attr_int(context->node, "k");
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t rows = output->shape.dims[0];
    int64_t columns = output->shape.dims[1];
    if (rows * columns == 0) {
        return STATUS_OK;
    }
    fill_zero(output);
    for (int64_t row = 0; row < rows; row++) {
        if (diagonal >= -row && diagonal < columns - row) {
            size_t element = (size_t)(row * columns + row + diagonal) * dtype_size(output->dtype);
            cast_elements(DTYPE_INT64, &ONE, output->dtype, (char *)output->data + element, 1);
        }
    }
    return STATUS_OK;
}

static bool
eye_like_supports(const Node *node)
{
    return cast_supports(DTYPE_INT64, node->output_dtypes[0]);
}

static const Kernel eye_kernels[] = {
    {.op = "onnx::EyeLike", .supports = eye_like_supports, .compute = eye_like_compute, .any_inputs = 1},
};

KERNEL_FAMILY(reference, diagonal_eye, eye_kernels);
