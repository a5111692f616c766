/* The thread's round: sleep RECORD_DELAY_MS, or less when a ring is half full or a flush is asked for →
 * take a batch out of the rings → write it → wake the loops that waited for room.
 *
 * Failures: a batch that PostgreSQL did not answer for is written again (the statement skips records that
 * exist); a batch that it refuses is cut in halves until the record at fault is alone. */
#include "gateway/queue/recorder.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>
#include <string.h>
#include <time.h>

#include "gateway/queue/metrics.h"
#include "gateway/store/history.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/base/utf8.h"
#include "shared/telemetry/log.h"

enum {
    ARENA_SIZE_MAX = 1 << 20,
    TRY_MS = 10000, /* the time in which one batch must be answered */
    RETRY_MS = 250, /* the pause after PostgreSQL could not be reached */
    RING_SIZE_MIN = 2,
};

/* A ring with one producer, its loop, and one consumer, the thread. */
struct RecordRing {
    Task room; /* first member; posted by the thread when there is room again */
    Recorder *recorder;
    Loop *loop;
    ListLink waits; /* used by the loop only */
    StepRecord **items;
    size_t size;
    bool has_waits;                          /* atomic */
    bool is_posted;                          /* atomic: `room` has been posted and has not run */
    alignas(MEMORY_CACHE_LINE) size_t taken; /* atomic, moved by the thread */
    alignas(MEMORY_CACHE_LINE) size_t put;   /* atomic, moved by the loop */
};

struct Recorder {
    const char *conninfo;
    size_t ring_size;
    RecordRing *rings[RECORD_RINGS_MAX];
    size_t ring_count;
    Store *store; /* used by the thread only */
    StepRecord batch[HISTORY_RECORDS_MAX];
    StepRecord *owned[HISTORY_RECORDS_MAX];
    pthread_t thread;
    sem_t wake;
    uint64_t stop_ns;      /* atomic: when to give up; 0: no end is asked for */
    Mutex lock;            /* guards what follows */
    uint64_t flush_wanted; /* the number of the last flush asked for */
    ListLink flushes;
};

