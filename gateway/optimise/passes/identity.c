/* Makes readers of nodes that pass on their input read that input.
 *
 * An Identity behind a stateful node stays: it takes the value at its time. */
#include <assert.h>

#include "gateway/optimise/pass.h"

static const char *const copies[] = {
    "Identity",
    "IdentityN",
    "PlaceholderWithDefault", /* one that is fed is no longer in the graph */
    "PreventGradient",
    "Snapshot",
    "StopGradient",
    "onnx::Identity",
    "onnx::_Outputs2",
    "onnx::_Outputs3",
};

static bool
reads_state(const Rewrite *rewrite, Endpoint input)
{
    assert(input.node != NODE_NONE);

    return (rewrite_node(rewrite, input.node)->op->flags & OP_STATEFUL) != 0;
}

static Status
identity(Rewrite *rewrite)
{
    for (uint32_t position = 0; position < rewrite->graph->node_count; position++) {
        uint32_t id = rewrite->graph->order[position];
        if (!rewrite_is_any_of(rewrite, id, copies, COUNT_OF(copies))) {
            continue;
        }
        for (uint32_t port = 0; port < rewrite_node(rewrite, id)->output_count; port++) {
            Endpoint input = rewrite_input(rewrite, id, port);
            Endpoint output = {.node = id, .port = port};
            Endpoint reading = rewrite_resolve(rewrite, output);
            if (input.node != NODE_NONE && reading.node == id && !reads_state(rewrite, input) &&
                rewrite_rests_on(rewrite, id, port) && rewrite_may_give_way(rewrite, id, input)) {
                rewrite_redirect(rewrite, output, input);
            }
        }
    }
    return STATUS_OK;
}

PASS(identity, PASS_CLEAN, true);
