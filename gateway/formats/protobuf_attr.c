#include "gateway/formats/protobuf_attr.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "gateway/formats/protobuf_tensor.h"
#include "shared/tensor/foreign_dtype.h"

static Status
fail_damaged(ProtoImport *import, const char *what)
{
    return call_fail(import->call, STATUS_INVALID_ARGUMENT, "%s is damaged", what);
}

Status
proto_map_entry(ProtoImport *import, Slice bytes, MapEntryView *ret_entry)
{
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(MapEntryView, key)},
        {2, KEEP_SLICE, offsetof(MapEntryView, value)},
    };
    static const MessageView entry = MESSAGE_VIEW("a map's entry", kept);
    *ret_entry = (MapEntryView){.key = SLICE(""), .value = SLICE("")};
    return message_collect(import->call, import->scratch, bytes, &entry, ret_entry);
}

Status
proto_shape(ProtoImport *import, Slice bytes, Shape *ret_shape)
{
    typedef struct ShapeView {
        SliceList dims;
        int64_t is_unknown;
    } ShapeView;
    static const KeptField shape_kept[] = {
        {2, KEEP_LIST, offsetof(ShapeView, dims)},
        {3, KEEP_INT, offsetof(ShapeView, is_unknown)},
    };
    static const KeptField dim_kept[] = {{1, KEEP_INT, 0}};
    static const MessageView shape_view = MESSAGE_VIEW("a shape", shape_kept);
    static const MessageView dim_view = MESSAGE_VIEW("a dimension", dim_kept);
    ShapeView view = {0};
    TRY(message_collect(import->call, import->scratch, bytes, &shape_view, &view));
    if (view.dims.count > SHAPE_RANK_MAX) {
        return call_fail(
            import->call, STATUS_INVALID_ARGUMENT, "a shape has more than %d dimensions", SHAPE_RANK_MAX);
    }
    Shape shape = shape_of_rank((int)view.dims.count);
    for (size_t index = 0; index < view.dims.count; index++) {
        shape.dims[index] = 0;
        TRY(message_collect(
            import->call, import->scratch, view.dims.items[index], &dim_view, &shape.dims[index]));
        if (shape.dims[index] < -1) {
            return call_fail(import->call, STATUS_INVALID_ARGUMENT, "a shape has dimension %lld",
                (long long)shape.dims[index]);
        }
    }
    *ret_shape = view.is_unknown != 0 ? shape_unknown() : shape;
    return STATUS_OK;
}

typedef struct TensorView {
    Slice bytes;
    int64_t dtype_number;
    Slice shape_bytes;
    Slice content;
    SliceList strings;
    Slice ref;
    Dtype dtype;
    Shape shape;
} TensorView;

static Status
read_content(ProtoImport *import, const TensorView *view, Tensor *ret_tensor)
{
    size_t expected = 0;
    if (view->dtype == DTYPE_STRING) {
        return builder_string_content(import->builder, &view->shape, view->content, ret_tensor);
    }
    if (shape_is_known(&view->shape) && shape_byte_size(&view->shape, view->dtype, &expected) &&
        expected == view->content.size &&
        builder_view(import->builder, view->dtype, &view->shape, view->content, import->source, ret_tensor)) {
        return STATUS_OK;
    }
    Tensor tensor;
    int64_t count = 0;
    TRY(builder_tensor(import->builder, view->dtype, &view->shape, &tensor, &count));
    if (view->content.size != (size_t)count * dtype_size(view->dtype)) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "the tensor's content has %zu bytes, its shape asks for %zu", view->content.size,
            (size_t)count * dtype_size(view->dtype));
    }
    memcpy(tensor.data, view->content.data, view->content.size);
    *ret_tensor = tensor;
    return STATUS_OK;
}

static Status
read_values(ProtoImport *import, const TensorView *view, uint32_t field, Tensor *ret_tensor)
{
    Tensor tensor;
    int64_t count = 0;
    int64_t given = 0;
    if (view->dtype == DTYPE_STRING) {
        return builder_string_tensor(
            import->builder, &view->shape, view->strings.items, view->strings.count, ret_tensor);
    }
    TRY(builder_tensor(import->builder, view->dtype, &view->shape, &tensor, &count));
    if (!protobuf_read_elements(view->bytes, field, &tensor, &given)) {
        return fail_damaged(import, "a tensor's list of values");
    }
    tensor_repeat_last(&tensor, given);
    *ret_tensor = tensor;
    return STATUS_OK;
}

/* Reads a tensor that a skeleton names by its digest. */
static Status
read_absent(ProtoImport *import, const TensorView *view, Tensor *ret_tensor)
{
    Sha256 digest;
    return sha256_from_ref(view->ref, &digest)
               ? builder_absent(import->builder, view->dtype, &view->shape, &digest, ret_tensor)
               : fail_damaged(import, "a tensor's reference");
}

