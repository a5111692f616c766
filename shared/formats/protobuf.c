#include "shared/formats/protobuf.h"

static bool
stop_reader(ProtobufReader *reader, const char *fault)
{
    reader->fault = fault;
    reader->position = reader->end;
    return false;
}

static bool
read_varint(ProtobufReader *reader, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (reader->position == reader->end) {
            return stop_reader(reader, "a number is cut short");
        }
        unsigned char byte = (unsigned char)*reader->position++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *ret_value = value;
            return true;
        }
    }
    return stop_reader(reader, "a number has more than 10 bytes");
}

static bool
read_fixed(ProtobufReader *reader, size_t size, uint64_t *ret_value)
{
    if ((size_t)(reader->end - reader->position) < size) {
        return stop_reader(reader, "a number is cut short");
    }
    uint64_t value = 0;
    memcpy(&value, reader->position, size);
    reader->position += size;
    *ret_value = value;
    return true;
}

bool
protobuf_number(ProtobufReader *reader, ProtobufWire wire, uint64_t *ret_value)
{
    if (reader->position == reader->end) {
        return false;
    }
    if (wire == PROTOBUF_VARINT) {
        return read_varint(reader, ret_value);
    }
    return read_fixed(reader, wire == PROTOBUF_FIXED64 ? 8 : 4, ret_value);
}

static bool
read_bytes(ProtobufReader *reader, Slice *ret_bytes)
{
    uint64_t size = 0;
    if (!read_varint(reader, &size)) {
        return false;
    }
    if (size > (size_t)(reader->end - reader->position)) {
        return stop_reader(reader, "a length reaches past the end of its message");
    }
    *ret_bytes = slice_of(reader->position, (size_t)size);
    reader->position += size;
    return true;
}

bool
protobuf_next(ProtobufReader *reader, ProtobufField *ret_field)
{
    if (reader->position == reader->end) {
        return false;
    }
    uint64_t key = 0;
    if (!read_varint(reader, &key)) {
        return false;
    }
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff) {
        return stop_reader(reader, "a field has a number that cannot be");
    }
    *ret_field = (ProtobufField){.number = (uint32_t)(key >> 3), .wire = (ProtobufWire)(key & 7)};
    switch (ret_field->wire) {
    case PROTOBUF_VARINT:
        return read_varint(reader, &ret_field->value);
    case PROTOBUF_FIXED64:
        return read_fixed(reader, 8, &ret_field->value);
    case PROTOBUF_FIXED32:
        return read_fixed(reader, 4, &ret_field->value);
    case PROTOBUF_BYTES:
        return read_bytes(reader, &ret_field->bytes);
    }
    return stop_reader(reader, "a field has a wire type that cannot be");
}

bool
protobuf_numbers(const ProtobufField *field, ProtobufWire wire, ProtobufNumbers *ret_numbers)
{
    *ret_numbers = (ProtobufNumbers){.reader = protobuf_reader(field->bytes),
        .wire = wire,
        .is_single = field->wire == wire,
        .single = field->value};
    return field->wire == wire || field->wire == PROTOBUF_BYTES;
}

bool
protobuf_numbers_next(ProtobufNumbers *numbers, uint64_t *ret_value)
{
    if (numbers->is_single) {
        numbers->is_single = false;
        *ret_value = numbers->single;
        return true;
    }
    return protobuf_number(&numbers->reader, numbers->wire, ret_value);
}
