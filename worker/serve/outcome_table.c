#include "worker/serve/outcome_table.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { KEY_SIZE = 160 };

typedef struct Outcome {
    ListLink link; /* in OutcomeTable.ended, when it has ended */
    char key[KEY_SIZE];
    bool has_ended;
    uint64_t ended_ns;
    size_t size; /* bytes of outputs */
    RunEnd end;
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

/* Makes the key of a tenant's step; empty when it is too long, and then nothing is remembered of it. */
static Slice
write_key(Slice tenant, Slice step, char ret_key[KEY_SIZE])
{
    int size = snprintf(ret_key, KEY_SIZE, "%.*s/%.*s", SLICE_PRINT(tenant), SLICE_PRINT(step));
    return size > 0 && size < KEY_SIZE ? slice_of(ret_key, (size_t)size) : (Slice){0};
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
    (void)map_remove(table->outcomes, slice_from_string(outcome->key));
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

static OutcomeAnswer
tell_outcome(const Outcome *outcome, RunEnd *ret_end)
{
    RunEnd end = outcome->end;
    if (!outcome->has_ended) {
        return OUTCOME_RUNNING;
    }
    if (!copy_outputs(outcome->end.outputs, &end.outputs)) {
        return OUTCOME_NO_MEMORY;
    }
    *ret_end = end;
    return OUTCOME_ENDED;
}

/* The lock is held. */
static OutcomeAnswer
claim_fresh(OutcomeTable *table, Slice key, uint64_t began_ns)
{
    if (began_ns != 0 && table->forgotten_ns >= began_ns) {
        return OUTCOME_FORGOTTEN;
    }
    Outcome *outcome = memory_new(1, sizeof *outcome);
    if (outcome == NULL || !map_put(table->outcomes, key, outcome)) {
        memory_free(outcome);
        return OUTCOME_NO_MEMORY;
    }
    list_init(&outcome->link);
    (void)snprintf(outcome->key, sizeof outcome->key, "%.*s", SLICE_PRINT(key));
    forget_oldest(table);
    return OUTCOME_FRESH;
}

OutcomeAnswer
outcome_table_claim(OutcomeTable *table, Slice tenant, Slice step, uint64_t began_ns, RunEnd *ret_end)
{
    char text[KEY_SIZE];
    Slice key = write_key(tenant, step, text);
    if (key.size == 0) {
        return OUTCOME_FORGOTTEN;
    }
    mutex_lock(&table->lock);
    const Outcome *known = map_get(table->outcomes, key);
    OutcomeAnswer answer = known == NULL ? claim_fresh(table, key, began_ns) : tell_outcome(known, ret_end);
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
outcome_table_end(OutcomeTable *table, Slice tenant, Slice step, uint64_t now_ns, const RunEnd *end)
{
    char text[KEY_SIZE];
    size_t size = measure_outputs(end->outputs);
    RunOutput *dropped = size > OUTCOME_SIZE_MAX ? end->outputs : NULL;
    mutex_lock(&table->lock);
    Outcome *outcome = map_get(table->outcomes, write_key(tenant, step, text));
    assert(outcome != NULL && !outcome->has_ended);
    outcome->end = *end;
    outcome->end.stats.trace = (Slice){0};
    outcome->end.outputs = dropped == NULL ? end->outputs : NULL;
    outcome->end.lacks_outputs = dropped != NULL;
    outcome->size = dropped == NULL ? size : 0;
    outcome->ended_ns = now_ns;
    outcome->has_ended = true;
    table->size += outcome->size;
    list_append(&table->ended, &outcome->link);
    forget_oldest(table);
    mutex_unlock(&table->lock);
    run_outputs_free(dropped);
}

void
outcome_table_withdraw(OutcomeTable *table, Slice tenant, Slice step)
{
    char text[KEY_SIZE];
    mutex_lock(&table->lock);
    Outcome *outcome = map_remove(table->outcomes, write_key(tenant, step, text));
    assert(outcome != NULL && !outcome->has_ended);
    mutex_unlock(&table->lock);
    free_outcome(outcome);
}
