/* Handling calls the handler of a request that is whole: `start` at once, `run` on a job thread. A gzip
 * body is inflated before that, on a job thread too. */
#include <assert.h>

#include "gateway/http/exchange.h"
#include "gateway/http/internals.h"
#include "shared/gzip/gzip.h"

/* Inflates the body with memory for as much as its last member announces, which is nearly always the only
 * one; when it has more, for as much as is allowed. */
static Status
inflate_claimed(Exchange *exchange, size_t size_max, Buffer *inflated)
{
    Slice packed = buffer_slice(&exchange->body);
    size_t announced = gzip_announced_size(packed);
    if (announced < size_max) {
        TRY(body_claim_hold(exchange, packed.size + announced));
        Status status = gzip_inflate(&exchange->call, packed, announced, inflated);
        if (status != STATUS_OUT_OF_RANGE) {
            return status;
        }
        buffer_done(inflated);
    }
    TRY(body_claim_hold(exchange, packed.size + size_max));
    return gzip_inflate(&exchange->call, packed, size_max, inflated);
}

static Status
inflate_body(Exchange *exchange)
{
    if (!exchange->is_gzip) {
        return STATUS_OK;
    }
    Buffer inflated = {0};
    size_t ratio_max = exchange->server->options.inflated_ratio_max;
    size_t grown_max = exchange->body.size * ratio_max;
    size_t size_max = grown_max < exchange->body_size_max ? grown_max : exchange->body_size_max;
    Status status = inflate_claimed(exchange, size_max, &inflated);
    if (status == STATUS_OUT_OF_RANGE) {
        response_status(&exchange->response, 413);
    }
    buffer_done(&exchange->body);
    exchange->body = inflated;
    body_claim_trim(exchange, inflated.size);
    exchange->request.body = buffer_slice(&exchange->body);
    exchange->is_gzip = false;
    return status;
}

static Status
run_handler(Exchange *exchange)
{
    TRY(call_check(&exchange->call, clock_monotonic_ns()));
    TRY(inflate_body(exchange));
    TRY(windows_finish(exchange));
    return exchange->request.handler->run(&exchange->call, &exchange->request, &exchange->response);
}

static void
run_on_job_thread(Job *job, JobContext *context)
{
    Exchange *exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = context;
    exchange->status = run_handler(exchange);
    windows_end(exchange, context);
    delivery_render(exchange, true);
}

static void
run_is_done(Job *job)
{
    Exchange *exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = NULL;
    exchange_end(exchange, exchange->status);
}

static void
begin_run(Exchange *exchange)
{
    if (!exchange_submit(exchange, run_on_job_thread, run_is_done)) {
        exchange_end(exchange, exchange_note_overload(exchange));
    }
}

static Status
inflate_on_job_thread(Call *call, JobContext *job_context, void *owner)
{
    (void)call;
    (void)job_context;
    return inflate_body(owner);
}

static void
inflate_is_done(Exchange *exchange, Status status, void *owner)
{
    (void)owner;
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else {
        exchange->request.handler->start(exchange);
    }
}

static void
begin_start(Exchange *exchange)
{
    if (!exchange->is_gzip) {
        exchange->request.handler->start(exchange);
    } else if (!exchange_offload(exchange, inflate_on_job_thread, inflate_is_done, exchange)) {
        exchange_end(exchange, exchange_note_overload(exchange));
    }
}

enum MHD_Result
handling_begin(Exchange *exchange)
{
    Connection *connection = exchange->connection;
    const Handler *handler = exchange->request.handler;
    assert(exchange->phase == EXCHANGE_BODY && handler != NULL);

    exchange->request.body = buffer_slice(&exchange->body);
    exchange->phase = EXCHANGE_WORKING;
    if (exchange->received > 0) {
        /* The deadline begins behind the body, whose own time is bounded by the rate at which it comes. */
        uint32_t usual_ms = exchange->server->options.deadline_ms;
        exchange->call.deadline_ns = deadline_after_ms(
            exchange->server->loop, handler->deadline_ms == 0 ? usual_ms : handler->deadline_ms);
    }
    connection_enter(connection, CONNECTION_WORK, exchange->call.deadline_ns);
    if (handler->start != NULL) {
        begin_start(exchange);
    } else {
        begin_run(exchange);
    }
    if (exchange->phase == EXCHANGE_ENDED) {
        return delivery_step(exchange, NULL);
    }
    connection_suspend(connection);
    if (connection->is_gone) {
        exchange_cancel(exchange);
    }
    return MHD_YES;
}
