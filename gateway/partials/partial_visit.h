/* A request about a partial run: it goes to the loop that holds the run, perhaps waits there, and comes back
 * with the answer.
 *
 * Happy path: partial_visit_begin() at home finds the run's loop and graph → the handler reads what it brings
 * → partial_visit_send() → act() there, on the run → the answer, at once or when the run has what is wanted
 * (partial_run_settle()) → home again, where it is written.
 *
 * A client that hangs up takes its wishes back: what it asked for can be asked for again.
 *
 * Ownership: a visit lives in its request's arena.
 * Threads:   at home and there, one at a time; in between it is the other loop's, with the request's call. */
#pragma once

#include "gateway/partials/partial_view.h"

typedef struct PartialVisit PartialVisit;

/* What a request wants of the run. With visit->waits set it is answered when its fetches have come. */
typedef Status (*PartialAct)(PartialVisit *visit, PartialRun *run);

/* The response, at home. */
typedef void (*PartialWrite)(PartialVisit *visit);

struct PartialVisit {
    Task task; /* first */
    PartialWaiter waiter;
    PartialLoop *home;
    StepCall *step; /* the request's; its graph and plan are the run's */
    PartialLoop *asked;
    PartialKey key;
    uint64_t expires_ns;
    uint64_t number;
    PartialAct act;
    PartialWrite write;
    bool waits;
    bool awaits_end; /* who brings the last feed, or asks for the last fetch, hears how the whole run ends */
    Status status;
    PartialView view;
};

/* NOT_FOUND and ABORTED as partial_table_look() has them. */
MUST_USE Status partial_visit_begin(Exchange *exchange, PartialLoop *home, PartialVisit **ret_visit);

/* Its answer ends the exchange, perhaps at once. */
void partial_visit_send(PartialVisit *visit);

/* Both of them, for a request without a body. */
void partial_visit_simply(Exchange *exchange, PartialLoop *home, PartialAct act, PartialWrite write);

/* Of the names in the request's body, before their tensors are read. INVALID_ARGUMENT. */
MUST_USE Status partial_visit_check_feeds(const PartialVisit *visit);

/* The run as the whole response, "outputs" among its members when there are some. */
void partial_visit_write(PartialVisit *visit);

/* Gives, and asks for, what the request's body says. */
MUST_USE Status partial_visit_continue(PartialVisit *visit, PartialRun *run);
