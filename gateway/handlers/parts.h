/* Parts are what handlers work with: pointers to the rooms' own objects. A handler names those that it
 * uses (request->parts->graphs) and hands them, typed, to the rooms' functions, which never see a Parts.
 *
 * Ownership: app makes one for each loop and owns what it points to.
 * Threads:   handlers on job threads may use any part but `dispatcher`, `steps`, `partials` and `events`,
 * which belong to the loop's thread; of those they hand on the pointers only. */
#pragma once

#include "gateway/http/request.h"
#include "shared/wire/versions.h"

typedef struct Auth Auth;
typedef struct BlobStore BlobStore;
typedef struct DatabaseProbe DatabaseProbe;
typedef struct Directory Directory;
typedef struct Dispatcher Dispatcher;
typedef struct EventStreams EventStreams;
typedef struct GraphCache GraphCache;
typedef struct Limits Limits;
typedef struct Loop Loop;
typedef struct MetricTable MetricTable;
typedef struct TenantMemory TenantMemory;
typedef struct PartialLoop PartialLoop;
typedef struct QueueRunner QueueRunner;
typedef struct Replica Replica;
typedef struct ReplicaMail ReplicaMail;
typedef struct SessionCache SessionCache;
typedef struct StepLoop StepLoop;
typedef struct TraceCache TraceCache;
typedef struct WorkerPool WorkerPool;

struct Parts {
    /* the gateway's */
    const Limits *limits;       /* gateway/domain/limits.h */
    const Replica *replica;     /* gateway/domain/replica.h */
    Auth *auth;                 /* gateway/auth/auth.h */
    BlobStore *blobs;           /* gateway/blobs/blob_store.h */
    DatabaseProbe *database;    /* gateway/jobs/database_probe.h */
    bool outlasts_outage;       /* --database-outage=ready */
    SessionCache *sessions;     /* gateway/sessions/session_cache.h */
    GraphCache *graphs;         /* gateway/graphs/graph_cache.h */
    uint64_t resident_weights;  /* bytes of a graph that are held in memory, gateway/graphs/graph_files.h */
    TraceCache *traces;         /* gateway/traces/trace_cache.h */
    Directory *directory;       /* gateway/dispatch/directory.h */
    WorkerPool *workers;        /* gateway/workers/worker_pool.h */
    WireVersions protocols;     /* --protocols */
    uint64_t worker_lease_ms;   /* --worker-lease */
    QueueRunner *queue;         /* gateway/queue/runner.h */
    ReplicaMail *mail;          /* gateway/replicas/replica_mail.h */
    TenantMemory *outputs;      /* gateway/http/tenant_memory.h */
    const MetricTable *metrics; /* shared/telemetry/metrics.h */
    size_t metric_table_count;

    /* the loop's own */
    Loop *loop;             /* shared/net/loop.h */
    Dispatcher *dispatcher; /* gateway/dispatch/step.h */
    StepLoop *steps;        /* gateway/steps/step_loop.h */
    PartialLoop *partials;  /* gateway/partials/partial_table.h */
    EventStreams *events;   /* gateway/events/event_stream.h */
};
