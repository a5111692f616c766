/* The JSON documents inside HEADER, STATUS and STATS frames and in answers of the worker protocol: written
 * by one program, read by the other, here for both.
 *
 * Ownership: what is read lives in call->arena or points into the text.
 * Threads:   pure functions.
 * Errors:    INVALID_ARGUMENT naming the member. Unknown members are passed over: the two programs may be of
 *            different versions. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/base/failure.h"
#include "shared/base/slice.h"

enum {
    WIRE_PROTOCOL_VERSION = 1,
    SLOT_COUNT_MAX = 16,
    DIGEST_TEXT_SIZE = 65,      /* sha256 in hex and a NUL */
    PUSH_TOKEN_TEXT_SIZE = 33,  /* 128 bits in hex and a NUL */
    INCARNATION_TEXT_SIZE = 17, /* 64 bits in hex and a NUL */
    PUSH_SIZE_MAX = 256 * 1024, /* larger tensors are announced and pulled */
    PARKED_SIZE_MAX = 4 << 20,  /* pushed to a slot of a step before it wants them; its peers share it */
};

/* Header names of every request. */
#define WIRE_HEADER_VERSION "sluice-protocol"
#define WIRE_HEADER_DEADLINE "sluice-deadline-ms"
#define WIRE_HEADER_REQUEST_ID "sluice-request-id"
#define WIRE_HEADER_ATTEMPT "sluice-attempt"
#define WIRE_HEADER_INCARNATION "sluice-incarnation"
#define WIRE_HEADER_PUSH_TOKEN "sluice-push-token"
#define WIRE_HEADER_SLOT "sluice-slot"
#define WIRE_HEADER_TENANT "sluice-tenant"
#define WIRE_HEADER_TOKEN "sluice-token"

/* Content type of bodies made of frames (frame.h). */
#define WIRE_CONTENT_TYPE_FRAMES "application/vnd.sluice.frames"

/* Where another slot of the same step runs. */
typedef struct WirePeer {
    int64_t slot;
    Slice address; /* "host:port" */
    Slice incarnation;
    Slice push_token;
} WirePeer;

/* RunGraph: what the feed frames behind it belong to. */
typedef struct WireRun {
    Slice partition; /* digest */
    Slice session;
    int64_t attempt;
    int64_t slot;
    int64_t feed_count;
    int64_t fetch_count;
    Slice push_token;     /* what others must show to push to this slot; empty: nobody pushes */
    int64_t memory_limit; /* bytes that it may hold at once; 0: what the worker allows */
    int64_t open_size;    /* of the step's feeds, by which receives grow; 0: not known, or there is no need */
    bool has_trace;       /* per-node statistics are wanted */
    bool is_partial;      /* the run begins with the header; its feeds come whenever they come */
    /* Which of the session's places the slot is, and the how manieth life of what is kept there: a worker
     * knows one life of a place, the youngest. Epoch 0: the slot keeps nothing. */
    int64_t state_place;
    int64_t state_epoch;
    WirePeer peers[SLOT_COUNT_MAX];
    size_t peer_count;
} WireRun;

void wire_run_write(Buffer *buffer, const WireRun *run);
MUST_USE Status wire_run_read(Call *call, Slice json, WireRun *ret_run);

/* CleanupAll of some containers: what lies in them goes, of one session or of all of the tenant's. */
typedef struct WireReset {
    Slice session; /* empty: all */
    const Slice *containers;
    size_t container_count;
} WireReset;

enum { WIRE_CONTAINERS_MAX = 256 };
#define WIRE_CONTAINER_DEFAULT "localhost" /* TensorFlow's name for the one of nodes that name none */

void wire_reset_write(Buffer *buffer, const WireReset *reset);
MUST_USE Status wire_reset_read(Call *call, Slice json, WireReset *ret_reset);

/* Its answer: how many resources that were. */
void wire_reset_answer_write(Buffer *buffer, int64_t resource_count);
MUST_USE Status wire_reset_answer_read(Call *call, Slice json, int64_t *ret_resource_count);

/* How an answer ended. `reason` is a word for machines: "unknown_partition", "missing_blobs", … */
typedef struct WireStatus {
    Failure failure; /* STATUS_OK: none */
    Slice reason;
    Slice incarnation;          /* of the worker that answers, when it is not the one that was asked */
    const Slice *missing_blobs; /* digests */
    size_t missing_blob_count;
} WireStatus;

void wire_status_write(Buffer *buffer, const WireStatus *status);
MUST_USE Status wire_status_read(Call *call, Slice json, WireStatus *ret_status);

/* What a run cost. Times in microseconds. */
typedef struct WireStats {
    int64_t elapsed_us;
    int64_t node_count;
    int64_t bytes_in;
    int64_t bytes_out;
    int64_t planned_bytes; /* the most it was expected to hold in memory at once; 0: nobody could tell */
    int64_t peak_bytes;    /* … and the most it did */
    Slice trace;           /* JSON (trace.h); empty: none was asked for. When read, it points into the text */
} WireStats;

void wire_stats_write(Buffer *buffer, const WireStats *stats);
MUST_USE Status wire_stats_read(Call *call, Slice json, WireStats *ret_stats);

/* GET /worker/v1/status. */
typedef struct WireDevice {
    Slice type; /* "CPU" */
    int64_t id;
    Slice isa;
    int64_t thread_count;
    int64_t memory_limit; /* bytes */
    int64_t memory_in_use;
} WireDevice;

enum { WIRE_DEVICE_COUNT_MAX = 16 };

typedef struct WireWorker {
    Slice name;
    Slice incarnation;
    Slice state; /* "serving", "draining" */
    int64_t running_count;
    int64_t partition_count;
    WireDevice devices[WIRE_DEVICE_COUNT_MAX];
    size_t device_count;
} WireWorker;

void wire_worker_write(Buffer *buffer, const WireWorker *worker);
MUST_USE Status wire_worker_read(Call *call, Slice json, WireWorker *ret_worker);

/* A rendezvous key in a path: everything but unreserved characters as %XX, and back. */
void wire_key_encode(Buffer *buffer, Slice key);
MUST_USE bool wire_key_decode(Arena *arena, Slice text, Slice *ret_key);
