/* onnx::Compress. A condition that is shorter than the axis drops what lies beyond it. */
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static Status
compress_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    const Tensor *condition = &context->inputs[1];
    const uint8_t *is_kept = condition->data;
    int64_t given = node_attr_int(context->node, "axis");
    Shape shape;
    TRY(output_rule(context, &shape));
    Lines lines = {.outer = 1, .size = tensor_element_count(input), .inner = 1};
    int axis = 0;
    if (given != INT64_MIN) {
        axis = (int)(given < 0 ? given + input->shape.rank : given);
        lines = lines_along(&input->shape, axis);
    }
    int64_t length = condition->shape.dims[0];
    int64_t kept = 0;
    for (int64_t n = 0; n < length; n++) {
        if (is_kept[n] != 0 && n >= lines.size) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "index %lld is not within %lld",
                (long long)n, (long long)lines.size);
        }
        kept += is_kept[n] != 0 ? 1 : 0;
    }
    shape.dims[axis] = kept;
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, input->dtype, &shape, &output));
    size_t size = (size_t)lines.inner * dtype_size(input->dtype);
    char *to = output->data;
    for (int64_t outer = 0; outer < lines.outer && size > 0 && kept > 0; outer++) {
        for (int64_t n = 0; n < length; n++) {
            if (is_kept[n] != 0) {
                memcpy(to, (const char *)input->data + (size_t)(outer * lines.size + n) * size, size);
                to += size;
            }
        }
    }
    return STATUS_OK;
}

static bool
compress_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static const Kernel compress_kernels[] = {
    {.op = "onnx::Compress", .supports = compress_supports, .compute = compress_compute},
};

KERNEL_FAMILY(reference, gather_compress, compress_kernels);
