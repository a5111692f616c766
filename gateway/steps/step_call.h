/* One step, from its request to its result: a synchronous one with its exchange, a queued one without. A
 * rehearsal is prepared as a step would be, from a description of its feeds, and does not run.
 *
 * Preparing has one straight line (body → session → graph → feeds → signature → plan → places) that is walked
 * on the loop with the caches alone and, when one of them misses, once more on a job thread that may load and
 * compile; what is done is not done again.
 *
 * Ownership: a StepCall lives in its call's arena, which gives its references back.
 * Threads:   the exchange's: the loop, or the job thread while offloaded. */
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/queue/recorder.h"
#include "gateway/steps/step_body.h"
#include "gateway/steps/step_loop.h"
#include "gateway/steps/step_promise.h"
#include "gateway/steps/step_reply.h"
#include "gateway/steps/step_upload.h"

typedef struct StepCall {
    Exchange *exchange; /* NULL for a queued step */
    StepLoop *loop;
    Call *call;
    TenantId tenant;
    SessionId session_id;
    StepUpload *upload; /* NULL: the request is JSON alone */
    StepBodyKind kind;
    StepBody body;
    bool has_body;
    bool is_rehearsal;
    SessionSnapshot *session;
    GraphSnapshot *graph;
    Tensor *given;       /* by the request's feeds */
    const Tensor *feeds; /* the same in the signature's order */
    Signature signature;
    Plan *plan;
    uint64_t plan_us;    /* that compiling it took; 0: it was there */
    const StepPin *pins; /* by the plan's slot; NULL: it keeps no state */

    StepId id;
    RunningStep running;
    Tensor *outputs;      /* by the plan's fetch */
    uint64_t received_us; /* wall clock */
    StepReply reply;

    StepPromise promise;
    RecordWait record_wait;
} StepCall;

/* NULL when memory ends. */
MUST_USE StepCall *step_call_new(Exchange *exchange, StepLoop *loop);

/* For a step without an exchange: `step` is zeroed memory of call->arena. False when memory ends. */
MUST_USE bool step_call_init(StepCall *step, StepLoop *loop, Call *call);

/* The request's JSON: its body, or the part of a form. */
Slice step_call_json(const StepCall *step);

/* Reads the body, once; step_call_prepare() does it else. */
MUST_USE Status step_call_read(StepCall *step, Slice json);

/* Gives a tensor back with the step. False when memory ends: it was given back already. */
MUST_USE bool step_call_keep(StepCall *step, Tensor *tensor);

/* What dispatch is to be asked, but for deadline and attempts. The texts are as large as their types. */
void step_call_describe(const StepCall *step, char ret_tenant[UUID_TEXT_SIZE], char ret_session[ID_TEXT_SIZE],
    StepRequest *ret_request);

/* Of a rehearsal, whose graph the request's path names: the line up to the plan, on a job thread. */
MUST_USE Status step_call_plan(StepCall *step, const Request *request);

/* Walks the line as far as it goes. Without a job context (on the loop) *ret_needs_job says that the rest
 * needs one. While the database is gone, what the caches hold goes on serving. Errors are those of each
 * stage. */
MUST_USE Status step_call_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job);

/* Walks the last stage alone: fills step->pins when the plan keeps variables. */
MUST_USE Status step_call_take_places(StepCall *step, JobContext *context, bool *ret_needs_job);

/* Keeps the step's trace when its request asks for one. Before the step's end is known elsewhere: whoever
 * sees the end finds the trace. */
void step_call_keep_trace(const StepCall *step, const StepReport *report);
