/* onnx::OneHot: an index from -depth to depth - 1 names the element that is on; another one, none. */
#include "worker/reference/cast.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static Status
onnx_one_hot_compute(KernelContext *context)
{
    const Tensor *values = &context->inputs[2];
    Tensor *output = NULL;
    AUTO_TENSOR indices = {0};
    if (values->shape.rank != 1 || values->shape.dims[0] != 2) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the values have shape %s, not [2]",
            shape_text(&values->shape, text));
    }
    TRY(output_new(context, &output));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_INT64, &indices));
    int64_t axis = node_attr_int(context->node, "axis");
    Lines lines = lines_along(&output->shape, (int)(axis < 0 ? axis + output->shape.rank : axis));
    size_t size = dtype_size(output->dtype);
    const char *on = (const char *)values->data + size;
    fill_element(output, values->data);
    for (int64_t n = 0; n < tensor_element_count(&indices); n++) {
        int64_t index = ((const int64_t *)indices.data)[n];
        index += index < 0 ? lines.size : 0;
        if (index >= 0 && index < lines.size) {
            int64_t element = (n / lines.inner * lines.size + index) * lines.inner + n % lines.inner;
            memcpy((char *)output->data + (size_t)element * size, on, size);
        }
    }
    return STATUS_OK;
}

static bool
onnx_one_hot_supports(const Node *node)
{
    return cast_supports(node->input_dtypes[0], DTYPE_INT64) &&
           cast_supports(node->input_dtypes[1], DTYPE_INT64) && !dtype_is_complex(node->input_dtypes[0]) &&
           dtype_is_copyable(node->input_dtypes[2]);
}

static const Kernel one_hot_kernels[] = {
    {.op = "onnx::OneHot",
        .supports = onnx_one_hot_supports,
        .compute = onnx_one_hot_compute,
        .host_inputs = 1 << 1},
};

KERNEL_FAMILY(reference, gather_one_hot, one_hot_kernels);
