#include "gateway/app/gateway_loop.h"

#include <assert.h>

#include "gateway/app/metrics.h"
#include "gateway/auth/auth.h"
#include "gateway/partials/partial_run.h"
#include "gateway/queue/runner.h"
#include "gateway/steps/queued_step.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

static AuthorizeAnswer
authorize_request(
    const Parts *parts, const Request *request, const Credentials *credentials, Principal *ret_principal)
{
    if (request->handler->access == ACCESS_WORKER) {
        return auth_admit_worker(parts->auth, credentials);
    }
    return auth_look_up(parts->auth, credentials, ret_principal);
}

static void
authorize_on_job(const Parts *parts, JobContext *context, AuthorizeItem *items, size_t count)
{
    auth_verify(parts->auth, context, items, count);
}

static Status
charge_request(Call *call, const Request *request, Response *response)
{
    return auth_charge(call, &request->principal, response);
}

static void
log_request(Parts *parts, const RequestRecord *record)
{
    GatewayLoop *loop = LIST_ITEM(parts, GatewayLoop, parts);
    metrics_count_request(record);
    log_hold();
    loop_defer(loop->loop, &loop->flush_log);
    log_event(LOG_INFO, "request", log_text("request_id", record->request_id),
        log_text("method", record->method),
        log_text("operation", record->operation_id == NULL ? "" : record->operation_id),
        log_slice("target", record->target), log_integer("status", record->http_status),
        log_text("tenant", record->principal->tenant_name), log_text("key", record->principal->key_id),
        log_integer("received", (int64_t)record->received), log_integer("sent", (int64_t)record->sent),
        log_integer("duration_us", (int64_t)(record->duration_ns / CLOCK_NS_PER_US)),
        log_text("error", record->message));
}

static void
flush_log(Task *task)
{
    (void)task;
    log_flush();
}

/* A handler may name the limit of its bodies; else one of JSON and one of forms holds for all. */
static size_t
body_size_max(const Parts *parts, const Request *request)
{
    const Limits *limits = parts->limits;
    if (request->handler->body_limit != NULL) {
        const LimitField *limit = limit_find(slice_from_string(request->handler->body_limit));
        assert(limit != NULL);
        return (size_t)limit_value(limits, limit);
    }
    if (slice_equals_string(request->media_type, "multipart/form-data")) {
        return (size_t)limits->step_body_bytes;
    }
    return slice_equals_string(request->media_type, "application/json") ? (size_t)limits->json_body_bytes
                                                                        : SIZE_MAX;
}

/* Returns one loop's share of a count that the gateway may have, rounded up. */
static uint32_t
loop_share(uint64_t count, int loop_count)
{
    assert(loop_count > 0);

    return (uint32_t)((count + (uint64_t)loop_count - 1) / (uint64_t)loop_count);
}

static Status
open_server(Call *call, GatewayLoop *loop, const GatewayLoopOptions *options)
{
    const Limits *limits = options->parts.limits;
    HttpOptions http = {
        .handlers = handler_table,
        .parts = &loop->parts,
        .jobs = options->jobs,
        .authorize = authorize_request,
        .authorize_blocking = authorize_on_job,
        .charge = charge_request,
        .log = log_request,
        .body_size_max = body_size_max,
        .bodies = options->bodies,
        .is_local_only = options->is_open,
        .origins = options->origins,
        .target_size_max = limits->uri_bytes,
        .head_size_max = limits->header_bytes,
        .inflated_ratio_max = (uint32_t)limits->inflated_ratio,
        .idempotency_key_size_max = (uint32_t)limits->idempotency_key_bytes,
        .connections_max = loop_share(limits->connections, options->loop_count),
        .connections_per_address_max = (uint32_t)limits->connections_per_address,
        .head_timeout_ms = (uint32_t)limits->header_timeout_ms,
        .idle_timeout_ms = (uint32_t)limits->idle_timeout_ms,
        .body_grace_ms = (uint32_t)limits->body_grace_ms,
        .body_rate_min = (uint32_t)limits->body_bytes_per_second,
    };
    return http_server_new(call, loop->loop, options->address, &http, &loop->server);
}

