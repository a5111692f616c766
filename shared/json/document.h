/* Small control documents: parsed whole, read member by member, unknown members refused by name.
 * A schema is a table of fields; reading a document fills a struct and notes every fault with its pointer.
 *
 * Ownership: strings live in call->arena.
 * Errors:    INVALID_ARGUMENT with one ErrorDetail a fault. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef enum JsonFieldType {
    JSON_FIELD_STRING,  /* const char * */
    JSON_FIELD_BOOLEAN, /* bool */
    JSON_FIELD_INT64,   /* int64_t, within minimum and maximum */
    JSON_FIELD_DOUBLE,  /* double */
    JSON_FIELD_RAW,     /* Slice: the member's own text, any kind */
} JsonFieldType;

typedef struct JsonField {
    const char *name;
    JsonFieldType type;
    size_t offset; /* of the member in the struct that is filled */
    bool is_required;
    int64_t minimum; /* INT64: both 0 means unbounded; STRING: bounds of the length in bytes */
    int64_t maximum;
} JsonField;

/* Reads an object. Absent fields keep what `ret_struct` held; `null` counts as absent. */
MUST_USE Status json_document_read(
    Call *call, Slice text, const JsonField *fields, size_t field_count, void *ret_struct);
