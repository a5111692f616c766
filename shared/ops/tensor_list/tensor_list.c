#include "shared/ops/tensor_list/tensor_list.h"

#include "shared/base/memory.h"
#include "worker/reference/fill.h"
#include "worker/reference/scratch.h"

static void
list_free(Resource *resource)
{
    TensorList *list = (TensorList *)(void *)resource;
    for (int64_t index = 0; index < list->size; index++) {
        tensor_unref(&list->elements[index]);
    }
    room_free(&list->room);
    memory_free(list);
}

const ResourceType tensor_list_type = {.name = "a list of tensors", .free = list_free};

Status
tensor_list_new(
    KernelContext *context, Dtype dtype, const Shape *element_shape, int64_t size, TensorList **ret_list)
{
    if (dtype == DTYPE_RESOURCE) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "a list holds no handles of resources");
    }
    TensorList *list = memory_new(1, sizeof *list);
    if (list == NULL) {
        return call_fail_memory(context->call, "a list of tensors");
    }
    resource_init(&list->resource, &tensor_list_type);
    list->device = context->device;
    list->dtype = dtype;
    list->element_shape = *element_shape;
    list->size_max = TENSOR_LIST_SIZE_MAX;
    Status status = tensor_list_resize(context->call, list, size);
    if (status != STATUS_OK) {
        resource_unref(&list->resource);
        return status;
    }
    *ret_list = list;
    return STATUS_OK;
}

Status
kernel_list(KernelContext *context, uint32_t input, const TensorList **ret_list)
{
    Resource *resource = NULL;
    TRY(kernel_resource(context, input, &tensor_list_type, &resource));
    *ret_list = (const TensorList *)(const void *)resource;
    return STATUS_OK;
}

static Status
copy_list(KernelContext *context, const TensorList *list, TensorList **ret_copy)
{
    TensorList *copy = NULL;
    TRY(tensor_list_new(context, list->dtype, &list->element_shape, list->size, &copy));
    for (int64_t index = 0; index < list->size; index++) {
        copy->elements[index] = tensor_ref(&list->elements[index]);
    }
    copy->size_max = list->size_max;
    copy->depth = list->depth;
    *ret_copy = copy;
    return STATUS_OK;
}

Status
kernel_list_change(KernelContext *context, uint32_t input, uint32_t index, TensorList **ret_list)
{
    Tensor *handle = &context->inputs[input];
    Resource *resource = NULL;
    TRY(kernel_resource(context, input, &tensor_list_type, &resource));
    TensorList *list = (TensorList *)(void *)resource;
    if (tensor_is_unique(handle) && resource_is_unique(resource)) {
        Shape scalar = shape_scalar();
        kernel_alias(context, input, index, &scalar);
    } else {
        TRY(copy_list(context, list, &list));
        TRY(kernel_list_output(context, index, list));
    }
    *ret_list = list;
    return STATUS_OK;
}

static Status
make_room(Call *call, TensorList *list, int64_t size)
{
    size_t used = (size_t)list->size * sizeof(Tensor);
    size_t wanted = (size_t)size * sizeof(Tensor);
    if (list->room != NULL && wanted <= list->room->size) {
        return STATUS_OK;
    }
    if (!room_grow(list->device, &list->room, used, wanted > 2 * used ? wanted : 2 * used)) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "no memory for a list of %lld tensors", (long long)size);
    }
    list->elements = room_data(list->room);
    return STATUS_OK;
}

Status
tensor_list_resize(Call *call, TensorList *list, int64_t size)
{
    if (size < 0 || size > list->size_max) {
        return call_fail(call, size < 0 ? STATUS_INVALID_ARGUMENT : STATUS_RESOURCE_EXHAUSTED,
            "a list of %lld tensors is not possible, the limit is %lld", (long long)size,
            (long long)list->size_max);
    }
    TRY(make_room(call, list, size));
    while (list->size > size) {
        tensor_unref(&list->elements[--list->size]);
    }
    while (list->size < size) {
        list->elements[list->size++] = (Tensor){0};
    }
    return STATUS_OK;
}