static size_t
text_size(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

/* Copies a text. Bytes that are no UTF-8, as in a message cut within a character, would make the database
 * refuse the batch. */
static const char *
take_text(char **room, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    char *copy = *room;
    size_t size = strlen(text);
    memcpy(copy, text, size + 1);
    for (size_t index = 0; index < size;) {
        size_t character = utf8_character_size(copy + index, copy + size);
        if (character == 0) {
            copy[index] = '?';
        }
        index += character == 0 ? 1 : character;
    }
    *room += size + 1;
    return copy;
}

StepRecord *
record_copy(const StepRecord *record)
{
    size_t size = text_size(record->request) + text_size(record->error_code) +
                  text_size(record->error_message) + text_size(record->error_node) + text_size(record->stats);
    StepRecord *copy = memory_new(1, sizeof *copy + size);
    if (copy == NULL) {
        return NULL;
    }
    char *room = (char *)(copy + 1);
    *copy = *record;
    copy->request = take_text(&room, record->request);
    copy->error_code = take_text(&room, record->error_code);
    copy->error_message = take_text(&room, record->error_message);
    copy->error_node = take_text(&room, record->error_node);
    copy->stats = take_text(&room, record->stats);
    return copy;
}

void
recorder_note_lost(void)
{
    metric_add(&metric_step_records_lost, 0, 1);
}

static bool
ring_put(RecordRing *ring, StepRecord *record)
{
    size_t put = atomic_load_relaxed(&ring->put);
    size_t used = put - atomic_load_seq_cst(&ring->taken);
    if (used == ring->size) {
        return false;
    }
    ring->items[put & (ring->size - 1)] = record;
    atomic_store_release(&ring->put, put + 1);
    if (used + 1 == ring->size / 2) {
        (void)sem_post(&ring->recorder->wake);
    }
    return true;
}

/* Puts a record or has it wait. The thread looks at has_waits after every batch it takes: a ring that was
 * full before the flag was set and has room afterwards must be tried once more here. */
static bool
ring_put_or_wait(RecordRing *ring, StepRecord *record)
{
    if (ring_put(ring, record)) {
        return true;
    }
    atomic_store_seq_cst(&ring->has_waits, true);
    return ring_put(ring, record);
}

bool
recorder_put(RecordRing *ring, RecordWait *wait)
{
    assert(wait->record != NULL && wait->taken != NULL);

    list_init(&wait->link);
    if (list_is_empty(&ring->waits) && ring_put_or_wait(ring, wait->record)) {
        wait->record = NULL;
        return true;
    }
    list_append(&ring->waits, &wait->link);
    return false;
}

void
recorder_abandon(RecordRing *ring, RecordWait *wait)
{
    assert(wait->record != NULL);

    (void)ring;
    list_remove(&wait->link);
    memory_free(TAKE(wait->record));
    recorder_note_lost();
}

static void
ring_has_room(Task *task)
{
    RecordRing *ring = (RecordRing *)(void *)task;
    atomic_store_seq_cst(&ring->is_posted, false);
    while (!list_is_empty(&ring->waits)) {
        RecordWait *wait = LIST_ITEM(list_first(&ring->waits), RecordWait, link);
        if (!ring_put_or_wait(ring, wait->record)) {
            return;
        }
        list_remove(&wait->link);
        wait->record = NULL;
        wait->taken(wait);
    }
    atomic_store_seq_cst(&ring->has_waits, false);
}

RecordRing *
recorder_ring(Recorder *recorder, Loop *loop)
{
    assert(recorder->ring_count < RECORD_RINGS_MAX);
    RecordRing *ring = memory_new_aligned(sizeof *ring);
    StepRecord **items = memory_new(recorder->ring_size, sizeof(StepRecord *));
    if (ring == NULL || items == NULL) {
        memory_free(ring);
        memory_free(items);
        return NULL;
    }
    *ring = (RecordRing){
        .room = {.run = ring_has_room},
        .recorder = recorder,
        .loop = loop,
        .items = items,
        .size = recorder->ring_size,
    };
    list_init(&ring->waits);
    recorder->rings[recorder->ring_count] = ring;
    atomic_store_release(&recorder->ring_count, recorder->ring_count + 1);
    return ring;
}

static size_t
ring_take(RecordRing *ring, StepRecord **ret_records, size_t count_max)
{
    size_t taken = atomic_load_relaxed(&ring->taken);
    size_t there = atomic_load_acquire(&ring->put) - taken;
    size_t count = there < count_max ? there : count_max;
    for (size_t index = 0; index < count; index++) {
        ret_records[index] = ring->items[(taken + index) & (ring->size - 1)];
    }
    atomic_store_seq_cst(&ring->taken, taken + count);
    if (count > 0 && atomic_load_seq_cst(&ring->has_waits) &&
        !atomic_exchange_seq_cst(&ring->is_posted, true)) {
        loop_post(ring->loop, &ring->room);
    }
    return count;
}

static size_t
take_batch(Recorder *recorder)
{
    size_t ring_count = atomic_load_acquire(&recorder->ring_count);
    size_t count = 0;
    for (size_t index = 0; index < ring_count; index++) {
        count += ring_take(recorder->rings[index], recorder->owned + count, HISTORY_RECORDS_MAX - count);
    }
    for (size_t index = 0; index < count; index++) {
        recorder->batch[index] = *recorder->owned[index];
    }
    return count;
}

static void
wait_for_wake(Recorder *recorder, uint64_t time_ms)
{
    uint64_t end_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    struct timespec end = {
        .tv_sec = (time_t)(end_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(end_ns % CLOCK_NS_PER_S),
    };
    while (sem_clockwait(&recorder->wake, CLOCK_MONOTONIC, &end) != 0 && errno == EINTR) {}
    while (sem_trywait(&recorder->wake) == 0) {
        /* one waking is enough for any number of reasons */
    }
}

static bool
is_overdue(const Recorder *recorder)
{
    uint64_t stop_ns = atomic_load_acquire(&recorder->stop_ns);
    return stop_ns != 0 && clock_monotonic_ns() >= stop_ns;
}

static Status
try_write(Recorder *recorder, Call *call, const StepRecord *records, size_t count)
{
    if (recorder->store == NULL) {
        StoreOptions options = {.conninfo = recorder->conninfo, .role = STORE_ROLE_QUEUE};
        TRY(store_open(call, &options, &recorder->store));
    }
    return history_record(call, recorder->store, records, count);
}

static bool
is_passing(Status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_UNKNOWN || status == STATUS_DEADLINE_EXCEEDED ||
           status == STATUS_ABORTED || status == STATUS_RESOURCE_EXHAUSTED;
}

/* Tries until PostgreSQL has accepted or refused the records; UNAVAILABLE when the recorder must end
 * before. */
static Status
write_records(Recorder *recorder, const StepRecord *records, size_t count)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    while (arena != NULL) {
        Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + TRY_MS * CLOCK_NS_PER_MS};
        arena_clear(arena);
        Status status = try_write(recorder, &call, records, count);
        if (status == STATUS_OK || !is_passing(status) || is_overdue(recorder)) {
            if (status != STATUS_OK && (count == 1 || is_passing(status))) {
                log_failure(LOG_ERROR, "step records were lost", &call);
            }
            return status;
        }
        log_failure(LOG_WARNING, "step records wait for the database", &call);
        wait_for_wake(recorder, RETRY_MS);
    }
    return STATUS_RESOURCE_EXHAUSTED;
}

