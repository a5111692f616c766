#include "shared/ops/tensor_array/tensor_array.h"

#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/reference/combine.h"
#include "worker/reference/moves.h"
#include "worker/reference/room.h"
#include "worker/reference/scratch.h"

typedef struct Element {
    Tensor value;
    Shape shape; /* the shape as far as it is known without a value; in a gradient, that of the array's
                  * element */
    bool is_written;
    bool is_read;
    bool is_cleared;
} Element;

typedef struct Gradient {
    struct Gradient *next;
    TensorArray *array;
    size_t source_size;
    char source[];
} Gradient;

struct TensorArray {
    Resource resource;
    Mutex lock; /* guards the members below */
    TensorArrayOptions options;
    bool is_closed;
    Room room;
    Element *elements; /* in `room` */
    int64_t size;
    Gradient *gradients;
};

static void
elements_clear(TensorArray *array)
{
    for (int64_t index = 0; index < array->size; index++) {
        tensor_unref(&array->elements[index].value);
    }
    room_free(&array->room);
    array->elements = NULL;
    array->size = 0;
}

static void
array_free(Resource *resource)
{
    TensorArray *array = (TensorArray *)(void *)resource;
    elements_clear(array);
    while (array->gradients != NULL) {
        Gradient *gradient = array->gradients;
        array->gradients = gradient->next;
        resource_unref(tensor_array_resource(gradient->array));
        memory_free(gradient);
    }
    mutex_done(&array->lock);
    memory_free(array);
}

const ResourceType tensor_array_type = {.name = "a tensor array", .free = array_free};

/* Grows to at least twice the size: a loop that writes behind the end grows the array in every turn. */
static Status
make_room(Call *call, TensorArray *array, int64_t size)
{
    size_t used = (size_t)array->size * sizeof(Element);
    size_t wanted = (size_t)size * sizeof(Element);
    size_t available = array->room == NULL ? 0 : array->room->size;
    if (wanted > available) {
        wanted = wanted > 2 * used ? wanted : 2 * used;
        if (!room_grow(array->options.device, &array->room, used, wanted)) {
            return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
                "no memory for the %lld elements of a tensor array", (long long)size);
        }
        array->elements = room_data(array->room);
    }
    return STATUS_OK;
}

static Status
array_grow(Call *call, TensorArray *array, int64_t size)
{
    if (size > TENSOR_ARRAY_SIZE_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "a tensor array of %lld elements passes the limit of %d", (long long)size, TENSOR_ARRAY_SIZE_MAX);
    }
    TRY(make_room(call, array, size));
    memset(&array->elements[array->size], 0, (size_t)(size - array->size) * sizeof *array->elements);
    for (int64_t index = array->size; index < size; index++) {
        array->elements[index].shape = shape_unknown();
    }
    array->size = size;
    return STATUS_OK;
}

Status
tensor_array_new(Call *call, const TensorArrayOptions *options, int64_t size, TensorArray **ret_array)
{
    TensorArray *array = memory_new(1, sizeof *array);
    if (array == NULL) {
        return call_fail_memory(call, "a tensor array");
    }
    resource_init(&array->resource, &tensor_array_type);
    mutex_init(&array->lock);
    array->options = *options;
    Status status = size < 0 ? call_fail(call, STATUS_INVALID_ARGUMENT, "the size of a tensor array is %lld",
                                   (long long)size)
                    : size == 0 ? STATUS_OK
                                : array_grow(call, array, size);
    if (status != STATUS_OK) {
        resource_unref(&array->resource);
        return status;
    }
    *ret_array = array;
    return STATUS_OK;
}

Status
kernel_tensor_array(KernelContext *context, TensorArray **ret_array)
{
    Resource *resource = NULL;
    TRY(kernel_resource(context, 0, &tensor_array_type, &resource));
    *ret_array = (TensorArray *)(void *)resource;
    return STATUS_OK;
}

Status
kernel_pass_flow(KernelContext *context, uint32_t input, uint32_t output)
{
    const Shape *shape = &context->inputs[input].shape;
    if (shape->rank != 0) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "the flow has shape %s, not that of a scalar", shape_text(shape, text));
    }
    kernel_alias(context, input, output, shape);
    return STATUS_OK;
}

void
tensor_array_close(TensorArray *array)
{
    mutex_lock(&array->lock);
    elements_clear(array);
    array->is_closed = true;
    mutex_unlock(&array->lock);
}

