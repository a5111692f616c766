/* What --feed says: a name and where its tensor comes from.
 *
 *     x=[[1, 2]]                    JSON as the API takes it
 *     x=@input.npy                  NumPy's format
 *     x=@input.json                 JSON in a file
 *     x=@input.raw:float32:1x2      the elements as they lie in memory, with dtype and shape
 *
 * Ownership: texts live in call->arena or in the text that was parsed.
 * Errors:    INVALID_ARGUMENT says what is wrong with which feed. */
#pragma once

#include "shared/base/call.h"
#include "shared/httpclient/http_client.h"
#include "shared/json/writer.h"
#include "shared/tensor/shape.h"

typedef enum FeedKind {
    FEED_JSON,
    FEED_NPY,
    FEED_RAW,
} FeedKind;

typedef struct Feed {
    Slice name;
    FeedKind kind;
    const char *path; /* NULL: the value is `json` */
    Slice json;
    Dtype dtype; /* RAW */
    Shape shape; /* RAW */
} Feed;

MUST_USE Status feed_parse(Call *call, Slice text, Feed *ret_feed);

enum { FEED_PART_SIZE_MIN = 1 << 20 };

/* Whether the feed goes as a part of a form, not as JSON: a file of at least FEED_PART_SIZE_MIN bytes whose
 * elements .npy can hold. The part reads the file as it is sent; its head lives in call->arena. */
MUST_USE Status feed_part(Call *call, const Feed *feed, bool *ret_is_part, HttpClientPart *ret_part);

/* Writes the value as JSON, reading its file. */
MUST_USE Status feed_write(Call *call, const Feed *feed, JsonWriter *writer);
