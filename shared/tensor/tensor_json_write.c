#include <assert.h>

#include "shared/base/utf8.h"
#include "shared/tensor/half.h"
#include "shared/tensor/tensor_json.h"

/* Writes one element, which may lie at any address. */
typedef void (*ElementWrite)(JsonWriter *writer, const char *element);

#define ELEMENT_WRITE(name, type, ...)                                                                       \
    static void name(JsonWriter *writer, const char *element)                                                \
    {                                                                                                        \
        type value;                                                                                          \
        memcpy(&value, element, sizeof value);                                                               \
        __VA_ARGS__;                                                                                         \
    }

ELEMENT_WRITE(bool_write, unsigned char, json_write_boolean(writer, value != 0))
ELEMENT_WRITE(int8_write, int8_t, json_write_int64(writer, value))
ELEMENT_WRITE(int16_write, int16_t, json_write_int64(writer, value))
ELEMENT_WRITE(int32_write, int32_t, json_write_int64(writer, value))
ELEMENT_WRITE(int64_write, int64_t, json_write_int64(writer, value))
ELEMENT_WRITE(uint8_write, uint8_t, json_write_uint64(writer, value))
ELEMENT_WRITE(uint16_write, uint16_t, json_write_uint64(writer, value))
ELEMENT_WRITE(uint32_write, uint32_t, json_write_uint64(writer, value))
ELEMENT_WRITE(uint64_write, uint64_t, json_write_uint64(writer, value))
ELEMENT_WRITE(float16_write, uint16_t, json_write_float(writer, half_to_float(value)))
ELEMENT_WRITE(bfloat16_write, uint16_t, json_write_float(writer, bfloat16_to_float(value)))
ELEMENT_WRITE(float32_write, float, json_write_float(writer, value))
ELEMENT_WRITE(float64_write, double, json_write_double(writer, value))

static void
complex64_write(JsonWriter *writer, const char *element)
{
    json_write_array_begin(writer);
    float32_write(writer, element);
    float32_write(writer, element + sizeof(float));
    json_write_array_end(writer);
}

static void
complex128_write(JsonWriter *writer, const char *element)
{
    json_write_array_begin(writer);
    float64_write(writer, element);
    float64_write(writer, element + sizeof(double));
    json_write_array_end(writer);
}

static void
string_write(JsonWriter *writer, const char *element)
{
    Slice value;
    memcpy(&value, element, sizeof value);
    if (utf8_is_valid(value)) {
        json_write_slice(writer, value);
        return;
    }
    json_write_object_begin(writer);
    json_write_name(writer, "b64");
    json_write_base64(writer, value);
    json_write_object_end(writer);
}

static const struct {
    ElementWrite write;
    size_t size;
} writers[DTYPE_COUNT] = {
    [DTYPE_BOOL] = {bool_write, 1},
    [DTYPE_INT8] = {int8_write, 1},
    [DTYPE_INT16] = {int16_write, 2},
    [DTYPE_INT32] = {int32_write, 4},
    [DTYPE_INT64] = {int64_write, 8},
    [DTYPE_UINT8] = {uint8_write, 1},
    [DTYPE_UINT16] = {uint16_write, 2},
    [DTYPE_UINT32] = {uint32_write, 4},
    [DTYPE_UINT64] = {uint64_write, 8},
    [DTYPE_FLOAT16] = {float16_write, 2},
    [DTYPE_BFLOAT16] = {bfloat16_write, 2},
    [DTYPE_FLOAT32] = {float32_write, 4},
    [DTYPE_FLOAT64] = {float64_write, 8},
    [DTYPE_COMPLEX64] = {complex64_write, 8},
    [DTYPE_COMPLEX128] = {complex128_write, 16},
    [DTYPE_STRING] = {string_write, sizeof(Slice)},
};

void
tensor_json_write_begin(JsonWriter *writer, const Tensor *described)
{
    assert(described->dtype < DTYPE_COUNT);
    json_write_object_begin(writer);
    json_member_string(writer, "dtype", dtype_name(described->dtype));
    json_write_name(writer, "shape");
    json_write_array_begin(writer);
    for (int axis = 0; axis < described->shape.rank; axis++) {
        json_write_int64(writer, described->shape.dims[axis]);
    }
    json_write_array_end(writer);
    json_write_name(writer, "data");
    json_write_array_begin(writer);
}

size_t
tensor_json_element_size(Dtype dtype)
{
    assert(dtype < DTYPE_COUNT);
    return writers[dtype].size;
}

void
tensor_json_write_elements(JsonWriter *writer, Dtype dtype, Slice elements)
{
    ElementWrite write = writers[dtype].write;
    size_t size = writers[dtype].size;
    size_t count = write == NULL ? 0 : elements.size / size;
    const char *element = elements.data;
    for (size_t index = 0; index < count && buffer_is_ok(writer->buffer); index++, element += size) {
        write(writer, element);
    }
}

void
tensor_json_write_end(JsonWriter *writer)
{
    json_write_array_end(writer);
    json_write_object_end(writer);
}

void
tensor_json_write(JsonWriter *writer, const Tensor *tensor)
{
    size_t size = (size_t)tensor_element_count(tensor) * tensor_json_element_size(tensor->dtype);
    tensor_json_write_begin(writer, tensor);
    tensor_json_write_elements(writer, tensor->dtype, slice_of(tensor->data, size));
    tensor_json_write_end(writer);
}