static Status
check_open(Call *call, const TensorArray *array)
{
    return array->is_closed ? call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor array has been closed")
                            : STATUS_OK;
}

Status
tensor_array_size(Call *call, TensorArray *array, int64_t *ret_size)
{
    mutex_lock(&array->lock);
    Status status = check_open(call, array);
    *ret_size = array->size;
    mutex_unlock(&array->lock);
    return status;
}

Dtype
tensor_array_dtype(const TensorArray *array)
{
    return array->options.dtype; /* immutable, hence read without the lock */
}

Shape
tensor_array_element_shape(TensorArray *array)
{
    mutex_lock(&array->lock);
    Shape shape = array->options.element_shape;
    mutex_unlock(&array->lock);
    return shape;
}

static Status
check_value(Call *call, TensorArray *array, const Tensor *value)
{
    char actual[SHAPE_TEXT_SIZE];
    char expected[SHAPE_TEXT_SIZE];
    Shape merged;
    if (value->dtype != array->options.dtype) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a %s tensor cannot go into a tensor array of %s",
            dtype_name(value->dtype), dtype_name(array->options.dtype));
    }
    if (!shape_merge(&array->options.element_shape, &value->shape, &merged)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a tensor of shape %s cannot go into a tensor array with elements of shape %s",
            shape_text(&value->shape, actual), shape_text(&array->options.element_shape, expected));
    }
    if (array->options.is_uniform) {
        array->options.element_shape = value->shape;
    }
    return STATUS_OK;
}

static Status
reach_element(Call *call, TensorArray *array, int64_t index)
{
    if (index < 0 || (index >= array->size && !array->options.is_dynamic)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "index %lld cannot be written in a tensor array of %lld elements that does not grow",
            (long long)index, (long long)array->size);
    }
    return index < array->size ? STATUS_OK : array_grow(call, array, index + 1);
}

/* Adds a gradient's second write: in place when nobody else holds the first, else into a new tensor. */
static Status
accumulate_write(KernelContext *context, Element *element, const Tensor *value)
{
    if (!shape_equal(&element->value.shape, &value->shape)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "gradients of shapes %s and %s cannot add up", shape_text(&element->value.shape, left),
            shape_text(&value->shape, right));
    }
    if (!combine_supports(COMBINE_ADD, value->dtype)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "gradients of type %s cannot add up",
            dtype_name(value->dtype));
    }
    if (!tensor_is_unique(&element->value)) {
        AUTO_TENSOR sum = {0};
        TRY(scratch_new(context, value->dtype, &value->shape, &sum));
        TRY(move_all(context, &element->value, &sum, 0));
        tensor_unref(&element->value);
        element->value = sum;
        sum = (Tensor){0};
    }
    return move_sum_into(context, value, &element->value);
}

static Status
put_element(KernelContext *context, TensorArray *array, int64_t index, const Tensor *value)
{
    TRY(check_open(context->call, array));
    TRY(reach_element(context->call, array, index));
    TRY(check_value(context->call, array, value));
    Element *element = &array->elements[index];
    if (element->is_read) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "index %lld of the tensor array cannot be written: it has been read", (long long)index);
    }
    if (element->is_written && array->options.accumulates) {
        return tensor_element_count(value) == 0 ? STATUS_OK : accumulate_write(context, element, value);
    }
    if (element->is_written) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "index %lld of the tensor array has been written already", (long long)index);
    }
    element->value = tensor_ref(value);
    element->is_written = true;
    return STATUS_OK;
}

Status
tensor_array_write(KernelContext *context, TensorArray *array, int64_t index, const Tensor *value)
{
    mutex_lock(&array->lock);
    Status status = put_element(context, array, index, value);
    mutex_unlock(&array->lock);
    return status;
}

static Status
read_zeros(KernelContext *context, const TensorArray *array, int64_t index, Tensor *ret_value)
{
    const Element *element = &array->elements[index];
    Shape shape = array->options.element_shape;
    (void)!shape_merge(&shape, &element->shape, &shape); /* where they differ, the array's element shape is
                                                          * the one */
    if (!shape_is_known(&shape) || !dtype_is_copyable(array->options.dtype)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "index %lld of the tensor array has not been written, and zeros in its place have no known shape",
            (long long)index);
    }
    TRY(scratch_new(context, array->options.dtype, &shape, ret_value));
    return move_zeros_into(context, ret_value);
}

