/* A turn of the thread: copy the watched tenants, and note from which position on each is followed → read the
 * events of all behind the feed's position → hand them to the receivers → wait.
 *
 * Failures: a turn that fails is made again from the same position. A receiver whose loop does not keep up
 * loses batches and is told so; its streams then read the database themselves. */
#include "gateway/events/event_feed.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/events/event_frame.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/telemetry/log.h"

enum {
    TURN_MS = 5000, /* the time in which one turn's statement must be answered */
    BATCH_MAX = 1000,
    ARENA_SIZE_MAX = 32 << 20,
};

typedef struct Watched {
    TenantId tenant;
    size_t count; /* of streams */
    bool is_followed;
    EventPosition since; /* while it is followed: from here on its events come */
} Watched;

struct EventFeed {
    const char *conninfo;
    pthread_t thread;
    Arena *arena; /* of one turn; the thread's, as the next four */
    Store *store;
    EventPosition position; /* all before it has been handed on */
    bool is_following;      /* the position is known */
    bool has_failed;        /* in the last turn, which was logged */
    Mutex lock;             /* guards what follows, and what receivers have of the feed */
    Condition changed;
    Map *tenants; /* id → Watched */
    EventReceiver *receivers[EVENT_RECEIVERS_MAX];
    size_t receiver_count;
    bool is_stopping;
};

static EventBatch *
batch_new(void)
{
    EventBatch *batch = memory_new(1, sizeof *batch);
    if (batch != NULL) {
        batch->reference_count = 1;
    }
    return batch;
}

static void
batch_unref(EventBatch *batch)
{
    if (batch != NULL && atomic_sub_acq_rel(&batch->reference_count, 1) == 0) {
        memory_free(batch->items);
        buffer_done(&batch->text);
        buffer_done(&batch->kinds);
        memory_free(batch);
    }
}

/* Takes the texts of a page over. False without memory. */
static bool
batch_fill(EventBatch *batch, const EventPage *page)
{
    batch->items = memory_new(page->count + 1, sizeof *batch->items);
    for (size_t index = 0; batch->items != NULL && index < page->count; index++) {
        const Event *event = &page->items[index];
        size_t offset = batch->text.size;
        event_frame_write(&batch->text, event);
        batch->items[index] = (EventItem){.tenant = event->tenant,
            .session = event->session,
            .step = event->step,
            .position = event->position,
            .offset = offset,
            .size = batch->text.size - offset};
        buffer_append(&batch->kinds, event->kind, strlen(event->kind) + 1);
    }
    if (batch->items == NULL || !buffer_is_ok(&batch->text) || !buffer_is_ok(&batch->kinds)) {
        return false;
    }
    const char *kind = batch->kinds.data;
    for (size_t index = 0; index < page->count; index++) {
        batch->items[index].kind = kind;
        kind += strlen(kind) + 1;
    }
    batch->count = page->count;
    batch->end = page->end;
    return true;
}

/* Appends to what a receiver has not taken yet; the lock is held. A batch is lost without room, and NULL is
 * one. */
static void
push_batch(EventReceiver *receiver, EventBatch *batch)
{
    if (batch != NULL && receiver->pending_count < COUNT_OF(receiver->pending)) {
        (void)atomic_add_relaxed(&batch->reference_count, 1);
        receiver->pending[receiver->pending_count++] = batch;
    } else {
        receiver->has_lost = true;
    }
    if (!receiver->is_posted) {
        receiver->is_posted = true;
        loop_post(receiver->loop, &receiver->task);
    }
}

static void
push_to_all(EventFeed *feed, EventBatch *batch)
{
    mutex_lock(&feed->lock);
    for (size_t index = 0; index < feed->receiver_count; index++) {
        push_batch(feed->receivers[index], batch);
    }
    mutex_unlock(&feed->lock);
}

/* A receiver that has lost batches may have lost one about a key, too: all its streams end. */
static void
take_pending(Task *task)
{
    EventReceiver *receiver = LIST_ITEM(task, EventReceiver, task);
    EventBatch *taken[COUNT_OF(receiver->pending)];
    mutex_lock(&receiver->feed->lock);
    size_t count = receiver->pending_count;
    memcpy(taken, receiver->pending, count * sizeof taken[0]);
    bool has_lost = receiver->has_lost;
    receiver->pending_count = 0;
    receiver->has_lost = false;
    receiver->is_posted = false;
    mutex_unlock(&receiver->feed->lock);
    for (size_t index = 0; index < count; index++) {
        receiver->take(receiver, taken[index]);
        batch_unref(taken[index]);
    }
    if (has_lost) {
        receiver->take(receiver, &(EventBatch){.has_gap = true, .ends_all = true});
    }
}

