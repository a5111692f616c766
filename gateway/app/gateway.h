/* The gateway as a whole, as its handlers see it: the caches, the pools, and for each loop its server and its
 * dispatcher.
 *
 * Ownership: made and freed by main.c.
 * Threads:   a Gateway is shared; what it points to locks inside or is immutable. A GatewayLoop belongs to
 * its loop's thread; handlers on job threads read only its `gateway`. */
#pragma once

#include "gateway/auth/auth.h"
#include "gateway/dispatch/directory.h"
#include "gateway/dispatch/discovery.h"
#include "gateway/dispatch/step.h"
#include "gateway/domain/limits.h"
#include "gateway/domain/tenant.h"
#include "gateway/graphs/graph_cache.h"
#include "gateway/http/handler.h"
#include "gateway/http/server.h"
#include "gateway/jobs/batcher.h"
#include "gateway/jobs/job_pool.h"
#include "gateway/plan/plan_cache.h"
#include "gateway/queue/recorder.h"
#include "gateway/queue/runner.h"
#include "gateway/queue/upkeep.h"
#include "gateway/replicas/step_mail.h"
#include "gateway/steps/running_steps.h"
#include "gateway/store/connection.h"
#include "gateway/workers/worker_marks.h"

enum { GATEWAY_LOOP_COUNT_MAX = 64, STORE_ROLE_COUNT = STORE_ROLE_AUTH + 1 };

typedef struct Gateway Gateway;
typedef struct PartialTable PartialTable; /* partial_table.h */
typedef struct TraceCache TraceCache;     /* trace_cache.h */

typedef struct GatewayLoop {
    Gateway *gateway;
    Loop *loop;
    HttpServer *server;
    Dispatcher *dispatcher;
    int index;
    RunningSteps running;
    RecordRing *records;
    Buffer scratch;    /* for what is written and copied within a callback */
    ListLink queued;   /* QueuedSteps that this loop runs */
    ListLink partials; /* PartialRuns that it holds */
    bool is_closing;   /* the loop has stopped; what still ends has no consequences */
    Task drain;        /* posted by gateway_stop() */
    Task flush_log;    /* what a turn's requests have logged goes out at its end */
    Timer drained;
    uint32_t grace_ms;
} GatewayLoop;

struct Gateway {
    Limits limits;
    Directory *directory;
    Discovery *discovery; /* runs on the first loop */
    WorkerMarks *marks;
    PlanCache *plans;
    GraphCache *graphs;
    TraceCache *traces;
    JobPool *jobs;
    AuthCache *auth;
    Recorder *recorder;
    QueueRunner *queue;
    Batcher *enqueuer; /* of steps for later */
    Batcher *ender;    /* of queued steps that have run */
    Upkeep *upkeep;
    StepMail *mail;
    PartialTable *partials;
    unsigned queue_turn;         /* the runner's: which loop gets the next step */
    char id[UUID_TEXT_SIZE + 3]; /* "gw_…", of this process life */
    unsigned char mark[4];       /* of it, in the ids of what it alone knows */
    const char *conninfo;
    bool is_open;     /* --auth=off: everybody is the tenant `default` */
    bool is_draining; /* atomic */
    uint64_t started_ns;
    GatewayLoop *loops[GATEWAY_LOOP_COUNT_MAX];
    int loop_count;
};

/* What every job thread has for itself: a connection for each role, opened when first asked for. */
typedef struct JobContext {
    const char *conninfo;
    Store *stores[STORE_ROLE_COUNT];
} JobContext;

bool gateway_has_worker(const Gateway *gateway); /* one that serves, as discovery last heard */

/* The thread's connection under this role. UNAVAILABLE when PostgreSQL cannot be reached. */
MUST_USE Status job_store(Call *call, JobContext *context, StoreRole role, Store **ret_store);

static inline Gateway *
request_gateway(const Request *request)
{
    return ((GatewayLoop *)request->services)->gateway;
}

/* For Handler.run: the job thread's connection for request paths. */
MUST_USE Status request_store(Call *call, const Request *request, Store **ret_store);

typedef struct GatewayOptions {
    Limits limits;
    const char *listen;
    int loop_count;
    int job_thread_count;
    const char *conninfo;
    Slice pepper;
    bool is_open;
    const Slice *workers; /* addresses */
    size_t worker_count;
    const char *worker_token; /* NULL: none */
    size_t tensor_size_max;
    size_t graph_cache_size;
    size_t plan_cache_size;
    size_t trace_cache_size;
    size_t record_ring_size;
    size_t queue_slot_count;
    uint64_t queue_lease_ms;
    int history_days;
    uint64_t blob_age_ms;
} GatewayOptions;

/* Connects, checks the schema, opens loops and servers, starts polling the workers. */
MUST_USE Status gateway_open(Call *call, const GatewayOptions *options, Gateway **ret_gateway);

/* Serves until gateway_stop(); the calling thread runs the first loop. */
void gateway_run(Gateway *gateway);

/* Refuses new connections, lets requests end (at most `grace_ms`), then stops the loops. Any thread. */
void gateway_stop(Gateway *gateway, uint32_t grace_ms);
void gateway_close(Gateway *gateway); /* after gateway_run() has returned; NULL is allowed */
void gateway_address(const Gateway *gateway, char ret_text[ADDRESS_TEXT_SIZE]);
