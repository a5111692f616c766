/* What has become of steps that are to be run once, since they change the variables of a session. When the
 * gateway of such a step is gone, another one sends it again, and gets the end and the outputs of the run
 * that was made, or is still under way. Like the variables, outcomes end with the worker.
 *
 * OUTCOME_COUNT_MAX outcomes are remembered, and OUTCOME_BYTES_MAX of outputs; the oldest are forgotten
 * first. An outcome with more outputs than OUTCOME_SIZE_MAX is remembered without them.
 *
 * Ownership: the table owns what is kept in it; outputs are shared by references.
 * Threads:   any; one lock. */
#pragma once

#include "shared/base/failure.h"
#include "shared/base/slice.h"
#include "shared/tensor/tensor.h"
#include "shared/wire/messages.h"

enum { OUTCOME_COUNT_MAX = 32768, OUTCOME_SIZE_MAX = 1 << 20, OUTCOME_BYTES_MAX = 64 << 20 };

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

typedef enum OutcomeAnswer {
    OUTCOME_FRESH,     /* nobody has run it: the caller does, then outcome_table_end() or _withdraw() */
    OUTCOME_RUNNING,   /* ask again later */
    OUTCOME_ENDED,     /* *ret_end tells how */
    OUTCOME_FORGOTTEN, /* it may have been run since `began_ns`, and have been forgotten */
    OUTCOME_NO_MEMORY,
} OutcomeAnswer;

/* NULL without memory. */
MUST_USE OutcomeTable *outcome_table_new(void);
void outcome_table_free(OutcomeTable *table); /* NULL is allowed */

/* Asks for a step, and claims one that is fresh. `began_ns` (monotonic) is when it was first to be run; 0: it
 * is the first time. The outputs of *ret_end are the caller's. */
OutcomeAnswer outcome_table_claim(
    OutcomeTable *table, Slice tenant, Slice step, uint64_t began_ns, RunEnd *ret_end);

/* Keeps the end of a claimed step, and takes the outputs. */
void outcome_table_end(OutcomeTable *table, Slice tenant, Slice step, uint64_t now_ns, const RunEnd *end);

/* Gives a claim up: the step has not begun. */
void outcome_table_withdraw(OutcomeTable *table, Slice tenant, Slice step);
