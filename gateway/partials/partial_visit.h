/* A visit is a request about a partial run: it goes to the loop that holds the run, may wait there, and
 * comes back with the answer. "Home" is the loop of the request.
 *
 * Happy path: partial_visit_begin() at home finds the run's loop and graph → the handler reads the
 * request's tensors → partial_visit_send() → act() on the run's loop → the answer, at once or when the
 * fetches have arrived (partial_run_settle()) → home again, where it is written.
 *
 * When a client hangs up, its fetches can be asked for again by another request.
 *
 * Ownership: a visit lives in its request's arena.
 * Threads:   home's and the run's loop, one at a time; while it is there, the request's call is too. */
#pragma once

#include "gateway/partials/partial_view.h"

typedef struct PartialVisit PartialVisit;

/* Does the request's work on the run. With visit->waits set, the answer waits for the fetches. */
typedef Status (*PartialAct)(PartialVisit *visit, PartialRun *run);

/* Writes the response, at home, and ends the exchange. */
typedef void (*PartialAnswer)(PartialVisit *visit);

struct PartialVisit {
    Task task; /* first */
    PartialWaiter waiter;
    PartialLoop *home;
    StepCall *step; /* the request's, with the run's graph and plan */
    PartialLoop *asked;
    PartialKey key;
    uint64_t expires_ns;
    uint64_t number;
    PartialAct act;
    PartialAnswer answer;
    bool waits;
    bool awaits_end; /* waits for the whole run: the visit gives the last feed or asks for the last fetch */
    Status status;
    PartialView view;
};

/* Makes a visit and finds its run; fails as partial_table_look() does. */
MUST_USE Status partial_visit_begin(Exchange *exchange, PartialLoop *home, PartialVisit **ret_visit);

/* Sends the visit to the run's loop; its answer ends the exchange, perhaps at once. */
void partial_visit_send(PartialVisit *visit);

/* Makes and sends the visit of a request without a body. */
void partial_visit_simply(Exchange *exchange, PartialLoop *home, PartialAct act, PartialAnswer answer);

/* Checks the names of the feeds in the request's body, before their tensors are read. INVALID_ARGUMENT. */
MUST_USE Status partial_visit_check_feeds(const PartialVisit *visit);

/* Answers with the run; a PartialAnswer. */
void partial_visit_show(PartialVisit *visit);

/* Answers with the run and the outputs that were asked for, large ones as the client reads; a PartialAnswer.
 */
void partial_visit_answer(PartialVisit *visit);

/* Gives the feeds and asks for the fetches of the request's body; a PartialAct. */
MUST_USE Status partial_visit_continue(PartialVisit *visit, PartialRun *run);
