#include "worker/serve/outcome_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

typedef enum OutcomeState { RUNNING, ENDED, CLOSED } OutcomeState;

typedef struct Outcome {
    ListLink link; /* in OutcomeTable.ended, unless it runs */
    OutcomeKey key;
    OutcomeState state;
    int64_t holder;    /* CLOSED to those before this one; 0: nobody has asked */
    uint64_t ended_ns; /* or closed */
    size_t size;       /* bytes of outputs and binding; 0 while it runs */
    RunEnd end;
    char *binding; /* text; NULL: none */
    size_t binding_size;
} Outcome;

struct OutcomeTable {
    Mutex lock; /* guards the members below */
    Map *outcomes;
    ListLink ended; /* the oldest first */
    size_t size;
    uint64_t forgotten_ns; /* the latest end of an outcome that was forgotten; 0: none was */
};

void
run_outputs_free(RunOutput *outputs)
{
    while (outputs != NULL) {
        RunOutput *next = outputs->next;
        tensor_unref(&outputs->tensor);
        memory_free(outputs);
        outputs = next;
    }
}

bool
outcome_key(Slice tenant, Slice step, int64_t slot, OutcomeKey *ret_key)
{
    int size = snprintf(ret_key->text, sizeof ret_key->text, "%.*s/%.*s/%lld", SLICE_PRINT(tenant),
        SLICE_PRINT(step), (long long)slot);
    return size > 0 && size < (int)sizeof ret_key->text;
}

OutcomeTable *
outcome_table_new(void)
{
    OutcomeTable *table = memory_new(1, sizeof *table);
    Map *outcomes = map_new();
    if (table == NULL || outcomes == NULL) {
        memory_free(table);
        map_free(outcomes);
        return NULL;
    }
    table->outcomes = outcomes;
    list_init(&table->ended);
    mutex_init(&table->lock);
    return table;
}

static void
free_outcome(Outcome *outcome)
{
    run_outputs_free(outcome->end.outputs);
    memory_free(outcome->binding);
    memory_free(outcome);
}

void
outcome_table_free(OutcomeTable *table)
{
    if (table == NULL) {
        return;
    }
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(table->outcomes, &cursor); entry != NULL;
         entry = map_next(table->outcomes, &cursor)) {
        free_outcome(entry->value);
    }
    map_free(table->outcomes);
    mutex_done(&table->lock);
    memory_free(table);
}

/* The lock is held. */
static void
forget_outcome(OutcomeTable *table, Outcome *outcome)
{
    list_remove(&outcome->link);
    (void)map_remove(table->outcomes, slice_from_string(outcome->key.text));
    table->size -= outcome->size;
    table->forgotten_ns = outcome->ended_ns > table->forgotten_ns ? outcome->ended_ns : table->forgotten_ns;
    free_outcome(outcome);
}

/* Forgets the oldest outcomes until what is left is within the bounds. The lock is held. */
static void
forget_oldest(OutcomeTable *table)
{
    LIST_EACH(&table->ended, link)
    {
        if (map_count(table->outcomes) <= OUTCOME_COUNT_MAX && table->size <= OUTCOME_BYTES_MAX) {
            return;
        }
        forget_outcome(table, LIST_ITEM(link, Outcome, link));
    }
}

/* Copies outputs by references; false without memory. */
static bool
copy_outputs(const RunOutput *outputs, RunOutput **ret_copy)
{
    RunOutput *copy = NULL;
    RunOutput **last = &copy;
    for (const RunOutput *output = outputs; output != NULL; output = output->next) {
        RunOutput *next = memory_new(1, sizeof *next);
        if (next == NULL) {
            run_outputs_free(copy);
            return false;
        }
        next->index = output->index;
        next->is_dead = output->is_dead;
        if (!output->is_dead) {
            next->tensor = tensor_ref(&output->tensor);
        }
        *last = next;
        last = &next->next;
    }
    *ret_copy = copy;
    return true;
}

static Outcome *
find_outcome(const OutcomeTable *table, const OutcomeKey *key)
{
    return map_get(table->outcomes, slice_from_string(key->text));
}

/* Adds an outcome that runs; NULL without memory. The lock is held. */
static Outcome *
add_outcome(OutcomeTable *table, const OutcomeKey *key)
{
    Outcome *outcome = memory_new(1, sizeof *outcome);
    if (outcome == NULL || !map_put(table->outcomes, slice_from_string(key->text), outcome)) {
        memory_free(outcome);
        return NULL;
    }
    list_init(&outcome->link);
    outcome->key = *key;
    forget_oldest(table);
    return outcome;
}

/* Copies the binding of a claim; false without memory. */
static bool
keep_binding(Outcome *outcome, Slice binding)
{
    outcome->binding = binding.size == 0 ? NULL : memory_new(binding.size, 1);
    if (outcome->binding != NULL) {
        memcpy(outcome->binding, binding.data, binding.size);
        outcome->binding_size = binding.size;
    }
    return outcome->binding != NULL || binding.size == 0;
}

static bool
may_be_forgotten(const OutcomeTable *table, uint64_t began_ns)
{
    return began_ns != 0 && table->forgotten_ns >= began_ns;
}

