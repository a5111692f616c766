/* compileGraph: plans a signature and registers its partitions on workers, so that the first step of it
 * has nothing to wait for.
 *
 * Happy path: a job thread prepares as for a step, from a description of the feeds → dispatch binds the
 * plan's slots and registers partitions that the workers lack → the answer tells how long each took.
 *
 * Failures: the same as a step's. A client that hangs up ends the work; partitions registered by then
 * stay. */
#include <assert.h>

#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/resources/resource.h"
#include "gateway/steps/step_call.h"
#include "shared/base/clock.h"

enum { BODY_SIZE_MAX = 16 << 20, REPORT_GRACE_MS = 1000 };

static void
write_partition(JsonWriter *writer, const Plan *plan, size_t slot, const SlotReport *report)
{
    assert(slot < plan->partition_count);

    const PlanPartition *partition = &plan->partitions[slot];
    json_write_object_begin(writer);
    json_member_uint64(writer, "slot", partition->slot);
    json_member_int64(writer, "task", report->task);
    json_member_string(writer, "digest", partition->digest);
    json_member_uint64(writer, "nodes", partition->node_count);
    json_member_uint64(writer, "memory_bytes", plan->slots[partition->slot].memory);
    json_member_boolean(writer, "was_registered", report->is_known);
    json_member_uint64(writer, "uploaded_bytes", report->uploaded_bytes);
    json_member_uint64(writer, "elapsed_us", (report->answered_ns - report->sent_ns) / CLOCK_NS_PER_US);
    json_write_object_end(writer);
}

static void
write_answer(const StepCall *step, const StepReport *report)
{
    JsonWriter writer = json_writer(response_json(exchange_response(step->exchange)));
    json_write_object_begin(&writer);
    json_member_string(&writer, "graph", step->graph->id_text);
    json_member_boolean(&writer, "was_planned", step->plan_us == 0);
    json_member_uint64(&writer, "plan_us", step->plan_us);
    json_member_uint64(&writer, "register_us", report->elapsed_us);
    json_write_name(&writer, "partitions");
    json_write_array_begin(&writer);
    for (size_t slot = 0; slot < report->slot_count; slot++) {
        write_partition(&writer, step->plan, slot, &report->slots[slot]);
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
}

static void
answer_registered(void *context, const StepReport *report)
{
    StepCall *step = context;
    step->running.run = NULL;
    if (report->failure.code != STATUS_OK) {
        exchange_fail(step->exchange, failure_raise(step->call, &report->failure));
        return;
    }
    step_loop_share_registration(step->loop, step->plan, report);
    write_answer(step, report);
    exchange_finish(step->exchange);
}

static void
client_gone(Exchange *exchange, void *owner)
{
    const StepCall *step = owner;
    (void)exchange;
    if (step->running.run != NULL) {
        step_cancel(step->running.run, "the client went away");
    }
}

static void
register_prepared(Exchange *exchange, Status status, void *owner)
{
    static const StepEvents events = {.on_done = answer_registered};
    StepCall *step = owner;
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    StepRunOptions options;
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
        return;
    }
    step_call_describe(step, tenant, session, &options);
    options.feed_count = 0;
    options.only_registers = true;
    options.deadline_ns = clock_monotonic_ns() + step->body.timeout_ms * CLOCK_NS_PER_MS;
    exchange_deadline(exchange, options.deadline_ns + REPORT_GRACE_MS * CLOCK_NS_PER_MS);
    step->running.run = step_start(step->loop->dispatcher, &options, &events, step);
    if (step->running.run == NULL) {
        exchange_fail(exchange, call_fail_memory(step->call, "a registration"));
        return;
    }
    exchange_on_cancel(exchange, client_gone, step);
}

static Status
prepare_on_job(Call *call, JobContext *job_context, void *owner)
{
    StepCall *step = owner;
    bool needs_job = false;
    (void)call;
    TRY(step_call_plan(step, exchange_request(step->exchange)));
    return step_call_take_places(step, job_context, &needs_job);
}

static void
start_compile_graph(Exchange *exchange)
{
    Call *call = exchange_call(exchange);
    StepCall *step = step_call_new(exchange, exchange_request(exchange)->parts->steps);
    if (step == NULL) {
        exchange_fail(exchange, call_fail_memory(call, "a plan"));
        return;
    }
    step->is_rehearsal = true;
    exchange_expect_long(exchange);
    if (!exchange_offload(exchange, prepare_on_job, register_prepared, step)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(compile_graph) = {
    .operation_id = "compileGraph",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/graphs/{graph}:compile",
    .access = ACCESS_TENANT,
    .body_size_max = BODY_SIZE_MAX,
    .body_types = body_types,
    .start = start_compile_graph,
};
