/* A StepCall is one step from its request to its result: a synchronous one has an exchange, a queued one
 * has none. A rehearsal is prepared from a description of its feeds and does not run.
 *
 * Preparing walks the stages body → session → graph → feeds → signature → plan → places: on the loop with
 * the caches alone and, when one of them misses, once more on a job thread, which may load and compile. A
 * stage that is done is skipped the second time.
 *
 * Ownership: a StepCall lives in its call's arena, which gives its references back.
 * Threads:   the exchange's: the loop, or the job thread while offloaded. */
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/jobs/batcher.h"
#include "gateway/queue/recorder.h"
#include "gateway/resources/idempotent.h"
#include "gateway/steps/step_body.h"
#include "gateway/steps/step_loop.h"
#include "gateway/steps/step_upload.h"
#include "gateway/store/queue.h"

typedef struct StepCall StepCall;

enum { STEP_BOUNDARY_SIZE = 40 };

/* A media type, and how a reply is written in it. */
typedef struct StepForm {
    const char *media_type;
    /* Sends an output as it comes; NULL: outputs are kept for the end. */
    void (*output)(StepCall *step, Slice name, const Tensor *tensor);
    void (*end)(StepCall *step, const StepReport *report);
} StepForm;

/* The part of a call that answers its client (step_reply.h). */
typedef struct StepReply {
    const StepForm *form;
    const uint32_t *fetches; /* for each of the request's fetches, its index in the plan */
    HttpStream *stream;      /* NULL before the first output, and when the client has gone */
    bool has_begun;          /* the head has been sent */
    bool has_parts;
    char boundary[STEP_BOUNDARY_SIZE];
    StepReport report; /* copy of the report, while the reply waits or is written on a job thread */
} StepReply;

/* The part of a call that is committed before it runs (step_promise.h). */
typedef struct StepPromise {
    bool is_async;
    uint64_t wait_ms; /* how long the client waits for the end of a step for later */
    IdempotentKey key;
    StepHold hold;    /* of a synchronous step that the database knows of; its fence is 0 otherwise */
    bool is_queued;   /* by this request */
    bool is_answered; /* the response is written: nothing runs now */
    StepNew wanted;   /* of a step for later that is queued in a batch, as are the members below */
    BatchItem item;
    Status committed;
    void (*told)(StepCall *step, Status status);
} StepPromise;

struct StepCall {
    Exchange *exchange; /* NULL: a queued step, or part of a partial run */
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
    Tensor *given;       /* in the order of the request's feeds */
    const Tensor *feeds; /* the same in the signature's order */
    Signature signature;
    Plan *plan;
    uint64_t plan_us;    /* to compile the plan; 0: it was cached */
    const StepPin *pins; /* one for each of the plan's slots; NULL: the plan keeps no variables */

    StepId id;
    RunningStep running;
    Tensor *outputs;      /* one for each of the plan's fetches */
    uint64_t received_us; /* wall clock */
    StepReply reply;

    StepPromise promise;
    RecordWait record_wait;
};

/* Makes the call of a client's step. NULL without memory. */
MUST_USE StepCall *step_call_new(Exchange *exchange, StepLoop *loop);

/* Makes a call without an exchange in zeroed memory of call->arena. False without memory. */
MUST_USE bool step_call_init(StepCall *step, StepLoop *loop, Call *call);

/* Returns the request's JSON: its body, or the part `request` of a form. */
Slice step_call_json(const StepCall *step);

/* Reads the body, once; step_call_prepare() calls it too. */
MUST_USE Status step_call_read(StepCall *step, Slice json);

/* Gives the tensor back when the step ends. False without memory: it was given back already. */
MUST_USE bool step_call_keep(StepCall *step, Tensor *tensor);

/* Describes the step for dispatch, without deadline and attempts. The options point to the two texts. */
void step_call_describe(const StepCall *step, char ret_tenant[UUID_TEXT_SIZE], char ret_session[ID_TEXT_SIZE],
    StepRunOptions *ret_options);

/* Prepares a rehearsal, whose graph the request's path names, up to the plan, on a job thread. */
MUST_USE Status step_call_plan(StepCall *step, const Request *request);

/* Prepares the step as far as it can. Without a job context (on the loop) *ret_needs_job says that the
 * rest needs one. While the database is gone, cached sessions, graphs and plans serve. Errors are those of
 * each stage. */
MUST_USE Status step_call_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job);

/* Does the last stage alone: fills step->pins when the plan keeps variables. */
MUST_USE Status step_call_take_places(StepCall *step, JobContext *context, bool *ret_needs_job);

/* Keeps the step's trace when its request asks for one. It is called before anybody hears of the end, so
 * that whoever sees the end finds the trace. */
void step_call_keep_trace(const StepCall *step, const StepReport *report);

/* Copies the report, which is dispatch's and gone when its callback returns, to step->reply.report; without
 * memory the copy has no slots. */
void step_call_keep_report(StepCall *step, const StepReport *report);

/* Fills step->given in the order of the request's feeds; feeds that it has already stay. Without a job
 * context *ret_needs_job says that a reference needs one. OUT_OF_RANGE when all of them are above
 * step_body_bytes. */
MUST_USE Status step_feeds_take(StepCall *step, JobContext *context, bool *ret_needs_job);

/* Fills step->given of a rehearsal or a partial run with tensors that have a dtype, the request's or else
 * the graph's, and no elements. */
MUST_USE Status step_feeds_describe(StepCall *step);
