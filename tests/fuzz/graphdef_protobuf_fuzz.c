/* Any bytes: a GraphDef or SavedModel, or an error. What is read links or not, and its shapes are inferred.
 */
#include <stdint.h>

#include "shared/formats/graphdef_protobuf.h"
#include "shared/graph/graph.h"
#include "shared/ops/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_and_link(TensorBuffer *source)
{
    AUTO_ARENA arena = arena_new(64 << 20);
    Call call = {.arena = arena};
    AUTO_GRAPH_DEF def = NULL;
    AUTO_GRAPH graph = NULL;
    const Shape *const *shapes = NULL;
    if (arena != NULL && graphdef_protobuf_read(&call, source, &def) == STATUS_OK &&
        graph_link(&call, def, op_find, (GraphLimits){0}, &graph) == STATUS_OK) {
        (void)!graph_infer_shapes(&call, graph, NULL, 0, &shapes);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TensorBuffer *const source = tensor_buffer_new(size);
    if (source == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(source->data, data, size);
    }
    source->size = size;
    read_and_link(source);
    tensor_buffer_unref(source);
    return 0;
}
