/* A stand-in for CUPTI, libcupti.so.13: it tells of the work of tests/support/cuda_on_cpu, harshly. Records
 * come in two buffers by turns, the later one first, so that a kernel's record may come before that of its
 * call. STUB_CUPTI says how it refuses or what it loses: "privileges", "subscribers" or "drops". */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/base/mutex.h"
#include "tests/support/cuda_on_cpu/activity.h"
#include "worker/cuda/cupti.h"

#define EXPORT __attribute__((visibility("default")))
enum { BUFFERS = 2, KINDS = 64, DEPTH_MAX = 8, DROPS_ONE_IN = 3, RECORD_ALIGNMENT = 8 };

typedef struct Buffer {
    uint8_t *data;
    size_t size;
    size_t used;
} Buffer;

static Mutex lock = MUTEX_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc request_buffer;
static CUpti_BuffersCallbackCompleteFunc complete_buffer;
static bool is_enabled[KINDS];
static bool has_subscriber;
static Buffer buffers[BUFFERS];
static size_t record_count;
static size_t dropped_count;
static size_t kernel_count;
static uint32_t call_count;

static _Thread_local uint64_t pushed[DEPTH_MAX];
static _Thread_local size_t pushed_count;

static bool
is_told_to(const char *what)
{
    const char *text = getenv("STUB_CUPTI");
    return text != NULL && strcmp(text, what) == 0;
}

/* The played card's clock runs a quarter faster than the host's and begins elsewhere: times have to be
 * converted. */
static uint64_t
to_own_clock(uint64_t host_ns)
{
    return host_ns + host_ns / 4 + 1000000007;
}

static size_t
record_size(CUpti_ActivityKind kind)
{
    switch ((int)kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CuptiKernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CuptiMemcpy);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CuptiMemset);
    default:
        return sizeof(CUpti_ActivityExternalCorrelation);
    }
}

static void
hand_over(Buffer *buffer)
{
    Buffer full = *buffer;
    *buffer = (Buffer){0};
    if (full.data != NULL) {
        complete_buffer(NULL, 0, full.data, full.size, full.used);
    }
}

/* The lock is held. */
static void
write_record(const void *record, CUpti_ActivityKind kind)
{
    size_t size = (record_size(kind) + RECORD_ALIGNMENT - 1) / RECORD_ALIGNMENT * RECORD_ALIGNMENT;
    Buffer *buffer = &buffers[record_count++ % BUFFERS];
    size_t record_max = 0;
    if (!is_enabled[kind]) {
        return;
    }
    if (buffer->data != NULL && buffer->used + size > buffer->size) {
        hand_over(buffer);
    }
    if (buffer->data == NULL) {
        request_buffer(&buffer->data, &buffer->size, &record_max);
    }
    bool is_dropped = is_told_to("drops") && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
                      ++kernel_count % DROPS_ONE_IN == 0;
    if (is_dropped || buffer->data == NULL) {
        dropped_count++;
        return;
    }
    memcpy(buffer->data + buffer->used, record, record_size(kind));
    buffer->used += size;
}

EXPORT uint32_t
cupti_on_cpu_call(void)
{
    mutex_lock(&lock);
    uint32_t call = ++call_count;
    if (pushed_count > 0 && is_enabled[CUPTI_ACTIVITY_KIND_RUNTIME]) {
        CUpti_ActivityExternalCorrelation record = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
            .externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
            .externalId = pushed[pushed_count - 1],
            .correlationId = call};
        write_record(&record, record.kind);
    }
    mutex_unlock(&lock);
    return call;
}

static void
write_kernel(const CardWork *work)
{
    CuptiKernel record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        .start = to_own_clock(work->start_ns),
        .end = to_own_clock(work->end_ns),
        .streamId = work->stream,
        .gridX = (int32_t)work->grid[0],
        .gridY = (int32_t)work->grid[1],
        .gridZ = (int32_t)work->grid[2],
        .blockX = (int32_t)work->block[0],
        .blockY = (int32_t)work->block[1],
        .blockZ = (int32_t)work->block[2],
        .correlationId = work->call,
        .name = "_ZN12_GLOBAL__N_16on_cpuIfEEvPKT_",
        .graphNodeId = work->captured};
    write_record(&record, record.kind);
}

EXPORT void
cupti_on_cpu_work(const CardWork *work)
{
    mutex_lock(&lock);
    if (work->kind == CARD_KERNEL) {
        write_kernel(work);
    } else if (work->kind == CARD_FILL) {
        CuptiMemset record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
            .bytes = work->size,
            .start = to_own_clock(work->start_ns),
            .end = to_own_clock(work->end_ns),
            .streamId = work->stream,
            .correlationId = work->call,
            .graphNodeId = work->captured};
        write_record(&record, record.kind);
    } else {
        CuptiMemcpy record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
            .copyKind = (uint8_t)(work->kind == CARD_COPY_IN    ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                  : work->kind == CARD_COPY_OUT ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                                                : 8),
            .bytes = work->size,
            .start = to_own_clock(work->start_ns),
            .end = to_own_clock(work->end_ns),
            .streamId = work->stream,
            .correlationId = work->call,
            .graphNodeId = work->captured};
        write_record(&record, record.kind);
    }
    mutex_unlock(&lock);
}

EXPORT CUptiResult
cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiGetResultString(CUptiResult result, const char **text)
{
    (void)result;
    *text = "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiGetTimestamp(uint64_t *timestamp)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *timestamp = to_own_clock((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *context)
{
    (void)context;
    if (has_subscriber || callback == NULL || is_told_to("subscribers")) {
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    has_subscriber = true;
    *subscriber = (CUpti_SubscriberHandle)(void *)&has_subscriber;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    (void)subscriber;
    has_subscriber = false;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
    request_buffer = request;
    complete_buffer = complete;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if (is_told_to("privileges")) {
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    }
    mutex_lock(&lock);
    is_enabled[kind] = true;
    mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityDisable(CUpti_ActivityKind kind)
{
    mutex_lock(&lock);
    is_enabled[kind] = false;
    mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    mutex_lock(&lock);
    for (size_t i = BUFFERS; i-- > 0;) {
        hand_over(&buffers[i]);
    }
    mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, CUpti_Activity **record)
{
    uint8_t *at = (uint8_t *)*record;
    if (at == NULL) {
        at = buffer;
    } else {
        size_t size = record_size((*record)->kind);
        at += (size + RECORD_ALIGNMENT - 1) / RECORD_ALIGNMENT * RECORD_ALIGNMENT;
    }
    if (at >= buffer + valid_size) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = (CUpti_Activity *)(void *)at;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityGetNumDroppedRecords(void *cuda_context, uint32_t stream, size_t *dropped)
{
    (void)cuda_context;
    (void)stream;
    *dropped = dropped_count;
    dropped_count = 0;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    (void)kind;
    if (pushed_count == DEPTH_MAX) {
        fprintf(stderr, "libcupti: ids are pushed and not popped\n");
        abort();
    }
    pushed[pushed_count++] = id;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    (void)kind;
    if (pushed_count == 0) {
        fprintf(stderr, "libcupti: an id is popped that was not pushed\n");
        abort();
    }
    *last = pushed[--pushed_count];
    return CUPTI_SUCCESS;
}
