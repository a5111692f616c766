/* Reception takes the body into a buffer, the handler's sink or its taker, and refuses requests while their
 * body is coming. */
#include <assert.h>

#include "gateway/http/exchange.h"
#include "gateway/http/internals.h"

enum {
    DISCARD_SIZE_MAX = 256 * 1024, /* of a refused body, to keep the connection */
    REFUSED_BODY_MS = 50,          /* the rest of such a body must have come by then */
    RESERVE_SIZE_MAX = 64 * 1024 * 1024,
};

static bool
sink_must_wait(const Exchange *exchange)
{
    return exchange->sink != NULL && exchange->is_body_begun && exchange->sink->must_wait != NULL &&
           exchange->sink->must_wait(exchange->request.sink_state);
}

/* Sets the deadline by which more of the body must have come: the minimum rate, and some grace; the grace
 * alone when others wait for it. */
static void
expect_more(Exchange *exchange)
{
    const HttpOptions *options = &exchange->server->options;
    uint64_t paid_ns = exchange->received * CLOCK_NS_PER_S / options->body_rate_min;
    bool is_awaited = exchange->is_body_begun && exchange->sink != NULL &&
                      exchange->sink->is_awaited != NULL &&
                      exchange->sink->is_awaited(exchange->request.sink_state);
    uint64_t from_ns = is_awaited ? loop_now_ns(exchange->server->loop) : exchange->body_started_ns + paid_ns;
    connection_enter(
        exchange->connection, CONNECTION_BODY, from_ns + options->body_grace_ms * CLOCK_NS_PER_MS);
}

void
reception_cut(Exchange *exchange, Status status)
{
    exchange->status = status;
    exchange->phase = EXCHANGE_CUT;
    delivery_render(exchange, false);
    delivery_send_raw(exchange);
}

/* Throws a small rest of the body away and replies, so that the connection can be used again. A rest that is
 * large, or does not come at once, is not waited for: the reply is sent, and the connection closes. */
static void
refuse_exchange(Exchange *exchange, Status status)
{
    uint64_t left = exchange->framing.content_length - exchange->received;
    exchange_break_body(exchange);
    exchange->status = status;
    if (exchange->framing.is_chunked || left > DISCARD_SIZE_MAX) {
        reception_cut(exchange, status);
        return;
    }
    exchange->phase = EXCHANGE_REFUSED;
    connection_enter(
        exchange->connection, CONNECTION_BODY, deadline_after_ms(exchange->server->loop, REFUSED_BODY_MS));
}

void
reception_begin(Exchange *exchange, Status status)
{
    exchange->phase = EXCHANGE_BODY;
    exchange->body_started_ns = loop_now_ns(exchange->server->loop);
    if (status == STATUS_OK) {
        expect_more(exchange);
    } else {
        refuse_exchange(exchange, status);
    }
}

void
reception_overdue(Exchange *exchange)
{
    assert(exchange->phase == EXCHANGE_BODY || exchange->phase == EXCHANGE_REFUSED ||
           exchange->phase == EXCHANGE_QUEUED);

    if (exchange->phase == EXCHANGE_QUEUED) {
        refuse_exchange(exchange, body_claim_give_up(exchange));
        connection_resume(exchange->connection);
        return;
    }
    if (exchange->phase == EXCHANGE_REFUSED) {
        reception_cut(exchange, exchange->status);
        return;
    }
    if (exchange->is_taking || sink_must_wait(exchange)) {
        connection_enter(exchange->connection, CONNECTION_BODY,
            deadline_after_ms(exchange->server->loop, exchange->server->options.body_grace_ms));
        return;
    }
    exchange_break_body(exchange);
    reception_cut(
        exchange, response_fail(&exchange->call, &exchange->response, 408,
                      "the body came too slowly: %llu bytes so far, at least %u bytes a second are needed",
                      (unsigned long long)exchange->received, exchange->server->options.body_rate_min));
}

enum MHD_Result
reception_step_refused(Exchange *exchange, Upload *upload)
{
    assert(exchange->phase == EXCHANGE_REFUSED);

    if (*upload->size > 0) {
        exchange->received += *upload->size;
        *upload->size = 0;
        return MHD_YES;
    }
    exchange->phase = EXCHANGE_ENDED;
    connection_enter(exchange->connection, CONNECTION_REPLY, 0);
    return delivery_step(exchange, upload);
}

enum MHD_Result
reception_step_cut(Exchange *exchange, Upload *upload)
{
    exchange->received += *upload->size;
    bool is_end = *upload->size == 0;
    *upload->size = 0;
    return is_end ? MHD_NO : MHD_YES;
}

static Status
sink_take(Exchange *exchange, Slice piece)
{
    if (!exchange->is_body_begun) {
        TRY(exchange->sink->begin(exchange, &exchange->request.sink_state));
        exchange->is_body_begun = true;
    }
    const HttpServer *server = exchange->server;
    exchange->call.deadline_ns = deadline_after_ms(server->loop, server->options.deadline_ms);
    return piece.size == 0 ? STATUS_OK
                           : exchange->sink->write(&exchange->call, exchange->request.sink_state, piece);
}

