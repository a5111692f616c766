/* The state of a dispatcher and of a running step, and how the files of this module call each other. Only
 * gateway/dispatch includes this. Each file calls those above it in this list:
 *
 *   bind.c        gives each slot a worker, by what this loop knows of workers
 *   answer.c      status documents of workers
 *   blob_transfer.c  one constant on its way to one worker
 *   register.c    puts a partition on a worker, once for all slots that wait for it
 *   slot.c        one slot of one attempt: its run request and the worker's answer
 *   turn.c        when a partial step holds a slot of the pool
 *   cleanup.c     tells the workers of an attempt that it is over, until they have heard it
 *   step.c        the attempts of a step, its deadline and its end
 *   dispatcher.c  the dispatcher, and requests to workers outside of steps */
#pragma once

#include <assert.h>

#include "gateway/admission/admission.h"
#include "gateway/dispatch/blob_pieces.h"
#include "gateway/dispatch/directory.h"
#include "gateway/plan/plan.h"
#include "shared/base/buffer.h"
#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/uuid.h"
#include "shared/net/loop.h"
#include "shared/upstream/upstream.h"

typedef struct Dispatcher Dispatcher;
typedef struct SlotReport SlotReport;
typedef struct SlotRun SlotRun;
typedef struct StepPin StepPin;
typedef struct StepRun StepRun;
typedef struct WorkerLoad WorkerLoad;

/* A worker that can get a slot. */
typedef struct Seat {
    WorkerLoad *load;
    uint32_t worker; /* index in the roster */
    bool has_gpu;
    uint64_t gpu_memory; /* bytes */
} Seat;

/* Calls of a slot to its step. */
typedef struct SlotEvents {
    /* The slot has failed: the step's next attempt begins, or the step ends, once this turn's callbacks have
     * returned. */
    void (*failed)(SlotRun *slot, Failure failure);
    /* The slot has ended as a consequence of what happened on another one, whose error is the cause. Of a
     * slot that was broken off before, for another gateway, the cause may be unknown. */
    void (*aborted)(SlotRun *slot, const Failure *failure);
    /* The deadline ended the slot's run. False when the deadline was not the step's, or no other slot's word
     * is waited for: the slot fails then. */
    bool (*late)(SlotRun *slot, const Failure *failure);
    void (*done)(SlotRun *slot);
    /* The worker is ready for feeds that come in pieces, or reads them again. */
    void (*reads_feeds)(SlotRun *slot);
    /* The slot of a partial step rests, or goes on by itself. */
    void (*rested)(SlotRun *slot);
} SlotEvents;

typedef enum SlotState { SLOT_IDLE, SLOT_ASKING, SLOT_REGISTERING, SLOT_RUNNING, SLOT_DONE } SlotState;

/* One slot of one attempt. */
struct SlotRun {
    ListLink waiting; /* in a Registration, while REGISTERING */
    StepRun *step;
    const PlanPartition *partition;
    SlotState state;
    int registration_count; /* in this attempt: a worker that keeps forgetting is broken */
    int worker;             /* index in step->workers; -1: not bound */
    UpstreamCall *call;     /* while RUNNING, or ASKING */
    char push_token[PUSH_TOKEN_TEXT_SIZE];
    size_t fed_count;   /* feeds of the partition that the call has sent */
    uint64_t active_ns; /* when it began, or got the first feed after a rest */
    WireRest rest;      /* the worker's last word of it; of a partial step */
    bool has_status;    /* the worker's STATUS frame has come */
    bool has_computed;  /* its first output has come, or it said that it has ended well */
    bool is_held;       /* behind an output, until it may tell the next */
    bool waits_at_head; /* with the output `head`, whose way has not been decided */
    bool drops;         /* the output that comes in pieces was handed on by an earlier attempt */
    uint32_t head_fetch;
    Tensor head;         /* without data */
    uint64_t head_size;  /* bytes of its payload */
    bool has_ended;      /* done, or aborted because of what happened on another slot */
    bool has_restarted;  /* the worker is another process than the one that was asked */
    bool may_have_begun; /* the worker has not said that no node has run */
    bool was_broken_off; /* when it was run for another gateway: it is not run again */
    bool is_refused;     /* the worker takes no run as it is asked: it drains, or has restarted */
    bool is_known;       /* the worker had the partition when it was to be registered */
    uint64_t uploaded_bytes;
    uint64_t sent_ns;
    uint64_t answered_ns;
    WireStats stats; /* its trace points into `trace` */
    Buffer trace;
    Buffer last_words; /* at the deadline: which nodes wait for what */
};

