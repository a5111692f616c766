/* The steps that a worker knows: for each (step, slot) the highest attempt it has seen, that attempt's
 * rendezvous, and, for a while after the end, a tombstone that keeps late messages out. One worker may run
 * several slots of a step.
 *
 * A push may come before its run: it opens the entry under the push token it shows, and the run that comes
 * later must name the same token. What no run claims within a minute is dropped.
 *
 * Ownership: entries are refcounted; the table holds one reference until cleanup or expiry.
 * Threads:   any; one lock, held for the look-up alone.
 * Errors:    ABORTED for an attempt below the highest seen, or after the end of the step; PERMISSION_DENIED
 * for a wrong push token; RESOURCE_EXHAUSTED when the table is full. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/list.h"
#include "shared/base/slice.h"
#include "shared/wire/messages.h"
#include "worker/runtime/run/rendezvous.h"
#include "worker/transport/transport.h"

enum { STEP_KEY_SIZE = 64, STEP_COUNT_MAX = 65536, TOMBSTONE_COUNT_MAX = 16384 };

typedef struct StepEntry {
    int32_t reference_count; /* atomic */
    char key[STEP_KEY_SIZE]; /* "stp_…/slot" */
    int64_t attempt;
    char push_token[PUSH_TOKEN_TEXT_SIZE];
    Rendezvous *rendezvous;
    TransportStep *transport; /* atomic; set by the run, before anything is sent */
    uint64_t pushed_size;     /* atomic; bytes of tensors that peers have pushed */
    uint64_t expires_ns;      /* when the entry, living or dead, may be dropped */
    bool is_over;             /* a tombstone */
    ListLink over;            /* the table's, while is_over */
    struct StepEntry *reaped; /* the table's */
} StepEntry;

typedef struct StepTable StepTable;

MUST_USE StepTable *step_table_new(void);
void step_table_free(StepTable *table); /* NULL is allowed */

typedef struct StepClaim {
    Slice step;
    int64_t slot;
    int64_t attempt;
    Slice push_token;
    uint64_t deadline_ns; /* the step's; 0: not known (a push) */
    uint64_t now_ns;
} StepClaim;

/* The entry of this attempt, made when new; a new reference. A higher attempt than the known one aborts and
 * replaces it. */
MUST_USE Status step_table_enter(Call *call, StepTable *table, const StepClaim *claim, StepEntry **ret_entry);

/* The entry of exactly this attempt and token, or NULL; a new reference. */
StepEntry *step_table_find(StepTable *table, const StepClaim *claim);

/* The run has come: its way to the peers, whose reference moves to the entry. False when the slot has been
 * run already. */
MUST_USE bool step_entry_attach(StepEntry *entry, TransportStep *transport);

/* The step is over in all its slots: aborts and leaves tombstones until 60 s after the deadline, or until
 * TOMBSTONE_COUNT_MAX younger ones have come. Idempotent. */
void step_table_cleanup(StepTable *table, Slice step, int64_t attempt);

/* Ends every step, as CleanupAll asks. */
void step_table_clear(StepTable *table);
void step_entry_unref(StepEntry *entry); /* NULL is allowed */
size_t step_table_count(StepTable *table);
size_t step_table_live_count(StepTable *table); /* without tombstones */

/* Drops what has expired; to be called now and then, does its work every five seconds. */
void step_table_sweep(StepTable *table, uint64_t now_ns);

/* Bytes of tensors, of all steps, that came before they were wanted. */
uint64_t step_table_parked_bytes(StepTable *table);
