#include "worker/cuda/activity.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cuda/kernel_name.h"
#include "worker/cuda/libraries.h"

enum {
    BUFFER_SIZE = 256 << 10,
    RECORDS_MAX = 100 * 1000, /* of one kind that are kept at a time: 20 MB */
    FIRST_ROOM = 256,
    AGE_MAX = 2,
};

/* The kinds are enabled in this order. CUPTI writes an external correlation only beside a record of the call
 * of the runtime or driver that enqueued the work. */
static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

/* A call of CUDA's, by the number that CUPTI gave it, and the external id of whoever called. */
typedef struct Caller {
    uint32_t call;
    uint64_t id;
} Caller;

typedef struct Work {
    uint32_t call;
    uint32_t age; /* how often records were taken since it came */
    DeviceActivity activity;
} Work;

static struct {
    Mutex lock; /* guards what follows */
    uint32_t run_count;
    CUpti_SubscriberHandle subscriber;
} users = {.lock = MUTEX_INITIALIZER};

/* CUPTI hands buffers over within its other functions, too: these are called without this lock. */
static struct {
    Mutex lock; /* guards what follows */
    Caller *callers;
    size_t caller_count;
    size_t caller_room;
    Work *works;
    size_t work_count;
    size_t work_room;
    uint64_t lost_count;
} collected = {.lock = MUTEX_INITIALIZER};

/* Returns the list with room for one more item; NULL without, and then the list is as it was. */
static void *
grow(void **list, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return *list;
    }
    size_t next = *room == 0 ? FIRST_ROOM : *room * 2;
    void *grown = count >= RECORDS_MAX ? NULL : memory_resize(*list, next * size);
    if (grown != NULL) {
        *list = grown;
        *room = next;
    }
    return grown;
}

static void
note_caller(const CUpti_ActivityExternalCorrelation *record)
{
    if (grow((void **)&collected.callers, collected.caller_count, &collected.caller_room, sizeof(Caller)) ==
        NULL) {
        collected.lost_count++;
        return;
    }
    collected.callers[collected.caller_count++] =
        (Caller){.call = record->correlationId, .id = record->externalId};
}

/* A record that was not complete when it was asked for has no end. */
static void
note_work(uint32_t call, const DeviceActivity *activity)
{
    if (activity->end_ns == 0 ||
        grow((void **)&collected.works, collected.work_count, &collected.work_room, sizeof(Work)) == NULL) {
        collected.lost_count++;
        return;
    }
    collected.works[collected.work_count++] = (Work){.call = call, .activity = *activity};
}

static void
write_stream(DeviceActivity *activity, uint32_t stream)
{
    (void)snprintf(activity->track, sizeof activity->track, "stream %u", stream);
}

static void
note_kernel(const CUpti_Activity *record)
{
    const CuptiKernel *kernel = (const CuptiKernel *)(const void *)record;
    DeviceActivity activity = {
        .start_ns = kernel->start,
        .end_ns = kernel->end,
        .captured = kernel->graphNodeId,
        .grid = {(uint32_t)kernel->gridX, (uint32_t)kernel->gridY, (uint32_t)kernel->gridZ},
        .block = {(uint32_t)kernel->blockX, (uint32_t)kernel->blockY, (uint32_t)kernel->blockZ},
    };
    write_stream(&activity, kernel->streamId);
    kernel_name_read(kernel->name == NULL ? "" : kernel->name, activity.name, sizeof activity.name);
    note_work(kernel->correlationId, &activity);
}

static void
note_copy(const CUpti_Activity *record)
{
    const CuptiMemcpy *copy = (const CuptiMemcpy *)(const void *)record;
    DeviceActivity activity = {
        .start_ns = copy->start, .end_ns = copy->end, .captured = copy->graphNodeId, .bytes = copy->bytes};
    const char *way = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? "copy in"
                      : copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "copy out"
                                                                          : NULL;
    if (way == NULL) {
        write_stream(&activity, copy->streamId);
    } else {
        (void)snprintf(activity.track, sizeof activity.track, "%s", way);
    }
    (void)snprintf(activity.name, sizeof activity.name, "%s", way == NULL ? "copy" : way);
    note_work(copy->correlationId, &activity);
}

