/* Reads Protocol Buffers' wire format (protobuf.dev, "Encoding") from bytes in memory, field by field,
 * without schema and allocation: a message is a Slice, whose reader is asked for one field after the
 * other.
 *
 *     ProtobufReader reader = protobuf_reader(bytes);
 *     ProtobufField field;
 *     while (protobuf_next(&reader, &field)) { switch on field.number … }
 *     if (reader.fault != NULL) …
 *
 * The caller counts nesting where it recurses; PROTOBUF_DEPTH_MAX is what all decoders allow.
 *
 * Ownership: Slices point into the bytes.
 * Threads:   any.
 * Errors:    every length is checked against the bytes around it before it is used. The first fault stops
 *            the reader and says what it was. Groups (wire types 3 and 4) are faults. */
#pragma once

#include "shared/base/slice.h"

enum { PROTOBUF_DEPTH_MAX = 16 };

typedef enum ProtobufWire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2, /* strings, messages, packed numbers */
    PROTOBUF_FIXED32 = 5,
} ProtobufWire;

typedef struct ProtobufField {
    uint32_t number;
    ProtobufWire wire;
    uint64_t value; /* of VARINT and FIXED fields */
    Slice bytes;    /* of BYTES fields */
} ProtobufField;

typedef struct ProtobufReader {
    const char *position;
    const char *end;
    const char *fault; /* NULL while there is no fault */
} ProtobufReader;

static inline ProtobufReader
protobuf_reader(Slice bytes)
{
    const char *start = bytes.size == 0 ? "" : bytes.data;
    return (ProtobufReader){.position = start, .end = start + bytes.size};
}

/* Reads the next field; returns false at the end and at a fault. */
bool protobuf_next(ProtobufReader *reader, ProtobufField *ret_field);

/* Reads one number of a packed run of this wire type; returns false at the end. */
bool protobuf_number(ProtobufReader *reader, ProtobufWire wire, uint64_t *ret_value);

/* A reader over the numbers of a repeated field, packed or not. */
typedef struct ProtobufNumbers {
    ProtobufReader reader;
    ProtobufWire wire;
    bool is_single; /* the field is not packed and holds `single` */
    uint64_t single;
} ProtobufNumbers;
/* Begins to read a field's numbers. Returns false, and sets no numbers, when its wire type is neither
 * `wire` nor PROTOBUF_BYTES. */
bool protobuf_numbers(const ProtobufField *field, ProtobufWire wire, ProtobufNumbers *ret_numbers);
bool protobuf_numbers_next(ProtobufNumbers *numbers, uint64_t *ret_value);

static inline float
protobuf_float(uint64_t value)
{
    uint32_t bits = (uint32_t)value;
    float number = 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}