/* Writes a batch, and halves it when it is refused: ten times at most for HISTORY_RECORDS_MAX records. */
static void
write_batch(Recorder *recorder, size_t count)
{
    struct Part {
        size_t first;
        size_t count;
    } parts[16] = {{0, count}};
    for (size_t left = 1; left > 0;) {
        struct Part part = parts[--left];
        Status status = write_records(recorder, recorder->batch + part.first, part.count);
        if (status == STATUS_OK) {
            metric_add(&metric_step_records, 0, (int64_t)part.count);
        } else if (part.count == 1 || is_passing(status)) {
            metric_add(&metric_step_records_lost, 0, (int64_t)part.count);
        } else {
            size_t half = part.count / 2;
            parts[left++] = (struct Part){part.first + half, part.count - half};
            parts[left++] = (struct Part){part.first, half};
        }
    }
}

static void
write_all(Recorder *recorder)
{
    for (size_t count = take_batch(recorder); count > 0; count = take_batch(recorder)) {
        write_batch(recorder, count);
        for (size_t index = 0; index < count; index++) {
            memory_free(recorder->owned[index]);
        }
    }
}

static uint64_t
flush_asked(Recorder *recorder)
{
    mutex_lock(&recorder->lock);
    uint64_t wanted = recorder->flush_wanted;
    mutex_unlock(&recorder->lock);
    return wanted;
}

static void
tell_flushed(Task *task)
{
    RecordFlush *flush = (RecordFlush *)(void *)task;
    flush->flushed(flush);
}

/* Ends the flushes up to this number. */
static void
flush_answer(Recorder *recorder, uint64_t wanted)
{
    mutex_lock(&recorder->lock);
    LIST_EACH(&recorder->flushes, link)
    {
        RecordFlush *flush = LIST_ITEM(link, RecordFlush, link);
        if (flush->number <= wanted) {
            list_remove(&flush->link);
            flush->task.run = tell_flushed;
            loop_post(flush->loop, &flush->task);
        }
    }
    mutex_unlock(&recorder->lock);
}

void
recorder_flush(Recorder *recorder, RecordFlush *flush)
{
    assert(flush->loop != NULL && flush->flushed != NULL);

    mutex_lock(&recorder->lock);
    flush->number = ++recorder->flush_wanted;
    list_append(&recorder->flushes, &flush->link);
    mutex_unlock(&recorder->lock);
    (void)sem_post(&recorder->wake);
}

bool
recorder_flush_leave(Recorder *recorder, RecordFlush *flush)
{
    mutex_lock(&recorder->lock);
    bool was_waiting = !list_is_empty(&flush->link);
    list_remove(&flush->link);
    mutex_unlock(&recorder->lock);
    return was_waiting;
}

static void *
run_recorder(void *context)
{
    Recorder *recorder = context;
    bool is_last = false;
    while (!is_last) {
        wait_for_wake(recorder, RECORD_DELAY_MS);
        /* The flag is read before the rings, so that records put before the stop are taken below. */
        is_last = atomic_load_acquire(&recorder->stop_ns) != 0;
        uint64_t wanted = flush_asked(recorder);
        write_all(recorder);
        flush_answer(recorder, wanted);
    }
    return NULL;
}

static size_t
power_of_two(size_t size)
{
    size_t power = RING_SIZE_MIN;
    while (power < size) {
        power *= 2;
    }
    return power;
}

Status
recorder_new(Call *call, const RecorderOptions *options, Recorder **ret_recorder)
{
    Recorder *recorder = memory_new(1, sizeof *recorder);
    if (recorder == NULL) {
        return call_fail_memory(call, "the writer of step records");
    }
    recorder->conninfo = options->conninfo;
    recorder->ring_size = power_of_two(options->ring_size);
    (void)sem_init(&recorder->wake, 0, 0);
    mutex_init(&recorder->lock);
    list_init(&recorder->flushes);
    if (pthread_create(&recorder->thread, NULL, run_recorder, recorder) != 0) {
        memory_free(recorder);
        return call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
    }
    *ret_recorder = recorder;
    return STATUS_OK;
}

static void
ring_free(RecordRing *ring)
{
    assert(list_is_empty(&ring->waits));
    memory_free(ring->items);
    memory_free(ring);
}

void
recorder_stop(Recorder *recorder, uint64_t time_ms)
{
    if (recorder == NULL) {
        return;
    }
    uint64_t stop_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    atomic_store_release(&recorder->stop_ns, stop_ns);
    (void)sem_post(&recorder->wake);
    (void)pthread_join(recorder->thread, NULL);
}

void
recorder_free(Recorder *recorder)
{
    if (recorder == NULL) {
        return;
    }
    for (size_t index = 0; index < recorder->ring_count; index++) {
        ring_free(recorder->rings[index]);
    }
    store_close(recorder->store);
    mutex_done(&recorder->lock);
    (void)sem_destroy(&recorder->wake);
    memory_free(recorder);
}
