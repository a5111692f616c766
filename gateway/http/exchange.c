#include "gateway/http/exchange.h"

#include <assert.h>

#include "gateway/http/internals.h"
#include "shared/base/memory.h"
#include "shared/gzip/gzip.h"

enum { BUFFER_KEPT_MAX = 64 * 1024 };

/* --- The pool ------------------------------------------------------------------------------------------- */

static Exchange *
exchange_new(HttpServer *server)
{
    Exchange *const exchange = memory_new(1, sizeof *exchange);
    if (exchange == NULL) {
        return NULL;
    }
    exchange->call.arena = arena_new(server->options.arena_size_max);
    if (exchange->call.arena == NULL) {
        memory_free(exchange);
        return NULL;
    }
    return exchange;
}

/* Random at start, counted since: unique, hard to guess, and made without asking the kernel each time
 * (splitmix64). */
static uint64_t
mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

static void
request_id_make(HttpServer *server, char ret_id[REQUEST_ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    const uint64_t count = server->id_count++;
    for (size_t half = 0; half < 2; half++) {
        uint64_t bits = mix(server->id_seed[half] + count * 0x9e3779b97f4a7c15U);
        for (size_t index = 0; index < 16; index++, bits >>= 4) {
            ret_id[half * 16 + index] = digits[bits & 15];
        }
    }
    ret_id[REQUEST_ID_SIZE - 1] = '\0';
}

Exchange *
exchange_take(HttpServer *server, Connection *connection)
{
    Exchange *exchange = server->free_exchanges;
    if (exchange != NULL) {
        server->free_exchanges = exchange->next_free;
    } else {
        exchange = exchange_new(server);
        if (exchange == NULL) {
            return NULL;
        }
    }
    *exchange = (Exchange){
        .reference_count = 1,
        .server = server,
        .connection = connection,
        .call = {.arena = exchange->call.arena,
            .deadline_ns = server_after_ms(server, server->options.deadline_ms)},
        .request = {.services = server->options.services},
        .response = {.buffer = exchange->response.buffer},
        .body = exchange->body,
        .started_ns = loop_now_ns(server->loop),
    };
    response_begin(&exchange->response, exchange->call.arena);
    request_id_make(server, exchange->call.request_id);
    server->active_count++;
    return exchange;
}

static void
buffer_recycle(Buffer *buffer)
{
    if (buffer->capacity > BUFFER_KEPT_MAX) {
        buffer_done(buffer);
    } else {
        buffer_clear(buffer);
    }
}

/* A reply that libmicrohttpd gave by itself is a refusal of a request that it could not read. */
static void
exchange_log(const Exchange *exchange)
{
    const HttpOptions *const options = &exchange->server->options;
    if (options->log == NULL) {
        return;
    }
    const Request *const request = &exchange->request;
    const bool is_ours = exchange->phase != EXCHANGE_HEAD && exchange->phase != EXCHANGE_BODY;
    const RequestRecord record = {
        .request_id = exchange->call.request_id,
        .operation_id = request->handler == NULL ? NULL : request->handler->operation_id,
        .route = request->handler == NULL ? NULL : request->handler->path,
        .method = request->method == NULL ? "" : request->method,
        .target = target_path(request->target),
        .traceparent = request->traceparent,
        .principal = &request->principal,
        .http_status = exchange->is_hang_up ? 499
                       : is_ours            ? exchange->response.status
                                            : 400,
        .code = exchange->status,
        .message = exchange->call.error.message,
        .received = exchange->received,
        .sent = exchange->sent,
        .duration_ns = loop_now_ns(exchange->server->loop) - exchange->started_ns,
        .is_hang_up = exchange->is_hang_up,
    };
    options->log(options->services, &record);
}

void
exchange_ref(Exchange *exchange)
{
    exchange->reference_count++;
}

void
exchange_unref(Exchange *exchange)
{
    HttpServer *const server = exchange->server;
    if (--exchange->reference_count > 0) {
        return;
    }
    response_clear_body(&exchange->response);
    buffer_recycle(&exchange->response.buffer);
    buffer_recycle(&exchange->body);
    arena_clear(exchange->call.arena);
    exchange->next_free = server->free_exchanges;
    server->free_exchanges = exchange;
    server->active_count--;
}

void
exchange_release(Exchange *exchange)
{
    stream_close(&exchange->stream);
    exchange_log(exchange);
    exchange->connection = NULL;
    exchange_unref(exchange);
}

void
exchange_free(HttpServer *server)
{
    Exchange *const exchange = server->free_exchanges;
    server->free_exchanges = exchange->next_free;
    response_done(&exchange->response);
    buffer_done(&exchange->body);
    arena_free(exchange->call.arena);
    memory_free(exchange);
}

/* --- Job threads ---------------------------------------------------------------------------------------- */

static bool
submit(Exchange *exchange, void (*run)(Job *job, void *context), void (*done)(Job *job))
{
    exchange->job = (Job){.loop = exchange->server->loop, .run = run, .done = done};
    JobPool *const jobs = exchange->server->options.jobs;
    return jobs != NULL && job_submit(jobs, &exchange->job);
}

Status
exchange_note_overload(Exchange *exchange)
{
    return call_fail(
        &exchange->call, STATUS_UNAVAILABLE, "the gateway has too much waiting work, try again soon");
}

static Status
inflate_body(Exchange *exchange)
{
    if (!exchange->is_gzip) {
        return STATUS_OK;
    }
    Buffer inflated = {0};
    const size_t ratio_max = exchange->server->options.inflated_ratio_max;
    const size_t grown_max = exchange->body.size * ratio_max;
    const size_t size_max = grown_max < exchange->body_size_max ? grown_max : exchange->body_size_max;
    const Status status = gzip_inflate(&exchange->call, buffer_slice(&exchange->body), size_max, &inflated);
    if (status == STATUS_OUT_OF_RANGE) {
        response_status(&exchange->response, 413);
    }
    buffer_done(&exchange->body);
    exchange->body = inflated;
    exchange->request.body = buffer_slice(&exchange->body);
    exchange->is_gzip = false;
    return status;
}

/* --- `run` handlers ------------------------------------------------------------------------------------- */

static Status
run_handler(Exchange *exchange)
{
    TRY(call_check(&exchange->call, clock_monotonic_ns()));
    TRY(inflate_body(exchange));
    return exchange->request.handler->run(&exchange->call, &exchange->request, &exchange->response);
}

static void
run_on_job_thread(Job *job, void *context)
{
    Exchange *const exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = context;
    exchange->status = run_handler(exchange);
    delivery_render(exchange, true);
}

static void exchange_end(Exchange *exchange, Status status);

static void
run_is_done(Job *job)
{
    Exchange *const exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = NULL;
    exchange_end(exchange, exchange->status);
}

static void
run_begin(Exchange *exchange)
{
    if (!submit(exchange, run_on_job_thread, run_is_done)) {
        exchange_end(exchange, exchange_note_overload(exchange));
    }
}

/* --- `start` handlers ----------------------------------------------------------------------------------- */

static Status
inflate_work(Call *call, void *job_context, void *owner)
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
start_begin(Exchange *exchange)
{
    if (!exchange->is_gzip) {
        exchange->request.handler->start(exchange);
    } else if (!exchange_offload(exchange, inflate_work, inflate_is_done, exchange)) {
        exchange_end(exchange, exchange_note_overload(exchange));
    }
}

enum MHD_Result
exchange_dispatch(Exchange *exchange)
{
    Connection *const connection = exchange->connection;
    exchange->request.body = buffer_slice(&exchange->body);
    exchange->phase = EXCHANGE_WORKING;
    if (exchange->received > 0) {
        /* The time that a body may take is bounded by its rate. */
        exchange->call.deadline_ns = server_after_ms(exchange->server, exchange->server->options.deadline_ms);
    }
    connection_enter(connection, CONNECTION_WORK, exchange->call.deadline_ns);
    if (exchange->request.handler->start != NULL) {
        start_begin(exchange);
    } else {
        run_begin(exchange);
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

/* --- The end -------------------------------------------------------------------------------------------- */

static void
exchange_end(Exchange *exchange, Status status)
{
    assert(exchange->phase == EXCHANGE_WORKING);

    /* A hook that was called because of the deadline often reports what it did: cancel. */
    exchange->status = exchange->is_overdue && status == STATUS_CANCELLED
                           ? call_fail(&exchange->call, STATUS_DEADLINE_EXCEEDED, "the deadline has passed")
                           : status;
    exchange->phase = EXCHANGE_ENDED;
    exchange->cancelled = NULL;
    connection_enter(exchange->connection, CONNECTION_REPLY, 0);
    connection_resume(exchange->connection);
}

void
exchange_finish(Exchange *exchange)
{
    exchange_end(exchange, STATUS_OK);
}

void
exchange_fail(Exchange *exchange, Status status)
{
    assert(status != STATUS_OK);
    exchange_end(exchange, status);
}

/* Only a hang-up marks the call as cancelled: a passed deadline is seen by call_check() itself, and says so.
 */
void
exchange_cancel(Exchange *exchange)
{
    const bool is_gone = exchange->connection->is_gone;
    if (exchange->phase == EXCHANGE_REPLYING) {
        stream_cancel(&exchange->stream);
        return;
    }
    exchange->is_hang_up = is_gone;
    if (!exchange->is_overdue || is_gone) {
        call_cancel(&exchange->call);
    }
    exchange->is_cancelled = true;
    if (exchange->cancelled != NULL) {
        const ExchangeCancelled cancelled = TAKE(exchange->cancelled);
        cancelled(exchange, exchange->cancel_owner);
    }
}

/* --- What handlers ask for ------------------------------------------------------------------------------ */

const Request *
exchange_request(const Exchange *exchange)
{
    return &exchange->request;
}

Call *
exchange_call(Exchange *exchange)
{
    return &exchange->call;
}

Response *
exchange_response(Exchange *exchange)
{
    return &exchange->response;
}

Loop *
exchange_loop(const Exchange *exchange)
{
    return exchange->server->loop;
}

void
exchange_on_cancel(Exchange *exchange, ExchangeCancelled cancelled, void *owner)
{
    exchange->cancelled = cancelled;
    exchange->cancel_owner = owner;
    if (exchange->is_cancelled && cancelled != NULL) {
        exchange->cancelled = NULL;
        cancelled(exchange, owner);
    }
}

void
exchange_deadline(Exchange *exchange, uint64_t deadline_ns)
{
    exchange->call.deadline_ns = deadline_ns;
    connection_enter(exchange->connection, CONNECTION_WORK, deadline_ns);
}

static void
work_on_job_thread(Job *job, void *context)
{
    Exchange *const exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = context;
    exchange->work_status = exchange->work(&exchange->call, context, exchange->work_owner);
}

static void
work_is_done(Job *job)
{
    Exchange *const exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = NULL;
    exchange->worked(exchange, exchange->work_status, exchange->work_owner);
}

bool
exchange_offload(Exchange *exchange, ExchangeWork work, ExchangeWorked done, void *owner)
{
    exchange->work = work;
    exchange->worked = done;
    exchange->work_owner = owner;
    return submit(exchange, work_on_job_thread, work_is_done);
}

/* --- Credentials that were not cached ------------------------------------------------------------------- */

static Status
authorize_work(Call *call, void *job_context, void *owner)
{
    Exchange *const exchange = owner;
    const HttpOptions *const options = &exchange->server->options;
    return options->authorize_blocking(
        call, job_context, &exchange->request, &exchange->credentials, &exchange->request.principal);
}

static void
authorize_is_done(Exchange *exchange, Status status, void *owner)
{
    (void)owner;
    exchange->phase = EXCHANGE_BODY;
    exchange->needs_authorization = false;
    reception_resume(exchange, status == STATUS_OK ? admission_access(exchange) : status);
    connection_resume(exchange->connection);
}

void
exchange_check_access(Exchange *exchange)
{
    if (!exchange_offload(exchange, authorize_work, authorize_is_done, exchange)) {
        exchange->needs_authorization = false;
        exchange_refuse(exchange, exchange_note_overload(exchange));
        return;
    }
    exchange->phase = EXCHANGE_AUTHORIZING;
    connection_enter(exchange->connection, CONNECTION_WORK, 0);
    connection_suspend(exchange->connection);
}
