/* Steps that another gateway runs and the database does not know of yet: whoever is asked about one asks all
 * gateways, by messages through PostgreSQL, and the one that runs it answers. Whoever deletes a session or
 * a graph tells them all.
 *
 *     question FROM NUMBER get|cancel|FORM TENANT SESSION STEP     a FORM of its trace (trace_form.h)
 *     answer TO NUMBER GRAPH STARTED_US      to get and cancel
 *     answer TO NUMBER soon 0                to a form, at once; then…
 *     answer TO NUMBER SHA256 0              … when it lies among the tenant's blobs: it is too large to send
 *     answer TO NUMBER failed STATUS         … when it could not be put there
 *     deleted FROM TENANT SESSION
 *     forgotten FROM TENANT SESSION GRAPH
 *
 * Nobody answers that it does not run a step: silence for STEP_MAIL_WAIT_MS is the answer. That is longer
 * than the record of a step that has just ended is on its way (RECORD_DELAY_MS).
 *
 * Ownership: one for a gateway.
 * Threads:   step_mail_ask() job threads; step_mail_receive() the listening thread. */
#pragma once

#include "gateway/graphs/graph_forget.h"
#include "gateway/steps/running_steps.h"

enum { STEP_MAIL_WAIT_MS = 300 };

typedef struct StepMail StepMail;

MUST_USE StepMail *step_mail_new(Gateway *gateway);
void step_mail_free(StepMail *mail); /* NULL is allowed */

/* Asks for what `inquiry` names; *ret_step is the running step when *ret_is_found. Only of a step whose id is
 * younger than a step can be, and about which there was no silence a moment ago (silent_steps.h); for others
 * nobody is asked. */
MUST_USE Status step_mail_ask(Call *call, StepMail *mail, Store *store, const StepInquiry *inquiry,
    bool *ret_is_found, StepRecord *ret_step);

/* Has every gateway, this one too, cancel what it runs of a session that has been deleted. */
void step_mail_end_session(Call *call, StepMail *mail, Store *store, TenantId tenant, SessionId session);

/* Has every gateway, this one too, forget a graph that has been deleted. */
void step_mail_forget_graph(Call *call, StepMail *mail, Store *store, const GraphName *graph);

/* Asks for the trace of a step that has ended, in the inquiry's form; *ret_digest is the blob it lies in when
 * *ret_is_found. UNAVAILABLE when a gateway has it and cannot hand it on. */
MUST_USE Status step_mail_ask_trace(Call *call, StepMail *mail, Store *store, const StepInquiry *inquiry,
    bool *ret_is_found, Sha256 *ret_digest);

/* A message from any gateway. */
void step_mail_receive(StepMail *mail, const char *text);