/* The output that is handed on in pieces. */
typedef struct PassedOutput {
    bool has_begun;
    uint32_t fetch;
    Tensor described; /* without data */
    SlotRun *slot;    /* that sends it; NULL: none of this attempt has come to it yet */
    uint64_t seen;    /* bytes that have come from that slot */
    uint64_t passed;  /* bytes that were handed on, whatever the attempt */
} PassedOutput;

/* The feed that comes in pieces. */
typedef struct PassedFeed {
    bool has_any; /* bytes of some feed have gone to the workers: no attempt can follow */
    size_t feed;
    uint64_t left; /* bytes of it that have not come */
    size_t padding;
} PassedFeed;

struct StepRun {
    ListLink link; /* in dispatcher->steps */
    Dispatcher *dispatcher;
    const struct StepEvents *events;
    void *context;
    const SlotEvents *slot_events;
    Plan *plan;
    Roster *workers;     /* the snapshot that this attempt is bound in */
    WireVersions spoken; /* of the worker protocol, by all workers that slots are bound to */
    StepId id;
    char id_text[ID_TEXT_SIZE];
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    char worker_labels[LABELS_TEXT_SIZE]; /* that its workers must have; "": none */
    char request_id[REQUEST_ID_SIZE];
    AdmissionTicket ticket;
    TenantId payer;
    uint64_t entered_ns;  /* when admission was asked; 0: not yet */
    uint64_t admitted_ns; /* 0: not yet */
    uint64_t computed_ns; /* by attempts before this one */
    uint64_t started_ns;
    uint64_t deadline_ns;
    bool is_pure;
    bool is_partial;
    uint64_t memory_limit;
    bool traces_nodes;
    bool only_registers;
    bool holds_outputs;
    bool is_once;
    int64_t holder;
    uint64_t began_ns;
    void (*asked)(StepRun *step, const Failure *failure);
    size_t asking_count;    /* slots whose workers are asked what has become of the step */
    Buffer binding;         /* a WireBinding: how another gateway bound the step; empty: none has */
    int64_t joined_attempt; /* number of the attempt that it began, and that this one joins; 0: none */
    bool awaits_feeds;      /* until step_feeds_end() */
    int priority;
    PassedFeed fed;
    bool rests;         /* a partial step: it holds no slot of the pool */
    bool awaits_turn;   /* it rests, and has feeds to go on with */
    bool *holds_feed;   /* by feed: it has come and waits for that turn; NULL: the step is not partial */
    bool is_ending;     /* on_done follows at the end of this turn */
    bool is_restarting; /* the next attempt begins at the end of this turn */
    bool is_paused;
    bool is_late; /* a slot has reported the deadline; the others have a moment to say what they wait for */
    int64_t attempt;
    int64_t attempt_last;  /* number of the last attempt that is allowed */
    int64_t refusal_count; /* how often an attempt began anew, since a worker refused it */
    Timer timer;           /* the deadline and a moment of grace */
    Timer cause;           /* set while slots have been aborted and the cause may still come */
    Task start;            /* the start, a further attempt, or the end: deferred to the end of this turn */
    char avoided[WORKER_NAME_SIZE]; /* the worker that failed the attempt before */
    Failure failure;                /* how it ends; STATUS_OK: well */
    bool was_aborted;               /* a slot of the attempt was, because of another that has not told why */
    Failure consequence;            /* of the first slot that was aborted */
    size_t slot_count;
    SlotRun *slots;        /* in the step's own memory, as `reports` */
    SlotReport *reports;   /* filled at the end */
    size_t ended_count;    /* slots of the attempt that are done or were aborted */
    int64_t open_size;     /* of the feeds that have come when the attempt begins (plan_open_size()) */
    StepPin *pins;         /* by the plan's slot; NULL: no slot keeps variables */
    size_t computed_count; /* slots of the attempt that have run to their end, or told an output */
    PassedOutput passing;
    Tensor *early;      /* by fetch: outputs that have come while another was handed on; NULL: none yet */
    bool *is_delivered; /* by fetch: an output is handed on once, whatever the attempt */
    size_t feed_count;
    Tensor feeds[]; /* without a dtype: still to come */
};

