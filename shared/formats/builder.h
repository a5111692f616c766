/* Collects a graph while one of the formats is read: lists whose length shows only at their end, texts,
 * tensors, all within bounds that follow from the size of the source. For shared/formats and
 * gateway/formats.
 *
 *     size_t mark = builder_mark(builder);
 *     … builder_push(builder, &item, sizeof item); …          lists may nest
 *     builder_take(builder, mark, sizeof item, &items, &count);
 *
 * Ownership: a builder owns the GraphDef until builder_finish() gives it away; builder_done() frees it.
 * Threads:   one at a time.
 * Errors:    RESOURCE_EXHAUSTED past the bounds; INVALID_ARGUMENT for tensors that cannot be. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/graph/graph_def.h"

typedef struct GraphBuilder {
    Call *call;
    GraphDef *def;
    Buffer stack;             /* the items of lists that are not complete */
    size_t tensor_bytes_left; /* what tensors may still take: a repeated value lets a few bytes ask for
                               * many */
} GraphBuilder;

/* Begins a graph; its bounds follow from the size of the source. */
MUST_USE Status builder_begin(GraphBuilder *builder, Call *call, size_t source_size);
void builder_done(GraphBuilder *builder);
GraphDef *builder_finish(GraphBuilder *builder);
#define AUTO_GRAPH_BUILDER CLEANUP(builder_done) GraphBuilder

static inline size_t
builder_mark(const GraphBuilder *builder)
{
    return builder->stack.size;
}

MUST_USE Status builder_push(GraphBuilder *builder, const void *item, size_t size);
/* Moves the items pushed since `mark` into the graph's memory. */
MUST_USE Status builder_take(
    GraphBuilder *builder, size_t mark, size_t item_size, const void **ret_items, size_t *ret_count);
MUST_USE Status builder_alloc(GraphBuilder *builder, size_t count, size_t size, void **ret_memory);
MUST_USE Status builder_copy(GraphBuilder *builder, Slice text, Slice *ret_copy);

/* Calls builder_take() with a pointer to any item type. */
#define BUILDER_TAKE(builder, mark, ret_items, ret_count)                                                    \
    __extension__({                                                                                          \
        const void *taken_items_ = NULL;                                                                     \
        Status taken_ = builder_take(builder, mark, sizeof **(ret_items), &taken_items_, ret_count);         \
        *(ret_items) = taken_items_;                                                                         \
        taken_;                                                                                              \
    })

/* Makes a tensor of a copyable dtype with uninitialised elements, counted against the bounds and kept by
 * the graph. INVALID_ARGUMENT when the shape is not fully known or too large. */
MUST_USE Status builder_tensor(
    GraphBuilder *builder, Dtype dtype, const Shape *shape, Tensor *ret_tensor, int64_t *ret_count);

/* Makes a string tensor of `given` elements; the last one repeats as often as the shape asks. */
MUST_USE Status builder_string_tensor(
    GraphBuilder *builder, const Shape *shape, const Slice *elements, size_t given, Tensor *ret_tensor);

/* Makes a tensor of zeros, or of empty strings. */
MUST_USE Status builder_zeros(GraphBuilder *builder, Dtype dtype, const Shape *shape, Tensor *ret_tensor);

/* Makes a tensor over bytes inside `source`, without a copy. Returns false when they are too few to be
 * worth it, or not aligned for the dtype. */
MUST_USE bool builder_view(GraphBuilder *builder, Dtype dtype, const Shape *shape, Slice bytes,
    TensorBuffer *source, Tensor *ret_tensor);

/* Makes a tensor whose elements are absent (tensor_new_absent()). INVALID_ARGUMENT when the dtype's elements
 * are not plain bytes, or the shape is not fully known or too large. */
MUST_USE Status builder_absent(
    GraphBuilder *builder, Dtype dtype, const Shape *shape, const Sha256 *digest, Tensor *ret_tensor);

/* Completes a tensor of which `given` elements are set, by TensorFlow's rule: none gives zeros, else the
 * last one repeats. */
void tensor_repeat_last(const Tensor *tensor, int64_t given);

/* The repeated field in which TensorProto keeps the values of a dtype when it does not keep raw bytes.
 * NULL for dtypes whose values are not read (resources, variants). */
typedef struct TensorField {
    int number;
    const char *name; /* the field's name in JSON */
} TensorField;
const TensorField *tensor_field(Dtype dtype);

/* Makes a string tensor from TensorProto's tensor_content: the lengths of all elements as varints, then
 * their bytes. */
MUST_USE Status builder_string_content(
    GraphBuilder *builder, const Shape *shape, Slice content, Tensor *ret_tensor);
