#include "gateway/formats/protobuf_tensor.h"

#include <assert.h>

typedef struct Elements {
    char *data;
    size_t size; /* bytes of one number */
    int64_t room;
    int64_t done;
    bool is_bool;
    ProtobufWire wire;
} Elements;

static Elements
elements_of(const Tensor *tensor)
{
    Dtype dtype = tensor->dtype;
    bool is_complex = dtype == DTYPE_COMPLEX64 || dtype == DTYPE_COMPLEX128;
    int64_t parts = is_complex ? 2 : 1;
    ProtobufWire wire = PROTOBUF_VARINT;
    if (dtype == DTYPE_FLOAT32 || dtype == DTYPE_COMPLEX64) {
        wire = PROTOBUF_FIXED32;
    } else if (dtype == DTYPE_FLOAT64 || dtype == DTYPE_COMPLEX128) {
        wire = PROTOBUF_FIXED64;
    }
    return (Elements){.data = tensor->data,
        .size = dtype_size(dtype) / (size_t)parts,
        .room = tensor_element_count(tensor) * parts,
        .is_bool = dtype == DTYPE_BOOL,
        .wire = wire};
}

/* Stores a number. One that is wider than the dtype is cut to its low bytes, which come first: hosts and
 * formats are little-endian. */
static void
store_number(Elements *elements, uint64_t value)
{
    if (elements->done < elements->room) {
        uint64_t stored = elements->is_bool ? value != 0 : value;
        memcpy(elements->data + (size_t)elements->done * elements->size, &stored, elements->size);
    }
    elements->done++;
}

/* Stores a packed run of fixed-size numbers, which has the same form in the bytes as in memory. */
static bool
store_run(Elements *elements, Slice bytes)
{
    if (bytes.size % elements->size != 0) {
        return false;
    }
    int64_t count = (int64_t)(bytes.size / elements->size);
    int64_t left = elements->done < elements->room ? elements->room - elements->done : 0;
    int64_t taken = count < left ? count : left;
    if (taken > 0) {
        memcpy(elements->data + (size_t)elements->done * elements->size, bytes.data,
            (size_t)taken * elements->size);
    }
    elements->done += count;
    return true;
}

static bool
store_field(Elements *elements, const ProtobufField *field)
{
    if (field->wire == PROTOBUF_BYTES && elements->wire != PROTOBUF_VARINT) {
        return store_run(elements, field->bytes);
    }
    ProtobufNumbers numbers;
    if (!protobuf_numbers(field, elements->wire, &numbers)) {
        return false;
    }
    uint64_t value = 0;
    while (protobuf_numbers_next(&numbers, &value)) {
        store_number(elements, value);
    }
    return numbers.reader.fault == NULL;
}

bool
protobuf_read_elements(Slice message, uint32_t field_number, const Tensor *tensor, int64_t *ret_given)
{
    assert(tensor->dtype != DTYPE_INVALID && tensor->dtype != DTYPE_STRING);
    Elements elements = elements_of(tensor);
    ProtobufReader reader = protobuf_reader(message);
    ProtobufField field;
    while (protobuf_next(&reader, &field)) {
        if (field.number == field_number && !store_field(&elements, &field)) {
            return false;
        }
    }
    bool is_complex = tensor->dtype == DTYPE_COMPLEX64 || tensor->dtype == DTYPE_COMPLEX128;
    *ret_given = is_complex ? elements.done / 2 : elements.done;
    return reader.fault == NULL;
}