/* Lists the watched tenants, in the arena, and notes that they are followed from the feed's position on. */
static Status
copy_tenants(Call *call, EventFeed *feed, TenantId **ret_tenants, size_t *ret_count)
{
    size_t count = 0;
    size_t cursor = 0;
    mutex_lock(&feed->lock);
    TenantId *tenants = arena_alloc(call->arena, (map_count(feed->tenants) + 1) * sizeof *tenants);
    for (const MapEntry *entry = map_next(feed->tenants, &cursor); entry != NULL && tenants != NULL;
         entry = map_next(feed->tenants, &cursor)) {
        Watched *watched = entry->value;
        if (!watched->is_followed) {
            watched->is_followed = true;
            watched->since = feed->position;
        }
        tenants[count++] = watched->tenant;
    }
    mutex_unlock(&feed->lock);
    *ret_tenants = tenants;
    *ret_count = count;
    return tenants != NULL ? STATUS_OK : call_fail_memory(call, "the watched tenants");
}

static Status
begin_following(Call *call, EventFeed *feed)
{
    EventPage page;
    EventRange range = {.after = EVENT_POSITION_NOW, .count_max = 1};
    TRY(events_watch(call, feed->store, NULL, 0, &range, &page));
    feed->position = page.end;
    feed->is_following = true;
    return STATUS_OK;
}

static Status
take_turn(Call *call, EventFeed *feed, bool *ret_is_more)
{
    TenantId *tenants = NULL;
    size_t count = 0;
    EventPage page;
    if (feed->store == NULL) {
        StoreOptions store = {.conninfo = feed->conninfo, .role = STORE_ROLE_QUEUE};
        TRY(store_open(call, &store, &feed->store));
    }
    if (!feed->is_following) {
        TRY(begin_following(call, feed));
    }
    TRY(copy_tenants(call, feed, &tenants, &count));
    EventRange range = {.after = feed->position, .count_max = BATCH_MAX};
    TRY(events_watch(call, feed->store, tenants, count, &range, &page));
    EventBatch *batch = batch_new();
    if (batch == NULL || !batch_fill(batch, &page)) {
        batch_unref(batch);
        return call_fail_memory(call, "a batch of events");
    }
    batch->has_gap = event_position_is_lost(feed->position, &page);
    feed->position = page.end;
    push_to_all(feed, batch);
    batch_unref(batch);
    *ret_is_more = page.has_more;
    return STATUS_OK;
}

static void
take_turns(EventFeed *feed)
{
    bool is_more = true;
    while (is_more) {
        is_more = false;
        Call call = {.arena = feed->arena, .deadline_ns = clock_monotonic_ns() + TURN_MS * CLOCK_NS_PER_MS};
        bool has_failed = take_turn(&call, feed, &is_more) != STATUS_OK;
        if (has_failed && !feed->has_failed) {
            log_failure(LOG_WARNING, "events could not be read", &call);
        }
        feed->has_failed = has_failed;
        arena_clear(feed->arena);
    }
}

/* Waits until somebody watches, and a pause at least. Returns whether to go on. */
static bool
wait_for_watchers(EventFeed *feed)
{
    uint64_t due_ns = clock_monotonic_ns() + EVENT_FEED_PAUSE_MS * CLOCK_NS_PER_MS;
    mutex_lock(&feed->lock);
    while (!feed->is_stopping && condition_wait_until(&feed->changed, &feed->lock, due_ns)) {}
    while (!feed->is_stopping && map_count(feed->tenants) == 0) {
        feed->is_following = false;
        condition_wait(&feed->changed, &feed->lock);
    }
    bool goes_on = !feed->is_stopping;
    mutex_unlock(&feed->lock);
    return goes_on;
}

static void *
run_feed(void *context)
{
    EventFeed *feed = context;
    while (wait_for_watchers(feed)) {
        take_turns(feed);
    }
    return NULL;
}

