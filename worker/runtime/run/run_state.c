#include "worker/runtime/run/run_state.h"

#include "shared/base/memory.h"
#include "worker/runtime/run/frame.h"
#include "worker/runtime/run/run_admission.h"

enum {
    IDLE_MAX = 8,
    IDLE_ITERATIONS_MAX = 32, /* of each loop in an idle state */
    MEASURE_ALL_EVERY = 16,   /* runs */
};

static void
run_state_free(Run *run)
{
    frames_trim(run, 0);
    run_forget_memory(run);
    iteration_free(run->root);
    arena_free(run->arena);
    run_trace_free(run->trace);
    pthread_mutex_destroy(&run->lock);
    pthread_mutex_destroy(&run->frames_lock);
    memory_free(run);
}

/* One block: the run, its args, the loops' stocks. */
static Run *
run_state_new(Partition *partition)
{
    Run *run = memory_new(
        1, sizeof *run + partition->arg_count * sizeof(Tensor) + partition->frame_count * sizeof(FrameStock));
    if (run == NULL) {
        return NULL;
    }
    run->args = (Tensor *)(void *)(run + 1);
    run->stocks = (FrameStock *)(void *)(run->args + partition->arg_count);
    run->partition = partition;
    list_init(&run->live_frames);
    list_init(&run->promises);
    pthread_mutex_init(&run->lock, NULL);
    pthread_mutex_init(&run->frames_lock, NULL);
    run->root = iteration_new(run, FRAME_ROOT);
    if (run->root == NULL) {
        run_state_free(run);
        return NULL;
    }
    return run;
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
    iteration_reset(run->root);
    run->reference_count = 1;
    run->ticket_count = 1;
    run->has_failed = false;
    run->measures_all = count % MEASURE_ALL_EVERY == 0;
    run->node_count = 0;
    run->loop_node_count = 0;
    run->loop_bytes = 0;
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
    memory_free(TAKE(run->late_args));
    run_trace_free(TAKE(run->trace));
    run->root->trace = NULL;
    frames_trim(run, IDLE_ITERATIONS_MAX);
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
    const TraceScope root = iteration_trace_scope(run->root);
    run->trace = run_trace_new(&root);
    run->root->trace = run->trace == NULL ? NULL : run->trace->root;
    return run->trace != NULL;
}
