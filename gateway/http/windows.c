/* Windows of a body that a BodyTaker takes.
 *
 * Happy path: pieces fill `body` on the loop → a full one changes places with `taken`, which a job thread
 * takes while `body` fills again → when both are full, the connection is suspended and its socket not read →
 * the last window, which is seldom full, is taken by the job that runs the handler, and that job ends the
 * taker. While the first window is taken the connection is suspended: the taker begins, and the request's
 * headers, which it reads, lie in the connection's memory.
 *
 * Failures: a window that is refused refuses the request when its job comes back. While a job is at work, the
 * exchange's call and response are the job's, and what the loop has to say waits. A client that is gone
 * leaves an exchange without a connection, which lives until its last job has come back; what had been
 * received is taken, and the taker ended, by a job of its own. */
#include <assert.h>

#include "gateway/http/exchange.h"
#include "gateway/http/internals.h"

enum { PIECE_SIZE_MAX = 64 * 1024, END_TIMEOUT_MS = 30000 };

static Status
begin_taker(Exchange *exchange)
{
    if (exchange->is_body_begun) {
        return STATUS_OK;
    }
    TRY(exchange->taker->begin(
        &exchange->call, &exchange->request, &exchange->response, &exchange->request.sink_state));
    exchange->is_body_begun = true;
    return STATUS_OK;
}

static Status
take_window(Exchange *exchange, Slice window)
{
    TRY(begin_taker(exchange));
    return window.size == 0 ? STATUS_OK
                            : exchange->taker->take(&exchange->call, exchange->request.job_context,
                                  exchange->request.sink_state, window);
}

Status
windows_finish(Exchange *exchange)
{
    if (exchange->taker == NULL) {
        return STATUS_OK;
    }
    assert(!exchange->is_taking);
    Status status = take_window(exchange, buffer_slice(&exchange->body));
    buffer_done(&exchange->body);
    exchange->request.body = (Slice){0};
    return status;
}

void
windows_end(Exchange *exchange, JobContext *context)
{
    if (exchange->taker != NULL && exchange->is_body_begun) {
        exchange->is_body_begun = false;
        exchange->taker->end(context, TAKE(exchange->request.sink_state));
    }
}

/* Takes what came before the client was gone, since another request may go on from there. */
static void
end_on_job_thread(Job *job, JobContext *context)
{
    Exchange *exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = context;
    exchange->call.deadline_ns = clock_monotonic_ns() + END_TIMEOUT_MS * CLOCK_NS_PER_MS;
    if (exchange->work_status == STATUS_OK) {
        exchange->work_status = take_window(exchange, buffer_slice(&exchange->body));
    }
    windows_end(exchange, context);
}

static void
end_is_done(Job *job)
{
    exchange_unref(LIST_ITEM(job, Exchange, job));
}

void
windows_abandon(Exchange *exchange)
{
    if (exchange->taker == NULL || exchange->is_taking || !exchange->is_body_begun) {
        return;
    }
    exchange_ref(exchange);
    if (!exchange_submit(exchange, end_on_job_thread, end_is_done)) {
        windows_end(exchange, NULL);
        exchange_unref(exchange);
    }
}

static void
take_on_job_thread(Job *job, JobContext *context)
{
    Exchange *exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = context;
    exchange->work_status = take_window(exchange, buffer_slice(&exchange->taken));
    if (exchange->work_status != STATUS_OK) {
        windows_end(exchange, context); /* before the answer: its reader may go on at once */
    }
}

static void
take_is_done(Job *job)
{
    Exchange *exchange = LIST_ITEM(job, Exchange, job);
    exchange->request.job_context = NULL;
    exchange->is_taking = false;
    exchange->is_beginning = false;
    if (exchange->connection == NULL) {
        windows_abandon(exchange);
    } else {
        exchange->window_taken(exchange, exchange->work_status);
    }
    exchange_unref(exchange);
}

/* Makes room for all of a window, while the call is the loop's and can fail. */
static Status
reserve_window(Exchange *exchange)
{
    uint64_t left = exchange->framing.content_length - exchange->received;
    uint64_t window_size = exchange->taker->window_size;
    size_t size = exchange->framing.is_chunked || left > window_size ? window_size : left;
    buffer_clear(&exchange->body);
    return buffer_reserve(&exchange->body, size + PIECE_SIZE_MAX) != NULL
               ? STATUS_OK
               : call_fail_memory(&exchange->call, "the request's body");
}

/* Hands the full window to a job thread; the other one, which is empty, is filled next. */
static Status
submit_window(Exchange *exchange)
{
    const HttpServer *server = exchange->server;
    Buffer full = exchange->body;
    exchange->body = exchange->taken;
    exchange->taken = full;
    TRY(reserve_window(exchange));
    exchange->call.deadline_ns = deadline_after_ms(server->loop, server->options.deadline_ms);
    exchange->is_taking = true;
    exchange->is_beginning = !exchange->is_body_begun;
    exchange_ref(exchange);
    if (exchange_submit(exchange, take_on_job_thread, take_is_done)) {
        return STATUS_OK;
    }
    exchange->is_taking = false;
    exchange->is_beginning = false;
    exchange_unref(exchange);
    return exchange_note_overload(exchange);
}

bool
windows_must_wait(const Exchange *exchange, size_t piece_size)
{
    bool is_end = piece_size == 0;
    return exchange->taker != NULL && exchange->is_taking &&
           (is_end || exchange->body.size >= exchange->taker->window_size ||
               exchange->received + piece_size > exchange->body_size_max);
}

Status
windows_receive(Exchange *exchange, Slice piece, void (*taken)(Exchange *exchange, Status status))
{
    size_t window_size = exchange->taker->window_size;
    assert(piece.size <= PIECE_SIZE_MAX);
    assert(!exchange->is_taking || exchange->body.size < window_size);

    if (exchange->body.size == 0) {
        TRY(reserve_window(exchange));
    }
    buffer_append_slice(&exchange->body, piece);
    assert(buffer_is_ok(&exchange->body));
    exchange->window_taken = taken;
    return exchange->is_taking || exchange->body.size < window_size ? STATUS_OK : submit_window(exchange);
}
