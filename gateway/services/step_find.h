/* A step of the tenant that asks, wherever it is known: on the loop that runs it, in the queue, in history.
 *
 * Errors: NOT_FOUND also for another tenant's, and under another session. */
#pragma once

#include "gateway/services/gateway.h"

typedef struct StepLookup StepLookup;

/* Called on a job thread for what no loop runs; ends in the response. */
typedef Status (*StepLookupStored)(Call *call, Store *store, const StepLookup *lookup);

struct StepLookup {
    StepInquiry inquiry; /* first */
    Exchange *exchange;
    StepLookupStored stored;
};

/* The whole work of a `start` handler: asks the loop that the step's id names, cancelling it when
 * `is_cancel`, and answers with the running step; else calls `stored`. */
void step_look_up(Exchange *exchange, bool is_cancel, StepLookupStored stored);

/* Tenant, session and id as the request names them. */
MUST_USE Status step_lookup_read(Call *call, const Request *request, StepLookup *ret_lookup);

/* From the database. A step that this gateway has just ended is found also while its record is under way. */
MUST_USE Status step_find_stored(Call *call, Store *store, const StepLookup *lookup, StepRecord *ret_step);
