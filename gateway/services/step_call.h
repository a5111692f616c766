/* One synchronous step, from its request to its reply.
 *
 * Preparing has one straight line (body → session → graph → feeds → signature → plan) that is walked on the
 * loop with the caches alone and, when one of them misses, once more on a job thread that may load and
 * compile; what is done is not done again.
 *
 * Ownership: a StepCall lives in its exchange's arena, which gives its references back.
 * Threads:   the exchange's: the loop, or the job thread while offloaded. */
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/services/gateway.h"
#include "gateway/services/step_body.h"
#include "gateway/services/step_reply.h"

typedef struct StepCall {
    Exchange *exchange;
    GatewayLoop *loop;
    Call *call;
    TenantId tenant;
    SessionId session_id;
    StepBody body;
    bool has_body;
    SessionSnapshot *session;
    GraphSnapshot *graph;
    Tensor *feeds; /* in the signature's order */
    Signature signature;
    bool has_signature;
    Plan *plan;

    StepId id;
    StepRun *run;
    Tensor *outputs;      /* by the plan's fetch */
    uint64_t received_us; /* wall clock */
    StepReply reply;
} StepCall;

/* NULL when memory ends. */
MUST_USE StepCall *step_call_new(Exchange *exchange);

/* Walks the line as far as it goes. Without a job context (on the loop) *ret_needs_job says that the rest
 * needs one. While the database is gone, what the caches hold goes on serving. Errors are those of each
 * stage. */
MUST_USE Status step_call_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job);
