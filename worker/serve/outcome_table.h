/* What has become of steps that are to be run once, since they change the variables of a session: of each
 * slot of a step here. When the gateway of such a step is gone, another one sends it again, and gets the end
 * and the outputs of the run that was made, or is still under way. Like the variables, outcomes end with the
 * worker.
 *
 * A step of several slots is asked about first: where its slots run is remembered with each of them. Of a
 * slot that has not begun the question closes the step to earlier holders, whose messages may still be on
 * their way.
 *
 * OUTCOME_COUNT_MAX outcomes are remembered, and OUTCOME_BYTES_MAX of outputs; the oldest are forgotten
 * first. An outcome with more outputs than OUTCOME_SIZE_MAX is remembered without them.
 *
 * Ownership: the table owns what is kept in it; outputs are shared by references.
 * Threads:   any; one lock. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/failure.h"
#include "shared/base/slice.h"
#include "shared/tensor/tensor.h"
#include "shared/wire/messages.h"

enum {
    OUTCOME_COUNT_MAX = 32768,
    OUTCOME_SIZE_MAX = 1 << 20,
    OUTCOME_BYTES_MAX = 64 << 20,
    OUTCOME_KEY_SIZE = 176,
};

typedef struct OutcomeTable OutcomeTable;

/* An output of a run. */
typedef struct RunOutput {
    struct RunOutput *next;
    uint32_t index;
    bool is_dead;
    Tensor tensor;
} RunOutput;
void run_outputs_free(RunOutput *outputs); /* NULL is allowed */

/* The end of a run. */
typedef struct RunEnd {
    Failure failure; /* STATUS_OK: none */
    WireStats stats; /* without its trace */
    RunOutput *outputs;
    bool lacks_outputs; /* they were too many to be remembered */
} RunEnd;

/* The name of one slot of a tenant's step. */
typedef struct OutcomeKey {
    char text[OUTCOME_KEY_SIZE];
} OutcomeKey;

/* False: the step's id is too long for one of ours. */
MUST_USE bool outcome_key(Slice tenant, Slice step, int64_t slot, OutcomeKey *ret_key);

typedef struct OutcomeClaim {
    OutcomeKey key;
    int64_t holder;    /* number of the gateway that sends it; it grows with each that takes the step up */
    uint64_t began_ns; /* monotonic: when it was first to be run; 0: it is the first time */
    Slice binding;     /* a WireBinding, which whoever asks is told; empty: the step has no other slots */
} OutcomeClaim;

typedef enum OutcomeAnswer {
    OUTCOME_FRESH,     /* nobody has run it: the caller does, then outcome_table_end() or _withdraw() */
    OUTCOME_RUNNING,   /* ask again later */
    OUTCOME_ENDED,     /* *ret_end tells how */
    OUTCOME_CLOSED,    /* a later holder has asked, and was told that it has not begun */
    OUTCOME_FORGOTTEN, /* it may have been run since `began_ns`, and have been forgotten */
    OUTCOME_NO_MEMORY,
} OutcomeAnswer;

/* NULL without memory. */
MUST_USE OutcomeTable *outcome_table_new(void);
void outcome_table_free(OutcomeTable *table); /* NULL is allowed */

/* Claims a slot that is fresh, or tells what has become of it. The outputs of *ret_end are the caller's. */
OutcomeAnswer outcome_table_claim(OutcomeTable *table, const OutcomeClaim *claim, RunEnd *ret_end);

/* Asks for a slot, and writes its binding when it is RUNNING or has ENDED. FRESH: it is closed from now on to
 * holders before the claim's. */
OutcomeAnswer outcome_table_ask(
    OutcomeTable *table, const OutcomeClaim *claim, uint64_t now_ns, Buffer *binding);

/* Keeps the end of a claimed slot, and takes the outputs. */
void outcome_table_end(OutcomeTable *table, const OutcomeKey *key, uint64_t now_ns, const RunEnd *end);

/* Gives a claim up: the slot has not begun. */
void outcome_table_withdraw(OutcomeTable *table, const OutcomeKey *key);
