/* A step of the tenant that asks, wherever it is known: on the loop that runs it, in the queue, in history;
 * and waiting for its end.
 *
 * Errors: NOT_FOUND also for another tenant's, and under another session. */
#pragma once

#include "gateway/app/gateway.h"

typedef struct StepLookup StepLookup;

/* Called on a job thread for what no loop runs; ends in the response. */
typedef Status (*StepLookupStored)(Call *call, Store *store, const StepLookup *lookup);

struct StepLookup {
    StepInquiry inquiry; /* first */
    Exchange *exchange;
    StepLookupStored stored;

    uint64_t began_ns; /* of a waiting answer */
    uint64_t until_ns; /* 0: the answer does not wait for the step's end */
    Timer again;
    bool goes_on; /* the last look has answered nothing */
    bool is_gone; /* the client, or its time */
};

/* The whole work of a `start` handler: asks the loop that the step's id names, cancelling it when
 * `is_cancel`, and answers with the running step; else calls `stored`. */
void step_look_up(Exchange *exchange, bool is_cancel, StepLookupStored stored);

/* The same, but that the answer waits for the step's end as long as the request's `Prefer: wait=N` says, at
 * most the limit step_wait_ms. Preference-Applied says how long that is. */
void step_look_up_end(Exchange *exchange, StepLookupStored stored);

/* The milliseconds of `Prefer: wait=N`, within the limit; 0: none were asked for. */
uint64_t step_wait_read(const Request *request);

/* For a step that is known to be queued: finishes the exchange with what `stored` says of its end or, when
 * that has not come after `wait_ms`, with what is in the response already. */
void step_await(Exchange *exchange, SessionId session, StepId id, uint64_t wait_ms);

/* Tenant, session and id as the request names them. */
MUST_USE Status step_lookup_read(Call *call, const Request *request, StepLookup *ret_lookup);

/* From the database, also when this gateway has just ended the step and its record is under way; a step that
 * another gateway runs from that one (step_mail.h), which cancels it when that is what was asked. */
MUST_USE Status step_find_stored(Call *call, Store *store, const StepLookup *lookup, StepRecord *ret_step);

/* A StepLookupStored: the step as getStep shows it. */
MUST_USE Status step_answer_stored(Call *call, Store *store, const StepLookup *lookup);
