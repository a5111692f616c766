/* TensorLists: many elements at a time, as the rows of one tensor. */
#include "shared/ops/tensor_list/tensor_list.h"
#include "worker/reference/rows.h"

static Status
check_rows(KernelContext *context, const Tensor *tensor, int64_t count)
{
    char text[SHAPE_TEXT_SIZE];
    if (tensor->shape.rank < 1 || (count >= 0 && tensor->shape.dims[0] != count)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "%lld indices do not fit a tensor of shape %s", (long long)count,
            shape_text(&tensor->shape, text));
    }
    return STATUS_OK;
}

/* Makes row n the element indices[n], or n without indices. The list grows as needed. */
static Status
set_rows(KernelContext *context, TensorList *list, const Tensor *tensor, const int64_t *indices)
{
    int64_t count = tensor->shape.dims[0];
    int64_t size = count == 0 ? 0 : tensor_element_count(tensor) / count;
    Shape row = shape_of_rank(tensor->shape.rank - 1);
    memcpy(row.dims, &tensor->shape.dims[1], (size_t)row.rank * sizeof *row.dims);
    for (int64_t n = 0; n < count; n++) {
        int64_t index = indices == NULL ? n : indices[n];
        if (index >= list->size) {
            TRY(tensor_list_resize(context->call, list, index + 1));
        }
        AUTO_TENSOR part = rows_part(tensor, n * size, &row);
        TRY(tensor_list_set(context->call, list, index, &part));
    }
    return STATUS_OK;
}

/* Makes the list an output, or frees it when filling it has failed. */
static Status
finish_list(KernelContext *context, TensorList *list, Status status)
{
    if (status != STATUS_OK) {
        resource_unref(&list->resource);
        return status;
    }
    return kernel_list_output(context, 0, list);
}

static Status
new_list(KernelContext *context, uint32_t shape_input, int64_t size, TensorList **ret_list)
{
    Shape shape;
    TRY(kernel_shape(context, shape_input, &shape));
    return tensor_list_new(context, context->inputs[0].dtype, &shape, size, ret_list);
}

static Status
from_tensor_compute(KernelContext *context)
{
    const Tensor *tensor = &context->inputs[0];
    TensorList *list = NULL;
    TRY(check_rows(context, tensor, -1));
    TRY(new_list(context, 1, tensor->shape.dims[0], &list));
    return finish_list(context, list, set_rows(context, list, tensor, NULL));
}

static Status
scatter_rows(KernelContext *context, int64_t size)
{
    const Tensor *tensor = &context->inputs[0];
    TensorList *list = NULL;
    int64_t *indices = NULL;
    int64_t count = 0;
    TRY(rows_read_vector(context, 1, &indices, &count));
    TRY(check_rows(context, tensor, count));
    TRY(new_list(context, 2, size, &list));
    return finish_list(context, list, set_rows(context, list, tensor, indices));
}

static Status
scatter_compute(KernelContext *context)
{
    return scatter_rows(context, 0);
}

static Status
scatter_v2_compute(KernelContext *context)
{
    int64_t size = -1;
    size_t count = 0;
    TRY(kernel_input_ints(context, 3, &size, 1, &count));
    return scatter_rows(context, size < 0 ? 0 : size);
}

static Status
scatter_existing_compute(KernelContext *context)
{
    const Tensor *tensor = &context->inputs[1];
    TensorList *list = NULL;
    int64_t *indices = NULL;
    int64_t count = 0;
    TRY(rows_read_vector(context, 2, &indices, &count));
    TRY(check_rows(context, tensor, count));
    TRY(kernel_list_change(context, 0, 0, &list));
    return set_rows(context, list, tensor, indices);
}

static Status
split_parts(KernelContext *context, TensorList *list, const Tensor *tensor, const int64_t *lengths)
{
    int64_t rows = tensor->shape.dims[0];
    int64_t size = rows == 0 ? 0 : tensor_element_count(tensor) / rows;
    int64_t offset = 0;
    for (int64_t n = 0; n < list->size; n++) {
        Shape shape = tensor->shape;
        shape.dims[0] = lengths[n];
        if (lengths[n] < 0 || lengths[n] > rows - offset) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "the lengths do not add up to the first dimension, %lld", (long long)rows);
        }
        AUTO_TENSOR part = rows_part(tensor, offset * size, &shape);
        offset += lengths[n];
        TRY(tensor_list_set(context->call, list, n, &part));
    }
    return offset == rows ? STATUS_OK
                          : call_fail(context->call, STATUS_INVALID_ARGUMENT,
                                "the lengths do not add up to the first dimension, %lld", (long long)rows);
}

static Status
split_compute(KernelContext *context)
{
    const Tensor *tensor = &context->inputs[0];
    TensorList *list = NULL;
    int64_t *lengths = NULL;
    int64_t count = 0;
    TRY(rows_read_vector(context, 2, &lengths, &count));
    TRY(check_rows(context, tensor, -1));
    TRY(new_list(context, 1, count, &list));
    return finish_list(context, list, split_parts(context, list, tensor, lengths));
}

