/* The gateway process: its parts, opened in the order of the rooms and closed in reverse, wired where a lower
 * room must call a higher one, and the threads of its loops. Nobody but main.c includes this folder.
 *
 * Ownership: made and freed by main.c.
 * Threads:   gateway_leave() and gateway_stop() any; the rest main's. */
#pragma once

#include "gateway/blobs/backends.h"
#include "gateway/domain/limits.h"
#include "gateway/http/options.h"
#include "gateway/steps/step_loop.h"
#include "gateway/workers/endpoint_sources.h"
#include "shared/net/socket.h"
#include "shared/wire/versions.h"

enum { GATEWAY_LOOP_COUNT_MAX = STEP_LOOPS_MAX };

typedef struct Gateway Gateway;

/* The values of the settings (settings.c); texts outlive the gateway. */
typedef struct GatewayOptions {
    Limits limits;
    const char *listen;
    int loop_count;
    int job_thread_count;
    const char *conninfo;
    Slice pepper;
    bool is_open;         /* --auth=off */
    bool outlasts_outage; /* ready while PostgreSQL is gone */
    Origins origins;      /* of browsers' pages that may read replies */
    const Slice *workers; /* addresses */
    size_t worker_count;
    size_t workers_wanted; /* that serve before the gateway is ready */
    KubernetesAccess kubernetes;
    WireVersions protocols;   /* of the worker protocol, that it speaks */
    uint64_t worker_lease_ms; /* of a worker that has joined */
    const char *worker_token; /* NULL: none */
    size_t tensor_size_max;
    size_t graph_cache_size;
    uint64_t resident_weights;
    size_t plan_cache_size;
    size_t trace_cache_size;
    size_t output_memory_size;
    size_t body_memory_size;
    size_t record_ring_size;
    size_t queue_slot_count;
    uint64_t queue_lease_ms;
    int history_days;
    uint64_t event_age_ms;
    uint64_t blob_age_ms;
    const char *blob_store;
    uint64_t blob_inline_size;
    S3Options s3;
} GatewayOptions;

/* Connects, checks the schema, opens loops and servers, starts polling the workers. */
MUST_USE Status gateway_open(Call *call, const GatewayOptions *options, Gateway **ret_gateway);

/* Serves until gateway_stop(); the calling thread runs the first loop. */
void gateway_run(Gateway *gateway);

/* Says that it will stop: it is no longer ready, but serves whoever comes. */
void gateway_leave(Gateway *gateway);

/* Refuses new connections, lets requests end (at most `grace_ms`; then they are answered that it stops), then
 * stops the loops. */
void gateway_stop(Gateway *gateway, uint32_t grace_ms);
void gateway_close(Gateway *gateway); /* after gateway_run() has returned; NULL is allowed */
void gateway_address(const Gateway *gateway, char ret_text[ADDRESS_TEXT_SIZE]);
