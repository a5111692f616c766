/* The values inside a GraphDef's JSON, read into the graph's memory: texts, dtypes, shapes, tensors, lists.
 * Functions for rows of tables (shared/json/reader.h); the reader's context is the GraphBuilder. Private to
 * shared/formats.
 *
 * Ownership: what is read belongs to the builder's graph.
 * Threads:   one at a time.
 * Errors:    INVALID_ARGUMENT; RESOURCE_EXHAUSTED past the builder's bounds. */
#pragma once

#include "shared/formats/builder.h"
#include "shared/json/reader.h"

/* The largest item of a list. */
enum { GRAPH_ITEM_SIZE_MAX = 512 };

/* To a Slice: a text; bytes in base64. */
MUST_USE Status graph_read_text(JsonReader *reader, const JsonMember *member, void *target);
MUST_USE Status graph_read_bytes(JsonReader *reader, const JsonMember *member, void *target);

/* To a Dtype, from its name or its number; DTYPE_INVALID for one that TensorFlow has and we have not. */
MUST_USE Status graph_read_dtype(JsonReader *reader, const JsonMember *member, void *target);

/* To a Shape, from a TensorShapeProto; to a Tensor, from a TensorProto. */
MUST_USE Status graph_read_shape(JsonReader *reader, const JsonMember *member, void *target);
MUST_USE Status graph_read_tensor(JsonReader *reader, const JsonMember *member, void *target);

/* To a pointer to items and behind it their size_t count, by the member's `list`; `count_max` is not read, as
 * the builder has bounds of its own. The names of a map's members are copied to the start of the items, and
 * faults inside an item name it. */
MUST_USE Status graph_read_list(JsonReader *reader, const JsonMember *member, void *target);