static Status
buffer_take(Exchange *exchange, Slice piece)
{
    uint64_t announced = exchange->framing.content_length;
    if (exchange->body.size == 0 && announced > piece.size) {
        (void)buffer_reserve(&exchange->body, announced < RESERVE_SIZE_MAX ? announced : RESERVE_SIZE_MAX);
    }
    buffer_append_slice(&exchange->body, piece);
    return buffer_is_ok(&exchange->body) ? STATUS_OK
                                         : call_fail_memory(&exchange->call, "the request's body");
}

/* Ends a wait; the caller resumes the connection. */
static void
end_wait(Exchange *exchange)
{
    exchange->phase = EXCHANGE_BODY;
    exchange->body_started_ns += loop_now_ns(exchange->server->loop) - exchange->waiting_since_ns;
    expect_more(exchange);
}

/* Goes on when a window has been taken. */
static void
window_is_taken(Exchange *exchange, Status status)
{
    Connection *connection = exchange->connection;
    bool was_waiting = exchange->phase == EXCHANGE_TAKING;
    if (was_waiting) {
        end_wait(exchange);
    }
    if (status != STATUS_OK && exchange->phase == EXCHANGE_BODY) {
        refuse_exchange(exchange, status);
    }
    if (was_waiting) {
        connection_resume(connection);
    }
}

static void
end_wait_and_resume(Exchange *exchange)
{
    end_wait(exchange);
    connection_resume(exchange->connection);
}

/* Leaves the socket unread until a window has been taken, or the sink goes on. A client that has gone already
 * is not told of again. */
static void
wait_for_window(Exchange *exchange)
{
    exchange->phase = EXCHANGE_TAKING;
    exchange->wait_ended = end_wait_and_resume;
    exchange->waiting_since_ns = loop_now_ns(exchange->server->loop);
    connection_enter(exchange->connection, CONNECTION_WORK, 0);
    connection_suspend(exchange->connection);
    if (exchange->connection->is_gone) {
        exchange_cancel(exchange);
    }
}

static Status
piece_take(Exchange *exchange, Slice piece)
{
    exchange->received += piece.size;
    size_t size_max = exchange->body_size_max;
    if (exchange->received > size_max) {
        return response_fail(&exchange->call, &exchange->response, 413,
            "the body has more than the %zu bytes that this operation takes", size_max);
    }
    TRY(body_claim_grow(exchange));
    if (exchange->taker != NULL) {
        return windows_receive(exchange, piece, window_is_taken);
    }
    return exchange->sink != NULL ? sink_take(exchange, piece) : buffer_take(exchange, piece);
}

/* Leaves the socket unread until there is room for the body, or the request's time is over. */
static void
wait_for_room(Exchange *exchange)
{
    exchange->phase = EXCHANGE_QUEUED;
    exchange->wait_ended = end_wait_and_resume;
    exchange->waiting_since_ns = loop_now_ns(exchange->server->loop);
    connection_enter(exchange->connection, CONNECTION_BODY, exchange->call.deadline_ns);
    connection_suspend(exchange->connection);
    if (exchange->connection->is_gone) {
        exchange_cancel(exchange);
    }
}

/* Claims memory for the body. Returns whether its first piece has to be left for later. */
static bool
claim_room(Exchange *exchange)
{
    bool waits = false;
    Status status = body_claim_begin(exchange, &waits);
    if (waits) {
        wait_for_room(exchange);
    } else if (status != STATUS_OK) {
        refuse_exchange(exchange, status);
    }
    return waits || status != STATUS_OK;
}

/* Ends the body. An empty one begins its sink here. */
static Status
reception_end(Exchange *exchange)
{
    return exchange->sink == NULL ? STATUS_OK : sink_take(exchange, (Slice){0});
}

static void
principal_is_known(Exchange *exchange, Status status)
{
    reception_begin(exchange, status == STATUS_OK ? authorization_conclude(exchange) : status);
    connection_resume(exchange->connection);
}

enum MHD_Result
reception_step(Exchange *exchange, Upload *upload)
{
    assert(exchange->phase == EXCHANGE_BODY);

    if (exchange->needs_authorization) {
        authorization_ask(exchange, principal_is_known);
        return MHD_YES; /* the piece is left untaken: it comes again */
    }
    if (!exchange->is_body_claimed && claim_room(exchange)) {
        return MHD_YES;
    }
    if (windows_must_wait(exchange, *upload->size) || sink_must_wait(exchange)) {
        wait_for_window(exchange);
        return MHD_YES;
    }
    Slice piece = slice_of(upload->data, *upload->size);
    bool is_end = piece.size == 0;
    Status status = is_end ? reception_end(exchange) : piece_take(exchange, piece);
    *upload->size = 0;
    if (status != STATUS_OK) {
        refuse_exchange(exchange, status);
        return is_end ? reception_step_refused(exchange, upload) : MHD_YES;
    }
    if (is_end) {
        return handling_begin(exchange);
    }
    expect_more(exchange);
    if (exchange->is_beginning) {
        wait_for_window(exchange);
    } else if (exchange->connection->is_gone) {
        connection_look(exchange->connection);
    }
    return MHD_YES;
}