static void
note_fill(const CUpti_Activity *record)
{
    const CuptiMemset *fill = (const CuptiMemset *)(const void *)record;
    DeviceActivity activity = {.start_ns = fill->start,
        .end_ns = fill->end,
        .captured = fill->graphNodeId,
        .bytes = fill->bytes,
        .name = "fill"};
    write_stream(&activity, fill->streamId);
    note_work(fill->correlationId, &activity);
}

static void
note_record(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
        const CUpti_ActivityExternalCorrelation *external =
            (const CUpti_ActivityExternalCorrelation *)(const void *)record;
        if (external->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
            note_caller(external);
        }
    } else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        note_kernel(record);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        note_copy(record);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        note_fill(record);
    }
}

/* Without memory CUPTI drops the records, and counts them. */
static void
give_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_record_max)
{
    *ret_buffer = memory_new(1, BUFFER_SIZE);
    *ret_size = *ret_buffer == NULL ? 0 : BUFFER_SIZE;
    *ret_record_max = 0; /* as many as fit */
}

static void
take_buffer(void *cuda_context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size)
{
    const CudaCupti *cupti = cuda_cupti(NULL);
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    (void)cuda_context;
    (void)stream;
    (void)size;
    mutex_lock(&collected.lock);
    while (
        valid_size > 0 && cupti->cuptiActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_SUCCESS) {
        note_record(record);
    }
    if (cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS) {
        collected.lost_count += dropped;
    }
    mutex_unlock(&collected.lock);
    memory_free(buffer);
}

/* One who subscribes must have a function to be called; nothing is asked to call it. */
static void
ignore_call(void *context, int domain, uint32_t number, const void *data)
{
    (void)context;
    (void)domain;
    (void)number;
    (void)data;
}

static void
disable(const CudaCupti *cupti, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)cupti->cuptiActivityDisable(kinds[i]);
    }
    (void)cupti->cuptiUnsubscribe(users.subscriber);
    users.subscriber = NULL;
}

/* Subscribes, so that two tools do not take each other's records, and asks for the records. */
static CUptiResult
enable(const CudaCupti *cupti)
{
    CUptiResult result = cupti->cuptiSubscribe(&users.subscriber, ignore_call, NULL);
    if (result != CUPTI_SUCCESS) {
        return result;
    }
    size_t count = 0;
    result = cupti->cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    while (count < COUNT_OF(kinds) && result == CUPTI_SUCCESS) {
        result = cupti->cuptiActivityEnable(kinds[count]);
        count += result == CUPTI_SUCCESS;
    }
    if (result != CUPTI_SUCCESS) {
        disable(cupti, count);
    }
    return result;
}

