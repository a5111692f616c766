/* The device that each node asks for. Which device computes it in the end the worker decides, which alone
 * knows its kernels; here only requests are settled: a node's own, else that of the nodes that it is
 * colocated with by name (TensorFlow's "loc:@x"). */
#include <assert.h>

#include "gateway/plan/placement.h"
#include "gateway/plan/stages.h"

typedef struct DeviceChoice {
    const Compile *compile;
    const Node **askers; /* by node: whose request it has; NULL: nobody's */
} DeviceChoice;

static Status
refuse_pair(const DeviceChoice *choice, const Node *left, const Node *right)
{
    return call_fail(choice->compile->call, STATUS_INVALID_ARGUMENT,
        "nodes '%.*s' and '%.*s' must be together, but ask for '%.*s' and '%.*s'", SLICE_PRINT(left->name),
        SLICE_PRINT(right->name), SLICE_PRINT(left->def->device), SLICE_PRINT(right->def->device));
}

/* Gives the request of `other` to the node, unless it has one. Two that contradict each other are refused;
 * under soft placement each keeps its own. */
static Status
take_request(const DeviceChoice *choice, uint32_t id, DeviceAsk ask, const Node *asker)
{
    const Compile *compile = choice->compile;
    if (ask == DEVICE_ANY || asker == NULL || ask == compile->asks[id]) {
        return STATUS_OK;
    }
    if (compile->asks[id] == DEVICE_ANY) {
        compile->asks[id] = ask;
        choice->askers[id] = asker;
        return STATUS_OK;
    }
    bool is_soft = compile->request->signature->options.has_soft_placement;
    return is_soft ? STATUS_OK : refuse_pair(choice, choice->askers[id], asker);
}

/* Hands requests from the node to those it is colocated with, or, if `is_back`, from these to the node: the
 * first turn brings them to the node that all others name, the second from there to all. */
static Status
follow_colocations(const DeviceChoice *choice, uint32_t id, bool is_back)
{
    const Compile *compile = choice->compile;
    size_t position = 0;
    Slice name;
    while (next_colocation(compile->origins[id], &position, &name)) {
        const Node *other = graph_find(compile->graph, name);
        const Node *pruned = other == NULL ? graph_find(compile->source, name) : NULL;
        DeviceRequest request = {.device = DEVICE_ANY};
        if (other != NULL && !is_back) {
            TRY(take_request(choice, other->id, compile->asks[id], choice->askers[id]));
        } else if (other != NULL) {
            TRY(take_request(choice, id, compile->asks[other->id], choice->askers[other->id]));
        } else if (pruned != NULL) {
            TRY(device_request(compile, pruned->def, &request));
            TRY(take_request(choice, id, request.device, pruned));
        }
    }
    return STATUS_OK;
}

Status
ask_devices(Compile *compile)
{
    uint32_t count = compile->graph->node_count;
    DeviceChoice choice = {.compile = compile, .askers = compile_alloc(compile, count, sizeof(const Node *))};
    compile->asks = compile_alloc(compile, count, sizeof *compile->asks);
    if (choice.askers == NULL || compile->asks == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t id = 0; id < count; id++) {
        DeviceRequest request;
        TRY(device_request(compile, compile->graph->nodes[id].def, &request));
        TRY(take_request(&choice, id, request.device, &compile->graph->nodes[id]));
    }
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t id = 0; id < count; id++) {
            TRY(follow_colocations(&choice, id, turn == 1));
        }
    }
    return STATUS_OK;
}
