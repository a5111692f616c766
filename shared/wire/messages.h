/* The JSON documents inside HEADER, STATUS and STATS frames and in answers of the worker protocol, written
 * by one program and read by the other.
 *
 * Ownership: what is read lives in call->arena or points into the text.
 * Threads:   pure functions.
 * Errors:    INVALID_ARGUMENT naming the member. Unknown members are skipped: the two programs may be of
 *            different versions. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/base/failure.h"
#include "shared/base/slice.h"
#include "shared/wire/versions.h"

enum {
    SLOT_COUNT_MAX = 256,
    DIGEST_TEXT_SIZE = 65,      /* sha256 in hex and a NUL */
    PUSH_TOKEN_TEXT_SIZE = 33,  /* 128 bits in hex and a NUL */
    INCARNATION_TEXT_SIZE = 17, /* 64 bits in hex and a NUL */
    PUSH_SIZE_MAX = 256 * 1024, /* larger tensors are announced and pulled */
    PARKED_SIZE_MAX = 4 << 20,  /* bytes that peers may push to a slot of a step before it asks for them */
};

/* Header names of every request. */
#define WIRE_HEADER_VERSIONS "sluice-protocols" /* versions.h: those that the caller speaks */
#define WIRE_HEADER_VERSION "sluice-protocol"   /* the only one of a caller that speaks version 1 alone */
#define WIRE_HEADER_DEADLINE "sluice-deadline-ms"
#define WIRE_HEADER_REQUEST_ID "sluice-request-id"
#define WIRE_HEADER_ATTEMPT "sluice-attempt"
#define WIRE_HEADER_INCARNATION "sluice-incarnation"
#define WIRE_HEADER_PUSH_TOKEN "sluice-push-token"
#define WIRE_HEADER_NAME_TAKEN                                                                               \
    "sluice-name-taken" /* the address of another worker with the name of this one */
#define WIRE_HEADER_SLOT "sluice-slot"
#define WIRE_HEADER_TENANT "sluice-tenant"
#define WIRE_HEADER_TOKEN "sluice-token"

/* Content type of bodies made of frames (frame.h). */
#define WIRE_CONTENT_TYPE_FRAMES "application/vnd.sluice.frames"

/* Another slot of the same step, and the worker that runs it. */
typedef struct WirePeer {
    int64_t slot;
    Slice address; /* "host:port" */
    Slice incarnation;
    Slice push_token;
    int64_t sender_count; /* slots that send to it; 0: not told */
    int64_t version;      /* of the worker protocol, in which it may be asked; 0: not told, which is 1 */
} WirePeer;

/* RunGraph: describes the feed frames that follow it. */
typedef struct WireRun {
    Slice partition; /* digest */
    Slice session;
    int64_t attempt;
    int64_t slot;
    int64_t feed_count;
    int64_t fetch_count;
    Slice push_token;     /* peers must show it to push to this slot; empty: nobody pushes */
    int64_t memory_limit; /* bytes that the run may hold at once; 0: what the worker allows */
    int64_t open_size;    /* the size of the step's feeds that is left open, which receives grow by; 0:
                           * none */
    bool has_trace;       /* statistics of each node are wanted */
    bool is_partial;      /* the run begins with the header, its feeds come in later requests */
    bool holds_outputs;   /* outputs are sent when the run has ended well, and not if it fails */
    bool is_once;         /* the worker remembers what becomes of the step, and does not run it again */
    int64_t once_age_ms;  /* time since it was first to be run; 0: this is the first time */
    int64_t holder;       /* grows with each gateway that takes the step up; 0: not told */
    /* The session's place that the slot is bound to, and the epoch of the state that is kept there: a
     * worker keeps only the newest epoch of a place. Epoch 0: the slot keeps nothing. */
    int64_t state_place;
    int64_t state_epoch;
    const WirePeer *peers; /* the slots that this one exchanges tensors with */
    size_t peer_count;
    const WirePeer *bound; /* all slots of a step that is to be run once, if it has several */
    size_t bound_count;
} WireRun;

void wire_run_write(Buffer *buffer, const WireRun *run);
MUST_USE Status wire_run_read(Call *call, Slice json, WireRun *ret_run);

/* AskStep: the answer to a gateway that takes a step of several slots up, which another one may have begun.
 * The question has the form of the slot's WireRun. */
typedef struct WireBinding {
    bool is_known; /* the slot runs, or has been run; false: it has not, and no earlier holder can begin it */
    int64_t attempt;       /* under which it was begun, as are the other slots */
    const WirePeer *slots; /* all slots of the step, as they were bound */
    size_t slot_count;
} WireBinding;

void wire_binding_write(Buffer *buffer, const WireBinding *binding);
MUST_USE Status wire_binding_read(Call *call, Slice json, WireBinding *ret_binding);

/* TensorFlow's CleanupAll: drops the resources in some containers, of one session or of all of the
 * tenant's. */
typedef struct WireReset {
    Slice session; /* empty: all sessions */
    const Slice *containers;
    size_t container_count;
} WireReset;

enum { WIRE_CONTAINERS_MAX = 256 };
#define WIRE_CONTAINER_DEFAULT "localhost" /* TensorFlow's name for the container of nodes that name none */

void wire_reset_write(Buffer *buffer, const WireReset *reset);
MUST_USE Status wire_reset_read(Call *call, Slice json, WireReset *ret_reset);

/* The answer: how many resources were dropped. */
void wire_reset_answer_write(Buffer *buffer, int64_t resource_count);
MUST_USE Status wire_reset_answer_read(Call *call, Slice json, int64_t *ret_resource_count);