static void
describe_refusal(const CudaCupti *cupti, CUptiResult result, char *ret_reason)
{
    static const struct {
        CUptiResult result;
        const char *text;
    } rows[] = {
        {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "the driver lets administrators profile only"},
        {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "the hypervisor does not allow profiling"},
        {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "virtual cards cannot be profiled"},
        {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another profiler uses it"},
    };
    const char *text = NULL;
    for (size_t i = 0; i < COUNT_OF(rows) && text == NULL; i++) {
        text = rows[i].result == result ? rows[i].text : NULL;
    }
    if (text == NULL && cupti->cuptiGetResultString(result, &text) != CUPTI_SUCCESS) {
        text = "it failed";
    }
    (void)snprintf(
        ret_reason, CUDA_ACTIVITY_REASON_SIZE, "CUPTI cannot be used: %s (error %d)", text, (int)result);
}

bool
cuda_activity_begin(char ret_reason[CUDA_ACTIVITY_REASON_SIZE], uint32_t *ret_version)
{
    const char *missing = NULL;
    const CudaCupti *cupti = cuda_cupti(&missing);
    CUptiResult result = CUPTI_SUCCESS;
    if (cupti == NULL) {
        (void)snprintf(ret_reason, CUDA_ACTIVITY_REASON_SIZE, "CUPTI was not found: %s", missing);
        return false;
    }
    mutex_lock(&users.lock);
    if (users.run_count == 0) {
        result = enable(cupti);
    }
    users.run_count += result == CUPTI_SUCCESS;
    mutex_unlock(&users.lock);
    if (result != CUPTI_SUCCESS) {
        describe_refusal(cupti, result, ret_reason);
        return false;
    }
    (void)cupti->cuptiGetVersion(ret_version);
    return true;
}

static void
forget_all(void)
{
    mutex_lock(&collected.lock);
    memory_free(TAKE(collected.callers));
    memory_free(TAKE(collected.works));
    collected.caller_count = 0;
    collected.caller_room = 0;
    collected.work_count = 0;
    collected.work_room = 0;
    mutex_unlock(&collected.lock);
}

void
cuda_activity_end(void)
{
    mutex_lock(&users.lock);
    assert(users.run_count > 0);
    if (--users.run_count == 0) {
        disable(cuda_cupti(NULL), COUNT_OF(kinds));
        forget_all();
    }
    mutex_unlock(&users.lock);
}

uint64_t
cuda_activity_lost_count(void)
{
    mutex_lock(&collected.lock);
    uint64_t count = collected.lost_count;
    mutex_unlock(&collected.lock);
    return count;
}

/* An external id has the run's number in front of a mark. */
static uint64_t
id_of(uint32_t run, uint64_t mark)
{
    assert(mark <= DEVICE_MARK_MAX);
    return ((uint64_t)run << DEVICE_MARK_BITS) | mark;
}

static bool
is_of_run(uint64_t id, uint32_t run)
{
    return id >> DEVICE_MARK_BITS == run;
}

void
cuda_activity_push(uint32_t run, uint64_t mark)
{
    (void)cuda_cupti(NULL)->cuptiActivityPushExternalCorrelationId(
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id_of(run, mark));
}

void
cuda_activity_pop(void)
{
    uint64_t last = 0;
    (void)cuda_cupti(NULL)->cuptiActivityPopExternalCorrelationId(
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

uint64_t
cuda_activity_clock_ns(void)
{
    uint64_t now = 0;
    (void)cuda_cupti(NULL)->cuptiGetTimestamp(&now);
    return now;
}

static int
by_call(const void *left, const void *right)
{
    const Caller *a = left;
    const Caller *b = right;
    return (a->call > b->call) - (a->call < b->call);
}

static const Caller *
find_caller(uint32_t call)
{
    Caller wanted = {.call = call};
    return collected.caller_count == 0
               ? NULL
               : bsearch(&wanted, collected.callers, collected.caller_count, sizeof(Caller), by_call);
}

/* Returns whether a traced run may still ask for the work. When no caller is known, nobody has traced it, or
 * the record of its call is in a buffer that comes with the next ones. */
static bool
is_wanted(Work *work, const Caller *caller)
{
    return caller != NULL || work->age++ < AGE_MAX;
}

/* Moves the run's work to `taken`, which has room for all. The lock is held. */
static size_t
move_works(uint32_t run, DeviceActivity *taken)
{
    size_t count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < collected.work_count; i++) {
        Work *work = &collected.works[i];
        const Caller *caller = find_caller(work->call);
        if (caller != NULL && is_of_run(caller->id, run)) {
            taken[count] = work->activity;
            taken[count++].mark = caller->id & DEVICE_MARK_MAX;
        } else if (is_wanted(work, caller)) {
            collected.works[kept++] = *work;
        }
    }
    collected.work_count = kept;
    return count;
}

static void
forget_callers(uint32_t run)
{
    size_t kept = 0;
    for (size_t i = 0; i < collected.caller_count; i++) {
        if (!is_of_run(collected.callers[i].id, run)) {
            collected.callers[kept++] = collected.callers[i];
        }
    }
    collected.caller_count = kept;
}

/* Asks for all buffers, also for those in which the records of other runs are not complete: these may
 * otherwise be kept back for as long as the card is busy. */
DeviceActivity *
cuda_activity_take(uint32_t run, size_t *ret_count)
{
    assert(run > 0);
    (void)cuda_cupti(NULL)->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    mutex_lock(&collected.lock);
    DeviceActivity *taken =
        collected.work_count == 0 ? NULL : memory_new(collected.work_count, sizeof(DeviceActivity));
    if (collected.caller_count > 0) {
        qsort(collected.callers, collected.caller_count, sizeof(Caller), by_call);
    }
    *ret_count = taken == NULL ? 0 : move_works(run, taken);
    forget_callers(run);
    mutex_unlock(&collected.lock);
    return taken;
}
