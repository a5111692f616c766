/* An intake is either at its loop or away: in the queue, with a thread, or on its way back through the loop's
 * mailbox. Bytes that come while it is away gather in `filling`; when it is back, the two buffers change
 * places and it is sent again. Each time away is one batch, at most a window of the sender; while a thread
 * writes one, the next comes. No field but the queue's links is used by two threads at once.
 *
 * An abandoned intake goes away once more, since ending an arrival may free much memory or remove a file, and
 * does not come back. */
#include "worker/serve/blob_intake.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/buffer.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

struct BlobIntakes {
    BlobStore *store;
    int64_t count; /* atomic: intakes */
    Mutex lock;    /* guards what follows */
    Condition wake;
    ListLink queue; /* list of BlobIntake, for the threads */
    bool is_closing;
    int thread_count;
    pthread_t threads[BLOB_INTAKE_THREADS_MAX];
};

struct BlobIntake {
    ListLink link; /* link in `queue` */
    Task task;     /* the way back to the loop */
    BlobIntakes *intakes;
    Loop *loop;
    BlobIntakeEvents events;
    void *context;
    uint64_t size;
    size_t key_size;
    char key[CACHE_KEY_MAX];

    /* The loop's own. */
    Buffer filling; /* bytes that go away next */
    bool is_away;
    bool is_whole; /* no bytes follow */
    bool is_abandoned;
    bool has_told_begin;

    /* Members of the thread while the intake is away. */
    Buffer draining;
    bool is_last;    /* no bytes follow these */
    bool is_dropped; /* nobody waits any more */
    bool has_begun;
    bool has_ended;
    bool is_wrong;
    BlobState state;
    Status status;
    BlobArrival *arrival;
    Call call; /* its error stays from what was mended, too: a folder without room */
};

static void
intake_free(BlobIntake *intake)
{
    assert(intake->arrival == NULL);
    (void)atomic_sub_acq_rel(&intake->intakes->count, 1);
    buffer_done(&intake->filling);
    buffer_done(&intake->draining);
    memory_free(intake);
}

static Status
begin_arrival(BlobIntake *intake)
{
    intake->has_begun = true;
    if (intake->key_size == 0) {
        return call_fail(&intake->call, STATUS_INVALID_ARGUMENT, "tenant and digest of a blob are too long");
    }
    CacheKey key = cache_key_of_text(slice_of(intake->key, intake->key_size));
    return blob_arrival_begin(
        &intake->call, intake->intakes->store, key, intake->size, &intake->state, &intake->arrival);
}

/* Does what the batch asks for. The blob's bytes are dropped when it is not new. */
static Status
take_batch(BlobIntake *intake)
{
    if (!intake->has_begun) {
        TRY(begin_arrival(intake));
    }
    if (intake->arrival == NULL) {
        return STATUS_OK;
    }
    TRY(blob_arrival_write(&intake->call, intake->arrival, buffer_slice(&intake->draining)));
    return intake->is_last ? blob_arrival_finish(&intake->call, intake->arrival, &intake->is_wrong)
                           : STATUS_OK;
}

static void
work_on(BlobIntake *intake)
{
    if (intake->is_dropped) {
        blob_arrival_end(TAKE(intake->arrival));
        intake_free(intake);
        return;
    }
    intake->status = take_batch(intake);
    intake->has_ended = intake->status != STATUS_OK || intake->arrival == NULL || intake->is_last;
    if (intake->has_ended) {
        blob_arrival_end(TAKE(intake->arrival));
    }
    loop_post(intake->loop, &intake->task);
}

static void *
run_thread(void *context)
{
    BlobIntakes *intakes = context;
    mutex_lock(&intakes->lock);
    while (!intakes->is_closing) {
        ListLink *first = list_first(&intakes->queue);
        if (first == NULL) {
            condition_wait(&intakes->wake, &intakes->lock);
            continue;
        }
        list_remove(first);
        mutex_unlock(&intakes->lock);
        work_on(LIST_ITEM(first, BlobIntake, link));
        mutex_lock(&intakes->lock);
    }
    mutex_unlock(&intakes->lock);
    return NULL;
}

static void
send_away(BlobIntake *intake)
{
    BlobIntakes *intakes = intake->intakes;
    intake->is_away = true;
    mutex_lock(&intakes->lock);
    list_append(&intakes->queue, &intake->link);
    condition_signal(&intakes->wake);
    mutex_unlock(&intakes->lock);
}

/* Sends the next batch away, if there is something in it. */
static void
send_batch(BlobIntake *intake)
{
    assert(!intake->is_away && intake->draining.size == 0);
    if (intake->filling.size == 0 && !intake->is_whole && intake->has_begun) {
        return;
    }
    Buffer empty = intake->draining;
    intake->draining = intake->filling;
    intake->filling = empty;
    intake->is_last = intake->is_whole;
    send_away(intake);
}