/* Reasons of refusals, for programs. */
#define WIRE_REASON_UNKNOWN_PARTITION "unknown_partition"
#define WIRE_REASON_MISSING_BLOBS "missing_blobs"
#define WIRE_REASON_WRONG_DIGEST "wrong_digest"     /* the bytes of a blob are not those of its name */
#define WIRE_REASON_BLOB_IS_COMING "blob_is_coming" /* somebody else is just sending it */

#define WIRE_REASON_BROKEN_OFF "broken_off" /* the run was, before; what it had written stays */

enum { WIRE_MISSING_BLOBS_MAX = 4096 };

/* The end of an answer. */
typedef struct WireStatus {
    Failure failure;            /* STATUS_OK: none */
    Slice reason;               /* one of WIRE_REASON_…; empty: the code says enough */
    Slice incarnation;          /* of the worker that answers, when another one was asked */
    Slice lost_peer;            /* address of another slot's worker, which could not be reached: the cause */
    const Slice *missing_blobs; /* digests; more may be missing, which a worker tells when these are there */
    size_t missing_blob_count;
} WireStatus;

void wire_status_write(Buffer *buffer, const WireStatus *status);
MUST_USE Status wire_status_read(Call *call, Slice json, WireStatus *ret_status);

/* RegisterGraph's answer: which nodes of the partition are computed where, and which values are copied from
 * one memory to another. Of the names the first that fit into WIRE_NAMES_SIZE_MAX are told, the counts are
 * whole. A worker without an accelerator has nothing to tell. */
typedef struct WireNodes {
    Slice device;  /* "/device:GPU:0" */
    Slice reason;  /* why the host computes them though there is an accelerator; empty: nothing to say */
    int64_t count; /* how many nodes */
    const Slice *names;
    size_t name_count;
} WireNodes;

typedef struct WireAssignment {
    const WireNodes *groups; /* by device and reason */
    size_t group_count;
    int64_t copy_count;
    const Slice *copies; /* names */
    size_t copy_name_count;
} WireAssignment;

enum { WIRE_NODE_GROUPS_MAX = 64, WIRE_NAMES_SIZE_MAX = 128 * 1024 };

/* Writes an object with members, or "{}" when nothing is assigned. */
void wire_assignment_write(Buffer *buffer, const WireAssignment *assignment);
MUST_USE Status wire_assignment_read(Call *call, Slice json, WireAssignment *ret_assignment);

/* FetchBlob: another worker that has a blob. */
typedef struct WireFetch {
    Slice address; /* "host:port" */
    Slice incarnation;
    int64_t size; /* of the blob, in bytes */
} WireFetch;

void wire_fetch_write(Buffer *buffer, const WireFetch *fetch);
MUST_USE Status wire_fetch_read(Call *call, Slice json, WireFetch *ret_fetch);

/* Statistics of a run. Times are in microseconds. */
typedef struct WireStats {
    int64_t elapsed_us;
    int64_t computed_us; /* device time of all threads together: what a tenant is charged */
    int64_t node_count;
    int64_t bytes_in;
    int64_t bytes_out;
    int64_t planned_bytes; /* the most memory that it was expected to hold at once; 0: not known */
    int64_t peak_bytes;    /* the most memory that it held */
    Slice trace;           /* JSON (trace.h), which points into the text; empty: none was asked for */
} WireStats;

void wire_stats_write(Buffer *buffer, const WireStats *stats);
MUST_USE Status wire_stats_read(Call *call, Slice json, WireStats *ret_stats);

/* A STATS frame before the STATUS frame: a slot of a partial run rests, until feeds or other slots' tensors
 * come, or goes on with such a tensor. */
typedef struct WireRest {
    bool rests;
    int64_t feed_count;  /* feeds that had come */
    int64_t computed_us; /* as in WireStats, so far */
} WireRest;

void wire_rest_write(Buffer *buffer, const WireRest *rest);
MUST_USE Status wire_rest_read(Call *call, Slice json, WireRest *ret_rest);

/* GET /worker/v1/status. A library that a GPU's kernels use, or would use if it were there. */
typedef struct WireLibrary {
    Slice name;    /* "cuDNN" */
    Slice version; /* empty: it was not found */
    Slice reason;  /* why it is not used; empty: it is */
} WireLibrary;

typedef struct WireDevice {
    Slice type; /* "CPU", "GPU" */
    int64_t id;
    Slice isa;
    int64_t thread_count; /* of a GPU 0 */
    int64_t slot_count;   /* steps that it computes at a time without waiting; 0: not told, or a GPU, whose
                           * steps are those of its worker's CPU */
    int64_t memory_limit; /* bytes */
    int64_t memory_in_use;
    /* A GPU's own; empty for a CPU. */
    Slice card;   /* as its vendor names it */
    Slice driver; /* version */
    Slice fault;  /* why it is out of service for good; empty: it serves */
    const WireLibrary *libraries;
    size_t library_count;
} WireDevice;

enum { WIRE_DEVICE_COUNT_MAX = 64, WIRE_DEVICE_SLOTS_MAX = 65536, WIRE_LIBRARY_COUNT_MAX = 32 };

typedef struct WireWorker {
    Slice name;
    Slice incarnation;
    Slice state;           /* "serving", "draining" */
    WireVersions versions; /* of this protocol */
    int64_t running_count;
    int64_t partition_count;
    Slice no_gpu; /* why it has none, in a user's words; empty: it has one, or does not tell */
    Slice labels; /* labels.h */
    const WireDevice *devices;
    size_t device_count;
} WireWorker;

void wire_worker_write(Buffer *buffer, const WireWorker *worker);
MUST_USE Status wire_worker_read(Call *call, Slice json, WireWorker *ret_worker);

/* A rendezvous key in a path: all but unreserved characters are written as %XX. */
void wire_key_encode(Buffer *buffer, Slice key);
MUST_USE bool wire_key_decode(Arena *arena, Slice text, Slice *ret_key);
