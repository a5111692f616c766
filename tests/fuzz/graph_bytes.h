/* The gateway's work on the bytes of a graph, for the fuzz targets of its formats: read, expand functions,
 * link, infer shapes, freeze. Any bytes give a graph or an error. */
#pragma once

#include <stdint.h>

#include "gateway/expand/expand.h"
#include "gateway/expand/freeze.h"
#include "gateway/formats/skeleton.h"
#include "shared/ops/registry.h"

typedef Status (*GraphRead)(Call *call, TensorBuffer *source, GraphDef **ret_def);

static inline void
import_graph(GraphRead read, TensorBuffer *source)
{
    enum { NODE_COUNT_MAX = 4096 };
    AUTO_ARENA arena = arena_new(64 << 20);
    Call call = {.arena = arena};
    AUTO_GRAPH_DEF def = NULL;
    AUTO_GRAPH_DEF expanded = NULL;
    AUTO_GRAPH_DEF frozen = NULL;
    AUTO_GRAPH graph = NULL;
    const Shape *const *shapes = NULL;
    if (arena == NULL || read(&call, source, &def) != STATUS_OK ||
        graph_expand(&call, def, NODE_COUNT_MAX, &expanded) != STATUS_OK ||
        graph_link(&call, expanded, op_find, (GraphLimits){0}, &graph) != STATUS_OK) {
        return;
    }
    (void)!graph_infer_shapes(&call, graph, NULL, 0, &shapes);
    (void)!graph_freeze(&call, graph, &frozen);
}

typedef Status (*SkeletonMake)(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);

/* Makes the skeleton of the bytes, without any tensor of over 15 bytes, and works on it as on a graph. */
static inline void
import_skeleton(SkeletonMake make, GraphRead read, Slice bytes)
{
    enum { WEIGHT_SIZE_MIN = 16 };
    AUTO_ARENA arena = arena_new(64 << 20);
    Call call = {.arena = arena};
    AUTO_SKELETON skeleton = {.bytes = {0}};
    ByteSource source = byte_source_of(bytes);
    SkeletonFile file = {.name = SLICE(""), .span = {&source, 0, source.size}};
    SkeletonRequest request = {
        .files = &file, .file_count = 1, .weight_size_min = WEIGHT_SIZE_MIN, .size_max = 1 << 20};
    if (arena == NULL || make(&call, &request, &skeleton) != STATUS_OK) {
        return;
    }
    TensorBuffer *copy = tensor_buffer_new(skeleton.bytes.size);
    if (copy != NULL) {
        memcpy(copy->data, skeleton.bytes.size == 0 ? "" : skeleton.bytes.data, skeleton.bytes.size);
        import_graph(read, copy);
    }
    tensor_buffer_unref(copy);
}

static inline int
import_bytes(GraphRead read, const uint8_t *data, size_t size)
{
    TensorBuffer *source = tensor_buffer_new(size);
    if (source == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(source->data, data, size);
    }
    source->size = size;
    import_graph(read, source);
    tensor_buffer_unref(source);
    return 0;
}
