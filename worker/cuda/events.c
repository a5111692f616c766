#include "worker/cuda/events.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"

static int
make_event(CudaEvents *events, CudaEvent **ret_event)
{
    CudaEvent *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_HOST_MEMORY;
    }
    /* Waiting sleeps in the driver instead of spinning, and the card writes no time stamps. */
    cudaError_t error =
        cudaEventCreateWithFlags(&made->event, cudaEventDisableTiming | cudaEventBlockingSync);
    if (error != cudaSuccess) {
        memory_free(made);
        return (int)error;
    }
    made->events = events;
    mutex_lock(&events->lock);
    made->next_made = events->made;
    events->made = made;
    mutex_unlock(&events->lock);
    *ret_event = made;
    return cudaSuccess;
}

int
cuda_events_take(CudaEvents *events, CudaEvent **ret_event)
{
    mutex_lock(&events->lock);
    CudaEvent *event = events->available;
    if (event != NULL) {
        events->available = event->next;
    }
    mutex_unlock(&events->lock);
    if (event == NULL) {
        return make_event(events, ret_event);
    }
    *ret_event = event;
    return cudaSuccess;
}

void
cuda_events_give(CudaEvent *event)
{
    CudaEvents *events = event->events;
    event->passed = NULL;
    event->position = 0;
    event->node[0] = '\0';
    mutex_lock(&events->lock);
    event->next = events->available;
    events->available = event;
    mutex_unlock(&events->lock);
}

int
cuda_event_ask(const CudaEvent *event)
{
    cudaError_t error = cudaEventQuery(event->event);
    if (error != cudaSuccess) {
        (void)cudaGetLastError(); /* else the thread's next launch is blamed for it */
    }
    return (int)error;
}

void
cuda_events_init(CudaEvents *events)
{
    *events = (CudaEvents){0};
    mutex_init(&events->lock);
}

int
cuda_events_make(CudaEvents *events, int count)
{
    int error = cudaSuccess;
    for (int made = 0; made < count && error == cudaSuccess; made++) {
        CudaEvent *event = NULL;
        error = make_event(events, &event);
        if (error == cudaSuccess) {
            cuda_events_give(event);
        }
    }
    return error;
}

void
cuda_events_done(CudaEvents *events)
{
    while (events->made != NULL) {
        CudaEvent *event = events->made;
        events->made = event->next_made;
        (void)cudaEventDestroy(event->event);
        memory_free(event);
    }
    mutex_done(&events->lock);
}