Status
proto_tensor(ProtoImport *import, Slice bytes, Tensor *ret_tensor)
{
    static const KeptField kept[] = {
        {1, KEEP_INT, offsetof(TensorView, dtype_number)},
        {2, KEEP_SLICE, offsetof(TensorView, shape_bytes)},
        {4, KEEP_SLICE, offsetof(TensorView, content)},
        {8, KEEP_LIST, offsetof(TensorView, strings)},
        {PROTO_TENSOR_REF, KEEP_SLICE, offsetof(TensorView, ref)},
    };
    static const MessageView message = MESSAGE_VIEW("a tensor", kept);
    TensorView view = {.bytes = bytes};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    TRY(proto_shape(import, view.shape_bytes, &view.shape));
    view.dtype = dtype_from_tensorflow_number(view.dtype_number);
    if (view.ref.size > 0) {
        return read_absent(import, &view, ret_tensor);
    }
    const TensorField *field = tensor_field(view.dtype);
    if (field == NULL) {
        /* A dtype without elements here: only whoever needs the tensor finds it invalid. */
        *ret_tensor = (Tensor){.shape = view.shape};
        return STATUS_OK;
    }
    int64_t count = 0;
    bool is_empty = shape_element_count(&view.shape, &count) && count == 0;
    return view.content.size > 0 && !is_empty
               ? read_content(import, &view, ret_tensor)
               : read_values(import, &view, (uint32_t)field->number, ret_tensor);
}

static Status
read_function_ref(ProtoImport *import, Slice bytes, int depth, FunctionRef *ret_function)
{
    typedef struct FunctionView {
        Slice name;
        SliceList attrs;
    } FunctionView;
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(FunctionView, name)},
        {2, KEEP_LIST, offsetof(FunctionView, attrs)},
    };
    static const MessageView message = MESSAGE_VIEW("a function's name", kept);
    FunctionView view = {.name = SLICE("")};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    *ret_function = (FunctionRef){.name = view.name};
    Attr *attrs = NULL;
    TRY(proto_attrs(import, &view.attrs, depth + 1, &attrs, &ret_function->attr_count));
    ret_function->attrs = attrs;
    return STATUS_OK;
}

/* Reads one value of this kind from a field's number or bytes. */
static Status
read_scalar(ProtoImport *import, AttrKind kind, uint64_t number, Slice bytes, int depth, AttrValue *ret_value)
{
    *ret_value = (AttrValue){.kind = kind};
    switch (kind) {
    case ATTR_STRING:
    case ATTR_PLACEHOLDER:
        ret_value->value.s = bytes;
        return STATUS_OK;
    case ATTR_INT:
        ret_value->value.i = (int64_t)number;
        return STATUS_OK;
    case ATTR_FLOAT:
        ret_value->value.f = protobuf_float(number);
        return STATUS_OK;
    case ATTR_BOOL:
        ret_value->value.b = number != 0;
        return STATUS_OK;
    case ATTR_TYPE:
        ret_value->value.type = dtype_from_tensorflow_number((int64_t)number);
        ret_value->foreign_type = foreign_dtype_tensorflow((int64_t)number) == NULL ? 0 : (uint8_t)number;
        return STATUS_OK;
    case ATTR_SHAPE:
        return proto_shape(import, bytes, &ret_value->value.shape);
    case ATTR_TENSOR:
        return proto_tensor(import, bytes, &ret_value->value.tensor);
    case ATTR_FUNCTION:
        return read_function_ref(import, bytes, depth, &ret_value->value.function);
    case ATTR_NONE:
        break;
    }
    return fail_damaged(import, "an attribute");
}

/* The fields of AttrValue's oneof and of its ListValue; only AttrValue has number 1, the list. */
typedef struct AttrField {
    uint32_t number;
    AttrKind kind;
    ProtobufWire wire;
    bool is_in_list;
} AttrField;

static const AttrField *
find_field(uint32_t number, bool is_in_list)
{
    static const AttrField fields[] = {
        {2, ATTR_STRING, PROTOBUF_BYTES, true},
        {3, ATTR_INT, PROTOBUF_VARINT, true},
        {4, ATTR_FLOAT, PROTOBUF_FIXED32, true},
        {5, ATTR_BOOL, PROTOBUF_VARINT, true},
        {6, ATTR_TYPE, PROTOBUF_VARINT, true},
        {7, ATTR_SHAPE, PROTOBUF_BYTES, true},
        {8, ATTR_TENSOR, PROTOBUF_BYTES, true},
        {9, ATTR_FUNCTION, PROTOBUF_BYTES, true},
        {9, ATTR_PLACEHOLDER, PROTOBUF_BYTES, false},
        {10, ATTR_FUNCTION, PROTOBUF_BYTES, false},
    };
    for (size_t index = 0; index < COUNT_OF(fields); index++) {
        /* Numbers 2 to 8 are the same in both messages. */
        if (fields[index].number == number && (number < 9 || fields[index].is_in_list == is_in_list)) {
            return &fields[index];
        }
    }
    return NULL;
}

