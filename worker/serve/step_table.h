/* The steps that a worker knows: of each the highest attempt seen, for each of its slots here the rendezvous
 * of that attempt, and for some time after its end a tombstone that refuses late messages. A worker may run
 * several slots of one step.
 *
 * A push may arrive before its run. It makes the slot's entry with its push token, and the run must then show
 * the same token. A step that no run claims within a minute is dropped. A cleanup may arrive before all else:
 * its tombstone keeps out what was on its way.
 *
 * Ownership: entries are refcounted; the table holds one reference until the attempt is over.
 * Threads:   any; one lock, held for the look-up only.
 * Errors:    ABORTED for an attempt below the highest seen, or after the end of the step;
 * PERMISSION_DENIED for a wrong push token; RESOURCE_EXHAUSTED when the table is full. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/list.h"
#include "shared/base/slice.h"
#include "shared/wire/messages.h"
#include "worker/runtime/run/rendezvous.h"
#include "worker/transport/transport.h"

enum { STEP_COUNT_MAX = 65536, TOMBSTONE_COUNT_MAX = 16384 };

/* One slot of one attempt of a step. */
typedef struct StepEntry {
    int32_t reference_count; /* atomic */
    int64_t slot;
    char push_token[PUSH_TOKEN_TEXT_SIZE];
    Rendezvous *rendezvous;
    TransportStep *transport; /* atomic; NULL until the run sets it */
    uint64_t pushed_size;     /* atomic: bytes of tensors that peers have pushed */
    struct StepEntry *next;   /* among those to be aborted (step_table.c) */
} StepEntry;

typedef struct StepTable StepTable;

MUST_USE StepTable *step_table_new(void);
void step_table_free(StepTable *table); /* NULL is allowed */

typedef struct StepClaim {
    Slice step;
    int64_t slot;
    int64_t attempt;
    Slice push_token;
    uint64_t deadline_ns; /* deadline of the step; 0: not known (a push) */
    uint64_t now_ns;
} StepClaim;

/* Returns a new reference to the entry of this attempt, made if it does not exist. An attempt above the
 * known one aborts and replaces its entry. */
MUST_USE Status step_table_enter(Call *call, StepTable *table, const StepClaim *claim, StepEntry **ret_entry);

/* Returns a new reference to the entry of exactly this attempt and token, or NULL. */
StepEntry *step_table_find(StepTable *table, const StepClaim *claim);

/* Gives the entry the transport of its run, whose reference moves to the entry. False when the slot has
 * been run already: the reference stays with the caller. */
MUST_USE bool step_entry_attach(StepEntry *entry, TransportStep *transport);

/* Returns the address of a peer that the entry's run could not reach, or NULL. */
const char *step_entry_lost_peer(const StepEntry *entry);

/* Those of the entry's transport (transport.h); an entry without one has sent nothing. */
MUST_USE bool step_entry_settle(StepEntry *entry, TransportWait *wait);
void step_entry_forget(StepEntry *entry);
Failure step_entry_failure(StepEntry *entry);
void step_entry_end_peers(StepEntry *entry);

/* Ends a step, known or not, up to this attempt: aborts the rendezvous of its slots and leaves a tombstone,
 * until 60 s after the deadline or until TOMBSTONE_COUNT_MAX younger ones exist. Idempotent. */
void step_table_cleanup(StepTable *table, Slice id, int64_t attempt);

/* Ends every step (CleanupAll). */
void step_table_clear(StepTable *table);
void step_entry_unref(StepEntry *entry);        /* NULL is allowed */
size_t step_table_count(StepTable *table);      /* steps, tombstones included */
size_t step_table_live_count(StepTable *table); /* steps without tombstones */

/* Drops expired steps. Does its work at most once in five seconds, however often it is called. */
void step_table_sweep(StepTable *table, uint64_t now_ns);

/* Returns the bytes of tensors, in all steps, that wait for their receiver. */
uint64_t step_table_parked_bytes(StepTable *table);
