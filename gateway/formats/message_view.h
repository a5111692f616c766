/* Reads protobuf messages by tables: a row says which field is kept, and where it goes in a struct; all
 * others are skipped. Lists are counted in a first walk and filled in a second, so that fields may come in
 * any order. Private to gateway/formats. */
#pragma once

#include "shared/base/call.h"
#include "shared/formats/protobuf.h"

typedef struct SliceList {
    Slice *items;
    size_t count;
} SliceList;

typedef enum KeepAs {
    KEEP_SLICE, /* Slice: a string or a message; the last one counts */
    KEEP_LIST,  /* SliceList */
    KEEP_INT,   /* int64_t */
    KEEP_FLOAT, /* float */
    KEEP_BITS,  /* uint32_t: a fixed32 */
} KeepAs;

typedef struct KeptField {
    uint32_t number;
    KeepAs as;
    size_t offset; /* of the member in the struct that is filled */
} KeptField;

typedef struct MessageView {
    const char *name;
    const KeptField *kept;
    size_t kept_count;
} MessageView;

#define MESSAGE_VIEW(message_name, table)                                                                    \
    {                                                                                                        \
        .name = (message_name), .kept = (table), .kept_count = COUNT_OF(table)                               \
    }

/* Fills `target` with the fields that the message has; the others keep their values. Lists are made in
 * `arena`. INVALID_ARGUMENT "<name> is damaged: …". */
MUST_USE Status message_collect(
    Call *call, Arena *arena, Slice bytes, const MessageView *message, void *target);
