#include <stddef.h>

#include "gateway/formats/onnx_external.h"
#include "gateway/formats/onnx_import.h"
#include "gateway/formats/protobuf_tensor.h"
#include "shared/base/text.h"
#include "shared/tensor/foreign_dtype.h"

typedef struct TensorView {
    Slice bytes; /* the whole message */
    Slice name;
    Shape shape;
    int64_t data_type;
    Slice raw;
    bool has_raw;
    bool is_external;
    OnnxExternal external;
    bool is_segment;
} TensorView;

Status
onnx_dtype(OnnxImport *import, int64_t number, Slice what, Dtype *ret_dtype)
{
    Dtype dtype = dtype_from_onnx_number(number);
    if (dtype == DTYPE_INVALID) {
        const char *name = foreign_dtype_onnx(number);
        const char *text = name != NULL ? name : text_format(import->call->arena, "%lld", (long long)number);
        return call_fail(import->call, STATUS_UNIMPLEMENTED,
            "'%.*s' has the element type %s, which is not supported", SLICE_PRINT(slice_part(what, 0, 128)),
            text == NULL ? "" : text);
    }
    import->has_other_floats =
        import->has_other_floats || (dtype_is_floating(dtype) && dtype != DTYPE_FLOAT32);
    *ret_dtype = dtype;
    return STATUS_OK;
}

static bool
read_dims(const ProtobufField *field, Shape *shape)
{
    ProtobufNumbers numbers;
    if (!protobuf_numbers(field, PROTOBUF_VARINT, &numbers)) {
        return false;
    }
    uint64_t dim = 0;
    while (protobuf_numbers_next(&numbers, &dim)) {
        if (shape->rank == SHAPE_RANK_MAX || dim > INT64_MAX) {
            return false;
        }
        shape->dims[shape->rank++] = (int64_t)dim;
    }
    return numbers.reader.fault == NULL;
}

static bool
read_field(const ProtobufField *field, TensorView *view)
{
    switch (field->number) {
    case 1:
        return read_dims(field, &view->shape);
    case 2:
        view->data_type = (int64_t)field->value;
        return true;
    case 3:
        view->is_segment = true;
        return true;
    case 8:
        view->name = field->bytes;
        return true;
    case 9:
        view->raw = field->bytes;
        view->has_raw = field->wire == PROTOBUF_BYTES;
        return true;
    case 14:
        view->is_external = field->value == 1;
        return true;
    default:
        return true;
    }
}

static Status
parse_tensor(OnnxImport *import, Slice bytes, TensorView *ret_view)
{
    *ret_view = (TensorView){.bytes = bytes, .name = SLICE("")};
    ProtobufReader reader = protobuf_reader(bytes);
    ProtobufField field;
    while (protobuf_next(&reader, &field)) {
        if (!read_field(&field, ret_view)) {
            return call_fail(import->call, STATUS_INVALID_ARGUMENT, "a tensor's dimensions are damaged");
        }
        if (field.number == 13 && field.wire == PROTOBUF_BYTES) {
            TRY(onnx_external_entry(import->call, field.bytes, &ret_view->external));
        }
    }
    if (reader.fault != NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "a tensor is damaged: %s", reader.fault);
    }
    return ret_view->is_segment
               ? call_fail(import->call, STATUS_UNIMPLEMENTED,
                     "tensor '%.*s' keeps its data in segments; send a model that holds all its data",
                     SLICE_PRINT(slice_part(ret_view->name, 0, 128)))
               : STATUS_OK;
}

/* Returns the repeated field that holds the elements when raw_data does not. */
static uint32_t
element_field(Dtype dtype)
{
    switch (dtype_onnx_number(dtype)) {
    case 1:  /* FLOAT */
    case 14: /* COMPLEX64 */
        return 4;
    case 7: /* INT64 */
        return 7;
    case 11: /* DOUBLE */
    case 15: /* COMPLEX128 */
        return 10;
    case 12: /* UINT32 */
    case 13: /* UINT64 */
        return 11;
    default:
        return 5; /* int32_data: integers up to 32 bits, bool and half floats */
    }
}

static Status
fail_count(OnnxImport *import, const TensorView *view, int64_t given, int64_t expected)
{
    return call_fail(import->call, STATUS_INVALID_ARGUMENT,
        "tensor '%.*s' has %lld elements, its shape asks for %lld",
        SLICE_PRINT(slice_part(view->name, 0, 128)), (long long)given, (long long)expected);
}

