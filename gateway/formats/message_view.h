/* Messages as views: a table says which fields are kept and where they go; all else is passed over. Lists are
 * counted in a first walk and filled in a second, so that fields may come in any order.
 * Private to gateway/formats. */
#pragma once

#include "shared/base/call.h"
#include "shared/formats/protobuf.h"

typedef struct SliceList {
    Slice *items;
    size_t count;
} SliceList;

typedef enum KeepAs {
    KEEP_SLICE, /* Slice: strings, messages; the last one wins */
    KEEP_LIST,  /* SliceList */
    KEEP_INT,   /* int64_t */
    KEEP_FLOAT, /* float */
    KEEP_BITS,  /* uint32_t: a fixed32 */
} KeepAs;

typedef struct KeptField {
    uint32_t number;
    KeepAs as;
    size_t offset; /* in the struct that is filled */
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

/* Fills what the message has of `target`, which keeps the rest; lists are made in `arena`.
 * INVALID_ARGUMENT "<name> is damaged: …". */
MUST_USE Status message_collect(
    Call *call, Arena *arena, Slice bytes, const MessageView *message, void *target);