enum { CHECK_MS = 20 };

static void
check_soon(GatewayLoop *loop)
{
    timer_set(loop->loop, &loop->drained, loop_now_ns(loop->loop) + CHECK_MS * CLOCK_NS_PER_MS);
}

/* Requests that are not done within the grace are answered, for which they get a moment more; queued steps
 * are given back (queue_runner_stop()). */
static void
check_drained(Timer *timer)
{
    enum { ANSWERING_MS = 1000 };
    GatewayLoop *loop = LIST_ITEM(timer, GatewayLoop, drained);
    size_t queued = loop->is_dismissed ? 0 : queue_runner_active(loop->parts.queue);
    bool is_late = loop->grace_ms < CHECK_MS;
    if (http_server_active(loop->server) + queued == 0 || (is_late && loop->is_dismissed)) {
        loop_stop(loop->loop);
        return;
    }
    if (is_late) {
        loop->is_dismissed = true;
        loop->grace_ms = ANSWERING_MS;
        http_server_dismiss(loop->server);
    }
    loop->grace_ms -= CHECK_MS;
    check_soon(loop);
}

static void
begin_drain(Task *task)
{
    GatewayLoop *loop = LIST_ITEM(task, GatewayLoop, drain);
    http_server_drain(loop->server);
    partials_drain(&loop->partials);
    event_streams_drain(&loop->events);
    check_soon(loop); /* not at once: requests that have come are still to be read */
}

Status
gateway_loop_open(Call *call, const GatewayLoopOptions *options, GatewayLoop **ret_loop)
{
    assert(options->jobs != NULL && options->steps != NULL && options->partials != NULL);

    Loop *on = NULL;
    TRY(loop_new(call, &on));
    GatewayLoop *loop = memory_new(1, sizeof *loop);
    if (loop == NULL) {
        loop_free(on);
        return call_fail_memory(call, "a loop");
    }
    loop->loop = on;
    list_init(&loop->steps.queued);
    list_init(&loop->partials.runs);
    loop->drain.run = begin_drain;
    loop->drained.fire = check_drained;
    loop->flush_log.run = flush_log;
    *ret_loop = loop;
    AdmissionLane *lane = admission_lane(options->admission, loop->loop);
    if (lane != NULL) {
        loop->dispatcher =
            dispatcher_new(loop->loop, options->parts.directory, lane, &options->upstream, &options->pieces);
    }
    if (loop->dispatcher == NULL ||
        !step_loop_init(&loop->steps, options->steps, loop->loop, loop->dispatcher)) {
        return call_fail_memory(call, "a dispatcher");
    }
    if (!event_streams_init(
            &loop->events, options->events, options->jobs, options->parts.limits, loop->loop)) {
        return call_fail_memory(call, "streams of events");
    }
    running_report_begin(&loop->report, &loop->steps);
    partial_loop_init(&loop->partials, options->partials, &loop->steps);
    loop->parts = options->parts;
    loop->parts.loop = loop->loop;
    loop->parts.dispatcher = loop->dispatcher;
    loop->parts.steps = &loop->steps;
    loop->parts.partials = &loop->partials;
    loop->parts.events = &loop->events;
    return open_server(call, loop, options);
}

void
gateway_loop_stop(GatewayLoop *loop, uint32_t grace_ms)
{
    loop->grace_ms = grace_ms;
    loop_post(loop->loop, &loop->drain);
}

void
gateway_loop_close(GatewayLoop *loop)
{
    http_server_free(loop->server);
    loop->server = NULL;
    loop->steps.is_closing = true;
    dispatcher_close(loop->dispatcher);
}

void
gateway_loop_free(GatewayLoop *loop)
{
    assert(loop->server == NULL);

    dispatcher_free(loop->dispatcher);
    queued_steps_free(&loop->steps);
    running_report_end(&loop->report);
    partial_loop_done(&loop->partials);
    event_streams_done(&loop->events);
    step_loop_done(&loop->steps);
    loop_free(loop->loop);
    memory_free(loop);
}
