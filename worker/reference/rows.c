#include "worker/reference/rows.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/reference/moves.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

Tensor
rows_part(const Tensor *tensor, int64_t offset, const Shape *shape)
{
    assert(offset >= 0);
    size_t size = tensor->dtype == DTYPE_STRING ? sizeof(Slice) : dtype_size(tensor->dtype);
    Tensor part = {.dtype = tensor->dtype, .shape = *shape};
    if (tensor_element_count(&part) > 0) {
        part.data = (char *)tensor->data + (size_t)offset * size;
        part.buffer = tensor_buffer_ref(tensor->buffer);
    }
    return part;
}

static Status
join_strings(KernelContext *context, uint32_t index, const Shape *shape, const Tensor *parts, int64_t count)
{
    int64_t total = 0;
    for (int64_t part = 0; part < count; part++) {
        total += tensor_element_count(&parts[part]);
    }
    AUTO_TENSOR table = {0};
    TRY(scratch_array(context, total, sizeof(Slice), &table));
    Slice *elements = table.data;
    size_t position = 0;
    for (int64_t part = 0; part < count; part++) {
        size_t size = (size_t)tensor_element_count(&parts[part]);
        if (size > 0) {
            memcpy(&elements[position], parts[part].data, size * sizeof *elements);
        }
        position += size;
    }
    return texts_new(context, shape, elements, &context->outputs[index]);
}

/* Who reads a list names a dtype, which may be another than the list's. */
static Status
check_dtypes(Call *call, Dtype dtype, const Tensor *parts, int64_t count)
{
    for (int64_t part = 0; part < count; part++) {
        if (parts[part].dtype != dtype) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "an element is %s, not %s",
                dtype_name(parts[part].dtype), dtype_name(dtype));
        }
    }
    return STATUS_OK;
}

Status
rows_join(KernelContext *context, uint32_t index, const Shape *shape, const Tensor *parts, int64_t part_count)
{
    assert(index < context->output_count);
    Dtype dtype = context->node->output_dtypes[index];
    Tensor *output = NULL;
    TRY(check_dtypes(context->call, dtype, parts, part_count));
    if (dtype == DTYPE_STRING) {
        return join_strings(context, index, shape, parts, part_count);
    }
    TRY(kernel_output(context, index, dtype, shape, &output));
    int64_t offset = 0;
    for (int64_t part = 0; part < part_count; part++) {
        TRY(move_all(context, &parts[part], output, offset));
        offset += tensor_element_count(&parts[part]);
    }
    return STATUS_OK;
}

static bool
shapes_agree(const Shape *left, const Shape *right, int first)
{
    if (left->rank != right->rank || left->rank < first) {
        return false;
    }
    for (int dimension = first; dimension < left->rank; dimension++) {
        if (left->dims[dimension] != right->dims[dimension]) {
            return false;
        }
    }
    return true;
}

Status
rows_check_shapes(Call *call, const Tensor *parts, int64_t part_count, int first)
{
    for (int64_t part = 0; part < part_count; part++) {
        if (!shapes_agree(&parts[0].shape, &parts[part].shape, first)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "elements 0 and %lld of shapes %s and %s do not fit together", (long long)part,
                shape_text(&parts[0].shape, left), shape_text(&parts[part].shape, right));
        }
    }
    return STATUS_OK;
}

Status
rows_alloc(Call *call, int64_t count, Tensor **ret_parts)
{
    assert(count >= 0);
    *ret_parts = memory_new((size_t)count + 1, sizeof **ret_parts);
    return *ret_parts == NULL ? call_fail_memory(call, "a list of tensors") : STATUS_OK;
}

void
rows_free(Tensor *parts, int64_t count)
{
    for (int64_t part = 0; parts != NULL && part < count; part++) {
        tensor_unref(&parts[part]);
    }
    memory_free(parts);
}

Status
rows_read_vector(KernelContext *context, uint32_t input, int64_t **ret_values, int64_t *ret_count)
{
    const Tensor *tensor = &context->inputs[input];
    if (tensor->shape.rank != 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %u must be a vector", input);
    }
    int64_t count = tensor->shape.dims[0];
    int64_t *values = arena_alloc(context->call->arena, ((size_t)count + 1) * sizeof *values);
    size_t read = 0;
    if (values == NULL) {
        return call_fail_memory(context->call, "indices");
    }
    TRY(kernel_input_ints(context, input, values, (size_t)count, &read));
    *ret_values = values;
    *ret_count = count;
    return STATUS_OK;
}

Status
rows_prepend(Call *call, int64_t first, const Shape *rest, int from, Shape *ret_shape)
{
    if (rest->rank - from >= SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
    }
    Shape shape = shape_of_rank(rest->rank - from + 1);
    shape.dims[0] = first;
    memcpy(&shape.dims[1], &rest->dims[from], (size_t)(rest->rank - from) * sizeof *rest->dims);
    *ret_shape = shape;
    return STATUS_OK;
}