Status
event_feed_new(Call *call, const char *conninfo, EventFeed **ret_feed)
{
    assert(conninfo != NULL);

    EventFeed *feed = memory_new(1, sizeof *feed);
    if (feed == NULL) {
        return call_fail_memory(call, "the feed of events");
    }
    feed->conninfo = conninfo;
    feed->is_stopping = true; /* until there is a thread */
    feed->arena = arena_new(ARENA_SIZE_MAX);
    feed->tenants = map_new();
    mutex_init(&feed->lock);
    condition_init(&feed->changed);
    if (feed->arena == NULL || feed->tenants == NULL) {
        event_feed_free(feed);
        return call_fail_memory(call, "the feed of events");
    }
    feed->is_stopping = false;
    if (pthread_create(&feed->thread, NULL, run_feed, feed) != 0) {
        feed->is_stopping = true;
        event_feed_free(feed);
        return call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
    }
    *ret_feed = feed;
    return STATUS_OK;
}

void
event_feed_stop(EventFeed *feed)
{
    if (feed == NULL) {
        return;
    }
    mutex_lock(&feed->lock);
    feed->is_stopping = true;
    condition_signal(&feed->changed);
    mutex_unlock(&feed->lock);
    (void)pthread_join(feed->thread, NULL);
    store_close(TAKE(feed->store));
}

void
event_feed_free(EventFeed *feed)
{
    if (feed == NULL) {
        return;
    }
    assert(feed->is_stopping && feed->receiver_count == 0);
    map_free(feed->tenants);
    arena_free(feed->arena);
    condition_done(&feed->changed);
    mutex_done(&feed->lock);
    memory_free(feed);
}

void
event_feed_join(EventFeed *feed, EventReceiver *receiver)
{
    assert(feed->receiver_count < EVENT_RECEIVERS_MAX && receiver->take != NULL);

    receiver->feed = feed;
    receiver->task.run = take_pending;
    mutex_lock(&feed->lock);
    feed->receivers[feed->receiver_count++] = receiver;
    mutex_unlock(&feed->lock);
}

void
event_feed_leave(EventReceiver *receiver)
{
    EventFeed *feed = receiver->feed;
    mutex_lock(&feed->lock);
    size_t place = 0;
    while (feed->receivers[place] != receiver) {
        place++;
        assert(place < feed->receiver_count);
    }
    feed->receivers[place] = feed->receivers[--feed->receiver_count];
    while (receiver->pending_count > 0) {
        batch_unref(receiver->pending[--receiver->pending_count]);
    }
    mutex_unlock(&feed->lock);
}

/* Returns the tenant's entry, made when it is missing; the lock is held. */
static Watched *
watched_obtain(EventFeed *feed, TenantId tenant)
{
    Slice id = uuid_slice(&tenant.value);
    Watched *watched = map_get(feed->tenants, id);
    if (watched == NULL) {
        watched = memory_new(1, sizeof *watched);
        if (watched != NULL && !map_put(feed->tenants, id, watched)) {
            memory_free(TAKE(watched));
        }
        if (watched != NULL) {
            watched->tenant = tenant;
        }
    }
    return watched;
}

bool
event_feed_watch(EventFeed *feed, TenantId tenant, size_t *ret_count)
{
    mutex_lock(&feed->lock);
    bool is_first = map_count(feed->tenants) == 0;
    Watched *watched = watched_obtain(feed, tenant);
    if (watched != NULL) {
        *ret_count = ++watched->count;
    }
    if (is_first) {
        condition_signal(&feed->changed);
    }
    mutex_unlock(&feed->lock);
    return watched != NULL;
}

void
event_feed_unwatch(EventFeed *feed, TenantId tenant)
{
    mutex_lock(&feed->lock);
    Watched *watched = map_get(feed->tenants, uuid_slice(&tenant.value));
    assert(watched != NULL && watched->count > 0);
    if (--watched->count == 0) {
        (void)map_remove(feed->tenants, uuid_slice(&tenant.value));
        memory_free(watched);
    }
    mutex_unlock(&feed->lock);
}

bool
event_feed_follows(EventFeed *feed, TenantId tenant, EventPosition position)
{
    mutex_lock(&feed->lock);
    const Watched *watched = map_get(feed->tenants, uuid_slice(&tenant.value));
    bool follows =
        watched != NULL && watched->is_followed && event_position_compare(watched->since, position) <= 0;
    mutex_unlock(&feed->lock);
    return follows;
}

void
event_feed_end_key(EventFeed *feed, Slice key)
{
    EventBatch *batch = batch_new();
    if (batch != NULL) {
        batch->ends_all = key.size == 0;
        (void)snprintf(batch->key, sizeof batch->key, "%.*s", SLICE_PRINT(key));
    }
    push_to_all(feed, batch);
    batch_unref(batch);
}
