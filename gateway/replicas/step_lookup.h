/* Looks a step up wherever it is known: on the loop that runs it, in the queue, in history, at another
 * gateway; and waits for its end.
 *
 * Happy path: the loop that the id names is asked (step_inquiry.h) → when it does not run the step, a job
 * thread reads the database, then asks the other gateways (replica_mail.h) → the answer. A look-up that
 * waits for the end starts again after a pause that grows.
 *
 * Ownership: a lookup lives in its request's arena.
 * Threads:   the exchange's.
 * Errors:    NOT_FOUND also for another tenant's step, and under another session. */
#pragma once

#include "gateway/replicas/replica_mail.h"
#include "gateway/steps/step_inquiry.h"

typedef struct StepLookup StepLookup;

/* Answers from the database, on a job thread, for a step that no loop runs. */
typedef Status (*StepLookupStored)(Call *call, Store *store, const StepLookup *lookup);

struct StepLookup {
    StepInquiry inquiry; /* first */
    Exchange *exchange;
    ReplicaMail *mail;
    StepLookupStored stored;

    uint64_t began_ns; /* when an answer that waits began to wait */
    uint64_t until_ns; /* 0: the answer does not wait for the step's end */
    Timer again;
    bool goes_on; /* the last look found no end: another follows */
    bool is_gone; /* the client hung up, or the deadline passed */
};

/* Does the whole work of a `start` handler: asks the loop that the step's id names, cancelling the step when
 * `is_cancel`, and answers with the running step; else calls `stored`. `home` is the exchange's loop. */
void step_look_up(
    Exchange *exchange, ReplicaMail *mail, StepLoop *home, bool is_cancel, StepLookupStored stored);

/* Does the same, but the answer waits for the step's end as long as the request's `Prefer: wait=N` says, at
 * most the limit step_wait_ms. Preference-Applied says how long that is. */
void step_look_up_end(Exchange *exchange, ReplicaMail *mail, StepLoop *home, StepLookupStored stored);

/* Finishes the exchange of a step that is known to be queued, with what the database says of its end or, when
 * that has not come after `wait_ms`, with what is in the response already. */
void step_await(
    Exchange *exchange, ReplicaMail *mail, StepLoop *home, SessionId session, StepId id, uint64_t wait_ms);

/* Reads tenant, session and id as the request names them. */
MUST_USE Status step_lookup_read(
    Call *call, const Request *request, ReplicaMail *mail, StepLoop *home, StepLookup *ret_lookup);

/* Reads the step from the database, also when this gateway has just ended it and its record is under way; a
 * step that another gateway runs comes from that one, which cancels it when that is what was asked. */
MUST_USE Status step_lookup_stored(Call *call, Store *store, const StepLookup *lookup, StepRecord *ret_step);

/* Answers with the step as getStep shows it; a StepLookupStored. */
MUST_USE Status step_answer_stored(Call *call, Store *store, const StepLookup *lookup);
