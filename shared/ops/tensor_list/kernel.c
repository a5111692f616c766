/* TensorLists: created, measured, and changed one element at a time. */
#include "shared/ops/tensor_list/tensor_list.h"

static Status
read_int(KernelContext *context, uint32_t input, const char *what, int64_t *ret_value)
{
    if (tensor_element_count(&context->inputs[input]) != 1 ||
        !tensor_to_int64(&context->inputs[input], 0, ret_value)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%s must be one integer", what);
    }
    return STATUS_OK;
}

static Status
new_list(KernelContext *context, int64_t size, TensorList **ret_list)
{
    Shape shape;
    TRY(kernel_shape(context, 0, &shape));
    return tensor_list_new(context, node_attr_type(context->node, "element_dtype"), &shape, size, ret_list);
}

static Status
empty_compute(KernelContext *context)
{
    TensorList *list = NULL;
    int64_t size_max = -1;
    TRY(read_int(context, 1, "the largest number of elements", &size_max));
    TRY(new_list(context, 0, &list));
    list->size_max = size_max >= 0 && size_max < TENSOR_LIST_SIZE_MAX ? size_max : TENSOR_LIST_SIZE_MAX;
    return kernel_list_output(context, 0, list);
}

static Status
reserve_compute(KernelContext *context)
{
    TensorList *list = NULL;
    int64_t size = 0;
    TRY(read_int(context, 1, "the number of elements", &size));
    TRY(new_list(context, size, &list));
    return kernel_list_output(context, 0, list);
}

static Status
length_compute(KernelContext *context)
{
    const TensorList *list = NULL;
    Tensor *output = NULL;
    Shape scalar = shape_scalar();
    TRY(kernel_list(context, 0, &list));
    TRY(kernel_output(context, 0, DTYPE_INT32, &scalar, &output));
    *(int32_t *)output->data = (int32_t)list->size;
    return STATUS_OK;
}

static bool
shape_supports(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64;
}

static void
write_int(Tensor *tensor, int64_t index, int64_t value)
{
    if (tensor->dtype == DTYPE_INT64) {
        ((int64_t *)tensor->data)[index] = value;
    } else {
        ((int32_t *)tensor->data)[index] = (int32_t)value;
    }
}

static Status
element_shape_compute(KernelContext *context)
{
    const TensorList *list = NULL;
    Tensor *output = NULL;
    TRY(kernel_list(context, 0, &list));
    const Shape *element = &list->element_shape;
    Shape shape = element->rank < 0 ? shape_scalar() : shape_vector(element->rank);
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shape, &output));
    for (int dimension = 0; dimension < element->rank; dimension++) {
        write_int(output, dimension, element->dims[dimension]);
    }
    if (element->rank < 0) {
        write_int(output, 0, -1);
    }
    return STATUS_OK;
}

static Status
push_compute(KernelContext *context)
{
    TensorList *list = NULL;
    TRY(kernel_list_change(context, 0, 0, &list));
    TRY(tensor_list_resize(context->call, list, list->size + 1));
    return tensor_list_set(context->call, list, list->size - 1, &context->inputs[1]);
}

static Status
pop_compute(KernelContext *context)
{
    TensorList *list = NULL;
    Shape shape;
    TRY(kernel_shape(context, 1, &shape));
    TRY(kernel_list_change(context, 0, 0, &list));
    if (list->size == 0) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "nothing is left in the list");
    }
    TRY(tensor_list_get(context, list, list->size - 1, &shape, &context->outputs[1]));
    return tensor_list_resize(context->call, list, list->size - 1);
}

static Status
set_compute(KernelContext *context)
{
    TensorList *list = NULL;
    int64_t index = 0;
    TRY(read_int(context, 1, "the index", &index));
    TRY(kernel_list_change(context, 0, 0, &list));
    if (index >= list->size && node_attr_bool(context->node, "resize_if_index_out_of_bounds")) {
        TRY(tensor_list_resize(context->call, list, index + 1));
    }
    return tensor_list_set(context->call, list, index, &context->inputs[2]);
}

static Status
get_compute(KernelContext *context)
{
    const TensorList *list = NULL;
    int64_t index = 0;
    Shape shape;
    TRY(read_int(context, 1, "the index", &index));
    TRY(kernel_shape(context, 2, &shape));
    TRY(kernel_list(context, 0, &list));
    return tensor_list_get(context, list, index, &shape, &context->outputs[0]);
}

static Status
resize_compute(KernelContext *context)
{
    TensorList *list = NULL;
    int64_t size = 0;
    TRY(read_int(context, 1, "the number of elements", &size));
    TRY(kernel_list_change(context, 0, 0, &list));
    return tensor_list_resize(context->call, list, size);
}

static Status
join_compute(KernelContext *context)
{
    TensorList *list = NULL;
    const TensorList *more = NULL;
    TRY(kernel_list(context, 1, &more));
    TRY(kernel_list_change(context, 0, 0, &list));
    int64_t first = list->size;
    TRY(tensor_list_resize(context->call, list, first + more->size));
    for (int64_t index = 0; index < more->size; index++) {
        if (more->elements[index].dtype != DTYPE_INVALID) {
            TRY(tensor_list_set(context->call, list, first + index, &more->elements[index]));
        }
    }
    return STATUS_OK;
}

static const Kernel tensor_list_kernels[] = {
    {.op = "EmptyTensorList", .compute = empty_compute, .host_inputs = 3, .is_cheap = true},
    {.op = "TensorListReserve", .compute = reserve_compute, .host_inputs = 3, .is_cheap = true},
    {.op = "TensorListLength", .compute = length_compute, .host_outputs = 1, .is_cheap = true},
    {.op = "TensorListElementShape",
        .supports = shape_supports,
        .compute = element_shape_compute,
        .host_outputs = 1,
        .is_cheap = true},
    {.op = "TensorListPushBack", .compute = push_compute, .is_cheap = true},
    {.op = "TensorListPopBack",
        .compute = pop_compute,
        .host_inputs = 1 << 1,
        .is_cheap = true,
        .sharing = KERNEL_LENDS},
    {.op = "TensorListSetItem", .compute = set_compute, .host_inputs = 1 << 1, .is_cheap = true},
    {.op = "TensorListGetItem",
        .compute = get_compute,
        .host_inputs = 3 << 1,
        .is_cheap = true,
        .sharing = KERNEL_LENDS},
    {.op = "TensorListResize", .compute = resize_compute, .host_inputs = 1 << 1, .is_cheap = true},
    {.op = "TensorListConcatLists", .compute = join_compute, .is_cheap = true},
};

KERNEL_FAMILY(reference, tensor_list, tensor_list_kernels);
