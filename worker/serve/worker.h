/* The worker as a whole: its identity, its caches and tables, its loops. Methods and transport work on it.
 *
 * Ownership: made and freed by server.c.
 * Threads:   identity and options are immutable; caches and tables lock inside. */
#pragma once

#include "shared/base/map.h"
#include "shared/net/loop.h"
#include "shared/net/socket.h"
#include "shared/upstream/traffic.h"
#include "worker/runtime/plugin.h"
#include "worker/serve/blob_intake.h"
#include "worker/serve/method.h"
#include "worker/serve/outcome_table.h"
#include "worker/serve/session_table.h"
#include "worker/serve/state_table.h"
#include "worker/serve/step_table.h"

enum { WORKER_NAME_MAX = 64, WORKER_LOOP_COUNT_MAX = 64 };

typedef struct WorkerOptions {
    const char *listen;    /* "127.0.0.1:0" */
    const char *name;      /* unique among the workers of a gateway */
    const char *token;     /* shared secret; NULL: requests need none */
    WireVersions versions; /* of the worker protocol; 0 to 0: all that this program knows */
    Slice labels;          /* shared/wire/labels.h */
    int loop_count;
    size_t tensor_size_max;
    uint64_t step_memory;            /* bytes that a step may hold at once; 0: no limit */
    int slot_count;                  /* steps that gateways may let compute at a time; 0: one a thread */
    size_t partition_cache_size;     /* 0: a quarter of the device's memory */
    size_t blob_cache_size;          /* 0: three quarters of it */
    const char *blob_folder;         /* path of the folder for blobs; NULL: none */
    uint64_t blob_folder_size;       /* bytes; 0: half of its disk */
    const PluginDevice *accelerator; /* the caller's, who keeps it until worker_close(); NULL: none */
    const char *accelerator_absence; /* why there is none, in a user's words; NULL: not told */
    uint32_t captured_max;           /* parts of graphs that the accelerator keeps captured; 0: none */
    uint32_t grace_ms;               /* how long runs may go on when the accelerator is out of service */
} WorkerOptions;

struct Worker {
    WorkerOptions options;
    char name[WORKER_NAME_MAX];
    char incarnation[INCARNATION_TEXT_SIZE];
    char address[ADDRESS_TEXT_SIZE]; /* address that it listens on, with the port that the kernel chose */
    Device *device;                  /* the host; the accelerator is one of the options */
    Cache *partitions;
    BlobFolder *blob_folder; /* NULL: none */
    BlobStore *blobs;
    Weights *weights; /* the constants of partitions in the accelerator's memory; NULL without one */
    BlobIntakes *intakes;
    StepTable *steps;
    SessionTable *sessions;
    OutcomeTable *outcomes;
    StateTable *states;
    Traffic *traffic;          /* with other workers */
    int64_t accepted_count;    /* atomic: RunGraph requests that are read, run or answered */
    int64_t running_count;     /* atomic: runs under way */
    int64_t registering_count; /* atomic: partitions that are being compiled */
    bool was_refused;          /* atomic: a gateway speaks no version of the protocol that this worker does */
    bool is_namesake;          /* atomic: a gateway has said that another worker has this name */
    bool is_draining;          /* atomic */
    WorkerLoop *loops[WORKER_LOOP_COUNT_MAX];
    int loop_count;
};

/* Returns a number for the tenant, which is not UINT64_MAX or, unless there is none, 0. It comes of a seeded
 * hash: nobody can choose a name with the number of another. */
static inline uint64_t
tenant_number(Slice tenant)
{
    return tenant.size == 0 ? 0 : (map_hash(tenant) | 1) & ~(UINT64_C(1) << 63);
}

struct WorkerLoop {
    Worker *worker;
    Loop *loop;
    Watch listener;
    ListLink connections; /* list of ServerConnection */
    ListLink requests;    /* list of WorkerRequest, open ones */
    size_t request_count;
    uint64_t run_ns;         /* loop time of the turn in which the last run started */
    ListLink spare_requests; /* ended ones, for reuse */
    size_t spare_count;
    Transport *transport; /* connections to the other slots of the steps that run here */
    Task drain;           /* posted by worker_stop() */
    Timer drained;
    bool is_closing;     /* refuses new requests */
    uint64_t goodbye_ns; /* valid when is_closing: connections that have not ended by then are cut */
    Timer sweep;         /* drops steps that have expired */
    Timer faults;        /* of the first loop: asks the accelerator whether it serves */
    uint32_t grace_ms;
};
