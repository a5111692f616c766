/* One loop of the gateway: its HTTP server, with the gateway's limits, keys and log, its dispatcher, and its
 * parts of the rooms.
 *
 * Ownership: gateway.c makes and frees it.
 * Threads:   its loop's; gateway_loop_stop() any.
 * Errors:    those of http_server_new(). */
#pragma once

#include "gateway/events/event_stream.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/server.h"
#include "gateway/partials/partial_table.h"
#include "gateway/steps/running_report.h"

typedef struct GatewayLoop {
    Loop *loop;
    HttpServer *server;
    Dispatcher *dispatcher;
    StepLoop steps;
    RunningReport report;
    PartialLoop partials;
    EventStreams events;
    Parts parts;       /* of this loop's handlers */
    Task drain;        /* posted by gateway_loop_stop() */
    Task flush_log;    /* writes what a turn's requests have logged, at the turn's end */
    Timer drained;     /* checks whether all requests have ended */
    uint32_t grace_ms; /* left */
    bool is_dismissed; /* the grace is over: requests are being answered that they have failed */
} GatewayLoop;

typedef struct GatewayLoopOptions {
    Parts parts; /* the gateway's; the loop's own are filled in */
    JobPool *jobs;
    Admission *admission;
    EventFeed *events;
    Steps *steps;
    PartialTable *partials;
    TenantMemory *bodies; /* for bodies of requests */
    UpstreamOptions upstream;
    BlobPieces pieces; /* how constants are read that are not in memory */
    const char *address;
    Origins origins;
    bool is_open;   /* no keys are asked for */
    int loop_count; /* of the gateway: limits on connections are shared out */
} GatewayLoopOptions;

/* *ret_loop may be set on failure too: it is to be freed like any other. */
MUST_USE Status gateway_loop_open(Call *call, const GatewayLoopOptions *options, GatewayLoop **ret_loop);

/* Refuses new connections, lets requests end for at most `grace_ms`, then stops the loop. */
void gateway_loop_stop(GatewayLoop *loop, uint32_t grace_ms);

/* Closes the server, once the loop has stopped: what ends from now on has no consequences. */
void gateway_loop_close(GatewayLoop *loop);
void gateway_loop_free(GatewayLoop *loop); /* the last one opened first, once the job threads have ended */
