/* What the files of this module share: the state of a dispatcher and of a running step. */
#pragma once

#include "gateway/dispatch/step.h"
#include "shared/base/buffer.h"
#include "shared/base/list.h"
#include "shared/base/map.h"

typedef enum SlotState { SLOT_IDLE, SLOT_REGISTERING, SLOT_RUNNING, SLOT_DONE } SlotState;

/* One slot of one attempt. */
typedef struct SlotRun {
    ListLink waiting; /* in a Registration, while REGISTERING */
    StepRun *step;
    const PlanPartition *partition;
    SlotState state;
    int registration_count; /* in this attempt: a worker that keeps forgetting is broken */
    int worker;             /* index in step->workers */
    UpstreamCall *call;     /* while RUNNING */
    char push_token[PUSH_TOKEN_TEXT_SIZE];
    size_t fed_count;    /* of the partition's feeds that the call has sent */
    bool has_status;     /* the worker's STATUS frame has come */
    bool has_aborted;    /* because of what happened elsewhere */
    bool has_restarted;  /* the worker: it is another process than the one that was asked */
    bool may_have_begun; /* its nodes: the worker has not said that they have not */
    bool is_known;       /* to the worker, when it was to be registered */
    uint64_t uploaded_bytes;
    uint64_t sent_ns;
    uint64_t answered_ns;
    WireStats stats; /* its trace lies in… */
    Buffer trace;
    Buffer last_words; /* at the deadline: who waits there for what */
} SlotRun;

struct StepRun {
    ListLink link; /* in dispatcher->steps */
    Dispatcher *dispatcher;
    const StepEvents *events;
    void *context;
    Plan *plan;
    Roster *workers; /* the snapshot this attempt is bound in */
    StepId id;
    char id_text[ID_TEXT_SIZE];
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    char request_id[REQUEST_ID_SIZE];
    uint64_t started_ns;
    uint64_t deadline_ns;
    bool is_pure;
    bool is_partial;
    uint64_t memory_limit;
    bool traces_nodes;
    bool only_registers;
    bool is_ending;     /* on_done is on its way */
    bool is_restarting; /* the next attempt is on its way */
    bool is_paused;
    bool is_late; /* slots have said so; the others have a moment to say what they were at */
    int64_t attempt;
    int64_t attempt_last; /* no more after this one */
    Timer timer;
    Timer cause; /* set while slots have ended as a consequence, and the cause may still come */
    Task start;
    char avoided[WORKER_NAME_SIZE]; /* the worker that failed the attempt before */
    Status status;
    char message[ERROR_MESSAGE_SIZE];
    char consequence[ERROR_MESSAGE_SIZE]; /* what the first slot said that was aborted */
    char node[128];
    size_t slot_count;
    SlotRun slots[SLOT_COUNT_MAX];
    StepPin *pins;      /* by the plan's slot; NULL: nothing is kept */
    bool *is_delivered; /* by fetch: an output goes out once, whatever the attempt */
    size_t feed_count;
    Tensor feeds[]; /* without a dtype: still to come */
};

struct Dispatcher {
    Loop *loop;
    Upstream *upstream;
    Directory *directory;
    Roster *workers;
    uint64_t version;
    ListLink steps;
    size_t step_count;
    Map *registrations; /* "address digest" → Registration, while one is under way */
    Map *holders;       /* "incarnation digest" → known to hold the partition */
    Map *loads;         /* address → WorkerLoad */
};

/* What this loop knows of a worker by itself. */
typedef struct WorkerLoad {
    int running;        /* of this loop's slots, now */
    uint64_t failed_ns; /* when it was last out of reach; 0: not since it last served */
} WorkerLoad;

/* --- answer.c ------------------------------------------------------------------------------------------- */

/* Of an answer other than 2xx, its status document, or INTERNAL when it has none; else OK. */
Status answer_read_status(UpstreamCall *call, Call *reading, WireStatus *ret_status);

/* --- bind.c --------------------------------------------------------------------------------------------- */

/* Chooses a worker for every slot: one that keeps state gets its own, a fixed task its worker; others the
 * least loaded one that this step does not use yet, holders of the partition first. UNAVAILABLE with the
 * reason when there is none. */
MUST_USE Status bind_slots(Call *call, StepRun *step);
const WorkerInfo *slot_worker(const SlotRun *slot);
void bind_note_holder(Dispatcher *dispatcher, const WorkerInfo *worker, const PlanPartition *partition);

/* The worker has restarted as another incarnation, before discovery has told. */
void bind_note_restart(Dispatcher *dispatcher, const WorkerInfo *worker, Slice incarnation);
void bind_load(Dispatcher *dispatcher, const WorkerInfo *worker, int change);

/* The worker was out of reach, or has served: for some seconds after a failure others are chosen first. */
void bind_note_failure(Dispatcher *dispatcher, const WorkerInfo *worker);
void bind_note_success(Dispatcher *dispatcher, const WorkerInfo *worker);

/* --- pin.c ---------------------------------------------------------------------------------------------- */

/* What the slot keeps; NULL: nothing. */
const StepPin *slot_pin(const SlotRun *slot);

/* Binds it to that life of a worker. UNAVAILABLE when that is not there. */
MUST_USE Status pin_bind(Call *call, SlotRun *slot, const StepPin *pin);

/* What a slot's failure means, with what it means for what the session keeps: ret_text[ERROR_MESSAGE_SIZE].
 */
Status pin_explain(const SlotRun *slot, Status status, const char *message, char *ret_text);

/* --- register.c ----------------------------------------------------------------------------------------- */

/* Registers the slot's partition on its worker (once, however many slots wait for it), then calls
 * slot_registered(). */
void registration_await(SlotRun *slot);

/* --- late.c --------------------------------------------------------------------------------------------- */

/* The deadline ended the slot's run. False when there is nobody else to wait for, or it was not the step's.
 */
bool step_slot_late(SlotRun *slot, Slice message);

/* Ends the step with what the slots have said. */
void step_end_late(StepRun *step);

/* --- slot.c --------------------------------------------------------------------------------------------- */

/* Sends the slot's run request to the worker it is bound to; for a step that only registers, the partition.
 */
void slot_begin(SlotRun *slot);

/* A feed has come: it goes to the worker, if the slot wants it and runs. */
void slot_feed(SlotRun *slot, size_t feed);

/* The registration that the slot waited for has ended. */
void slot_registered(SlotRun *slot, Status status, const char *message);

/* --- step.c --------------------------------------------------------------------------------------------- */

/* A slot has failed: the step's next attempt begins, or the step ends, once this turn's callbacks have
 * returned. */
void step_slot_failed(SlotRun *slot, Status status, const char *message);

/* A slot has ended as a consequence of what happened elsewhere: who knows the cause has a moment to say so.
 */
void step_slot_aborted(SlotRun *slot, const char *message);

/* A slot is done; false while others are not, or when one of them has failed. */
bool step_is_done(StepRun *step);

/* Ends the step once this turn's callbacks have returned; the first reason stays. */
void step_end(StepRun *step, Status status, const char *message);

/* Ends it now: tells the caller, then the workers, and frees it. */
void step_finish(StepRun *step);
