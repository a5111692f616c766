#include <assert.h>

#include "shared/graph/graph.h"

/* Marks the direct sources of one node. Returns true when one was marked through the edge that closes a
 * loop. */
static bool
mark_sources(const Graph *graph, const Node *node, bool (*stops_at)(void *context, Endpoint endpoint),
    void *context, bool *needed)
{
    bool went_back = false;
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint endpoint = node->inputs[index];
        if (endpoint.node == NODE_NONE || needed[endpoint.node] ||
            (stops_at != NULL && stops_at(context, endpoint))) {
            continue;
        }
        needed[endpoint.node] = true;
        went_back = went_back || edge_is_back(&graph->nodes[endpoint.node], node);
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        needed[node->controls[index]] = true;
    }
    return went_back;
}

void
graph_mark_needed(const Graph *graph, const uint32_t *roots, size_t root_count,
    bool (*stops_at)(void *context, Endpoint endpoint), void *context, bool *needed)
{
    for (size_t index = 0; index < root_count; index++) {
        assert(roots[index] < graph->node_count);
        needed[roots[index]] = true;
    }
    /* One walk against the topological order finds everything but the sources of edges that close loops,
     * which stand behind their Merge: each such edge demands another walk. */
    bool went_back = true;
    while (went_back) {
        went_back = false;
        for (uint32_t index = graph->node_count; index-- > 0;) {
            const Node *node = &graph->nodes[graph->order[index]];
            if (needed[node->id] && mark_sources(graph, node, stops_at, context, needed)) {
                went_back = true;
            }
        }
    }
}