static Status
push_scalar(ProtoImport *import, AttrKind kind, uint64_t number, Slice bytes, int depth)
{
    AttrValue item;
    TRY(read_scalar(import, kind, number, bytes, depth, &item));
    return builder_push(import->builder, &item, sizeof item);
}

/* Pushes the items of a list that one field holds: one, or a packed run of them. */
static Status
push_items(ProtoImport *import, const AttrField *row, const ProtobufField *field, int depth)
{
    if (row->wire == PROTOBUF_BYTES) {
        return field->wire == PROTOBUF_BYTES ? push_scalar(import, row->kind, 0, field->bytes, depth)
                                             : fail_damaged(import, "a list");
    }
    ProtobufNumbers numbers;
    if (!protobuf_numbers(field, row->wire, &numbers)) {
        return fail_damaged(import, "a list");
    }
    uint64_t number = 0;
    while (protobuf_numbers_next(&numbers, &number)) {
        TRY(push_scalar(import, row->kind, number, SLICE(""), depth));
    }
    return numbers.reader.fault == NULL ? STATUS_OK : fail_damaged(import, "a list");
}

static Status
read_list(ProtoImport *import, Slice bytes, int depth, AttrValue *ret_value)
{
    AttrValue list = {.is_list = true};
    size_t mark = builder_mark(import->builder);
    ProtobufReader reader = protobuf_reader(bytes);
    ProtobufField field;
    while (protobuf_next(&reader, &field)) {
        const AttrField *row = find_field(field.number, true);
        if (row == NULL) {
            continue;
        }
        if (list.kind != ATTR_NONE && list.kind != row->kind) {
            return call_fail(import->call, STATUS_INVALID_ARGUMENT, "a list has items of two kinds");
        }
        list.kind = row->kind;
        TRY(push_items(import, row, &field, depth));
    }
    if (reader.fault != NULL) {
        return fail_damaged(import, "a list");
    }
    TRY(BUILDER_TAKE(import->builder, mark, &list.value.list.items, &list.value.list.count));
    list.kind = list.value.list.count == 0 ? ATTR_NONE : list.kind;
    *ret_value = list;
    return STATUS_OK;
}

static Status
read_value(ProtoImport *import, Slice bytes, int depth, AttrValue *ret_value)
{
    *ret_value = (AttrValue){.kind = ATTR_NONE};
    ProtobufReader reader = protobuf_reader(bytes);
    ProtobufField field;
    while (protobuf_next(&reader, &field)) {
        const AttrField *row = find_field(field.number, false);
        if (field.number == 1 && field.wire == PROTOBUF_BYTES) {
            TRY(read_list(import, field.bytes, depth, ret_value));
        } else if (row != NULL && row->wire == field.wire) {
            TRY(read_scalar(import, row->kind, field.value, field.bytes, depth, ret_value));
        } else if (row != NULL) {
            return fail_damaged(import, "an attribute");
        }
    }
    return reader.fault == NULL ? STATUS_OK : fail_damaged(import, "an attribute");
}

/* Orders by name; of equal names the later one comes first. */
static int
compare_attrs(const void *left, const void *right)
{
    const Attr *a = left;
    const Attr *b = right;
    int order = slice_compare(a->name, b->name);
    if (order != 0) {
        return order;
    }
    return (a->name.data < b->name.data) - (a->name.data > b->name.data);
}

static size_t
sort_unique(Attr *attrs, size_t count)
{
    qsort(attrs, count, sizeof *attrs, compare_attrs);
    size_t kept = count < 1 ? 0 : 1;
    for (size_t index = 1; index < count; index++) {
        if (!slice_equal(attrs[index].name, attrs[kept - 1].name)) {
            attrs[kept++] = attrs[index];
        }
    }
    return kept;
}

Status
proto_attrs(ProtoImport *import, const SliceList *entries, int depth, Attr **ret_attrs, size_t *ret_count)
{
    assert(depth >= 0 && ret_attrs != NULL);
    void *memory = NULL;
    if (depth > PROTOBUF_DEPTH_MAX) {
        return call_fail(
            import->call, STATUS_INVALID_ARGUMENT, "attributes nest more than %d deep", PROTOBUF_DEPTH_MAX);
    }
    TRY(builder_alloc(import->builder, entries->count, sizeof(Attr), &memory));
    Attr *attrs = memory;
    for (size_t index = 0; index < entries->count; index++) {
        MapEntryView entry;
        TRY(proto_map_entry(import, entries->items[index], &entry));
        attrs[index].name = entry.key;
        if (read_value(import, entry.value, depth, &attrs[index].value) != STATUS_OK) {
            return call_wrap(import->call, "'%.*s'", SLICE_PRINT(slice_part(entry.key, 0, 64)));
        }
    }
    *ret_count = sort_unique(attrs, entries->count);
    *ret_attrs = attrs;
    return STATUS_OK;
}

Status
proto_value(ProtoImport *import, Slice bytes, AttrValue *ret_value)
{
    return read_value(import, bytes, 0, ret_value);
}