static Status
read_raw(OnnxImport *import, const TensorView *view, Dtype dtype, Tensor *ret_tensor)
{
    size_t expected = 0;
    if (!shape_byte_size(&view->shape, dtype, &expected) || view->raw.size != expected) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "tensor '%.*s' has %zu bytes, its shape asks for %zu",
            SLICE_PRINT(slice_part(view->name, 0, 128)), view->raw.size, expected);
    }
    if (builder_view(import->builder, dtype, &view->shape, view->raw, import->source, ret_tensor)) {
        return STATUS_OK;
    }
    Tensor tensor;
    int64_t count = 0;
    TRY(builder_tensor(import->builder, dtype, &view->shape, &tensor, &count));
    if (expected > 0) {
        memcpy(tensor.data, view->raw.data, expected);
    }
    *ret_tensor = tensor;
    return STATUS_OK;
}

/* Reads a tensor that a skeleton names by its digest. */
static Status
read_absent(OnnxImport *import, const TensorView *view, Dtype dtype, Tensor *ret_tensor)
{
    Sha256 digest;
    size_t expected = 0;
    if (!sha256_from_ref(view->external.location, &digest)) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "tensor '%.*s' keeps its data in another file, '%.*s'; send that file with the model",
            SLICE_PRINT(slice_part(view->name, 0, 128)),
            SLICE_PRINT(slice_part(view->external.location, 0, 128)));
    }
    TRY(builder_absent(import->builder, dtype, &view->shape, &digest, ret_tensor));
    bool is_fit = shape_byte_size(&view->shape, dtype, &expected) && expected == view->external.length;
    return is_fit ? STATUS_OK
                  : call_fail(import->call, STATUS_INVALID_ARGUMENT,
                        "tensor '%.*s' has %llu bytes, its shape asks for %zu",
                        SLICE_PRINT(slice_part(view->name, 0, 128)),
                        (unsigned long long)view->external.length, expected);
}

static Status
read_elements(OnnxImport *import, const TensorView *view, Dtype dtype, Tensor *ret_tensor)
{
    Tensor tensor;
    int64_t count = 0;
    int64_t given = 0;
    TRY(builder_tensor(import->builder, dtype, &view->shape, &tensor, &count));
    if (!protobuf_read_elements(view->bytes, element_field(dtype), &tensor, &given)) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "a tensor's elements are damaged");
    }
    if (given != count) {
        return fail_count(import, view, given, count);
    }
    *ret_tensor = tensor;
    return STATUS_OK;
}

static Status
read_strings(OnnxImport *import, const TensorView *view, Tensor *ret_tensor)
{
    int64_t count = 0;
    size_t given = 0;
    ProtobufReader reader = protobuf_reader(view->bytes);
    ProtobufField field;
    size_t mark = builder_mark(import->builder);
    while (protobuf_next(&reader, &field)) {
        if (field.number == 6 && field.wire == PROTOBUF_BYTES) {
            TRY(builder_push(import->builder, &field.bytes, sizeof field.bytes));
        }
    }
    const Slice *elements = NULL;
    TRY(BUILDER_TAKE(import->builder, mark, &elements, &given));
    if (!shape_element_count(&view->shape, &count) || (size_t)count != given) {
        return fail_count(import, view, (int64_t)given, count);
    }
    return builder_string_tensor(import->builder, &view->shape, elements, given, ret_tensor);
}

Status
onnx_tensor(OnnxImport *import, Slice bytes, Tensor *ret_tensor, Slice *ret_name)
{
    TensorView view;
    Dtype dtype = DTYPE_INVALID;
    TRY(parse_tensor(import, bytes, &view));
    TRY(onnx_dtype(import, view.data_type, view.name, &dtype));
    if (ret_name != NULL) {
        *ret_name = view.name;
    }
    if (view.is_external) {
        return read_absent(import, &view, dtype, ret_tensor);
    }
    if (dtype == DTYPE_STRING) {
        return read_strings(import, &view, ret_tensor);
    }
    return view.has_raw ? read_raw(import, &view, dtype, ret_tensor)
                        : read_elements(import, &view, dtype, ret_tensor);
}
