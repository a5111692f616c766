/* A request in flight, as a `start` handler sees it: from the route's match until the reply has been
 * handed over. It lives on the loop that accepted its connection.
 *
 * The handler ends it exactly once, with exchange_finish() or exchange_fail(), even after it was
 * cancelled. Cancelling (the client hung up, the deadline passed) is a request to end soon: the hook is
 * called once, on the loop, and call_check() of the exchange's call fails from then on.
 *
 * Ownership: the server's; not to be touched after its end, except for its stream (stream.h).
 * Threads:   the loop thread only, except for the work given to exchange_offload().
 * Errors:    a failure is a Status of the exchange's call; exchange_fail() makes its reply. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/http/stream.h"
#include "shared/net/loop.h"

const Request *exchange_request(const Exchange *exchange);
Call *exchange_call(Exchange *exchange);
Response *exchange_response(Exchange *exchange);
Loop *exchange_loop(const Exchange *exchange);

/* Sends the response. */
void exchange_finish(Exchange *exchange);

/* Sends the problem document of the call's error, whose code is `status`. */
void exchange_fail(Exchange *exchange, Status status);

/* Sets the hook for cancelling; NULL takes it back. It is called at once when the exchange is cancelled
 * already. */
typedef void (*ExchangeCancelled)(Exchange *exchange, void *owner);
void exchange_on_cancel(Exchange *exchange, ExchangeCancelled cancelled, void *owner);

/* Returns whether the exchange is cancelled because the gateway stops: its client waits for the answer. */
bool exchange_is_dismissed(const Exchange *exchange);

/* Sets the deadline, a monotonic time, 0 for none. The default is HttpOptions.deadline_ms from arrival. */
void exchange_deadline(Exchange *exchange, uint64_t deadline_ns);

/* Runs `work` on a job thread and then `done` on the loop, with the work's Status. Until `done`, the
 * exchange and its call belong to the job thread. False when the queue is full: nothing will be called. */
typedef Status (*ExchangeWork)(Call *call, JobContext *job_context, void *owner);
typedef void (*ExchangeWorked)(Exchange *exchange, Status status, void *owner);
MUST_USE bool exchange_offload(Exchange *exchange, ExchangeWork work, ExchangeWorked done, void *owner);

/* Makes the response final within `work` that ends with exchange_finish(): a large body is compressed on the
 * job thread, and would not be on the loop. */
void exchange_render(Exchange *exchange);

/* Says that the work given to exchange_offload() from now on may compute for longer than some
 * milliseconds. */
void exchange_expect_long(Exchange *exchange);

/* Notes UNAVAILABLE in the call, for exchange_fail(), when exchange_offload() has returned false. */
MUST_USE Status exchange_note_overload(Exchange *exchange);

/* Claims memory for bytes that are fetched for the request, beside its body (HttpOptions.bodies); it is given
 * back with the exchange. UNAVAILABLE, or OUT_OF_RANGE with HTTP status 413, when there is no room. */
MUST_USE Status exchange_hold(Exchange *exchange, uint64_t size);

/* Takes more of the body, for a sink that had it wait (BodySink.must_wait); else it does nothing. */
void exchange_take_more(Exchange *exchange);

/* Keeps the exchange beyond its reply, with its call, response and arena, for work that outlives it (a
 * step whose client hangs up while outputs are streamed). The request's target and headers, which
 * libmicrohttpd owns, do not live on. */
void exchange_ref(Exchange *exchange);
void exchange_unref(Exchange *exchange);

/* Makes the response's body a stream. exchange_finish() sends the head then, and the pieces may come
 * before and after it. A failed exchange drops the stream. */
MUST_USE HttpStream *exchange_stream(
    Exchange *exchange, const char *content_type, const HttpStreamEvents *events, void *owner);