enum { REFUSALS_MAX = 16 }; /* of one step: each tells of another worker, unless one keeps refusing */

/* Returns the number under which workers know the attempt. It grows with each attempt and each refusal,
 * whichever gateway makes it. */
static inline int64_t
step_wire_attempt(const StepRun *step)
{
    assert(step->refusal_count <= REFUSALS_MAX);

    return step->joined_attempt != 0 ? step->joined_attempt
                                     : step->attempt * (REFUSALS_MAX + 1) + step->refusal_count;
}

struct Dispatcher {
    Loop *loop;
    Upstream *upstream;
    Directory *directory;
    AdmissionLane *lane; /* NULL: none asks */
    Roster *workers;
    uint64_t version;
    ListLink steps;
    size_t step_count;
    Map *registrations; /* "address tenant digest" → Registration, while one is under way */
    Map *loads;   /* address → WorkerLoad: of the workers in `workers`, and of others that run slots */
    Map *holders; /* digest of a partition → Holders: the workers that are known to have it */
    Seat *seats;  /* the workers of `workers` that serve, in its order */
    size_t seat_count;
    size_t gpu_seat_count; /* seats with a GPU in service */
    uint32_t number_count; /* numbers that loads have or had */
    Buffer free_numbers;   /* uint32_t[]: those that no load has any more */
    uint64_t binding;      /* counts bindings */
    Map *blobs; /* "tenant digest" → BlobHolder: constants that this loop has brought to a worker */
    BlobPieces pieces;
    ListLink transfers;      /* BlobTransfers, the oldest first */
    ListLink cleanups;       /* those that wait to be sent again */
    int cleanup_count;       /* of them */
    int deregistering_count; /* requests that drop partitions, under way */
    int streaming_count;     /* those of constants that are not in memory, and that have begun */
    bool is_closing;         /* nothing more is read */
};

/* A worker as this loop knows it by its own requests. */
struct WorkerLoad {
    int running;        /* slots of this loop, now */
    uint32_t number;    /* its bit in sets of workers */
    uint64_t failed_ns; /* when it was last out of reach; 0: not since it last served */
    uint64_t binding;   /* the last binding that gave it a slot … */
    uint32_t taken;     /* … and how many it gave it */
    bool is_listed;     /* the worker is in the roster */
    char incarnation[INCARNATION_TEXT_SIZE];
};

/* Functions of bind.c. */

/* Makes what binding keeps in a dispatcher that is zero but for its directory. False without memory; then
 * bind_close() frees what there is. */
MUST_USE bool bind_open(Dispatcher *dispatcher);
void bind_close(Dispatcher *dispatcher);

/* Chooses a worker for every slot: one that keeps state gets the worker of its session place, a fixed task
 * its worker; the others get the least loaded worker that this step does not use yet, holders of the
 * partition first, and the GPUs go to those that gain by one. UNAVAILABLE with the reason when there is none;
 * FAILED_PRECONDITION when a GPU is needed and no worker has one. */
MUST_USE Status bind_slots(Call *call, StepRun *step);
const WorkerInfo *slot_worker(const SlotRun *slot);
const StepPin *slot_pin(const SlotRun *slot); /* NULL: the slot keeps nothing */

void bind_note_holder(Dispatcher *dispatcher, const WorkerInfo *worker, const PlanPartition *partition);
void bind_load(Dispatcher *dispatcher, const WorkerInfo *worker, int change);

/* Forgets who has the partition, after a visit to each worker that is known to. */
typedef void (*HolderVisit)(void *context, const char *address, const char *incarnation);
void bind_forget_holders(
    Dispatcher *dispatcher, const PlanPartition *partition, HolderVisit visit, void *context);

/* Note failures and successes: for some seconds after a failure, other workers are chosen first. */
void bind_note_failure(Dispatcher *dispatcher, const WorkerInfo *worker);
void bind_note_success(Dispatcher *dispatcher, const WorkerInfo *worker);

/* Adds to a slot's failure what it means for the variables that the session keeps there. */
void bind_explain(const SlotRun *slot, Failure *failure);

/* Functions of answer.c. */

/* Reads the status document of an answer other than 2xx; INTERNAL when the answer has none. Returns the
 * document's code, OK for 2xx. */
Status answer_read_status(UpstreamCall *call, Call *reading, WireStatus *ret_status);

