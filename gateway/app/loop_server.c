#include "gateway/app/loop_server.h"

#include <assert.h>

#include "gateway/app/metrics.h"
#include "shared/base/clock.h"
#include "shared/telemetry/log.h"

static void
request_log(void *services, const RequestRecord *record)
{
    GatewayLoop *const loop = services;
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

/* What one loop may have of what the gateway may have. */
static uint32_t
loop_share(uint64_t count, int loop_count)
{
    return (uint32_t)((count + (uint64_t)loop_count - 1) / (uint64_t)loop_count);
}

/* A handler names the limit of its bodies; of JSON there is one for all others. */
static size_t
body_size_max(void *services, const Request *request)
{
    const Limits *const limits = &((const GatewayLoop *)services)->gateway->limits;
    if (request->handler->body_limit != NULL) {
        const LimitField *const limit = limit_find(slice_from_string(request->handler->body_limit));
        assert(limit != NULL);
        return (size_t)limit_value(limits, limit);
    }
    if (slice_equals_string(request->media_type, "multipart/form-data")) {
        return (size_t)limits->step_body_bytes;
    }
    return slice_equals_string(request->media_type, "application/json") ? (size_t)limits->json_body_bytes
                                                                        : SIZE_MAX;
}

Status
loop_server_open(Call *call, GatewayLoop *loop, const GatewayOptions *options, const char *address)
{
    const Limits *const limits = &loop->gateway->limits;
    const HttpOptions http = {
        .handlers = handler_table,
        .services = loop,
        .jobs = loop->gateway->jobs,
        .authorize = auth_look_up,
        .authorize_blocking = auth_verify,
        .charge = auth_charge,
        .log = request_log,
        .body_size_max = body_size_max,
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
    return http_server_new(call, loop->loop, address, &http, &loop->server);
}
