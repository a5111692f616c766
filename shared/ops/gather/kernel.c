/* Elements selected by index. TensorFlow's indices count from 0; ONNX's may be negative and count from the
 * end. */
#include "worker/reference/fill.h"
#include "worker/reference/gather.h"
#include "worker/reference/moved_strings.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_gather(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]);
}

static bool
counts_from_end(const Node *node)
{
    return slice_starts_with(node->op->name, SLICE("onnx::"));
}

/* Reads an index. INVALID_ARGUMENT when it lies outside 0…size - 1. */
static Status
read_index(KernelContext *context, const Tensor *indices, int64_t element, int64_t size, int64_t *ret_index)
{
    int64_t index = 0;
    bool is_read = tensor_to_int64(indices, element, &index);
    int64_t given = index;
    index += index < 0 && counts_from_end(context->node) ? size : 0;
    if (!is_read || index < 0 || index >= size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "index %lld at %lld is not within %lld",
            (long long)given, (long long)element, (long long)size);
    }
    *ret_index = index;
    return STATUS_OK;
}

/* Copies rows of the params' innermost elements from one line of them, at the indices from `first` on. */
static Status
take_line(KernelContext *context, const GatherRows *rows, int64_t line, int64_t first, char *target)
{
    const Tensor *params = &context->inputs[0];
    const Lines *lines = &rows->lines;
    size_t row = (size_t)lines->inner * dtype_size(params->dtype);
    for (int64_t n = 0; n < rows->count; n++) {
        int64_t index = 0;
        TRY(read_index(context, &context->inputs[1], first + n, lines->size, &index));
        if (row > 0) {
            memcpy(target + (size_t)n * row,
                (const char *)params->data + (size_t)(line * lines->size + index) * row, row);
        }
    }
    return STATUS_OK;
}

static Status
take_rows(KernelContext *context, const GatherRows *rows, Tensor *output)
{
    size_t size = (size_t)(rows->count * rows->lines.inner) * dtype_size(output->dtype);
    int64_t line = 0;
    for (int64_t batch = 0; batch < rows->batches; batch++) {
        int64_t end = line + rows->lines.outer / rows->batches;
        for (; line < end; line++) {
            char *target = (char *)output->data + (size_t)line * size;
            TRY(take_line(context, rows, line, batch * rows->count, target));
        }
    }
    return STATUS_OK;
}

static Status
gather_compute(KernelContext *context)
{
    GatherRows rows;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(gather_rows_read(context, &rows));
    return take_rows(context, &rows, output);
}

static Status
gather_elements_compute(KernelContext *context)
{
    const Tensor *data = &context->inputs[0];
    const Tensor *indices = &context->inputs[1];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int rank = data->shape.rank;
    int64_t given = node_attr_int(context->node, "axis");
    int axis = (int)(given < 0 ? given + rank : given);
    size_t size = dtype_size(data->dtype);
    int64_t count = tensor_element_count(indices);
    for (int64_t element = 0; element < count; element++) {
        int64_t rest = element;
        int64_t stride = 1;
        int64_t source = 0;
        for (int dimension = rank - 1; dimension >= 0; dimension--) {
            int64_t position = rest % indices->shape.dims[dimension];
            rest /= indices->shape.dims[dimension];
            if (dimension == axis) {
                TRY(read_index(context, indices, element, data->shape.dims[axis], &position));
            }
            source += position * stride;
            stride *= data->shape.dims[dimension];
        }
        memcpy((char *)output->data + (size_t)element * size,
            (const char *)data->data + (size_t)source * size, size);
    }
    return STATUS_OK;
}

/* Returns the number of the slice with these coordinates. */
static Status
read_coordinates(KernelContext *context, int64_t tuple, int batch, int64_t depth, int64_t *ret_slice)
{
    const Shape *params = &context->inputs[0].shape;
    int64_t slice = 0;
    for (int64_t n = 0; n < depth; n++) {
        int64_t index = 0;
        int64_t size = params->dims[batch + n];
        TRY(read_index(context, &context->inputs[1], tuple * depth + n, size, &index));
        slice = slice * size + index;
    }
    *ret_slice = slice;
    return STATUS_OK;
}

