/* Looks a step up wherever it is known: on the loop that runs it, in the queue, in history, at another
 * gateway; and waits for its end.
 *
 * Happy path: the loop that the id names is asked (step_inquiry.h) → when it does not run the step, a job
 * thread reads the database → the answer. When the database does not know the step either, this gateway's
 * own records are written, a job thread reads again and sends a question to the other gateways
 * (replica_mail.h); when none answers, a job thread reads for the last time. A look-up that waits for the
 * step's end starts again after a pause that grows. All waiting is done on the loop: no thread waits.
 *
 * Ownership: a lookup lives in its request's arena.
 * Threads:   the exchange's.
 * Errors:    NOT_FOUND also for another tenant's step, and under another session. RESOURCE_EXHAUSTED when the
 *            tenant has other gateways asked about too many steps. */
#pragma once

#include "gateway/replicas/replica_mail.h"
#include "gateway/steps/step_inquiry.h"

typedef struct StepLookup StepLookup;

/* Writes the response for the step that was found, on a job thread, or sets `next` and `answered` to have the
 * loop do so. A step that runs and that the database does not know is handed over on the loop, with a NULL
 * store. */
typedef Status (*StepLookupAnswer)(Call *call, Store *store, StepLookup *lookup, const StepRecord *step);

/* Writes the response when the question of step_lookup_ask() has ended, on a job thread. */
typedef Status (*StepLookupHeard)(Call *call, Store *store, StepLookup *lookup);

struct StepLookup {
    StepInquiry inquiry; /* first */
    Exchange *exchange;
    ReplicaMail *mail;
    StepLookupAnswer answer;
    StepLookupHeard heard;

    uint64_t began_ns; /* when an answer that waits began to wait */
    uint64_t until_ns; /* 0: the answer does not wait for the step's end */
    Timer timer;       /* for the next look, or for records that are not written in time */
    RecordFlush flush;
    AskedQuestion question;

    void (*next)(StepLookup *lookup);  /* what the loop does when the job has succeeded */
    void *answered;                    /* what an answer has prepared for its `next` */
    bool (*leave)(StepLookup *lookup); /* ends the present wait; false: it is just over. NULL: none */
    bool has_flushed;
    bool has_asked;
    bool is_gone; /* the client hung up, or the deadline passed */
};

/* Does the whole work of a `start` handler: finds the step, cancelling it when `is_cancel` and a loop runs
 * it, and answers. `home` is the exchange's loop. */
void step_look_up(
    Exchange *exchange, ReplicaMail *mail, StepLoop *home, bool is_cancel, StepLookupAnswer answer);

/* Does the same, but the answer waits for the step's end as long as the request's `Prefer: wait=N` says, at
 * most the limit step_wait_ms. Preference-Applied says how long that is. */
void step_look_up_end(Exchange *exchange, ReplicaMail *mail, StepLoop *home, StepLookupAnswer answer);

/* Finishes the exchange of a step that is known to be queued, with what the database says of its end or, when
 * that has not come after `wait_ms`, with what is in the response already. */
void step_await(
    Exchange *exchange, ReplicaMail *mail, StepLoop *home, SessionId session, StepId id, uint64_t wait_ms);

/* Reads tenant, session and id as the request names them. */
MUST_USE Status step_lookup_read(
    Call *call, const Request *request, ReplicaMail *mail, StepLoop *home, StepLookup *ret_lookup);

/* Asks the other gateways, from within an answer, more about the step (replica_mail_ask()). `heard` answers
 * instead, at once when there are none. */
MUST_USE Status step_lookup_ask(
    Call *call, Store *store, StepLookup *lookup, const char *verb, StepLookupHeard heard);

/* Answers with the step as getStep shows it; a StepLookupAnswer. */
MUST_USE Status step_answer(Call *call, Store *store, StepLookup *lookup, const StepRecord *step);
