#include "shared/formats/builder.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "shared/formats/protobuf.h"

enum {
    ARENA_SIZE_MIN = 16 << 20,
    ARENA_FACTOR = 24, /* bytes of structures that one byte of the source may become */
    TENSOR_BYTES_MIN = 256 << 20,
};

Status
builder_begin(GraphBuilder *builder, Call *call, size_t source_size)
{
    assert(builder != NULL && call != NULL);
    size_t arena_size = 0;
    if (__builtin_mul_overflow(source_size, ARENA_FACTOR, &arena_size) ||
        __builtin_add_overflow(arena_size, ARENA_SIZE_MIN, &arena_size)) {
        arena_size = SIZE_MAX;
    }
    *builder = (GraphBuilder){.call = call,
        .def = graph_def_new(arena_size),
        .stack = {.size_max = arena_size},
        .tensor_bytes_left = source_size + TENSOR_BYTES_MIN};
    return builder->def == NULL ? call_fail_memory(call, "the graph") : STATUS_OK;
}

void
builder_done(GraphBuilder *builder)
{
    buffer_done(&builder->stack);
    graph_def_unref(builder->def);
}

GraphDef *
builder_finish(GraphBuilder *builder)
{
    assert(builder->def != NULL);
    return TAKE(builder->def);
}

Status
builder_push(GraphBuilder *builder, const void *item, size_t size)
{
    buffer_append(&builder->stack, item, size);
    return buffer_is_ok(&builder->stack) ? STATUS_OK : call_fail_memory(builder->call, "the graph");
}

Status
builder_alloc(GraphBuilder *builder, size_t count, size_t size, void **ret_memory)
{
    size_t total = 0;
    void *memory =
        __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(builder->def->arena, total);
    if (memory == NULL) {
        return call_fail_memory(builder->call, "the graph");
    }
    *ret_memory = memory;
    return STATUS_OK;
}

Status
builder_take(GraphBuilder *builder, size_t mark, size_t item_size, const void **ret_items, size_t *ret_count)
{
    assert(item_size > 0 && mark <= builder->stack.size);
    size_t size = builder->stack.size - mark;
    void *items = NULL;
    if (size > 0) {
        TRY(builder_alloc(builder, 1, size, &items));
        memcpy(items, builder->stack.data + mark, size);
        builder->stack.size = mark;
    }
    *ret_items = items;
    *ret_count = size / item_size;
    return STATUS_OK;
}

Status
builder_copy(GraphBuilder *builder, Slice text, Slice *ret_copy)
{
    if (text.size == 0) {
        *ret_copy = SLICE("");
        return STATUS_OK;
    }
    void *copy = NULL;
    TRY(builder_alloc(builder, 1, text.size, &copy));
    memcpy(copy, text.data, text.size);
    *ret_copy = slice_of(copy, text.size);
    return STATUS_OK;
}

