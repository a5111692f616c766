/* Memory for a request's body, claimed of HttpOptions.bodies.
 *
 * Happy path: a body of up to FREE_SIZE bytes needs no claim. Of a larger one, all that will be kept is
 * claimed at once, when the credentials are known and before its first piece is taken: the whole body, or two
 * windows for a taker. While there is no room, the connection is suspended and its socket not read. The
 * exchange gives all back with its end.
 *
 * Failures: who holds memory never waits for more, or else two bodies could wait for each other. Therefore a
 * body whose size is not told (chunked, packed with gzip), or of which its sink keeps a part, is refused when
 * it grows and finds no room. */
#include <assert.h>

#include "gateway/http/exchange.h"
#include "gateway/http/internals.h"
#include "gateway/http/metrics.h"

enum {
    FREE_SIZE = 32 * 1024,    /* the limit on connections bounds these */
    GROWTH_SIZE = 256 * 1024, /* claimed ahead by a body that grows */
    PIECE_SIZE_MAX = 64 * 1024,
    WINDOW_COUNT = 2,
};

static size_t
least(uint64_t first, uint64_t second)
{
    return first < second ? first : second;
}

/* Returns how much of the body will be kept as far as it is known from the head. */
static size_t
find_announced(const Exchange *exchange)
{
    const Framing *framing = &exchange->framing;
    uint64_t length = framing->is_chunked ? exchange->body_size_max : framing->content_length;
    if (exchange->taker != NULL) {
        return least(length, WINDOW_COUNT * (exchange->taker->window_size + PIECE_SIZE_MAX));
    }
    bool grows = framing->is_chunked || (exchange->sink != NULL && exchange->sink->kept_size != NULL);
    return grows ? 0 : length;
}

static size_t
count_kept(const Exchange *exchange)
{
    const BodySink *sink = exchange->sink;
    if (sink == NULL || sink->kept_size == NULL) {
        return exchange->received;
    }
    return exchange->is_body_begun ? sink->kept_size(exchange->request.sink_state) : 0;
}

static Status
fail_without_room(Exchange *exchange, size_t size)
{
    size_t most = tenant_memory_most(exchange->server->options.bodies);
    metrics_count_refused_body();
    if (size > most) {
        return response_fail(&exchange->call, &exchange->response, 413,
            "%zu bytes of a request are more than the %zu that all requests of one tenant may have "
            "in the gateway (half of its setting body-memory): send less at a time, or have it raised",
            size, most);
    }
    return call_fail(&exchange->call, STATUS_UNAVAILABLE,
        "there is no room for %zu bytes of a request beside those that are coming or in work (the gateway's "
        "setting body-memory): try again soon, with fewer large requests at a time",
        size);
}

static bool
open_claim(Exchange *exchange)
{
    HttpServer *server = exchange->server;
    return exchange->claim.memory != NULL || memory_claim_open(&exchange->claim, server->options.bodies,
                                                 exchange->request.principal.tenant, server->loop);
}

static void
room_is_granted(MemoryClaim *claim)
{
    Exchange *exchange = LIST_ITEM(claim, Exchange, claim);
    assert(exchange->phase == EXCHANGE_QUEUED);

    exchange->wait_ended(exchange);
}

Status
body_claim_begin(Exchange *exchange, bool *ret_waits)
{
    size_t size = find_announced(exchange);
    exchange->is_body_claimed = true;
    if (size <= FREE_SIZE || exchange->server->options.bodies == NULL) {
        return STATUS_OK;
    }
    if (size > tenant_memory_most(exchange->server->options.bodies)) {
        return fail_without_room(exchange, size);
    }
    exchange->claim.granted = room_is_granted;
    MemoryRoom room = open_claim(exchange) ? memory_claim_await(&exchange->claim, size) : MEMORY_ROOM_NEVER;
    *ret_waits = room == MEMORY_ROOM_LATER;
    return room != MEMORY_ROOM_NEVER ? STATUS_OK : call_fail_memory(&exchange->call, "the request's body");
}

Status
body_claim_give_up(Exchange *exchange)
{
    assert(exchange->phase == EXCHANGE_QUEUED);

    memory_claim_close(&exchange->claim);
    return fail_without_room(exchange, find_announced(exchange));
}

Status
body_claim_hold(Exchange *exchange, size_t size)
{
    MemoryClaim *claim = &exchange->claim;
    if (size <= FREE_SIZE || size <= claim->held || exchange->server->options.bodies == NULL) {
        return STATUS_OK;
    }
    if (!open_claim(exchange)) {
        return call_fail_memory(&exchange->call, "the request's body");
    }
    return memory_claim_take(claim, size - claim->held) == MEMORY_ROOM_TAKEN
               ? STATUS_OK
               : fail_without_room(exchange, size);
}

Status
body_claim_grow(Exchange *exchange)
{
    TenantMemory *bodies = exchange->server->options.bodies;
    size_t kept = exchange->taker == NULL ? count_kept(exchange) : 0;
    if (kept <= FREE_SIZE || kept <= exchange->claim.held || bodies == NULL) {
        return STATUS_OK;
    }
    size_t ahead = least(kept + GROWTH_SIZE, exchange->body_size_max);
    return body_claim_hold(exchange, ahead <= tenant_memory_most(bodies) ? ahead : kept);
}

Status
exchange_hold(Exchange *exchange, uint64_t size)
{
    size_t kept = exchange->sink == NULL ? exchange->body.size : count_kept(exchange);
    exchange->fetched += size;
    return body_claim_hold(exchange, kept + exchange->fetched);
}

void
body_claim_trim(Exchange *exchange, size_t size)
{
    if (exchange->claim.held > size) {
        memory_claim_give(&exchange->claim, exchange->claim.held - size);
    }
}
