#include "worker/runtime/run_state.h"

#include "shared/base/memory.h"

enum {
    IDLE_MAX = 8,
    MEASURE_ALL_EVERY = 16, /* runs */
};

static size_t
reserve(size_t *size, size_t count, size_t item)
{
    const size_t offset = (*size + MEMORY_CACHE_LINE - 1) / MEMORY_CACHE_LINE * MEMORY_CACHE_LINE;
    *size = offset + count * item;
    return offset;
}

static void
run_link(Run *run)
{
    for (uint32_t i = 0; i < run->partition->node_count; i++) {
        run->works[i].run = run;
        run->works[i].node = i;
        const ScheduleNode *node = &run->partition->nodes[i];
        if (node->kind == SCHEDULE_RECV) {
            run->receives[node->index].run = run;
            run->receives[node->index].node = i;
        }
    }
}

static Run *
run_state_new(Partition *partition)
{
    size_t size = sizeof(Run);
    const size_t words = reserve(&size, partition->node_count, sizeof(uint64_t));
    const size_t next = reserve(&size, partition->node_count, sizeof(uint32_t));
    const size_t works = reserve(&size, partition->node_count, sizeof(RunWork));
    const size_t slots = reserve(&size, partition->slot_count, sizeof(Tensor));
    const size_t args = reserve(&size, partition->arg_count, sizeof(Tensor));
    const size_t receives = reserve(&size, partition->transfer_count, sizeof(RunReceive));
    char *bytes = memory_new(1, size);
    if (bytes == NULL) {
        return NULL;
    }
    Run *run = (Run *)(void *)bytes;
    run->words = (uint64_t *)(void *)(bytes + words);
    run->next = (uint32_t *)(void *)(bytes + next);
    run->works = (RunWork *)(void *)(bytes + works);
    run->slots = (Tensor *)(void *)(bytes + slots);
    run->args = (Tensor *)(void *)(bytes + args);
    run->receives = (RunReceive *)(void *)(bytes + receives);
    run->partition = partition;
    pthread_mutex_init(&run->lock, NULL);
    run_link(run);
    return run;
}

static void
run_state_free(Run *run)
{
    arena_free(run->arena);
    memory_free(run->traces);
    pthread_mutex_destroy(&run->lock);
    memory_free(run);
}

Run *
run_state_get(Partition *partition)
{
    pthread_mutex_lock(&partition->lock);
    Run *run = partition->idle;
    if (run != NULL) {
        partition->idle = run->next_idle;
        partition->idle_count--;
    }
    pthread_mutex_unlock(&partition->lock);
    if (run == NULL) {
        run = run_state_new(partition);
    }
    if (run == NULL) {
        return NULL;
    }
    const uint32_t count = __atomic_fetch_add(&partition->run_count, 1, __ATOMIC_RELAXED);
    memcpy(run->words, partition->initial, partition->node_count * sizeof *run->words);
    run->reference_count = 1;
    run->ticket_count = 1;
    run->has_failed = false;
    run->measures_all = count % MEASURE_ALL_EVERY == 0;
    run->node_count = 0;
    run->is_done = false;
    run->code = STATUS_OK;
    run->error_node = (Slice){0};
    run->message[0] = '\0';
    return run;
}

void
run_state_put(Run *run)
{
    Partition *partition = run->partition;
    memory_free(TAKE(run->traces));
    pthread_mutex_lock(&partition->lock);
    const bool is_kept = partition->idle_count < IDLE_MAX;
    if (is_kept) {
        run->next_idle = partition->idle;
        partition->idle = run;
        partition->idle_count++;
    }
    pthread_mutex_unlock(&partition->lock);
    if (!is_kept) {
        run_state_free(run);
    }
}

void
run_states_free(Partition *partition)
{
    while (partition->idle != NULL) {
        Run *run = partition->idle;
        partition->idle = run->next_idle;
        run_state_free(run);
    }
}

bool
run_state_trace(Run *run)
{
    run->traces = memory_new(run->partition->node_count + 1, sizeof *run->traces);
    return run->traces != NULL;
}