static void
drop_intake(BlobIntake *intake)
{
    assert(intake->has_begun);
    if (intake->arrival == NULL) {
        intake_free(intake);
        return;
    }
    intake->is_dropped = true;
    send_away(intake);
}

static void
tell_progress(BlobIntake *intake)
{
    size_t taken = intake->draining.size;
    buffer_clear(&intake->draining);
    if (!intake->has_told_begin && !intake->has_ended && intake->events.on_begun != NULL) {
        intake->events.on_begun(intake->context);
    }
    intake->has_told_begin = true;
    if (intake->has_ended) {
        taken += intake->filling.size; /* nobody wants them any more */
        buffer_clear(&intake->filling);
    }
    if (taken > 0 && !intake->is_abandoned) {
        intake->events.on_taken(intake->context, taken);
    }
}

static void
tell_end(BlobIntake *intake)
{
    BlobIntakeEnd end = {
        .state = intake->state,
        .status = intake->status,
        .is_wrong = intake->is_wrong,
        .call = &intake->call,
    };
    intake->events.on_end(intake->context, &end);
    intake_free(intake);
}

static void
come_back(Task *task)
{
    BlobIntake *intake = LIST_ITEM(task, BlobIntake, task);
    if (!intake->is_abandoned) {
        tell_progress(intake);
    }
    if (intake->is_abandoned) {
        drop_intake(intake);
    } else if (intake->has_ended) {
        tell_end(intake);
    } else {
        intake->is_away = false;
        send_batch(intake);
    }
}

Status
blob_intakes_new(Call *call, BlobStore *store, int thread_count, BlobIntakes **ret_intakes)
{
    assert(store != NULL && thread_count > 0 && thread_count <= BLOB_INTAKE_THREADS_MAX);
    BlobIntakes *intakes = memory_new(1, sizeof *intakes);
    if (intakes == NULL) {
        return call_fail_memory(call, "the threads that take constants");
    }
    intakes->store = store;
    list_init(&intakes->queue);
    mutex_init(&intakes->lock);
    condition_init(&intakes->wake);
    while (intakes->thread_count < thread_count) {
        int error = pthread_create(&intakes->threads[intakes->thread_count], NULL, run_thread, intakes);
        if (error != 0) {
            blob_intakes_free(intakes);
            return call_fail(
                call, STATUS_UNAVAILABLE, "cannot start a thread that takes constants: %s", strerror(error));
        }
        intakes->thread_count++;
    }
    *ret_intakes = intakes;
    return STATUS_OK;
}

void
blob_intakes_free(BlobIntakes *intakes)
{
    if (intakes == NULL) {
        return;
    }
    mutex_lock(&intakes->lock);
    intakes->is_closing = true;
    condition_broadcast(&intakes->wake);
    mutex_unlock(&intakes->lock);
    for (int index = 0; index < intakes->thread_count; index++) {
        (void)pthread_join(intakes->threads[index], NULL);
    }
    assert(blob_intake_count(intakes) == 0);
    condition_done(&intakes->wake);
    mutex_done(&intakes->lock);
    memory_free(intakes);
}

int64_t
blob_intake_count(const BlobIntakes *intakes)
{
    return atomic_load_acquire(&intakes->count);
}

BlobIntake *
blob_intake_begin(BlobIntakes *intakes, Loop *loop, CacheKey key, uint64_t size,
    const BlobIntakeEvents *events, void *context)
{
    char text[CACHE_KEY_MAX];
    Slice name = cache_key_text(key, text);
    BlobIntake *intake = memory_new(1, sizeof *intake);
    if (intake == NULL) {
        return NULL;
    }
    intake->intakes = intakes;
    intake->loop = loop;
    intake->events = *events;
    intake->context = context;
    intake->task.run = come_back;
    intake->size = size;
    intake->key_size = name.size;
    memcpy(intake->key, text, name.size);
    list_init(&intake->link);
    (void)atomic_add_relaxed(&intakes->count, 1);
    send_batch(intake);
    return intake;
}

bool
blob_intake_write(BlobIntake *intake, Slice bytes)
{
    assert(!intake->is_whole && !intake->is_abandoned);
    buffer_append_slice(&intake->filling, bytes);
    if (!buffer_is_ok(&intake->filling)) {
        return false;
    }
    if (!intake->is_away) {
        send_batch(intake);
    }
    return true;
}

void
blob_intake_finish(BlobIntake *intake)
{
    assert(!intake->is_whole && !intake->is_abandoned);
    intake->is_whole = true;
    if (!intake->is_away) {
        send_batch(intake);
    }
}

void
blob_intake_abandon(BlobIntake *intake)
{
    if (intake == NULL) {
        return;
    }
    assert(!intake->is_abandoned);
    intake->is_abandoned = true;
    if (!intake->is_away) {
        drop_intake(intake);
    }
}
