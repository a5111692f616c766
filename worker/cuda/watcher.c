#include "worker/cuda/watcher.h"

#include <pthread.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/rules.h"

enum { SPIN_NS = 30000 }; /* about what waking a thread takes */

struct CudaWatcher {
    CudaWatcherOptions options;
    pthread_t thread;
    Mutex lock;
    Condition changed;
    CudaEvent *first; /* stays in the queue until it has passed, so that it can be lent */
    CudaEvent *last;
    bool is_ending;
};

static CudaEvent *
await_work(CudaWatcher *watcher)
{
    mutex_lock(&watcher->lock);
    while (watcher->first == NULL && !watcher->is_ending) {
        condition_wait(&watcher->changed, &watcher->lock);
    }
    CudaEvent *event = watcher->first;
    mutex_unlock(&watcher->lock);
    return event;
}

static int
await_event(const CudaEvent *event)
{
    uint64_t end_ns = clock_monotonic_ns() + SPIN_NS;
    do {
        int error = cuda_event_ask(event);
        if (error != cudaErrorNotReady) {
            return error;
        }
    } while (clock_monotonic_ns() < end_ns);
    cudaError_t error = cudaEventSynchronize(event->event);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return (int)error;
}

/* Gives the event back first: whoever is told may close the device. */
static void
run_passed(DeviceWork *work)
{
    CudaEvent *event = (CudaEvent *)(void *)((char *)work - offsetof(CudaEvent, work));
    void (*passed)(void *context, int error) = event->passed;
    void *context = event->context;
    int error = event->error;
    cuda_events_give(event);
    passed(context, error);
}

static void
finish_event(CudaWatcher *watcher, CudaEvent *event)
{
    const CudaWatcherOptions *options = &watcher->options;
    if (event->error != cudaSuccess) {
        cuda_break(event->error, "work that was enqueued earlier failed", slice_from_string(event->node));
    }
    if (options->passed != NULL) {
        options->passed(options->context, event->position);
    }
    mutex_lock(&watcher->lock);
    watcher->first = event->next;
    mutex_unlock(&watcher->lock);
    if (event->passed == NULL) {
        cuda_events_give(event);
        return;
    }
    event->work.run = run_passed;
    options->host->schedule(options->host, &event->work);
}

static void *
watch(void *context)
{
    CudaWatcher *watcher = context;
    CudaEvent *event = NULL;
    if (CUDA_KEEPS(CUDA_ENTERS_FIRST)) {
        (void)cudaSetDevice(watcher->options.card); /* it was chosen before, by the thread that opened it */
    }
    while ((event = await_work(watcher)) != NULL) {
        event->error = await_event(event);
        finish_event(watcher, event);
    }
    return NULL;
}

void
cuda_watcher_add(CudaWatcher *watcher, CudaEvent *event)
{
    event->next = NULL;
    mutex_lock(&watcher->lock);
    if (watcher->first == NULL) {
        watcher->first = event;
    } else {
        watcher->last->next = event;
    }
    watcher->last = event;
    condition_signal(&watcher->changed);
    mutex_unlock(&watcher->lock);
}

/* The lock keeps the event from being recorded anew meanwhile. */
bool
cuda_watcher_lend(CudaWatcher *watcher, uint64_t position, cudaStream_t stream)
{
    bool is_lent = false;
    mutex_lock(&watcher->lock);
    CudaEvent *event = watcher->first;
    while (event != NULL && event->position < position) {
        event = event->next;
    }
    if (event != NULL) {
        is_lent = cudaStreamWaitEvent(stream, event->event, 0) == cudaSuccess;
    }
    mutex_unlock(&watcher->lock);
    return is_lent;
}

Status
cuda_watcher_new(Call *call, const CudaWatcherOptions *options, CudaWatcher **ret_watcher)
{
    CudaWatcher *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, "a thread that watches the card");
    }
    made->options = *options;
    mutex_init(&made->lock);
    condition_init(&made->changed);
    if (pthread_create(&made->thread, NULL, watch, made) != 0) {
        condition_done(&made->changed);
        mutex_done(&made->lock);
        memory_free(made);
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "no thread left that watches the card");
    }
    *ret_watcher = made;
    return STATUS_OK;
}

void
cuda_watcher_free(CudaWatcher *watcher)
{
    if (watcher == NULL) {
        return;
    }
    mutex_lock(&watcher->lock);
    watcher->is_ending = true;
    condition_signal(&watcher->changed);
    mutex_unlock(&watcher->lock);
    (void)pthread_join(watcher->thread, NULL);
    condition_done(&watcher->changed);
    mutex_done(&watcher->lock);
    memory_free(watcher);
}