/* Functions of blob_transfer.c. */

typedef struct BlobTransferRequest {
    Dispatcher *dispatcher;
    const WorkerInfo *worker; /* these three are valid until the end */
    const char *tenant;
    const PlanBlob *blob;
} BlobTransferRequest;

/* Ends a transfer: STATUS_OK when the worker has the constant. DATA_LOSS when the stored bytes are not those
 * of its digest; UNAVAILABLE when the worker is gone or takes nothing; the store's failure. */
typedef void (*BlobTransferDone)(void *context, const Failure *failure, uint64_t sent_bytes);

/* Sends a constant to a worker. `done` is called once, perhaps before this returns. False without memory, or
 * when the dispatcher is closing: it will not be called. */
MUST_USE bool blob_transfer_begin(const BlobTransferRequest *request, BlobTransferDone done, void *context);

/* Ends the transfers that have no call to a worker under way. */
void blob_transfers_end(Dispatcher *dispatcher);

/* Forgets which worker has which constant, once all transfers have ended. */
void blob_transfers_free(Dispatcher *dispatcher);

/* Functions of register.c. */

typedef void (*SlotRegistered)(SlotRun *slot, const Failure *failure); /* STATUS_OK: it is there */

/* Registers the slot's partition on its worker, once however many slots wait for it, and calls `registered`
 * for each of them. */
void registration_await(SlotRun *slot, SlotRegistered registered);

/* Functions of ask.c. */

typedef void (*StepAsked)(
    StepRun *step, const Failure *failure); /* STATUS_OK: its slots are bound to begin */

/* Asks the workers of a step of several slots that another gateway may have begun, and calls `asked` when all
 * have answered; a worker that does not is a slot that failed (SlotEvents). */
void ask_begin(StepRun *step, StepAsked asked);

/* Functions of slot.c. */

/* Writes the header of the slot's run, which is a WireRun. */
void slot_write_header(const SlotRun *slot, Buffer *json);

/* Fails the slot, as a worker's answer without frames says: it has run nothing. */
void slot_refused(SlotRun *slot, UpstreamCall *call);

/* Sends the slot's run request to the worker it is bound to; for a step that only registers, the
 * partition. */
void slot_begin(SlotRun *slot);

/* Sends a feed that has come to the slots that want it and run. */
void slots_feed(StepRun *step, size_t feed);

/* Send the beginning, and bytes, of a feed that comes in pieces, if the slot wants it. */
void slot_feed_begin(SlotRun *slot, size_t feed, const Tensor *described);
void slot_feed_bytes(SlotRun *slot, size_t feed, Slice bytes);

/* Returns whether the slot's worker reads feeds now. */
bool slot_takes_feeds(const SlotRun *slot);

/* Ends the run request, if it has all its feeds and the step awaits none. */
void slot_end_request(SlotRun *slot);

/* Pauses or resumes the slot's call, as the step and the slot want it. */
void slot_match_pace(SlotRun *slot);

/* Asks again for the output at which the slot waits, if it does. */
void slot_ask(SlotRun *slot);

/* Returns whether the slot of a partial step does nothing until a feed or another slot's tensor comes. */
bool slot_rests(const SlotRun *slot);

/* Return the device time of the current attempt, and of all attempts so far. */
uint64_t attempt_computed_ns(const StepRun *step);
uint64_t step_computed_ns(const StepRun *step);

/* Functions of turn.c. */

/* Ends the turn of a partial step once all its slots rest, or notes that it has begun by itself. */
void turn_settle(StepRun *step);

/* Keeps a feed of a step that rests until it has a turn, which is asked for. */
void turn_hold_feed(StepRun *step, size_t feed);

/* Begins the turn that the step has waited for. */
void turn_granted(StepRun *step);

/* Functions of cleanup.c. */

/* Tells the workers of this attempt that the step is over, so that they free parked tensors. */
void cleanup_send(StepRun *step);

/* Forgets the workers that were to be told again. */
void cleanups_end(Dispatcher *dispatcher);

/* Functions of step.c; step_has_run() is one of step.h. */

/* Ends the step once this turn's callbacks have returned; the first call decides how. NULL: well. */
void step_end(StepRun *step, const Failure *failure);

/* Ends the step now: tells the caller, then the workers, and frees it. */
void step_finish(StepRun *step);
