/* One step on its way through the workers: it is admitted to the pool, slots are bound, each gets one run
 * request, missing partitions are registered, outputs are handed on as they arrive, and the first error ends
 * the step. A pure step whose worker dies is tried again on another one. A partial step gets feeds while it
 * runs, as long as that takes; it holds no slot of the pool while it waits for them, but counts as running,
 * and with a feed it waits for its next turn. It is never tried again once it may have begun.
 *
 * Large outputs can be handed on in pieces, as they come, one at a time: while one is, the other slots'
 * outputs wait on their workers. An attempt that follows the loss of a worker skips the bytes that were
 * handed on.
 *
 * A step that changes variables is run once, whichever gateways send it (StepRunOptions.is_once): its workers
 * remember what has become of it, and one of several slots is taken up where it stands (ask.c).
 *
 * Ownership: a StepRun belongs to the dispatcher; it is valid until on_done has returned.
 * Threads:   everything on the loop's thread.
 * Errors:    on_done brings exactly one root cause: UNAVAILABLE (no worker, or the last one died),
 *            DEADLINE_EXCEEDED, CANCELLED, FAILED_PRECONDITION (the session's variables are lost), or the
 *            error of the first node that failed; RESOURCE_EXHAUSTED when too many steps of its tenant
 *            wait for a slot of the pool. */
#pragma once

#include "gateway/admission/admission.h"
#include "gateway/dispatch/blob_pieces.h"
#include "gateway/dispatch/directory.h"
#include "gateway/plan/plan.h"
#include "shared/base/uuid.h"
#include "shared/net/loop.h"
#include "shared/upstream/upstream.h"

/* The load of a worker without a GPU counts as so many slots more for a slot that gains by one. A card
 * computes such a slot some tens of times faster than the threads of its host, so that about as many may
 * queue for it before a CPU has it as soon. */
enum { WITHOUT_GPU_LOAD = 32 };

enum { STEP_ATTEMPT_MAX = 3 };

/* The dispatching of one loop. */
typedef struct Dispatcher Dispatcher;

/* `lane` is where its steps are admitted, and outlives it; NULL: all steps run at once. `pieces` NULL: all
 * constants are in memory. NULL without memory. */
MUST_USE Dispatcher *dispatcher_new(Loop *loop, Directory *directory, AdmissionLane *lane,
    const UpstreamOptions *options, const BlobPieces *pieces);

/* Begins to read no more pieces of constants: called before the threads that read them end. */
void dispatcher_close(Dispatcher *dispatcher);

/* Ends every step with UNAVAILABLE. Called when the loop has stopped; NULL is allowed. */
void dispatcher_free(Dispatcher *dispatcher);
size_t dispatcher_running_count(const Dispatcher *dispatcher);

/* Lets the worker at this address drop all that it keeps of a session that is over. On the loop's thread. */
void dispatcher_release_session(
    Dispatcher *dispatcher, const char *tenant, const char *session, const char *address);

/* Lets the workers that are known to have partitions of a plan, whose graph was deleted, drop them. Best
 * effort: a worker that is not told drops what is not used by itself. On the loop's thread. */
void dispatcher_deregister(Dispatcher *dispatcher, const char *tenant, const char *session, const Plan *plan);

/* A CleanupAll of some containers on one worker. */
typedef struct ContainerReset {
    const char *tenant;
    Slice session; /* "ses_…"; empty: all sessions of the tenant */
    const Slice *containers;
    size_t container_count;
} ContainerReset;

typedef struct ContainerResetEnd {
    Status status;
    const char *message;    /* "" when OK */
    int64_t resource_count; /* resources that were dropped */
} ContainerResetEnd;

/* Resets containers. `done` is called once, on the loop's thread, never from within; false without memory:
 * it will not be called. */
typedef void (*ContainerResetDone)(void *context, const ContainerResetEnd *end);
MUST_USE bool dispatcher_reset_containers(Dispatcher *dispatcher, const WorkerInfo *worker,
    const ContainerReset *reset, ContainerResetDone done, void *context);

typedef struct StepRun StepRun;

/* The life of a worker that a slot is bound to, because the session keeps variables in a place there. */
typedef struct StepPin {
    int64_t epoch; /* 0: the slot keeps no variables */
    int32_t place;
    char worker[WORKER_NAME_SIZE];
    char incarnation[INCARNATION_TEXT_SIZE];
    char lost_worker[WORKER_NAME_SIZE]; /* the worker that kept them before and was lost with them; "":
                                         * none */
} StepPin;

/* The plan to run, its tenant, and the bounds of the run. */
typedef struct StepRunOptions {
    StepId id;
    Plan *plan;          /* a reference is taken */
    TenantId payer;      /* whose share of the pool it takes */
    int priority;        /* within that share */
    const Tensor *feeds; /* in the plan's order of feeds; references are taken. Those of a partial step
                          * without a dtype come with step_feed() */
    size_t feed_count;
    const StepPin *pins;       /* one a slot, copied; NULL: no slot keeps variables */
    const char *tenant;        /* owner of partitions and constants */
    const char *session;       /* "ses_…" */
    const char *worker_labels; /* that its workers must have, copied; NULL or "": none */
    const char *request_id;
    uint64_t deadline_ns;  /* monotonic */
    uint64_t memory_limit; /* bytes that it may hold at once on each worker; 0: the worker's own limit */
    bool is_pure;          /* may be tried again */
    bool is_partial;
    bool traces_nodes;    /* the workers tell when each node ran */
    bool only_registers;  /* ends when the workers have their partitions; nothing runs */
    bool holds_outputs;   /* no output comes before all slots have run to their end */
    bool awaits_feeds;    /* feeds without a dtype come with step_feed() or in pieces; nothing runs, and no
                           * slot of the pool is asked for, before step_feeds_end() */
    int64_t attempt_base; /* attempts made before (queued steps) */
    bool is_once;         /* its workers remember what becomes of it; for a step with a pin */
    int64_t holder;       /* of such a step: grows with each gateway that takes it up */
    uint64_t began_ns;    /* monotonic: when it was first to be run; 0: this is the first time */
} StepRunOptions;