/* Lets the slot be run for the first time. The lock is held. */
static OutcomeAnswer
claim_fresh(OutcomeTable *table, const OutcomeClaim *claim)
{
    if (may_be_forgotten(table, claim->began_ns)) {
        return OUTCOME_FORGOTTEN;
    }
    Outcome *outcome = add_outcome(table, &claim->key);
    if (outcome != NULL && !keep_binding(outcome, claim->binding)) {
        (void)map_remove(table->outcomes, slice_from_string(claim->key.text));
        free_outcome(TAKE(outcome));
    }
    return outcome == NULL ? OUTCOME_NO_MEMORY : OUTCOME_FRESH;
}

/* Lets a slot be run that somebody has asked for. The lock is held. */
static OutcomeAnswer
claim_closed(Outcome *outcome, const OutcomeClaim *claim)
{
    if (claim->holder < outcome->holder) {
        return OUTCOME_CLOSED;
    }
    if (!keep_binding(outcome, claim->binding)) {
        return OUTCOME_NO_MEMORY;
    }
    outcome->state = RUNNING;
    list_remove(&outcome->link);
    return OUTCOME_FRESH;
}

static OutcomeAnswer
tell_outcome(Outcome *outcome, const OutcomeClaim *claim, RunEnd *ret_end)
{
    RunEnd end = outcome->end;
    if (outcome->state != ENDED) {
        return outcome->state == CLOSED ? claim_closed(outcome, claim) : OUTCOME_RUNNING;
    }
    if (!copy_outputs(outcome->end.outputs, &end.outputs)) {
        return OUTCOME_NO_MEMORY;
    }
    *ret_end = end;
    return OUTCOME_ENDED;
}

OutcomeAnswer
outcome_table_claim(OutcomeTable *table, const OutcomeClaim *claim, RunEnd *ret_end)
{
    mutex_lock(&table->lock);
    Outcome *known = find_outcome(table, &claim->key);
    OutcomeAnswer answer = known == NULL ? claim_fresh(table, claim) : tell_outcome(known, claim, ret_end);
    mutex_unlock(&table->lock);
    return answer;
}

/* Puts an outcome that runs no more behind those that may be forgotten. The lock is held. */
static void
note_end(OutcomeTable *table, Outcome *outcome, OutcomeState state, uint64_t now_ns)
{
    outcome->state = state;
    outcome->ended_ns = now_ns;
    list_append(&table->ended, &outcome->link);
    forget_oldest(table);
}

/* Closes a slot that nobody has begun to holders before the claim's. The lock is held. */
static OutcomeAnswer
close_slot(OutcomeTable *table, Outcome *known, const OutcomeClaim *claim, uint64_t now_ns)
{
    if (known != NULL) {
        known->holder = claim->holder > known->holder ? claim->holder : known->holder;
        return OUTCOME_FRESH;
    }
    if (may_be_forgotten(table, claim->began_ns)) {
        return OUTCOME_FORGOTTEN;
    }
    Outcome *outcome = add_outcome(table, &claim->key);
    if (outcome == NULL) {
        return OUTCOME_NO_MEMORY;
    }
    outcome->holder = claim->holder;
    note_end(table, outcome, CLOSED, now_ns);
    return OUTCOME_FRESH;
}

OutcomeAnswer
outcome_table_ask(OutcomeTable *table, const OutcomeClaim *claim, uint64_t now_ns, Buffer *binding)
{
    mutex_lock(&table->lock);
    Outcome *known = find_outcome(table, &claim->key);
    OutcomeAnswer answer = OUTCOME_FRESH;
    if (known == NULL || known->state == CLOSED) {
        answer = close_slot(table, known, claim, now_ns);
    } else {
        buffer_append_slice(binding, slice_of(known->binding, known->binding_size));
        answer = known->state == RUNNING ? OUTCOME_RUNNING : OUTCOME_ENDED;
    }
    mutex_unlock(&table->lock);
    return answer;
}

static size_t
measure_outputs(const RunOutput *outputs)
{
    size_t size = 0;
    for (const RunOutput *output = outputs; output != NULL; output = output->next) {
        size += sizeof *output + (output->is_dead ? 0 : tensor_byte_size(&output->tensor));
    }
    return size;
}

void
outcome_table_end(OutcomeTable *table, const OutcomeKey *key, uint64_t now_ns, const RunEnd *end)
{
    size_t size = measure_outputs(end->outputs);
    RunOutput *dropped = size > OUTCOME_SIZE_MAX ? end->outputs : NULL;
    mutex_lock(&table->lock);
    Outcome *outcome = find_outcome(table, key);
    assert(outcome != NULL && outcome->state == RUNNING);
    outcome->end = *end;
    outcome->end.stats.trace = (Slice){0};
    outcome->end.outputs = dropped == NULL ? end->outputs : NULL;
    outcome->end.lacks_outputs = dropped != NULL;
    outcome->size = (dropped == NULL ? size : 0) + outcome->binding_size;
    table->size += outcome->size;
    note_end(table, outcome, ENDED, now_ns);
    mutex_unlock(&table->lock);
    run_outputs_free(dropped);
}

void
outcome_table_withdraw(OutcomeTable *table, const OutcomeKey *key)
{
    mutex_lock(&table->lock);
    Outcome *outcome = find_outcome(table, key);
    assert(outcome != NULL && outcome->state == RUNNING);
    if (outcome->holder > 0) {
        memory_free(TAKE(outcome->binding));
        outcome->binding_size = 0;
        note_end(table, outcome, CLOSED, outcome->ended_ns);
    } else {
        (void)map_remove(table->outcomes, slice_from_string(key->text));
        free_outcome(outcome);
    }
    mutex_unlock(&table->lock);
}
