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
#include "gateway/http/tenant_memory.h"
#include "gateway/jobs/batcher.h"
#include "gateway/queue/recorder.h"
#include "gateway/resources/idempotent.h"
#include "gateway/steps/step_body.h"
#include "gateway/steps/step_loop.h"
#include "gateway/steps/step_upload.h"
#include "gateway/store/queue.h"
#include "shared/json/writer.h"

typedef struct StepCall StepCall;

enum { STEP_BOUNDARY_SIZE = 40 };

/* A media type, and how a reply is written in it. An index is that of one of the request's fetches. */
typedef struct StepForm {
    const char *media_type;
    bool awaits_end; /* its first line says how the step has ended: nothing is sent while a slot runs */
    /* Sends an output that has come whole, or keeps it. */
    void (*output)(StepCall *step, size_t index, const Tensor *tensor);
    /* Begins an output that comes in pieces. False: it has to come whole. */
    bool (*begin)(StepCall *step, size_t index, const OutputHead *head);
    void (*piece)(StepCall *step, Slice bytes);
    void (*close)(StepCall *step); /* its last piece has come */
    /* Writes what stands before the text of an output that is written as JSON. */
    void (*name)(StepCall *step, size_t index);
    /* Sends the small outputs that are held (StepReply.holds). NULL: it holds none. */
    void (*release)(StepCall *step);
    /* Hands the outputs that are still kept to step_text.h, if they are many. NULL: `end` writes them. */
    void (*flush)(StepCall *step);
    void (*end)(StepCall *step, const StepReport *report);
} StepForm;

/* Outputs on their way to become JSON text (step_text.h). */
typedef struct StepText {
    JsonWriter writer; /* writes to `text` */
    Buffer text;       /* written, not in the stream yet */
    Buffer block;      /* elements of the output that comes in pieces */
    Dtype dtype;       /* its dtype; DTYPE_INVALID: none is open */
    bool is_closing;   /* its last piece has come */
    size_t *indexes;   /* of the request's fetches: outputs that have come whole, in that order */
    size_t added;      /* so many of them */
    size_t limit;      /* so many may be written by the turn that runs */
    size_t next;       /* the one that is being written */
    bool is_named;     /* its beginning is written */
    size_t element;    /* the next of its elements */
    bool is_working;   /* a job thread has all of this, but for outputs that are added */
} StepText;

/* The part of a call that answers its client (step_reply.h). */
typedef struct StepReply {
    const StepForm *form;
    const uint32_t *fetches; /* for each of the request's fetches, its index in the plan */
    HttpStream *stream;      /* NULL before the first output, and when the client has gone */
    bool has_begun;          /* the head has been sent */
    bool has_parts;
    bool is_over; /* nothing but the reply is left of the step */
    char boundary[STEP_BOUNDARY_SIZE];
    size_t padding; /* bytes behind the output that comes in pieces */
    StepText text;
    MemoryClaim claim; /* memory for the stream, and for outputs that are kept whole */
    bool has_room;     /* for the stream */
    bool is_wide;      /* the reader is fast, and gets a wide window */
    bool awaits_whole; /* the claim waits for the output of `whole_fetch` */
    bool has_whole;    /* and has got it */
    uint32_t whole_fetch;
    bool holds;                     /* small outputs in step->outputs wait for others */
    Timer held;                     /* ends that */
    size_t kept_size;               /* bytes of small outputs that are kept */
    void (*rested)(StepCall *step); /* called when the text that was to be written is */
    StepReport report; /* copy of the report, while the reply waits or is written on a job thread */
} StepReply;

/* The part of a call that is committed before it runs (step_promise.h). */
typedef struct StepPromise {
    bool is_async;
    uint64_t wait_ms; /* how long the client waits for the end of a step for later */
    IdempotentKey key;
    bool follows;     /* a gateway that held the key before may have begun the run */
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
    bool comes; /* feeds of it come while it is prepared and runs (step_passing.h) */
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

/* Returns whether the step changes variables that workers keep: these remember what has become of it, so that
 * another gateway may take it up. */
bool step_is_once(const StepCall *step);

/* Prepares a rehearsal, whose graph the request's path names, up to the plan, on a job thread. */
MUST_USE Status step_call_plan(StepCall *step, const Request *request);

/* Prepares the step as far as it can. Without a job context (on the loop) *ret_needs_job says that the
 * rest needs one. While the database is gone, cached sessions, graphs and plans serve. Errors are those of
 * each stage. */
MUST_USE Status step_call_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job);

/* Does the last stage alone: fills step->pins when the plan keeps variables. */
MUST_USE Status step_call_take_places(StepCall *step, JobContext *context, bool *ret_needs_job);

/* Has the session read anew for its next step when this one's variables were not where this gateway knew
 * them: another gateway has bound their place anew. */
void step_call_doubt_places(const StepCall *step, const StepReport *report);

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

/* INVALID_ARGUMENT when a feed of this shape contradicts the one that the graph declares. */
MUST_USE Status step_feed_check_shape(StepCall *step, Slice name, const Shape *given);

/* Fills step->given of a rehearsal or a partial run with tensors that have a dtype, the request's or else
 * the graph's, and no elements. */
MUST_USE Status step_feeds_describe(StepCall *step);

/* Returns the bytes of the outputs that are kept; 0 before there is room for any. */
size_t step_outputs_size(const StepCall *step);