typedef Status (*Join)(KernelContext *context, const Shape *element, const Tensor *parts, int64_t count);

/* Joins all elements, or those that the indices name. */
static Status
join_elements(KernelContext *context, const int64_t *indices, int64_t count, const Shape *given, Join join)
{
    const TensorList *list = NULL;
    Tensor *parts = NULL;
    Shape element;
    TRY(kernel_list(context, 0, &list));
    if (!shape_merge(&list->element_shape, given, &element)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the list's elements are of another shape");
    }
    count = indices == NULL ? list->size : count;
    TRY(rows_alloc(context->call, count, &parts));
    Status status = STATUS_OK;
    for (int64_t n = 0; n < count && status == STATUS_OK; n++) {
        status = tensor_list_get(context, list, indices == NULL ? n : indices[n], given, &parts[n]);
    }
    if (status == STATUS_OK) {
        status = join(context, &element, parts, count);
    }
    rows_free(parts, count);
    return status;
}

static Status
fail_empty(KernelContext *context)
{
    return call_fail(
        context->call, STATUS_INVALID_ARGUMENT, "no elements, and the shape of one is not known");
}

static Status
stack_elements(KernelContext *context, const Shape *element, const Tensor *parts, int64_t count)
{
    Shape shape;
    if (count == 0 && !shape_is_known(element)) {
        return fail_empty(context);
    }
    TRY(rows_check_shapes(context->call, parts, count, 0));
    TRY(rows_prepend(context->call, count, count == 0 ? element : &parts[0].shape, 0, &shape));
    return rows_join(context, 0, &shape, parts, count);
}

static Status
stack_compute(KernelContext *context)
{
    int64_t expected = node_attr_int(context->node, "num_elements");
    const TensorList *list = NULL;
    Shape shape;
    TRY(kernel_shape(context, 1, &shape));
    TRY(kernel_list(context, 0, &list));
    if (expected >= 0 && expected != list->size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the list has %lld elements, not %lld",
            (long long)list->size, (long long)expected);
    }
    return join_elements(context, NULL, 0, &shape, stack_elements);
}

static Status
gather_compute(KernelContext *context)
{
    int64_t *indices = NULL;
    int64_t count = 0;
    Shape shape;
    TRY(rows_read_vector(context, 1, &indices, &count));
    TRY(kernel_shape(context, 2, &shape));
    return join_elements(context, indices, count, &shape, stack_elements);
}

static Status
concat_elements(KernelContext *context, const Shape *element, const Tensor *parts, int64_t count)
{
    Shape shape;
    Tensor *lengths = NULL;
    int64_t rows = 0;
    Shape vector = shape_vector(count);
    Shape rest = *element;
    if (rest.rank > 0) {
        rest.dims[0] = 0;
    }
    if (count == 0 && (rest.rank < 1 || !shape_is_known(&rest))) {
        return fail_empty(context);
    }
    TRY(rows_check_shapes(context->call, parts, count, 1));
    TRY(kernel_output(context, 1, DTYPE_INT64, &vector, &lengths));
    for (int64_t n = 0; n < count; n++) {
        ((int64_t *)lengths->data)[n] = parts[n].shape.dims[0];
        rows += parts[n].shape.dims[0];
    }
    TRY(rows_prepend(context->call, rows, count == 0 ? &rest : &parts[0].shape, 1, &shape));
    return rows_join(context, 0, &shape, parts, count);
}

static Status
concat_compute(KernelContext *context)
{
    const Shape *shape = &node_attr(context->node, "element_shape")->value.shape;
    return join_elements(context, NULL, 0, shape, concat_elements);
}

static Status
concat_v2_compute(KernelContext *context)
{
    Shape shape;
    TRY(kernel_shape(context, 1, &shape));
    return join_elements(context, NULL, 0, &shape, concat_elements);
}

static const Kernel tensor_list_rows_kernels[] = {
    {.op = "TensorListFromTensor", .compute = from_tensor_compute, .host_inputs = 1 << 1},
    {.op = "TensorListScatter", .compute = scatter_compute, .host_inputs = 3 << 1},
    {.op = "TensorListScatterV2", .compute = scatter_v2_compute, .host_inputs = 7 << 1},
    {.op = "TensorListScatterIntoExistingList", .compute = scatter_existing_compute, .host_inputs = 1 << 2},
    {.op = "TensorListSplit", .compute = split_compute, .host_inputs = 3 << 1},
    {.op = "TensorListStack", .compute = stack_compute, .host_inputs = 1 << 1},
    {.op = "TensorListGather", .compute = gather_compute, .host_inputs = 3 << 1},
    {.op = "TensorListConcat", .compute = concat_compute, .host_outputs = 1 << 1},
    {.op = "TensorListConcatV2", .compute = concat_v2_compute, .host_inputs = 3 << 1},
};

KERNEL_FAMILY(reference, tensor_list_rows, tensor_list_rows_kernels);
