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

/* Read into a Slice: a text, or bytes in base64. */
MUST_USE Status graph_read_text(JsonReader *reader, const JsonMember *member, void *target);
MUST_USE Status graph_read_bytes(JsonReader *reader, const JsonMember *member, void *target);

/* Reads a DataType's name or number into a Dtype; DTYPE_INVALID for a type that has no Dtype. */
MUST_USE Status graph_read_dtype(JsonReader *reader, const JsonMember *member, void *target);

/* Read a TensorShapeProto into a Shape, a TensorProto into a Tensor. */
MUST_USE Status graph_read_shape(JsonReader *reader, const JsonMember *member, void *target);
MUST_USE Status graph_read_tensor(JsonReader *reader, const JsonMember *member, void *target);

/* Reads a list into a pointer to items and after it their count, a size_t, by the member's `list`, whose
 * `count_max` is not read: the builder has bounds of its own. The names of a map's members are copied to
 * the start of the items, and errors inside an item name it. */
MUST_USE Status graph_read_list(JsonReader *reader, const JsonMember *member, void *target);