static Status
gather_nd_compute(KernelContext *context)
{
    const Tensor *params = &context->inputs[0];
    const Shape *indices = &context->inputs[1].shape;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int batch =
        node_attr(context->node, "batch_dims") == NULL ? 0 : (int)node_attr_int(context->node, "batch_dims");
    int64_t depth = indices->dims[indices->rank - 1];
    int64_t batches = 1;
    int64_t tuples = 1; /* in one batch */
    int64_t slices = 1; /* in one batch of the params */
    size_t size = dtype_size(params->dtype);
    if (tensor_element_count(output) == 0 && depth == 0) {
        return STATUS_OK; /* the other dimensions may be of any size */
    }
    for (int index = 0; index < indices->rank - 1; index++) {
        *(index < batch ? &batches : &tuples) *= indices->dims[index];
    }
    for (int index = batch; index < params->shape.rank; index++) {
        slices *= index < batch + depth ? params->shape.dims[index] : 1;
        size *= index < batch + depth ? 1 : (size_t)params->shape.dims[index];
    }
    for (int64_t tuple = 0; tuple < batches * tuples; tuple++) {
        int64_t slice = 0;
        TRY(read_coordinates(context, tuple, batch, depth, &slice));
        if (size > 0) {
            int64_t source = tuple / tuples * slices + slice;
            memcpy((char *)output->data + (size_t)tuple * size,
                (const char *)params->data + (size_t)source * size, size);
        }
    }
    return STATUS_OK;
}

static bool
one_hot_supports(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]) && dtype_is_copyable(node->input_dtypes[2]);
}

/* An index outside the depth gives a line of off values only. */
static Status
one_hot_compute(KernelContext *context)
{
    const Tensor *indices = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    for (uint32_t index = 2; index <= 3; index++) {
        if (tensor_element_count(&context->inputs[index]) != 1) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %u is not one value", index);
        }
    }
    fill_element(output, context->inputs[3].data);
    int64_t given = node_attr_int(context->node, "axis");
    int axis = (int)(given < 0 ? given + output->shape.rank : given);
    Lines lines = lines_along(&output->shape, axis);
    size_t size = dtype_size(output->dtype);
    int64_t count = tensor_element_count(indices);
    for (int64_t n = 0; n < count; n++) {
        int64_t chosen = -1;
        if (tensor_to_int64(indices, n, &chosen) && chosen >= 0 && chosen < lines.size) {
            int64_t position = (n / lines.inner * lines.size + chosen) * lines.inner + n % lines.inner;
            memcpy((char *)output->data + (size_t)position * size, context->inputs[2].data, size);
        }
    }
    return STATUS_OK;
}

static const Kernel gather_kernels[] = {
    {.op = "Gather", .supports = supports_gather, .compute = gather_compute},
    {.op = "GatherV2", .supports = supports_gather, .compute = gather_compute, .host_inputs = 1 << 2},
    {.op = "GatherNd", .supports = supports_gather, .compute = gather_nd_compute},
    {.op = "OneHot", .supports = one_hot_supports, .compute = one_hot_compute, .host_inputs = 1 << 1},
    {.op = "onnx::Gather", .supports = supports_gather, .compute = gather_compute},
    {.op = "onnx::GatherND", .supports = supports_gather, .compute = gather_nd_compute},
    {.op = "onnx::GatherElements", .supports = supports_gather, .compute = gather_elements_compute},
    MOVED_STRINGS("Gather", first),
    MOVED_STRINGS("GatherNd", first),
    MOVED_STRINGS("GatherV2", first),
    MOVED_STRINGS("OneHot", third),
    MOVED_STRINGS("onnx::Gather", first),
    MOVED_STRINGS("onnx::GatherElements", first),
    MOVED_STRINGS("onnx::GatherND", first),
};

KERNEL_FAMILY(reference, gather, gather_kernels);
