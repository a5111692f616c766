/* Protocol Buffers' wire format (encoding: protobuf.dev), read from bytes in memory, field by field. There is
 * no schema and no allocation: a message is a Slice, and its reader asks for one field after the other.
 *
 *     ProtobufReader reader = protobuf_reader(bytes);
 *     ProtobufField field;
 *     while (protobuf_next(&reader, &field)) { switch on field.number … }
 *     if (reader.fault != NULL) …
 *
 * Nesting is the caller's: PROTOBUF_DEPTH_MAX is what all decoders here allow, counted where they recurse.
 *
 * Ownership: Slices point into the bytes.
 * Threads:   any.
 * Errors:    every length is checked against the bytes around it before it is used; the first fault stops
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
    uint64_t value; /* VARINT and FIXED ones */
    Slice bytes;    /* BYTES */
} ProtobufField;

typedef struct ProtobufReader {
    const char *position;
    const char *end;
    const char *fault; /* NULL while all is well */
} ProtobufReader;

static inline ProtobufReader
protobuf_reader(Slice bytes)
{
    const char *const start = bytes.size == 0 ? "" : bytes.data;
    return (ProtobufReader){.position = start, .end = start + bytes.size};
}

/* The next field; false at the end and at a fault. */
bool protobuf_next(ProtobufReader *reader, ProtobufField *ret_field);

/* Reads one number of a repeated field of a packed run, of the given wire type; false at the end. */
bool protobuf_number(ProtobufReader *reader, ProtobufWire wire, uint64_t *ret_value);

/* The numbers of a repeated field, packed or not: a reader over the field's own numbers. */
typedef struct ProtobufNumbers {
    ProtobufReader reader;
    ProtobufWire wire;
    bool is_single; /* not packed: one value */
    uint64_t single;
} ProtobufNumbers;
/* False (and no numbers) when the field's wire type is neither `wire` nor PROTOBUF_BYTES. */
bool protobuf_numbers(const ProtobufField *field, ProtobufWire wire, ProtobufNumbers *ret_numbers);
bool protobuf_numbers_next(ProtobufNumbers *numbers, uint64_t *ret_value);

static inline float
protobuf_float(uint64_t value)
{
    const uint32_t bits = (uint32_t)value;
    float number = 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}
