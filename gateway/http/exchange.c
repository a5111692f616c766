#include "gateway/http/exchange.h"

#include <assert.h>

#include "gateway/http/internals.h"
#include "shared/base/memory.h"

enum { BUFFER_KEPT_MAX = 64 * 1024, LONG_BODY_SIZE = 256 * 1024 };

static Exchange *
exchange_new(HttpServer *server)
{
    Exchange *exchange = memory_new(1, sizeof *exchange);
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

/* Mixes bits as splitmix64 does. Request ids are random at the server's start and counted from there:
 * unique, hard to guess, and made without a system call. */
static uint64_t
mix_bits(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

static void
request_id_make(HttpServer *server, char ret_id[REQUEST_ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t count = server->id_count++;
    for (size_t half = 0; half < 2; half++) {
        uint64_t bits = mix_bits(server->id_seed[half] + count * 0x9e3779b97f4a7c15U);
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
            .deadline_ns = deadline_after_ms(server->loop, server->options.deadline_ms)},
        .request = {.parts = server->options.parts},
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

/* Hands the request's record to the log hook. A reply that libmicrohttpd gave by itself, in the phases of
 * head and body, refused a request that it could not read: 400. */
static void
exchange_log(const Exchange *exchange)
{
    const HttpOptions *options = &exchange->server->options;
    if (options->log == NULL) {
        return;
    }
    const Request *request = &exchange->request;
    bool is_ours = exchange->phase != EXCHANGE_HEAD && exchange->phase != EXCHANGE_BODY;
    RequestRecord record = {
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
        .message = exchange->is_taking || exchange->status == STATUS_OK ? "" : exchange->call.error.message,
        .received = exchange->received,
        .sent = exchange->sent + exchange->stream.sent,
        .duration_ns = loop_now_ns(exchange->server->loop) - exchange->started_ns,
        .is_hang_up = exchange->is_hang_up,
    };
    options->log(options->parts, &record);
}

void
exchange_ref(Exchange *exchange)
{
    assert(exchange->reference_count > 0);

    exchange->reference_count++;
}

void
exchange_unref(Exchange *exchange)
{
    HttpServer *server = exchange->server;
    assert(exchange->reference_count > 0);

    if (--exchange->reference_count > 0) {
        return;
    }
    response_clear_body(&exchange->response);
    buffer_recycle(&exchange->response.buffer);
    buffer_recycle(&exchange->body);
    buffer_done(&exchange->taken);
    memory_claim_close(&exchange->claim);
    arena_clear(exchange->call.arena);
    exchange->next_free = server->free_exchanges;
    server->free_exchanges = exchange;
    server->active_count--;
}

void
exchange_break_body(Exchange *exchange)
{
    bool is_open = exchange->phase != EXCHANGE_WORKING && exchange->phase != EXCHANGE_ENDED &&
                   exchange->phase != EXCHANGE_REPLYING;
    if (is_open && exchange->is_body_begun && exchange->sink != NULL && exchange->sink->broken != NULL) {
        exchange->sink->broken(exchange->request.sink_state);
    }
}

void
exchange_release(Exchange *exchange)
{
    assert(exchange->connection != NULL);

    exchange_break_body(exchange);
    stream_close(&exchange->stream, exchange->is_sent);
    exchange_log(exchange);
    exchange->connection = NULL;
    exchange_unref(exchange);
}

void
exchange_free(HttpServer *server)
{
    assert(server->free_exchanges != NULL);

    Exchange *exchange = server->free_exchanges;
    server->free_exchanges = exchange->next_free;
    response_done(&exchange->response);
    buffer_done(&exchange->body);
    arena_free(exchange->call.arena);
    memory_free(exchange);
}

/* Returns whether the work may take long: so the handler says, or the body is large. What follows the reply's
 * beginning is done in turns. */
static bool
is_long_work(const Exchange *exchange)
{
    const Handler *handler = exchange->request.handler;
    bool is_large = exchange->body.size > LONG_BODY_SIZE;
    bool is_working = exchange->phase == EXCHANGE_WORKING || exchange->phase == EXCHANGE_BODY;
    return (is_working || exchange->is_taking) &&
           (exchange->is_long || is_large || (handler != NULL && handler->is_long));
}

void
exchange_expect_long(Exchange *exchange)
{
    exchange->is_long = true;
}

bool
exchange_submit(Exchange *exchange, void (*run)(Job *job, JobContext *context), void (*done)(Job *job))
{
    assert(run != NULL && done != NULL);

    exchange->job = (Job){
        .loop = exchange->server->loop,
        .tenant = exchange->request.principal.tenant,
        .is_long = is_long_work(exchange),
        .run = run,
        .done = done,
    };
    JobPool *jobs = exchange->server->options.jobs;
    return jobs != NULL && job_submit(jobs, &exchange->job);
}

Status
exchange_note_overload(Exchange *exchange)
{
    return call_fail(
        &exchange->call, STATUS_UNAVAILABLE, "the gateway has too much waiting work, try again soon");
}

/* A hook that is called because of the deadline, or the gateway's end, often ends its work as cancelled. */
static Status
explain_cancelled(Exchange *exchange)
{
    if (exchange->is_overdue) {
        return call_fail(&exchange->call, STATUS_DEADLINE_EXCEEDED, "the deadline has passed");
    }
    return exchange->is_dismissed
               ? call_fail(&exchange->call, STATUS_UNAVAILABLE, "the gateway is shutting down")
               : STATUS_CANCELLED;
}

void
exchange_end(Exchange *exchange, Status status)
{
    assert(exchange->phase == EXCHANGE_WORKING);

    if (!exchange->is_rendered) {
        exchange->status = status == STATUS_CANCELLED ? explain_cancelled(exchange) : status;
    }
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

void
exchange_take_more(Exchange *exchange)
{
    if (exchange->connection != NULL && exchange->phase == EXCHANGE_TAKING) {
        exchange->wait_ended(exchange);
    }
}

/* Ends the wait of a sink that waits for workers; one that has work on a job thread goes on behind it. */
static void
break_waiting_body(Exchange *exchange)
{
    const BodySink *sink = exchange->sink;
    exchange_break_body(exchange);
    if (sink != NULL && sink->must_wait != NULL && !sink->must_wait(exchange->request.sink_state)) {
        exchange_take_more(exchange);
    }
}

/* Ends the wait for room: libmicrohttpd reads the end of the connection. */
static void
break_queued_body(Exchange *exchange)
{
    memory_claim_close(&exchange->claim);
    exchange->phase = EXCHANGE_CUT;
    exchange->status = STATUS_CANCELLED;
    connection_shut(exchange->connection);
    connection_resume(exchange->connection);
}

/* Only a hang-up marks the call as cancelled: call_check() sees a passed deadline by itself, and says so. */
void
exchange_cancel(Exchange *exchange)
{
    bool is_gone = exchange->connection->is_gone;
    if (exchange->phase == EXCHANGE_REPLYING) {
        exchange->is_hang_up = exchange->is_hang_up || exchange->stream.connection != NULL;
        stream_cancel(&exchange->stream);
        return;
    }
    exchange->is_hang_up = is_gone;
    if (exchange->phase == EXCHANGE_QUEUED) {
        break_queued_body(exchange);
        return;
    }
    if (exchange->phase == EXCHANGE_TAKING) {
        break_waiting_body(exchange);
        return; /* a window ends soon; then libmicrohttpd learns of the peer */
    }
    if (!exchange->is_overdue || is_gone) {
        call_cancel(&exchange->call);
    }
    exchange->is_cancelled = true;
    if (exchange->cancelled != NULL) {
        ExchangeCancelled cancelled = TAKE(exchange->cancelled);
        cancelled(exchange, exchange->cancel_owner);
    }
}

void
exchange_dismiss(Exchange *exchange)
{
    exchange->is_dismissed = true;
    exchange_cancel(exchange);
}

bool
exchange_is_dismissed(const Exchange *exchange)
{
    return exchange->is_dismissed;
}

void
exchange_overdue(Exchange *exchange)
{
    exchange->is_overdue = true;
    exchange_cancel(exchange);
}

HttpStream *
exchange_stream(Exchange *exchange, const char *content_type, const HttpStreamEvents *events, void *owner)
{
    response_clear_body(&exchange->response);
    response_header(&exchange->response, "Content-Type", content_type);
    exchange->response.stream = stream_open(&exchange->stream, exchange->connection, events, owner);
    return exchange->response.stream;
}

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
    assert(exchange->connection != NULL);

    exchange->call.deadline_ns = deadline_ns;
    connection_enter(exchange->connection, CONNECTION_WORK, deadline_ns);
}

static void
work_on_job_thread(Job *job, JobContext *context)
{
    Exchange *exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = context;
    exchange->work_status = exchange->work(&exchange->call, context, exchange->work_owner);
}

static void
work_is_done(Job *job)
{
    Exchange *exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = NULL;
    exchange->worked(exchange, exchange->work_status, exchange->work_owner);
}

bool
exchange_offload(Exchange *exchange, ExchangeWork work, ExchangeWorked done, void *owner)
{
    assert(work != NULL && done != NULL);

    exchange->work = work;
    exchange->worked = done;
    exchange->work_owner = owner;
    return exchange_submit(exchange, work_on_job_thread, work_is_done);
}
