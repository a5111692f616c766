/* Reading protobuf messages from JSON: a message is a table of members, each with the function that reads
 * it. Private to shared/formats. */
#pragma once

#include "shared/formats/builder.h"
#include "shared/json/scanner.h"

typedef struct JsonReader {
    GraphBuilder *builder;
    JsonScanner *scanner;
} JsonReader;

typedef Status (*JsonRead)(JsonReader *reader, void *target);

typedef struct JsonMember {
    const char *name; /* camelCase; snake_case is understood too */
    JsonRead read;
    size_t offset; /* of what it fills in the message's struct */
} JsonMember;

typedef struct JsonMessage {
    const char *name;
    const JsonMember *members;
    size_t member_count;
} JsonMessage;

#define JSON_MESSAGE(message_name, table)                                                                    \
    {                                                                                                        \
        .name = (message_name), .members = (table), .member_count = COUNT_OF(table)                          \
    }

/* An object; `null` members are absent, unknown ones a fault. */
MUST_USE Status json_read_message(JsonReader *reader, const JsonMessage *message, void *target);

enum { JSON_ITEM_SIZE_MAX = 512 };

/* An array, or an object whose members' names go into the Slice at the start of each item. */
MUST_USE Status json_read_list(
    JsonReader *reader, JsonRead read, size_t item_size, const void **ret_items, size_t *ret_count);
MUST_USE Status json_read_map(
    JsonReader *reader, JsonRead read, size_t item_size, const void **ret_items, size_t *ret_count);

/* What the scanner stopped at. Only to be asked when it has stopped. */
MUST_USE Status json_reader_fault(JsonReader *reader);

/* Leaves. Targets: Slice, Slice (base64 decoded), int64_t, bool, float, Dtype; nothing. */
MUST_USE Status json_read_text(JsonReader *reader, void *target);
MUST_USE Status json_read_bytes(JsonReader *reader, void *target);
MUST_USE Status json_read_int(JsonReader *reader, void *target);
MUST_USE Status json_read_bool(JsonReader *reader, void *target);
MUST_USE Status json_read_float(JsonReader *reader, void *target);
MUST_USE Status json_read_dtype(JsonReader *reader, void *target);
MUST_USE Status json_read_nothing(JsonReader *reader, void *target);
/* Targets: Shape, Tensor. */
MUST_USE Status json_read_shape(JsonReader *reader, void *target);
MUST_USE Status json_read_tensor(JsonReader *reader, void *target);
