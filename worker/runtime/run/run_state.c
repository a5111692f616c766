#include "worker/runtime/run/run_state.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum {
    IDLE_MAX = 8,
    IDLE_ITERATIONS_MAX = 32, /* kept for each loop by an idle state */
    MEASURE_ALL_EVERY = 16,   /* one run in so many also measures nodes that take less than 1 µs */
};

Iteration *
run_take_iteration(Run *run, uint32_t frame)
{
    assert(frame < run->partition->frame_count);
    FrameStock *stock = &run->stocks[frame];
    Iteration *iteration = stock->iterations;
    if (iteration == NULL) {
        iteration = iteration_new(run, run->partition, frame);
    } else {
        stock->iterations = iteration->newer;
    }
    if (iteration != NULL) {
        iteration_reset(iteration);
        run->loop_bytes += iteration->size;
    }
    return iteration;
}

void
run_put_iteration(Run *run, Iteration *iteration)
{
    FrameStock *stock = &run->stocks[iteration->schedule->number];
    run->loop_bytes -= iteration->size;
    iteration_clear(iteration);
    iteration->child_count = 0;
    memset(iteration->children, 0, iteration->schedule->child_count * sizeof(Frame *));
    iteration->newer = stock->iterations;
    stock->iterations = iteration;
}

Frame *
run_take_frame(Run *run, uint32_t frame)
{
    assert(frame < run->partition->frame_count);
    FrameStock *stock = &run->stocks[frame];
    Frame *taken = stock->frames;
    if (taken == NULL) {
        return frame_new(&run->partition->frames[frame]);
    }
    stock->frames = taken->next_idle;
    return taken;
}

void
run_put_frame(Run *run, Frame *frame)
{
    const ScheduleFrame *schedule = frame->schedule;
    FrameStock *stock = &run->stocks[schedule->number];
    for (uint32_t i = 0; i < schedule->next_count + schedule->constant_count; i++) {
        tensor_unref(&frame->waiting[i]); /* the constants follow in the same block */
    }
    memset(frame->has_constant, 0, (schedule->constant_count + schedule->exit_count) * sizeof(bool));
    frame->waiting_count = 0;
    frame->live_count = 0;
    frame->oldest = NULL;
    frame->newest = NULL;
    list_remove(&frame->live);
    frame->next_idle = stock->frames;
    stock->frames = frame;
}

void
run_clear_frames(Run *run)
{
    LIST_EACH(&run->live_frames, link)
    {
        Frame *frame = LIST_ITEM(link, Frame, live);
        for (Iteration *at = frame->oldest, *newer = NULL; at != NULL; at = newer) {
            newer = at->newer;
            run_put_iteration(run, at);
        }
        frame->parent->children[frame->schedule->child_index] = NULL;
        frame->parent->child_count = 0;
        run_put_frame(run, frame);
    }
}

/* Frees idle iterations and frames, but keeps this many of each for each loop. */
static void
trim_stocks(Run *run, uint32_t kept)
{
    for (uint32_t i = 1; i < run->partition->frame_count; i++) {
        Iteration **iterations = &run->stocks[i].iterations;
        Frame **frames = &run->stocks[i].frames;
        for (uint32_t n = 0; n < kept && *iterations != NULL; n++) {
            iterations = &(*iterations)->newer;
        }
        for (uint32_t n = 0; n < kept && *frames != NULL; n++) {
            frames = &(*frames)->next_idle;
        }
        for (Iteration *rest = TAKE(*iterations), *newer = NULL; rest != NULL; rest = newer) {
            newer = rest->newer;
            iteration_free(rest);
        }
        for (Frame *rest = TAKE(*frames), *next = NULL; rest != NULL; rest = next) {
            next = rest->next_idle;
            memory_free(rest);
        }
    }
}

void
run_state_drop_plan(Run *run)
{
    run_memory_unref(TAKE(run->memory));
    memory_plan_unref(TAKE(run->plan));
}

static void
run_state_free(Run *run)
{
    trim_stocks(run, 0);
    memory_account_end(run->account);
    run_state_drop_plan(run);
    iteration_free(run->root);
    arena_free(run->arena);
    run_trace_free(run->trace);
    mutex_done(&run->lock);
    mutex_done(&run->frames_lock);
    memory_free(run);
}

/* Implements RunPool.empty: frees the idle states and plans of a partition that ends. No run is under way. */
static void
empty_pool(Partition *partition)
{
    RunPool *pool = &partition->pool;
    while (pool->idle != NULL) {
        Run *run = pool->idle;
        pool->idle = run->next_idle;
        run_state_free(run);
    }
    for (uint32_t i = 0; i < PARTITION_PLANS_MAX; i++) {
        memory_plan_unref(pool->plans[i]);
    }
}

/* Makes an idle state, in one block with its args and the stocks of its loops. NULL without memory. */
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
    mutex_init(&run->lock);
    mutex_init(&run->frames_lock);
    run->root = iteration_new(run, partition, FRAME_ROOT);
    if (run->root == NULL) {
        run_state_free(run);
        return NULL;
    }
    return run;
}

Run *
run_state_get(Partition *partition)
{
    RunPool *pool = &partition->pool;
    mutex_lock(&pool->lock);
    pool->empty = empty_pool;
    Run *run = pool->idle;
    if (run != NULL) {
        pool->idle = run->next_idle;
        pool->idle_count--;
    }
    mutex_unlock(&pool->lock);
    if (run == NULL) {
        run = run_state_new(partition);
    }
    if (run == NULL) {
        return NULL;
    }
    assert(list_is_empty(&run->promises) && list_is_empty(&run->live_frames));
    uint32_t count = atomic_fetch_add_relaxed(&partition->run_count, 1);
    iteration_reset(run->root);
    run->reference_count = 1;
    run->ticket_count = 1;
    run->active_count = 1;
    run->has_failed = false;
    run->measures_all = count % MEASURE_ALL_EVERY == 0;
    run->node_count = 0;
    run->loop_node_count = 0;
    run->computed_ns = 0;
    run->loop_bytes = 0;
    run->is_done = false;
    /* The failure is reset member by member: zeroing its texts would cost more than a small run takes. */
    run->failure.code = STATUS_OK;
    run->failure.message[0] = '\0';
    run->failure.node[0] = '\0';
    return run;
}

void
run_state_put(Run *run)
{
    RunPool *pool = &run->partition->pool;
    memory_free(TAKE(run->late_args));
    run_trace_free(TAKE(run->trace));
    run->root->trace = NULL;
    trim_stocks(run, IDLE_ITERATIONS_MAX);
    mutex_lock(&pool->lock);
    bool is_kept = pool->idle_count < IDLE_MAX;
    if (is_kept) {
        run->next_idle = pool->idle;
        pool->idle = run;
        pool->idle_count++;
    }
    mutex_unlock(&pool->lock);
    if (!is_kept) {
        run_state_free(run);
    }
}

bool
run_state_trace(Run *run)
{
    TraceScope root = iteration_trace_scope(run->root);
    run->trace = run_trace_new(&root);
    run->root->trace = run->trace == NULL ? NULL : run->trace->root;
    return run->trace != NULL;
}