static Status
charge_bytes(GraphBuilder *builder, size_t size)
{
    if (size > builder->tensor_bytes_left) {
        return call_fail(builder->call, STATUS_RESOURCE_EXHAUSTED,
            "the graph's constants take more than %zu bytes in all", builder->tensor_bytes_left);
    }
    builder->tensor_bytes_left -= size;
    return STATUS_OK;
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

static Status
keep_tensor(GraphBuilder *builder, Tensor *tensor)
{
    if (tensor->buffer != NULL && arena_defer(builder->def->arena, release_buffer, tensor->buffer) == NULL) {
        tensor_unref(tensor);
        return call_fail_memory(builder->call, "the graph's constants");
    }
    return STATUS_OK;
}

static Status
check_shape(GraphBuilder *builder, const Shape *shape, int64_t *ret_count)
{
    char text[SHAPE_TEXT_SIZE];
    if (!shape_is_known(shape)) {
        return call_fail(builder->call, STATUS_INVALID_ARGUMENT, "a tensor has shape %s, which is not known",
            shape_text(shape, text));
    }
    if (!shape_element_count(shape, ret_count)) {
        return call_fail(builder->call, STATUS_INVALID_ARGUMENT, "a tensor has shape %s, which is too large",
            shape_text(shape, text));
    }
    return STATUS_OK;
}

Status
builder_tensor(GraphBuilder *builder, Dtype dtype, const Shape *shape, Tensor *ret_tensor, int64_t *ret_count)
{
    size_t size = 0;
    TRY(check_shape(builder, shape, ret_count));
    if (!shape_byte_size(shape, dtype, &size)) {
        return call_fail(builder->call, STATUS_INVALID_ARGUMENT, "a tensor is too large");
    }
    TRY(charge_bytes(builder, size));
    Tensor tensor;
    if (!tensor_new(dtype, shape, &tensor)) {
        return call_fail_memory(builder->call, "the graph's constants");
    }
    TRY(keep_tensor(builder, &tensor));
    *ret_tensor = tensor;
    return STATUS_OK;
}

Status
builder_string_tensor(
    GraphBuilder *builder, const Shape *shape, const Slice *elements, size_t given, Tensor *ret_tensor)
{
    assert(elements != NULL || given == 0);
    int64_t count = 0;
    TRY(check_shape(builder, shape, &count));
    size_t size = 0;
    size_t total = (size_t)count;
    if (__builtin_mul_overflow(total, sizeof(Slice), &size)) {
        size = SIZE_MAX;
    }
    TRY(charge_bytes(builder, size));
    AUTO_MEMORY Slice *all = memory_new(total + 1, sizeof *all);
    if (all == NULL) {
        return call_fail_memory(builder->call, "the graph's constants");
    }
    for (size_t index = 0; index < total; index++) {
        all[index] = given == 0 ? SLICE("") : elements[index < given ? index : given - 1];
        TRY(charge_bytes(builder, all[index].size));
    }
    Tensor tensor;
    if (!tensor_new_strings(shape, all, &tensor)) {
        return call_fail_memory(builder->call, "the graph's constants");
    }
    TRY(keep_tensor(builder, &tensor));
    *ret_tensor = tensor;
    return STATUS_OK;
}

Status
builder_zeros(GraphBuilder *builder, Dtype dtype, const Shape *shape, Tensor *ret_tensor)
{
    if (dtype == DTYPE_STRING) {
        return builder_string_tensor(builder, shape, NULL, 0, ret_tensor);
    }
    Tensor tensor;
    int64_t count = 0;
    TRY(builder_tensor(builder, dtype, shape, &tensor, &count));
    tensor_repeat_last(&tensor, 0);
    *ret_tensor = tensor;
    return STATUS_OK;
}

bool
builder_view(GraphBuilder *builder, Dtype dtype, const Shape *shape, Slice bytes, TensorBuffer *source,
    Tensor *ret_tensor)
{
    assert(bytes.data != NULL || bytes.size == 0);
    enum {
        VIEW_SIZE_MIN = 65536
    }; /* a smaller constant is copied, so that it does not keep the whole
        * source */
    size_t offset = source == NULL ? 0 : (size_t)(bytes.data - (const char *)source->data);
    uintptr_t address = (uintptr_t)bytes.data;
    Tensor tensor;
    if (source == NULL || bytes.size < VIEW_SIZE_MIN || address % dtype_size(dtype) != 0 ||
        !tensor_view(dtype, shape, source, (char *)source->data + offset, &tensor) ||
        keep_tensor(builder, &tensor) != STATUS_OK) {
        return false;
    }
    *ret_tensor = tensor;
    return true;
}

Status
builder_absent(
    GraphBuilder *builder, Dtype dtype, const Shape *shape, const Sha256 *digest, Tensor *ret_tensor)
{
    int64_t count = 0;
    size_t size = 0;
    TRY(check_shape(builder, shape, &count));
    if (!dtype_is_copyable(dtype) || !shape_byte_size(shape, dtype, &size)) {
        return call_fail(builder->call, STATUS_INVALID_ARGUMENT,
            "a tensor of %s elements is no blob, or too large", dtype_name(dtype));
    }
    Tensor tensor;
    if (!tensor_new_absent(dtype, shape, digest, &tensor)) {
        return call_fail_memory(builder->call, "the graph's constants");
    }
    TRY(keep_tensor(builder, &tensor));
    *ret_tensor = tensor;
    return STATUS_OK;
}

void
tensor_repeat_last(const Tensor *tensor, int64_t given)
{
    assert(given >= 0);
    size_t size = dtype_size(tensor->dtype);
    size_t total = (size_t)tensor_element_count(tensor) * size;
    size_t done = (size_t)given * size;
    if (done >= total) {
        return;
    }
    char *data = tensor->data;
    if (given == 0) {
        memset(data, 0, total);
        return;
    }
    for (; done < total; done += size) {
        memcpy(data + done, data + done - size, size);
    }
}

const TensorField *
tensor_field(Dtype dtype)
{
    assert(dtype < DTYPE_COUNT);
    static const TensorField fields[DTYPE_COUNT] = {
        [DTYPE_FLOAT32] = {5, "floatVal"},
        [DTYPE_FLOAT64] = {6, "doubleVal"},
        [DTYPE_INT32] = {7, "intVal"},
        [DTYPE_INT16] = {7, "intVal"},
        [DTYPE_INT8] = {7, "intVal"},
        [DTYPE_UINT8] = {7, "intVal"},
        [DTYPE_UINT16] = {7, "intVal"},
        [DTYPE_STRING] = {8, "stringVal"},
        [DTYPE_COMPLEX64] = {9, "scomplexVal"},
        [DTYPE_INT64] = {10, "int64Val"},
        [DTYPE_BOOL] = {11, "boolVal"},
        [DTYPE_COMPLEX128] = {12, "dcomplexVal"},
        [DTYPE_FLOAT16] = {13, "halfVal"},
        [DTYPE_BFLOAT16] = {13, "halfVal"},
        [DTYPE_UINT32] = {16, "uint32Val"},
        [DTYPE_UINT64] = {17, "uint64Val"},
    };
    return fields[dtype].number == 0 ? NULL : &fields[dtype];
}

Status
builder_string_content(GraphBuilder *builder, const Shape *shape, Slice content, Tensor *ret_tensor)
{
    int64_t count = 0;
    TRY(check_shape(builder, shape, &count));
    AUTO_MEMORY Slice *elements =
        (size_t)count > content.size ? NULL : memory_new((size_t)count + 1, sizeof *elements);
    ProtobufReader reader = protobuf_reader(content);
    size_t total = 0;
    for (int64_t index = 0; elements != NULL && index < count; index++) {
        uint64_t size = 0;
        if (!protobuf_number(&reader, PROTOBUF_VARINT, &size) || size > content.size) {
            return call_fail(
                builder->call, STATUS_INVALID_ARGUMENT, "a string tensor's lengths are cut short");
        }
        elements[index].size = (size_t)size;
        total += (size_t)size;
    }
    if (elements == NULL || total != (size_t)(reader.end - reader.position)) {
        return call_fail(builder->call, STATUS_INVALID_ARGUMENT,
            "a string tensor's content does not have the bytes of %lld elements", (long long)count);
    }
    for (int64_t index = 0; index < count; index++) {
        elements[index].data = reader.position;
        reader.position += elements[index].size;
    }
    return builder_string_tensor(builder, shape, elements, (size_t)count, ret_tensor);
}
