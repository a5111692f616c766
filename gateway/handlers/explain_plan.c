/* explainPlan: what a step of this signature would do: every node's slot and why, partitions, transfers, and
 * the workers its slots would be bound to now; when wanted, the partitions' graphs, and what their nodes cost
 * in steps that were traced. */
#include <stdio.h>

#include "gateway/services/plan_costs.h"
#include "gateway/services/resource_json.h"
#include "gateway/services/step_call.h"

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
write(Call *call, const Request *request, const StepCall *step, Response *response)
{
    const Gateway *const gateway = request_gateway(request);
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_member_string(&writer, "graph", step->graph->id_text);
    json_member_boolean(&writer, "is_pure", step->plan->is_pure);
    plan_write_json(&writer, step->plan);
    write_workers(&writer, gateway->directory);
    if (step->body.wants_partition_graphs) {
        TRY(write_partition_graphs(call, &writer, step->plan));
    }
    if (step->body.wants_costs) {
        const PlanCostsRequest costs = {.tenant = step->tenant, .plan = step->plan};
        TRY(plan_costs_write(call, &writer, gateway->traces, &costs));
    }
    json_write_object_end(&writer);
    return STATUS_OK;
}

static Status
run(Call *call, const Request *request, Response *response)
{
    StepCall *const step = arena_alloc(call->arena, sizeof *step);
    if (step == NULL || !step_call_init(step, request->services, call)) {
        return call_fail_memory(call, "a plan");
    }
    step->kind = STEP_BODY_PLAN;
    step->is_rehearsal = true;
    step->tenant = request->principal.tenant;
    TRY(step_call_plan(step, request));
    return write(call, request, step, response);
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
