/* Messages between the gateways that share a database, through PostgreSQL's NOTIFY. Whoever is asked about a
 * step that the database does not know yet, or about a trace, asks all gateways, and the one that has it
 * answers. Whoever deletes a session or a graph tells them all.
 *
 *     question FROM NUMBER get|cancel|FORM TENANT SESSION STEP     a FORM of its trace (trace_form.h)
 *     answer TO NUMBER GRAPH STARTED_US      to get and cancel
 *     answer TO NUMBER soon 0                to a form, at once; then…
 *     answer TO NUMBER SHA256 0              … when it lies among the tenant's blobs: it is too large to send
 *     answer TO NUMBER failed STATUS         … when it could not be put there
 *     deleted FROM TENANT SESSION
 *     forgotten FROM TENANT SESSION GRAPH
 *
 * The database itself tells of keys that are worth nothing any more (migrations/0015_revoked_keys.sql):
 *
 *     revoked KEY
 *     doubt keys                             of a tenant that was disabled
 *
 * and of workers that join, leave or are marked (migrations/0020_membership.sql):
 *
 *     workers changed
 *
 * Nobody answers that it does not run a step: silence for ASKED_ANSWER_MS is the answer. That is longer
 * than the record of a step that has just ended is on its way (RECORD_DELAY_MS). A gateway that is alone
 * asks nobody.
 *
 * Ownership: one for a gateway; the parts that it works with outlive it.
 * Threads:   asking and telling: job threads, which do not wait for the answer (asked_questions.h); reading
 * an answer: the loop or job thread that has the question; replica_mail_receive() the listening thread. */
#pragma once

#include "gateway/auth/auth.h"
#include "gateway/events/event_feed.h"
#include "gateway/partials/partial_run.h"
#include "gateway/replicas/asked_questions.h"
#include "gateway/steps/step_inquiry.h"
#include "gateway/traces/trace_form.h"

typedef struct ReplicaMail ReplicaMail;

typedef struct ReplicaMailOptions {
    const Replica *replica;
    const Limits *limits;
    JobPool *jobs;
    TraceCache *traces;
    Steps *steps; /* questions come in on its first loop */
    PartialTable *partials;
    Auth *auth;
    EventFeed *events;
    /* Called on the listening thread when workers have come or gone, or may have. */
    void (*workers_changed)(void *context);
    void *context;
} ReplicaMailOptions;

typedef struct GraphName {
    TenantId tenant;
    SessionId session;
    GraphId id;
} GraphName;

/* The blob in which a gateway hands a trace on. */
typedef struct TraceBlob {
    bool is_found; /* false: no gateway has the trace */
    Sha256 digest;
} TraceBlob;

/* NULL without memory. */
MUST_USE ReplicaMail *replica_mail_new(const ReplicaMailOptions *options);
void replica_mail_free(ReplicaMail *mail); /* NULL is allowed */

/* Tells whether any other gateway could hear a question now. */
MUST_USE Status replica_mail_has_others(
    Call *call, const ReplicaMail *mail, Store *store, bool *ret_has_others);

/* Tells whether asking for a step may bring an answer. It brings none for a step whose id is older than a
 * step can be, or about which there was silence a moment ago (silent_steps.h), and none without other
 * gateways. */
MUST_USE Status replica_mail_may_know(
    Call *call, ReplicaMail *mail, Store *store, const StepInquiry *inquiry, bool *ret_may_know);

/* Asks all gateways about the step that `inquiry` names: the verb is "get", "cancel" or the name of a trace's
 * form. The question must then be awaited on the inquiry's home. RESOURCE_EXHAUSTED when the tenant has as
 * many questions open as the limit step_lookups allows. */
MUST_USE Status replica_mail_ask(Call *call, ReplicaMail *mail, Store *store, const StepInquiry *inquiry,
    const char *verb, AskedQuestion *question);

/* Read what has come of a question that has ended. A step is *ret_step when true is returned; false: no other
 * gateway runs it. Of a trace, the gateway that has it has put it among the tenant's blobs; UNAVAILABLE when
 * a gateway has it and cannot hand it on. */
MUST_USE bool replica_mail_read_step(
    ReplicaMail *mail, const StepInquiry *inquiry, const AskedQuestion *question, StepRecord *ret_step);
MUST_USE Status replica_mail_read_trace(Call *call, const AskedQuestion *question, TraceBlob *ret_blob);

/* Has every gateway, this one too, end what it runs of a session that has been deleted. */
void replica_mail_session_deleted(
    Call *call, ReplicaMail *mail, Store *store, TenantId tenant, SessionId session);

/* Has every gateway, this one too, forget a graph that has been deleted. */
void replica_mail_graph_deleted(Call *call, ReplicaMail *mail, Store *store, const GraphName *graph);

/* Takes a message from any gateway, or from the database. */
void replica_mail_receive(ReplicaMail *mail, const char *text);

/* Notes that messages come from now on, after a time in which they may have been lost. */
void replica_mail_begin(ReplicaMail *mail);
