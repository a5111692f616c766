/* The worker as a whole: who it is, what it caches, which steps run. Methods and transport work on it.
 *
 * Ownership: made and freed by main.c.
 * Threads:   identity is immutable; caches and the step table lock inside. */
#pragma once

#include "shared/net/loop.h"
#include "shared/net/socket.h"
#include "worker/runtime/device.h"
#include "worker/serve/blob_cache.h"
#include "worker/serve/method.h"
#include "worker/serve/partition_cache.h"
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
    PartitionCache *partitions;
    BlobCache *blobs;
    StepTable *steps;
    SessionTable *sessions;
    StateTable *states;
    int64_t running_count;     /* atomic: runs under way */
    int64_t registering_count; /* atomic: partitions that are being compiled */
    bool is_draining;          /* atomic */
    WorkerLoop *loops[WORKER_LOOP_COUNT_MAX];
    int loop_count;
};

/* What comes over the wire lives in the device's memory and counts against its limit. `tensor_size_max`: 0
 * for the worker's own, which no other passes. */
FrameLimits worker_frame_limits(Worker *worker, size_t tensor_size_max);

/* "tenant/digest": tenants share no partitions. In the call's arena. */
MUST_USE Status worker_partition_key(WorkerRequest *request, Slice digest, Slice *ret_key);

MUST_USE Status worker_open(Call *call, const WorkerOptions *options, Device *device, Worker **ret_worker);

/* Serves until worker_stop(); the calling thread runs the first loop. */
void worker_run(Worker *worker);

/* Refuses new runs, lets running ones end (at most `grace_ms`), then stops the loops. Any thread. */
void worker_stop(Worker *worker, uint32_t grace_ms);
void worker_close(Worker *worker); /* after worker_run() has returned; NULL is allowed */
