/* Reads values of --feed: a name and the source of its tensor.
 *
 *     x=[[1, 2]]                    JSON as the API takes it
 *     x=@input.npy                  NumPy's format
 *     x=@input.json                 JSON in a file
 *     x=@input.raw:float32:1x2      the elements as they lie in memory, with dtype and shape
 *
 * Ownership: texts live in call->arena or in the text that was parsed.
 * Errors:    INVALID_ARGUMENT naming the feed and what is wrong with it. */
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
    Dtype dtype; /* of a raw file */
    Shape shape; /* of a raw file */
} Feed;

MUST_USE Status feed_parse(Call *call, Slice text, Feed *ret_feed);

enum { FEED_PART_SIZE_MIN = 1 << 20 };

/* Decides whether the feed goes as a part of a form instead of JSON: it does when its file has at least
 * FEED_PART_SIZE_MIN bytes and .npy can hold its elements. The part reads the file while it is sent; its
 * head lives in call->arena. */
MUST_USE Status feed_part(Call *call, const Feed *feed, bool *ret_is_part, HttpClientPart *ret_part);

/* Writes the value as JSON; a file is read for it. */
MUST_USE Status feed_write(Call *call, const Feed *feed, JsonWriter *writer);
