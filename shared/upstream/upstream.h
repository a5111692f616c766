/* HTTP/2 calls to workers, from the gateway and from other workers: one connection a worker and loop, opened
 * when first needed and again after a loss.
 *
 * Ownership: an UpstreamCall belongs to the upstream and is valid until its on_done has returned.
 * Threads:   everything on the loop's thread.
 * Errors:    on_done brings one Status: OK when the worker answered to the end, whatever its HTTP status;
 *            UNAVAILABLE when the worker cannot be reached or went away; CANCELLED after upstream_cancel();
 *            RESOURCE_EXHAUSTED when a tensor of the answer is over the limits or finds no memory here;
 *            INTERNAL when the answer was no answer of this protocol. */
#pragma once

#include "shared/base/call.h"
#include "shared/net/loop.h"
#include "shared/upstream/traffic.h"
#include "shared/wire/frame.h"
#include "shared/wire/messages.h"

typedef struct Upstream Upstream;
typedef struct UpstreamCall UpstreamCall;

typedef struct UpstreamOptions {
    const char *token;           /* the shared secret that workers ask for; NULL: none */
    WireVersions versions;       /* of the worker protocol that this program speaks; 0 to 0: all it knows */
    FrameLimits frames;          /* limits of answers, and where their tensors live */
    uint32_t connect_timeout_ms; /* 0: 1000 */
    uint32_t window_size;        /* bytes of an answer that a worker may have under way; 0: 1 MiB */
    size_t head_size_min;        /* bytes of a tensor from which on on_part is told; 0: 64 KiB */
    Traffic *traffic;            /* that its calls are counted in; NULL: they are not */
} UpstreamOptions;

MUST_USE Upstream *upstream_new(Loop *loop, const UpstreamOptions *options);

/* Counts the addresses that have or had a connection and are not forgotten yet. */
size_t upstream_peer_count(const Upstream *upstream);

/* Ends every call with UNAVAILABLE. NULL is allowed. */
void upstream_free(Upstream *upstream);

/* The headers of a request to a worker. */
typedef struct UpstreamHead {
    const char *method;
    Slice path;
    const char *address;    /* "host:port" */
    Slice incarnation;      /* of the worker as we know it; empty: not checked */
    int64_t attempt;        /* 0: not about a step */
    uint64_t deadline_ms;   /* time left; 0: none. The worker keeps it; a second later the call ends anyway */
    const char *request_id; /* NULL: none */
    Slice tenant;           /* owner of the partitions and blobs; empty: nobody */
    Slice push_token;       /* empty: none */
    Slice slot;             /* the receiver's, in decimal, for pushes and pulls; empty: none */
    Slice name_taken;       /* the address of another worker that has this one's name; empty: none has */
    uint64_t body_size;     /* for methods that want to know it ahead; 0: not told */
} UpstreamHead;

typedef struct UpstreamEvents {
    /* A frame of an answer has come. The callee owns the tensor in it. NULL: frames are dropped. */
    void (*on_frame)(UpstreamCall *call, Frame *frame);
    /* A piece of a good answer (2xx) without frames. NULL: it is kept for upstream_body(), up to 1 MiB. */
    void (*on_data)(UpstreamCall *call, Slice data);
    /* The bytes of the request that wait to leave have fallen under H2_WRITE_LOW; may be NULL. */
    void (*on_writable)(UpstreamCall *call);
    /* The head of a large tensor has come (FRAME_HEAD), or a piece or the end of one that upstream_pass() was
     * called for; it is valid while the callback runs. NULL: all tensors come whole, by on_frame. */
    void (*on_part)(UpstreamCall *call, const Frame *part);
    /* The call has ended with one of the codes named above. After OK, upstream_http_status() and, for an
     * answer without frames, upstream_body() tell the rest; otherwise `message` says what happened. */
    void (*on_done)(UpstreamCall *call, Status status, const char *message);
} UpstreamEvents;

/* Opens a request. Pieces of its body follow with upstream_write_…(), then upstream_end(). Returns NULL
 * without memory. A worker that cannot be reached is told through on_done, never from within this call. */
MUST_USE UpstreamCall *upstream_begin(
    Upstream *upstream, const UpstreamHead *head, const UpstreamEvents *events, void *context);

void upstream_write_copy(UpstreamCall *call, Slice data);

/* Writes a whole tensor frame, its payload from the tensor's own buffer. */
void upstream_write_tensor(UpstreamCall *call, Slice name, const Tensor *tensor);

/* Writes bytes of `buffer`, of which it takes a reference until they have left. */
void upstream_write_buffer(UpstreamCall *call, Slice data, TensorBuffer *buffer);
void upstream_end(UpstreamCall *call);

/* Ends the request, which has no body, when the whole answer has come; called instead of upstream_end(). The
 * worker learns from it that nothing was lost. */
void upstream_end_last(UpstreamCall *call);
size_t upstream_queued(const UpstreamCall *call); /* bytes written that wait to leave */

/* Holds the answer up until upstream_resume(), for a caller whose own reader is slow: no event comes but the
 * loss of the worker, what has arrived is kept as bytes, and the worker can send no more than its window.
 * Both may be called twice, and from within an event. A call that is paused outlives its deadline. */
void upstream_pause(UpstreamCall *call);
void upstream_resume(UpstreamCall *call);

/* Has the tensor whose FRAME_HEAD was the last event handed on in pieces; called before the event returns, or
 * before the call that was paused in it is resumed. Otherwise the tensor comes whole. */
void upstream_pass(UpstreamCall *call);

/* Opens the window to UPSTREAM_WINDOW_WIDE, for an answer whose reader is faster than the worker. */
enum { UPSTREAM_WINDOW_WIDE = 1024 * 1024 };
void upstream_widen(UpstreamCall *call);

/* Resets the stream; on_done(CANCELLED) follows within this turn. */
void upstream_cancel(UpstreamCall *call);

/* Cancels, and tells the caller nothing more: its context may go away now. */
void upstream_detach(UpstreamCall *call);

void *upstream_context(const UpstreamCall *call);
int upstream_http_status(const UpstreamCall *call); /* 0 before the headers */
Slice upstream_body(const UpstreamCall *call);      /* of an answer without frames, up to 1 MiB */