/* One slot in the last attempt. Times are of the monotonic clock; 0: the slot did not come that far. */
typedef struct SlotReport {
    int32_t task; /* of the worker that it was bound to; -1: not bound */
    uint64_t sent_ns;
    uint64_t answered_ns;
    bool is_known;           /* the worker said that it had the partition */
    uint64_t uploaded_bytes; /* by registering */
    WireStats stats;         /* its trace lives until on_done() returns */
    Slice last_words; /* what its nodes waited for at the deadline; lives as long; empty: not late, or not
                       * known */
} SlotReport;

typedef struct StepReport {
    Failure failure;      /* STATUS_OK: none */
    int64_t attempt;      /* number of the last attempt */
    uint64_t started_ns;  /* monotonic */
    uint64_t elapsed_us;  /* the wait for a slot of the pool included */
    uint64_t waited_us;   /* for that */
    uint64_t computed_ns; /* device time of all attempts; a slot that told none counts while it was held */
    size_t slot_count;
    const SlotReport *slots; /* lives until on_done() returns */
} StepReport;

/* Notes what another loop has registered: the workers of the report's tasks have the plan's partitions,
 * and are preferred from now on. On the loop's thread. */
void dispatcher_note_registered(Dispatcher *dispatcher, const Plan *plan, const StepReport *report);

/* The way that a large output takes, chosen when its head has come. */
typedef enum OutputWay {
    OUTPUT_WHOLE,  /* on_output brings it */
    OUTPUT_PIECES, /* on_piece brings its bytes as they come; one output at a time */
    OUTPUT_WAITS,  /* stays with its worker until step_ask_outputs() */
} OutputWay;

typedef struct OutputHead {
    uint32_t fetch;
    const Tensor *tensor; /* dtype and shape, no data */
    uint64_t size;        /* bytes of its payload in a frame */
    bool may_wait;        /* false: it lies before one that was half handed on by a worker that died */
} OutputHead;

typedef struct StepEvents {
    /* The step has been admitted to the pool and begins; NULL: nobody wants to know. */
    void (*on_admitted)(void *context);
    /* More of the feed that comes in pieces can be sent; NULL: none does. */
    void (*on_feed_room)(void *context);
    /* A fetched tensor, once each, in the order produced; the callee takes a reference if it keeps it. A
     * partial step reports a dead one (on a branch that was not taken) by a tensor without a dtype; any
     * other step fails. */
    void (*on_output)(void *context, uint32_t fetch, const Tensor *tensor);
    /* Says how a large output is to come. NULL: whole. */
    OutputWay (*on_head)(void *context, const OutputHead *head);
    /* A piece of an output, each byte once whatever the attempts; `is_last` says that it was sound to its
     * end, perhaps with no more bytes. */
    void (*on_piece)(void *context, uint32_t fetch, Slice bytes, bool is_last);
    /* The one end of the step. */
    void (*on_done)(void *context, const StepReport *report);
} StepEvents;

/* Starts a step; never calls back from within. NULL without memory. */
MUST_USE StepRun *step_start(
    Dispatcher *dispatcher, const StepRunOptions *options, const StepEvents *events, void *context);

/* Brings a feed that a partial step, or one that awaits feeds, was started without, each once; a reference is
 * taken. */
void step_feed(StepRun *step, size_t feed, const Tensor *tensor);

/* Returns whether the step has not been admitted because its tenant runs as many as it may. */
bool step_lacks_place(const StepRun *step);

/* Bring such a feed in pieces, which are copied to every worker that wants it and kept nowhere: one feed
 * after another, each with all the bytes that its description promises. They may be called while
 * step_feeds_must_wait() says no, and for the rest of what was received then. A step that loses a worker
 * behind the first piece ends as UNAVAILABLE, as nobody can send the bytes again but its client. */
void step_feed_begin(StepRun *step, size_t feed, const Tensor *described);
void step_feed_piece(StepRun *step, Slice bytes);

/* Returns whether a worker is not ready for feeds, or does not read them; on_feed_room says when that is
 * over. */
bool step_feeds_must_wait(const StepRun *step);

/* Lets the step run, once all its feeds have come, until this deadline, unless the old one comes first. */
void step_feeds_end(StepRun *step, uint64_t deadline_ns);

/* Hold outputs up until resumed: they stay with the workers, but for a window of each. The deadline waits. */
void step_pause(StepRun *step);
void step_resume(StepRun *step);

/* Returns whether all slots have run to their end, in a step that holds its outputs back until then. */
bool step_has_run(const StepRun *step);

/* Asks on_head again for each output that waits. */
void step_ask_outputs(StepRun *step);

/* Lets the worker whose output comes in pieces send further ahead. */
void step_widen(StepRun *step);

/* Ends the step with this failure; on_done follows within this turn. */
void step_fail(StepRun *step, const Failure *failure);

/* Stops the work on every worker; on_done(CANCELLED) follows within this turn. */
void step_cancel(StepRun *step, const char *why);