static Status
check_index(Call *call, const TensorList *list, int64_t index)
{
    return index >= 0 && index < list->size
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "a list of %lld tensors has no element %lld",
                     (long long)list->size, (long long)index);
}

/* Checks a list that becomes an element of this one. */
static Status
check_depth(Call *call, TensorList *list, const Tensor *value)
{
    const Resource *inner = resource_of(value, &tensor_list_type);
    uint32_t depth = inner == NULL ? 0 : ((const TensorList *)(const void *)inner)->depth + 1;
    if (depth > TENSOR_LIST_DEPTH_MAX) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "lists in lists are more than %d deep", TENSOR_LIST_DEPTH_MAX);
    }
    list->depth = depth > list->depth ? depth : list->depth;
    return STATUS_OK;
}

Status
tensor_list_set(Call *call, TensorList *list, int64_t index, const Tensor *value)
{
    char given[SHAPE_TEXT_SIZE];
    char wanted[SHAPE_TEXT_SIZE];
    Shape merged;
    TRY(check_index(call, list, index));
    if (value->dtype != list->dtype) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a %s tensor cannot go into a list of %s",
            dtype_name(value->dtype), dtype_name(list->dtype));
    }
    if (!shape_merge(&list->element_shape, &value->shape, &merged)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a tensor of shape %s cannot go into a list with elements of shape %s",
            shape_text(&value->shape, given), shape_text(&list->element_shape, wanted));
    }
    TRY(check_depth(call, list, value));
    Tensor reference = tensor_ref(value);
    tensor_unref(&list->elements[index]);
    list->elements[index] = reference;
    return STATUS_OK;
}

/* Completes the declared shape by that of any element that is set. */
static Shape
known_shape(const TensorList *list, const Shape *shape)
{
    Shape merged = list->element_shape;
    (void)!shape_merge(&merged, shape, &merged);
    for (int64_t index = 0; index < list->size && !shape_is_known(&merged); index++) {
        if (list->elements[index].dtype != DTYPE_INVALID) {
            (void)!shape_merge(&merged, &list->elements[index].shape, &merged);
        }
    }
    return merged;
}

Status
tensor_list_get(
    KernelContext *context, const TensorList *list, int64_t index, const Shape *shape, Tensor *ret_value)
{
    char given[SHAPE_TEXT_SIZE];
    char wanted[SHAPE_TEXT_SIZE];
    Shape merged;
    TRY(check_index(context->call, list, index));
    const Tensor *element = &list->elements[index];
    if (element->dtype != DTYPE_INVALID) {
        if (!shape_merge(&element->shape, shape, &merged)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "element %lld is of shape %s, not %s",
                (long long)index, shape_text(&element->shape, given), shape_text(shape, wanted));
        }
        *ret_value = tensor_ref(element);
        return STATUS_OK;
    }
    merged = known_shape(list, shape);
    if (!shape_is_known(&merged) || !dtype_is_copyable(list->dtype)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "element %lld was never set, and zeros in its place have no known shape", (long long)index);
    }
    TRY(scratch_new(context, list->dtype, &merged, ret_value));
    fill_zero(ret_value);
    return STATUS_OK;
}

Status
kernel_shape(KernelContext *context, uint32_t input, Shape *ret_shape)
{
    Shape shape = shape_unknown();
    size_t count = 0;
    if (context->inputs[input].shape.rank > 0) {
        TRY(kernel_input_ints(context, input, shape.dims, SHAPE_RANK_MAX, &count));
        shape.rank = (int)count;
    }
    for (int dimension = 0; dimension < shape.rank; dimension++) {
        shape.dims[dimension] = shape.dims[dimension] < 0 ? -1 : shape.dims[dimension];
    }
    *ret_shape = shape;
    return STATUS_OK;
}
