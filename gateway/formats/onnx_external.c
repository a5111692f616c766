#include "gateway/formats/onnx_external.h"

#include <assert.h>

#include "shared/formats/protobuf.h"

static Status
read_number(Call *call, Slice key, Slice value, uint64_t *ret_number)
{
    return slice_to_uint64(value, ret_number)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "a tensor's external data has %.*s '%.*s', which is no number", SLICE_PRINT(key),
                     SLICE_PRINT(slice_part(value, 0, 32)));
}

Status
onnx_external_entry(Call *call, Slice entry, OnnxExternal *external)
{
    assert(external != NULL);
    Slice key = SLICE("");
    Slice value = SLICE("");
    ProtobufReader reader = protobuf_reader(entry);
    ProtobufField field;
    while (protobuf_next(&reader, &field)) {
        if (field.wire == PROTOBUF_BYTES && field.number <= 2) {
            *(field.number == 1 ? &key : &value) = field.bytes;
        }
    }
    if (reader.fault != NULL) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "a tensor's external data is damaged: %s", reader.fault);
    }
    if (slice_equals_string(key, "location")) {
        external->location = value;
    } else if (slice_equals_string(key, "offset")) {
        external->has_offset = true;
        return read_number(call, key, value, &external->offset);
    } else if (slice_equals_string(key, "length")) {
        external->has_length = true;
        return read_number(call, key, value, &external->length);
    }
    return STATUS_OK;
}

bool
onnx_external_is_inside(Slice location)
{
    Slice rest = location;
    Slice part;
    if (location.size == 0 || location.data[0] == '/' || slice_find(location, '\\') < location.size ||
        slice_find(location, '\0') < location.size) {
        return false;
    }
    while (rest.size > 0 && slice_split(&rest, '/', &part)) {
        if (slice_equals_string(part, "..")) {
            return false;
        }
    }
    return true;
}
