/* TensorArrays: many elements at a time, as the rows of one tensor. */
#include "shared/base/memory.h"
#include "shared/ops/tensor_array/tensor_array.h"
#include "worker/reference/rows.h"

static Status
write_part(KernelContext *context, TensorArray *array, int64_t index, Tensor *part)
{
    Status status = tensor_array_write(context, array, index, part);
    tensor_unref(part);
    return status;
}

static Status
scatter_compute(KernelContext *context)
{
    const Tensor *value = &context->inputs[2];
    TensorArray *array = NULL;
    int64_t *indices = NULL;
    int64_t count = 0;
    TRY(kernel_tensor_array(context, &array));
    TRY(rows_read_vector(context, 1, &indices, &count));
    if (value->shape.rank < 1 || value->shape.dims[0] != count) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "%lld indices do not fit a value of shape %s", (long long)count, shape_text(&value->shape, text));
    }
    Shape row = shape_of_rank(value->shape.rank - 1);
    memcpy(row.dims, &value->shape.dims[1], (size_t)row.rank * sizeof *row.dims);
    int64_t size = count == 0 ? 0 : tensor_element_count(value) / count;
    for (int64_t n = 0; n < count; n++) {
        Tensor part = rows_part(value, n * size, &row);
        TRY(write_part(context, array, indices[n], &part));
    }
    return kernel_pass_flow(context, 3, 0);
}

/* A dynamic array grows to as many elements as there are lengths; another one must have that many. */
static Status
check_lengths(KernelContext *context, TensorArray *array, const int64_t *lengths, int64_t count)
{
    const Shape *shape = &context->inputs[1].shape;
    int64_t size = 0;
    int64_t left = shape->rank < 1 ? -1 : shape->dims[0];
    TRY(tensor_array_size(context->call, array, &size));
    for (int64_t n = 0; n < count && left >= 0; n++) {
        left = lengths[n] < 0 ? -1 : left - lengths[n];
    }
    if (left != 0) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "the lengths do not add up to the first dimension of shape %s", shape_text(shape, text));
    }
    if (size > count) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "%lld lengths for a tensor array of %lld elements", (long long)count, (long long)size);
    }
    return STATUS_OK;
}

static Status
split_compute(KernelContext *context)
{
    const Tensor *value = &context->inputs[1];
    TensorArray *array = NULL;
    int64_t *lengths = NULL;
    int64_t count = 0;
    TRY(kernel_tensor_array(context, &array));
    TRY(rows_read_vector(context, 2, &lengths, &count));
    TRY(check_lengths(context, array, lengths, count));
    int64_t rows = value->shape.dims[0];
    int64_t size = rows == 0 ? 0 : tensor_element_count(value) / rows;
    int64_t offset = 0;
    for (int64_t n = 0; n < count; n++) {
        Shape shape = value->shape;
        shape.dims[0] = lengths[n];
        Tensor part = rows_part(value, offset, &shape);
        offset += lengths[n] * size;
        TRY(write_part(context, array, n, &part));
    }
    return kernel_pass_flow(context, 3, 0);
}

static Status
read_parts(KernelContext *context, TensorArray *array, const int64_t *indices, int64_t count, Tensor *parts)
{
    for (int64_t n = 0; n < count; n++) {
        TRY(tensor_array_read(context, array, indices == NULL ? n : indices[n], &parts[n]));
    }
    return STATUS_OK;
}

/* The declared shapes tell the output's when there are no elements. */
static Status
declared_shape(
    KernelContext *context, TensorArray *array, const char *attr, bool skips_first, Shape *ret_shape)
{
    Shape shape = tensor_array_element_shape(array);
    const Shape *given = &node_attr(context->node, attr)->value.shape;
    if (skips_first && shape.rank > 0) {
        shape.rank--;
        memmove(shape.dims, &shape.dims[1], (size_t)shape.rank * sizeof *shape.dims);
    }
    if (!shape_merge(&shape, given, &shape) || !shape_is_known(&shape)) {
        return call_fail(
            context->call, STATUS_INVALID_ARGUMENT, "no elements, and the shape of one is not known");
    }
    *ret_shape = shape;
    return STATUS_OK;
}

static Status
stack_elements(KernelContext *context, TensorArray *array, const Tensor *parts, int64_t count)
{
    Shape element = shape_scalar();
    Shape shape;
    if (count == 0) {
        TRY(declared_shape(context, array, "element_shape", false, &element));
    } else {
        TRY(rows_check_shapes(context->call, parts, count, 0));
        element = parts[0].shape;
    }
    TRY(rows_prepend(context->call, count, &element, 0, &shape));
    return rows_join(context, 0, &shape, parts, count);
}

static Status
gather_compute(KernelContext *context)
{
    TensorArray *array = NULL;
    Tensor *parts = NULL;
    int64_t *indices = NULL;
    int64_t count = 0;
    TRY(kernel_tensor_array(context, &array));
    TRY(rows_read_vector(context, 1, &indices, &count));
    TRY(rows_alloc(context->call, count, &parts));
    Status status = read_parts(context, array, indices, count, parts);
    if (status == STATUS_OK) {
        status = stack_elements(context, array, parts, count);
    }
    rows_free(parts, count);
    return status;
}

static Status
join_elements(KernelContext *context, TensorArray *array, const Tensor *parts, int64_t count)
{
    Shape shape = shape_scalar();
    Tensor *lengths = NULL;
    Shape vector = shape_vector(count);
    TRY(kernel_output(context, 1, DTYPE_INT64, &vector, &lengths));
    int64_t rows = 0;
    if (count == 0) {
        Shape rest = shape_scalar();
        TRY(declared_shape(context, array, "element_shape_except0", true, &rest));
        TRY(rows_prepend(context->call, 0, &rest, 0, &shape));
        return rows_join(context, 0, &shape, parts, 0);
    }
    TRY(rows_check_shapes(context->call, parts, count, 1));
    for (int64_t n = 0; n < count; n++) {
        ((int64_t *)lengths->data)[n] = parts[n].shape.dims[0];
        rows += parts[n].shape.dims[0];
    }
    TRY(rows_prepend(context->call, rows, &parts[0].shape, 1, &shape));
    return rows_join(context, 0, &shape, parts, count);
}

static Status
concat_compute(KernelContext *context)
{
    TensorArray *array = NULL;
    Tensor *parts = NULL;
    int64_t count = 0;
    TRY(kernel_tensor_array(context, &array));
    TRY(tensor_array_size(context->call, array, &count));
    TRY(rows_alloc(context->call, count, &parts));
    Status status = read_parts(context, array, NULL, count, parts);
    if (status == STATUS_OK) {
        status = join_elements(context, array, parts, count);
    }
    rows_free(parts, count);
    return status;
}

static const Kernel tensor_array_rows_kernels[] = {
    {.op = "TensorArrayScatterV3", .compute = scatter_compute, .handles_list = true, .host_inputs = 1 << 1},
    {.op = "TensorArraySplitV3", .compute = split_compute, .handles_list = true, .host_inputs = 1 << 2},
    {.op = "TensorArrayGatherV3", .compute = gather_compute, .handles_list = true, .host_inputs = 1 << 1},
    {.op = "TensorArrayConcatV3", .compute = concat_compute, .handles_list = true, .host_outputs = 1 << 1},
};

KERNEL_FAMILY(reference, tensor_array_rows, tensor_array_rows_kernels);