static Status
take_element(KernelContext *context, TensorArray *array, int64_t index, Tensor *ret_value)
{
    TRY(check_open(context->call, array));
    if (index < 0 || index >= array->size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "index %lld cannot be read from a tensor array of %lld elements", (long long)index,
            (long long)array->size);
    }
    Element *element = &array->elements[index];
    if (element->is_cleared) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "index %lld of the tensor array was cleared by a read before (clear_after_read)",
            (long long)index);
    }
    if (!element->is_written) {
        return read_zeros(context, array, index, ret_value);
    }
    element->is_read = true;
    element->is_cleared = array->options.clears;
    element->shape = element->value.shape;
    *ret_value = tensor_ref(&element->value);
    if (element->is_cleared) {
        tensor_unref(&element->value);
    }
    return STATUS_OK;
}

Status
tensor_array_read(KernelContext *context, TensorArray *array, int64_t index, Tensor *ret_value)
{
    mutex_lock(&array->lock);
    Status status = take_element(context, array, index, ret_value);
    mutex_unlock(&array->lock);
    return status;
}

static Status
join_shapes(Call *call, const Shape *prefix, const Shape *shape, Shape *ret_shape)
{
    if (shape->rank < 0) {
        *ret_shape = shape_unknown();
        return STATUS_OK;
    }
    if (prefix->rank + shape->rank > SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
    }
    Shape joined = *prefix;
    memcpy(&joined.dims[joined.rank], shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    joined.rank += shape->rank;
    *ret_shape = joined;
    return STATUS_OK;
}

static Status
copy_shapes(Call *call, const TensorArray *array, const Shape *prefix, const TensorArray *gradient)
{
    for (int64_t index = 0; index < array->size; index++) {
        const Element *element = &array->elements[index];
        bool has_value = element->is_written && !element->is_cleared;
        const Shape *shape = has_value ? &element->value.shape : &element->shape;
        TRY(join_shapes(call, prefix, shape, &gradient->elements[index].shape));
    }
    return STATUS_OK;
}

static Status
gradient_new(Call *call, TensorArray *array, Slice source, const Shape *prefix, TensorArray **ret_gradient)
{
    Gradient *entry = memory_new(1, sizeof *entry + source.size);
    if (entry == NULL) {
        return call_fail_memory(call, "a tensor array's gradient");
    }
    TensorArrayOptions options = array->options;
    options.is_dynamic = false;
    options.accumulates = true;
    Status status = join_shapes(call, prefix, &array->options.element_shape, &options.element_shape);
    if (status == STATUS_OK) {
        status = tensor_array_new(call, &options, array->size, &entry->array);
    }
    if (status == STATUS_OK) {
        status = copy_shapes(call, array, prefix, entry->array);
    }
    if (status != STATUS_OK) {
        resource_unref(tensor_array_resource(entry->array));
        memory_free(entry);
        return status;
    }
    entry->source_size = source.size;
    memcpy(entry->source, source.data, source.size);
    entry->next = array->gradients;
    array->gradients = entry;
    array->options.is_dynamic = false;
    *ret_gradient = entry->array;
    return STATUS_OK;
}

static Status
gradient_find(Call *call, TensorArray *array, Slice source, const Shape *prefix, TensorArray **ret_gradient)
{
    TRY(check_open(call, array));
    if (array->options.accumulates) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the gradient of a gradient of a tensor array");
    }
    for (const Gradient *entry = array->gradients; entry != NULL; entry = entry->next) {
        if (slice_equal(slice_of(entry->source, entry->source_size), source)) {
            *ret_gradient = entry->array;
            return STATUS_OK;
        }
    }
    return gradient_new(call, array, source, prefix, ret_gradient);
}

Status
tensor_array_gradient(
    Call *call, TensorArray *array, Slice source, const Shape *prefix, TensorArray **ret_gradient)
{
    mutex_lock(&array->lock);
    TensorArray *gradient = NULL;
    Status status = gradient_find(call, array, source, prefix, &gradient);
    if (status == STATUS_OK) {
        (void)resource_ref(tensor_array_resource(gradient));
        *ret_gradient = gradient;
    }
    mutex_unlock(&array->lock);
    return status;
}
