/* Fuzzes GraphDef in JSON: any text gives a GraphDef or an error. A GraphDef links or not, and is written
 * and read back as itself. */
#include <assert.h>
#include <stdint.h>

#include "shared/formats/graphdef_json.h"
#include "shared/graph/graph.h"
#include "shared/ops/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
link_and_infer(Call *call, GraphDef *def)
{
    AUTO_GRAPH graph = NULL;
    const Shape *const *shapes = NULL;
    if (graph_link(call, def, op_find, (GraphLimits){.allows_internal = true}, &graph) == STATUS_OK) {
        (void)!graph_infer_shapes(call, graph, NULL, 0, &shapes);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(64 << 20);
    Call call = {.arena = arena};
    AUTO_GRAPH_DEF def = NULL;
    if (arena == NULL || graphdef_json_read(&call, slice_of(data, size), &def) != STATUS_OK) {
        return 0;
    }
    link_and_infer(&call, def);

    AUTO_BUFFER written = {0};
    AUTO_BUFFER again = {0};
    AUTO_GRAPH_DEF same = NULL;
    graphdef_json_write(&written, def);
    if (buffer_is_ok(&written) && graphdef_json_read(&call, buffer_slice(&written), &same) == STATUS_OK) {
        graphdef_json_write(&again, same);
        assert(slice_equal(buffer_slice(&written), buffer_slice(&again)));
    }
    return 0;
}
