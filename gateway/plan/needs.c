/* Checks which feeds of a partial run a fetch needs, by a walk against the edges, with the rules of
 * prune.c. The walk ends at tensors that have been fed; TensorFlow's goes on behind them and refuses more. */
#include <assert.h>

#include "gateway/plan/compile.h"

typedef struct Walk {
    const Graph *graph;
    const PlanFed *fed;
    const Endpoint *feeds; /* by feed of the plan */
    bool *has_feed;        /* by node: one of its outputs is a feed */
    uint32_t *origins;     /* by node: the fetch that first needed it, plus one; 0: not visited */
    uint32_t *stack;       /* nodes still to visit */
    size_t depth;
} Walk;

/* Returns FEED_NONE when no feed replaces the endpoint. */
static uint32_t
find_feed(const Walk *walk, Endpoint endpoint)
{
    size_t count = walk->has_feed[endpoint.node] ? walk->fed->plan->feed_count : 0;
    for (uint32_t index = 0; index < count; index++) {
        if (walk->feeds[index].node == endpoint.node && walk->feeds[index].port == endpoint.port) {
            return index;
        }
    }
    return FEED_NONE;
}

static Status
fail_lacking(Call *call, const Walk *walk, uint32_t fetch, uint32_t feed)
{
    const Plan *plan = walk->fed->plan;
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "fetch '%.*s' needs feed '%.*s', which has not been given yet", SLICE_PRINT(plan->fetches[fetch]),
        SLICE_PRINT(plan->feeds[feed]));
}

static Status
need_endpoint(Call *call, Walk *walk, Endpoint endpoint, uint32_t fetch)
{
    uint32_t feed = find_feed(walk, endpoint);
    if (feed != FEED_NONE) {
        return walk->fed->is_fed[feed] ? STATUS_OK : fail_lacking(call, walk, fetch, feed);
    }
    if (walk->origins[endpoint.node] == 0) {
        walk->origins[endpoint.node] = fetch + 1;
        walk->stack[walk->depth++] = endpoint.node;
    }
    return STATUS_OK;
}

/* A control edge needs the node itself, even if one of its outputs is fed. A placeholder is only its
 * output. */
static Status
need_control(Call *call, Walk *walk, uint32_t id, uint32_t fetch)
{
    const Node *node = &walk->graph->nodes[id];
    bool is_placeholder = op_is(node, "Placeholder") || op_is(node, "PlaceholderV2");
    return need_endpoint(call, walk, (Endpoint){.node = id, .port = is_placeholder ? 0 : NODE_NONE}, fetch);
}

static Status
need_inputs(Call *call, Walk *walk, const Node *node)
{
    uint32_t fetch = walk->origins[node->id] - 1;
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            TRY(need_endpoint(call, walk, node->inputs[index], fetch));
        }
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        TRY(need_control(call, walk, node->controls[index], fetch));
    }
    return STATUS_OK;
}

static Status
walk_begin(Call *call, Walk *walk)
{
    const Plan *plan = walk->fed->plan;
    uint32_t node_count = walk->graph->node_count;
    Endpoint *feeds = arena_alloc(call->arena, (plan->feed_count + 1) * sizeof *feeds);
    walk->has_feed = arena_alloc(call->arena, (node_count + 1) * sizeof *walk->has_feed);
    walk->origins = arena_alloc(call->arena, (node_count + 1) * sizeof *walk->origins);
    walk->stack = arena_alloc(call->arena, (node_count + 1) * sizeof *walk->stack);
    if (feeds == NULL || walk->has_feed == NULL || walk->origins == NULL || walk->stack == NULL) {
        return call_fail_memory(call, "the needs of a fetch");
    }
    for (size_t index = 0; index < plan->feed_count; index++) {
        TRY(graph_endpoint(call, walk->graph, plan->feeds[index], &feeds[index]));
        walk->has_feed[feeds[index].node] = true;
    }
    walk->feeds = feeds;
    return STATUS_OK;
}

Status
plan_check_fed(Call *call, const Graph *graph, const PlanFed *fed, const uint32_t *fetches, size_t count)
{
    Walk walk = {.graph = graph, .fed = fed};
    assert(fed->plan != NULL && fed->is_fed != NULL);
    TRY(walk_begin(call, &walk));
    for (size_t index = 0; index < count; index++) {
        Endpoint endpoint;
        assert(fetches[index] < fed->plan->fetch_count);
        TRY(graph_fetch(call, graph, fed->plan->fetches[fetches[index]], &endpoint));
        TRY(need_endpoint(call, &walk, endpoint, fetches[index]));
    }
    while (walk.depth > 0) {
        TRY(need_inputs(call, &walk, &graph->nodes[walk.stack[--walk.depth]]));
    }
    return STATUS_OK;
}
