#include "worker/cuda/staging.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"

struct CudaStaging {
    Device *host;
    Mutex lock;
    ListLink available;
    ListLink behind; /* chunks that the card reads, whose events nobody watches */
    ListLink waiting;
    char *memory;
    size_t chunk_count;
    CudaChunk chunks[];
};

static void
take_back(CudaStaging *staging, CudaChunk *chunk)
{
    list_remove(&chunk->link);
    cuda_events_give(chunk->event);
    chunk->event = NULL;
    list_append(&staging->available, &chunk->link);
}

/* Takes back what the card has read. After an error the card reads nothing any more. */
static void
take_back_passed(CudaStaging *staging)
{
    LIST_EACH(&staging->behind, link)
    {
        CudaChunk *chunk = LIST_ITEM(link, CudaChunk, link);
        if (cuda_event_ask(chunk->event) != cudaErrorNotReady) {
            take_back(staging, chunk);
        }
    }
}

static void
chunk_passed(void *context, int error)
{
    CudaChunk *chunk = context;
    (void)error;
    cuda_staging_give(chunk);
}

static void
watch_chunk(CudaChunk *chunk)
{
    CudaEvent *event = TAKE(chunk->event);
    list_remove(&chunk->link);
    event->passed = chunk_passed;
    event->context = chunk;
    cuda_watcher_add(chunk->watcher, event);
}

CudaChunk *
cuda_staging_take(CudaStaging *staging, CudaWaiter *waiter)
{
    CudaChunk *chunk = NULL;
    mutex_lock(&staging->lock);
    if (list_is_empty(&staging->available)) {
        take_back_passed(staging);
    }
    if (list_is_empty(&staging->waiting) && !list_is_empty(&staging->available)) {
        chunk = LIST_ITEM(list_first(&staging->available), CudaChunk, link);
        list_remove(&chunk->link);
        chunk->used = 0;
    } else {
        list_append(&staging->waiting, &waiter->link);
        LIST_EACH(&staging->behind, link)
        {
            watch_chunk(LIST_ITEM(link, CudaChunk, link));
        }
    }
    mutex_unlock(&staging->lock);
    return chunk;
}

/* Hands the chunk to whoever has waited longest: nobody may overtake a large copy for ever. */
void
cuda_staging_give(CudaChunk *chunk)
{
    CudaStaging *staging = chunk->staging;
    CudaWaiter *waiter = NULL;
    mutex_lock(&staging->lock);
    assert(chunk->event == NULL);
    chunk->used = 0;
    if (list_is_empty(&staging->waiting)) {
        list_append(&staging->available, &chunk->link);
    } else {
        waiter = LIST_ITEM(list_first(&staging->waiting), CudaWaiter, link);
        list_remove(&waiter->link);
        waiter->chunk = chunk;
    }
    mutex_unlock(&staging->lock);
    if (waiter != NULL) {
        staging->host->schedule(staging->host, &waiter->work);
    }
}

void
cuda_staging_give_behind(CudaChunk *chunk, CudaEvent *event, CudaWatcher *watcher)
{
    CudaStaging *staging = chunk->staging;
    mutex_lock(&staging->lock);
    chunk->event = event;
    chunk->watcher = watcher;
    list_append(&staging->behind, &chunk->link);
    if (!list_is_empty(&staging->waiting)) {
        watch_chunk(chunk);
    }
    mutex_unlock(&staging->lock);
}

Status
cuda_staging_new(Call *call, Device *host, size_t chunk_count, CudaStaging **ret_staging)
{
    assert(chunk_count >= CUDA_CHUNKS_MIN);
    void *memory = NULL;
    CudaStaging *made = memory_new(1, sizeof *made + chunk_count * sizeof made->chunks[0]);
    if (made == NULL) {
        return call_fail_memory(call, "what describes pinned memory");
    }
    cudaError_t error = cudaHostAlloc(&memory, chunk_count * CUDA_CHUNK_SIZE, cudaHostAllocPortable);
    if (error != cudaSuccess) {
        memory_free(made);
        (void)cudaGetLastError();
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the system cannot pin %zu bytes of its memory for copies: %s", chunk_count * CUDA_CHUNK_SIZE,
            cudaGetErrorString(error));
    }
    made->host = host;
    made->memory = memory;
    made->chunk_count = chunk_count;
    mutex_init(&made->lock);
    list_init(&made->available);
    list_init(&made->behind);
    list_init(&made->waiting);
    for (size_t index = 0; index < chunk_count; index++) {
        CudaChunk *chunk = &made->chunks[index];
        chunk->staging = made;
        chunk->data = made->memory + index * CUDA_CHUNK_SIZE;
        list_append(&made->available, &chunk->link);
    }
    *ret_staging = made;
    return STATUS_OK;
}

void
cuda_staging_free(CudaStaging *staging)
{
    if (staging == NULL) {
        return;
    }
    assert(list_is_empty(&staging->waiting));
    LIST_EACH(&staging->behind, link)
    {
        CudaChunk *chunk = LIST_ITEM(link, CudaChunk, link);
        (void)cudaEventSynchronize(chunk->event->event);
        take_back(staging, chunk);
    }
    (void)cudaFreeHost(staging->memory);
    mutex_done(&staging->lock);
    memory_free(staging);
}
