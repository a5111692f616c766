/* explainPlan: what a step of this signature would do: every node's slot and why, partitions, transfers, and
 * the workers its slots would be bound to now; when wanted, the partitions' graphs, and what their nodes cost
 * in steps that were traced. */
#include <assert.h>
#include <stdio.h>

#include "gateway/services/gateway.h"
#include "gateway/services/plan_costs.h"
#include "gateway/services/plan_obtain.h"
#include "gateway/services/resource_json.h"
#include "gateway/services/step_body.h"

static Status
load(Call *call, const Request *request, SessionSnapshot **ret_session, GraphSnapshot **ret_graph)
{
    GraphCache *const graphs = request_gateway(request)->graphs;
    GraphSnapshot wanted = {.tenant = request->principal.tenant};
    Store *store = NULL;
    TRY(session_id_read(call, request, &wanted.session));
    TRY(graph_id_read(call, request, &wanted.id));
    TRY(request_store(call, request, &store));
    TRY(graph_cache_load_session(call, graphs, store, wanted.tenant, wanted.session, ret_session));
    if (arena_defer(call->arena, session_snapshot_unref, *ret_session) == NULL) {
        return call_fail_memory(call, "a plan");
    }
    return graph_cache_obtain_graph(call, graphs, store, &wanted, ret_graph);
}

/* A plan needs to know which tensors are fed, not their values. */
static Status
describe_feeds(Call *call, const Graph *graph, const StepBody *body, SignatureFeed **ret_feeds)
{
    SignatureFeed *const feeds = arena_alloc(call->arena, (body->feed_count + 1) * sizeof *feeds);
    if (feeds == NULL) {
        return call_fail_memory(call, "a plan");
    }
    for (size_t index = 0; index < body->feed_count; index++) {
        feeds[index] = (SignatureFeed){.name = body->feeds[index].name, .shape = shape_unknown()};
        TRY(plan_describe_feed(call, graph, feeds[index].name, &feeds[index].dtype, &feeds[index].shape));
        feeds[index].shape = shape_unknown();
    }
    *ret_feeds = feeds;
    return STATUS_OK;
}

static void
write_workers(JsonWriter *writer, Directory *directory)
{
    Roster *const roster = directory_take(directory);
    json_write_name(writer, "workers");
    json_write_array_begin(writer);
    for (size_t index = 0; index < roster->count; index++) {
        if (roster->workers[index].state == WORKER_SERVING) {
            char device[48];
            (void)snprintf(
                device, sizeof device, "/job:worker/replica:0/task:%d", roster->workers[index].task);
            json_write_string(writer, device);
        }
    }
    json_write_array_end(writer);
    roster_unref(roster);
}

/* Each as its worker runs it: placed, optimised, with Sends and Recvs; constants that travel apart are named
 * by their digests. */
static Status
write_partition_graphs(Call *call, JsonWriter *writer, const Plan *plan)
{
    enum { SIZE_MAX_BYTES = 16 << 20 };
    size_t size = 0;
    for (size_t index = 0; index < plan->partition_count; index++) {
        size += plan->partitions[index].document.size;
    }
    if (size > SIZE_MAX_BYTES) {
        return call_fail(call, STATUS_OUT_OF_RANGE,
            "the partition graphs take %zu bytes, more than the %d that are told", size, SIZE_MAX_BYTES);
    }
    json_write_name(writer, "partition_graphs");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->partition_count; index++) {
        json_write_object_begin(writer);
        json_member_uint64(writer, "slot", plan->partitions[index].slot);
        json_write_name(writer, "graph");
        json_write_raw(writer, plan->partitions[index].document);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
    return STATUS_OK;
}

static Status
run(Call *call, const Request *request, Response *response)
{
    Gateway *const gateway = request_gateway(request);
    SessionSnapshot *session = NULL;
    GraphSnapshot *graph = NULL;
    SignatureFeed *feeds = NULL;
    Signature signature;
    StepBody body;
    AUTO_PLAN plan = NULL;
    TRY(step_body_read_as(call, STEP_BODY_PLAN, request->body, &gateway->limits, &body));
    TRY(load(call, request, &session, &graph));
    assert(session != NULL && graph != NULL);
    TRY(describe_feeds(call, graph->graph, &body, &feeds));
    const Signature given = {
        .feeds = feeds,
        .feed_count = body.feed_count,
        .fetches = body.fetches,
        .fetch_count = body.fetch_count,
        .targets = body.targets,
        .target_count = body.target_count,
        .options = session->options.plan,
    };
    TRY(signature_make(call, slice_from_string(graph->id_text), &given, &signature));
    const PlanRequest wanted = {.graph = graph->graph, .signature = &signature};
    TRY(plan_obtain(call, gateway->plans, &wanted, &plan));
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_member_string(&writer, "graph", graph->id_text);
    json_member_boolean(&writer, "is_pure", plan->is_pure);
    plan_write_json(&writer, plan);
    write_workers(&writer, gateway->directory);
    if (body.wants_partition_graphs) {
        TRY(write_partition_graphs(call, &writer, plan));
    }
    if (body.wants_costs) {
        const PlanCostsRequest costs = {.tenant = request->principal.tenant, .plan = plan};
        TRY(plan_costs_write(call, &writer, gateway->traces, &costs));
    }
    json_write_object_end(&writer);
    return STATUS_OK;
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(explain_plan) = {
    .operation_id = "explainPlan",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/graphs/{graph}:plan",
    .access = ACCESS_TENANT,
    .body_size_max = 16 << 20,
    .body_types = body_types,
    .run = run,
};
