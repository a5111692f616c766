#include "shared/graph/link.h"

/* Marks the direct sources of one node; whether one was marked through a loop's back edge. */
static bool
mark_sources(const Graph *graph, const Node *node, bool (*stops_at)(void *context, Endpoint endpoint),
    void *context, bool *needed)
{
    bool went_back = false;
    for (uint32_t index = 0; index < node->input_count; index++) {
        const Endpoint endpoint = node->inputs[index];
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
        needed[roots[index]] = true;
    }
    /* Against the topological order one walk finds all, but for what a loop's back edge reaches: its source
     * stands behind the Merge, so that each such edge asks for another walk. */
    bool went_back = true;
    while (went_back) {
        went_back = false;
        for (uint32_t index = graph->node_count; index-- > 0;) {
            const Node *const node = &graph->nodes[graph->order[index]];
            if (needed[node->id] && mark_sources(graph, node, stops_at, context, needed)) {
                went_back = true;
            }
        }
    }
}
