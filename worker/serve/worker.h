/* The worker as a whole: who it is, what it caches, which steps run. Methods and transport work on it.
 *
 * Ownership: made and freed by server.c.
 * Threads:   identity is immutable; caches and the step table lock inside. */
#pragma once

#include "shared/net/loop.h"
#include "shared/net/socket.h"
#include "worker/runtime/device.h"
#include "worker/serve/cache.h"
#include "worker/serve/method.h"
#include "worker/serve/session_table.h"
#include "worker/serve/state_table.h"
#include "worker/serve/step_table.h"

enum { WORKER_NAME_MAX = 64, WORKER_LOOP_COUNT_MAX = 64 };

typedef struct WorkerOptions {
    const char *listen; /* "127.0.0.1:0" */
    const char *name;   /* unique among the workers of a gateway */
    const char *token;  /* the shared secret; NULL: none is asked for */
    int loop_count;
    size_t tensor_size_max;
    uint64_t memory_limit; /* of the CPU device, bytes */
    int thread_count;      /* of the CPU device */
    uint64_t step_memory;  /* bytes that a step may hold at once; 0: no limit */
    size_t partition_cache_size;
    size_t blob_cache_size;
    size_t parked_size_max; /* of one step: tensors pushed before they are wanted */
} WorkerOptions;

struct Worker {
    WorkerOptions options;
    char name[WORKER_NAME_MAX];
    char incarnation[INCARNATION_TEXT_SIZE];
    char address[ADDRESS_TEXT_SIZE]; /* where it listens */
    Device *device;
    Cache *partitions;
    Cache *blobs;
    StepTable *steps;
    SessionTable *sessions;
    StateTable *states;
    int64_t running_count;     /* atomic: runs under way */
    int64_t registering_count; /* atomic: partitions that are being compiled */
    bool is_draining;          /* atomic */
    WorkerLoop *loops[WORKER_LOOP_COUNT_MAX];
    int loop_count;
};

struct WorkerLoop {
    Worker *worker;
    Loop *loop;
    Watch listener;
    ListLink connections; /* ServerConnection */
    ListLink requests;    /* WorkerRequest */
    size_t request_count;
    uint64_t run_ns;         /* when the turn began in which the last run started */
    ListLink spare_requests; /* ended ones */
    size_t spare_count;
    Transport *transport; /* to the other slots of steps that run here */
    Task drain;           /* posted by worker_stop() */
    Timer drained;
    bool is_closing; /* no new requests any more */
    Timer sweep;     /* drops steps that have expired */
    uint32_t grace_ms;
};
