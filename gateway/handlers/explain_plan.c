/* explainPlan: shows how a step of this signature would run: every node's slot and why, partitions,
 * transfers, and the workers its slots would be bound to now; what workers that have registered its
 * partitions told of the devices of their nodes; on request also the partitions' graphs, and the costs of
 * their nodes in steps that were traced. Accept chooses between JSON and a Graphviz drawing of the
 * partitions' graphs. */
#include <stdio.h>

#include "gateway/dispatch/directory.h"
#include "gateway/graphs/plan_graphs.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/http/headers.h"
#include "gateway/resources/resource.h"
#include "gateway/steps/step_call.h"
#include "gateway/traces/plan_costs.h"

static void
write_workers(JsonWriter *writer, Directory *directory)
{
    Roster *roster = directory_take(directory);
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

/* Returns the device of nodes that ask for none, when there is no choice: NULL with a GPU in the pool. */
static const char *
only_device(Directory *directory)
{
    Roster *roster = directory_take(directory);
    bool has_gpu = false;
    for (size_t index = 0; index < roster->count; index++) {
        has_gpu = has_gpu || roster->workers[index].has_gpu;
    }
    roster_unref(roster);
    return has_gpu ? NULL : "/device:CPU:0";
}

/* Looks up what the workers told of each partition. */
static Status
find_assignments(Call *call, Directory *directory, const Plan *plan, Assignment **ret_assignments)
{
    Assignment *found = arena_alloc(call->arena, (plan->partition_count + 1) * sizeof *found);
    if (found == NULL) {
        return call_fail_memory(call, "a plan");
    }
    for (size_t index = 0; index < plan->partition_count; index++) {
        TRY(assignments_find(call, directory_assignments(directory),
            slice_from_string(plan->partitions[index].digest), &found[index]));
    }
    *ret_assignments = found;
    return STATUS_OK;
}

static void
write_registrations(JsonWriter *writer, const Plan *plan, const Assignment *assignments)
{
    json_write_name(writer, "registrations");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->partition_count; index++) {
        const Assignment *assignment = &assignments[index];
        json_write_object_begin(writer);
        json_member_uint64(writer, "slot", plan->partitions[index].slot);
        json_member_string(writer, "state", assignment->worker == NULL ? "not registered yet" : "registered");
        if (assignment->worker != NULL) {
            json_member_string(writer, "worker", assignment->worker);
            json_member_int64(writer, "copies", assignment->told.copy_count);
            json_member_slices(writer, "copied", assignment->told.copies, assignment->told.copy_name_count);
        }
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_assigned_nodes(JsonWriter *writer, uint32_t slot, const WireNodes *nodes)
{
    json_write_object_begin(writer);
    json_member_uint64(writer, "slot", slot);
    json_member_slice(writer, "device", nodes->device);
    if (nodes->reason.size > 0) {
        json_member_slice(writer, "reason", nodes->reason);
    }
    json_member_int64(writer, "count", nodes->count);
    json_member_slices(writer, "nodes", nodes->names, nodes->name_count);
    json_write_object_end(writer);
}

static void
write_assignments(JsonWriter *writer, const Plan *plan, const Assignment *assignments)
{
    json_write_name(writer, "assignments");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->partition_count; index++) {
        for (size_t group = 0; group < assignments[index].told.group_count; group++) {
            write_assigned_nodes(
                writer, plan->partitions[index].slot, &assignments[index].told.groups[group]);
        }
    }
    json_write_array_end(writer);
}

static Status
write_json(Call *call, const Request *request, const StepCall *step, Buffer *json)
{
    Directory *directory = request->parts->directory;
    JsonWriter writer = json_writer(json);
    Assignment *assignments = NULL;
    TRY(find_assignments(call, directory, step->plan, &assignments));
    json_write_object_begin(&writer);
    json_member_string(&writer, "graph", step->graph->id_text);
    json_member_boolean(&writer, "is_pure", step->plan->is_pure);
    plan_write_json(&writer, step->plan, only_device(directory));
    write_registrations(&writer, step->plan, assignments);
    write_assignments(&writer, step->plan, assignments);
    write_workers(&writer, directory);
    if (step->body.wants_partition_graphs) {
        TRY(plan_graphs_write(call, &writer, step->plan));
    }
    if (step->body.wants_costs) {
        PlanCostsRequest costs = {.tenant = step->tenant, .plan = step->plan};
        TRY(plan_costs_write(call, &writer, request->parts->traces, &costs));
    }
    json_write_object_end(&writer);
    return STATUS_OK;
}

static Status
write_dot(Call *call, const Request *request, const StepCall *step, Buffer *dot)
{
    (void)request;
    return plan_graphs_draw(call, dot, step->plan);
}

static const char *const offers[] = {"application/json", "text/vnd.graphviz"};
static Status (*const writers[])(Call *call, const Request *request, const StepCall *step, Buffer *buffer) = {
    write_json, write_dot};

static Status
choose_form(Call *call, const Request *request, Response *response, size_t *ret_form)
{
    int best = accept_choose(request_header(request, "Accept"), offers, COUNT_OF(offers));
    response_vary(response, "Accept");
    if (best < 0) {
        return response_fail(
            call, response, 406, "a plan is there as '%s' and, drawn, as '%s'", offers[0], offers[1]);
    }
    *ret_form = (size_t)best;
    return STATUS_OK;
}

static Status
run_explain_plan(Call *call, const Request *request, Response *response)
{
    StepCall *step = arena_alloc(call->arena, sizeof *step);
    size_t form = 0;
    TRY(choose_form(call, request, response, &form));
    if (step == NULL || !step_call_init(step, request->parts->steps, call)) {
        return call_fail_memory(call, "a plan");
    }
    step->kind = STEP_BODY_PLAN;
    step->is_rehearsal = true;
    step->tenant = request->principal.tenant;
    TRY(step_call_plan(step, request));
    return writers[form](call, request, step, response_body(response, offers[form]));
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(explain_plan) = {
    .operation_id = "explainPlan",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/graphs/{graph}:plan",
    .access = ACCESS_TENANT,
    .body_size_max = 16 << 20,
    .body_types = body_types,
    .is_long = true,
    .run = run_explain_plan,
};
