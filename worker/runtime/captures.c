#include "worker/runtime/captures.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/runtime/memory_account.h"

enum {
    KEYS_PER_GRAPH = 4, /* keys remembered for each part that may be captured */
    LAUNCHES_USUAL = 8, /* fewer are enqueued faster than a captured part with its copies */
    TURNS_PER_GRAPH =
        32, /* turns, for each part that may be captured, after which counts of uses are halved */
};

typedef enum CaptureState {
    STATE_SEEN,
    STATE_MEASURING,
    STATE_MEASURED,
    STATE_RECORDING,
    STATE_READY,
    STATE_BROKEN, /* its graph is of no use, but runs have not ended their turns with it */
    STATE_REFUSED,
} CaptureState;

struct Captures {
    Device *device;
    CapturesOptions options;
    Mutex lock; /* guards what follows, and all captures' lists, states and counts of users */
    ListLink by_use;
    uint32_t key_count;
    uint32_t graph_count; /* ready, being recorded, or broken */
    uint32_t turn_count;  /* since the counts of uses were halved */
};

Captures *
captures_new(Device *device, const CapturesOptions *options)
{
    assert(!device_is_host(device) && options->graph_max > 0);
    Captures *made = memory_new(1, sizeof *made);
    if (made != NULL) {
        made->device = device;
        made->options = *options;
        mutex_init(&made->lock);
        list_init(&made->by_use);
    }
    return made;
}

uint32_t
captures_launch_min(const Captures *captures)
{
    return captures->options.launch_min == 0 ? LAUNCHES_USUAL : captures->options.launch_min;
}

void
captures_free(Captures *captures)
{
    if (captures != NULL) {
        assert(list_is_empty(&captures->by_use));
        mutex_done(&captures->lock);
        memory_free(captures);
    }
}

static bool
holds_graph(const Capture *capture)
{
    return capture->state == STATE_READY || capture->state == STATE_RECORDING ||
           capture->state == STATE_BROKEN;
}

/* Takes a capture off the lists. Called with the lock held; free_capture() follows without it. */
static void
unlist(Captures *captures, Capture *capture)
{
    assert(capture->user_count == 0);
    list_remove(&capture->of_site);
    list_remove(&capture->by_use);
    captures->key_count--;
    captures->graph_count -= holds_graph(capture);
}

/* Frees what only a recorded capture has. The device may still be at work: what gets the bytes next is
 * enqueued behind it. */
static void
free_recorded(const Captures *captures, Capture *capture)
{
    Device *device = captures->device;
    if (capture->graph != NULL) {
        device->free_graph(device, TAKE(capture->graph));
    }
    for (uint32_t i = 0; i < capture->input_count + capture->output_count; i++) {
        tensor_unref(&capture->inputs[i]);
    }
    memory_free(TAKE(capture->inputs));
    capture->outputs = NULL;
    capture->input_count = 0;
    capture->output_count = 0;
    capture_memory_unref(TAKE(capture->memory));
}

static void
free_capture(const Captures *captures, Capture *capture)
{
    if (capture != NULL) {
        free_recorded(captures, capture);
        memory_free(capture);
    }
}

/* Returns the capture that was used longest ago of those with a graph, or of those without, that nobody uses,
 * unlisted; NULL: there is none. Keys that come once only take no graphs away. Called with the lock held. */
static Capture *
take_oldest(Captures *captures, bool has_graph, uint64_t tenant)
{
    LIST_EACH(&captures->by_use, link)
    {
        Capture *capture = LIST_ITEM(link, Capture, by_use);
        bool is_meant = holds_graph(capture) == has_graph && (tenant == 0 || capture->tenant == tenant);
        if (is_meant && capture->user_count == 0) {
            unlist(captures, capture);
            return capture;
        }
    }
    return NULL;
}

static Capture *
find_capture(const CaptureSite *site, Slice key)
{
    LIST_EACH(&site->captures, link)
    {
        Capture *capture = LIST_ITEM(link, Capture, of_site);
        if (capture->key_size == key.size && memcmp(capture->key, key.data, key.size) == 0) {
            return capture;
        }
    }
    return NULL;
}

/* Notes a key that was not seen before. Returns a capture that had to make room, for free_capture(). */
static Capture *
note_key(Captures *captures, CaptureSite *site, uint64_t tenant, Slice key)
{
    Capture *oldest = NULL;
    if (captures->key_count >= captures->options.graph_max * KEYS_PER_GRAPH) {
        oldest = take_oldest(captures, false, 0);
        if (oldest == NULL) {
            return NULL;
        }
    }
    Capture *made = memory_new(1, sizeof *made + key.size);
    if (made != NULL) {
        made->tenant = tenant;
        made->key_size = key.size;
        memcpy(made->key, key.data, key.size);
        list_append(&site->captures, &made->of_site);
        list_append(&captures->by_use, &made->by_use);
        captures->key_count++;
    }
    return oldest;
}

/* Returns the capture with a graph that nobody uses and that was used least of late, the one used longest ago
 * of several; NULL: there is none. Called with the lock held. */
static Capture *
find_least_used(Captures *captures)
{
    Capture *least = NULL;
    LIST_EACH(&captures->by_use, link)
    {
        Capture *capture = LIST_ITEM(link, Capture, by_use);
        bool is_free = holds_graph(capture) && capture->user_count == 0;
        if (is_free && (least == NULL || capture->use_count < least->use_count)) {
            least = capture;
        }
    }
    return least;
}

/* Begins a recording if there is room for another graph, or one that is used less than half as often. Returns
 * whether it has begun. */
static bool
begin_recording(Captures *captures, Capture *capture, Capture **ret_displaced)
{
    if (captures->graph_count >= captures->options.graph_max) {
        Capture *least = find_least_used(captures);
        if (least == NULL || capture->use_count / 2 <= least->use_count) {
            return false;
        }
        unlist(captures, least);
        *ret_displaced = least;
    }
    captures->graph_count++;
    capture->state = STATE_RECORDING;
    return true;
}

/* Returns whether a key that was refused has been run plainly for long enough to be tried again. */
static bool
has_rested(Capture *capture)
{
    return capture->rest_left > 0 && --capture->rest_left == 0;
}

static CaptureTurn
choose_turn(Captures *captures, Capture *capture, Capture **ret_displaced)
{
    switch ((CaptureState)capture->state) {
    case STATE_REFUSED:
        if (!has_rested(capture)) {
            return CAPTURE_PLAIN;
        }
        capture->state = STATE_MEASURING;
        return CAPTURE_MEASURE;
    case STATE_SEEN:
        capture->state = STATE_MEASURING;
        return CAPTURE_MEASURE;
    case STATE_MEASURED:
        return begin_recording(captures, capture, ret_displaced) ? CAPTURE_RECORD : CAPTURE_PLAIN;
    case STATE_READY:
        return CAPTURE_REPLAY;
    case STATE_MEASURING:
    case STATE_RECORDING:
    case STATE_BROKEN:
        return CAPTURE_PLAIN;
    }
    return CAPTURE_PLAIN;
}

/* Notes a use of the key, and lets all keys' uses of long ago count for less. */
static void
count_use(Captures *captures, Capture *capture)
{
    capture->use_count++;
    captures->turn_count++;
    if (captures->turn_count < TURNS_PER_GRAPH * captures->options.graph_max) {
        return;
    }
    captures->turn_count = 0;
    LIST_EACH(&captures->by_use, link)
    {
        LIST_ITEM(link, Capture, by_use)->use_count /= 2;
    }
}

CaptureTurn
captures_begin(Captures *captures, CaptureSite *site, uint64_t tenant, Slice key, Capture **ret_capture)
{
    CaptureTurn turn = CAPTURE_PLAIN;
    Capture *displaced = NULL;
    mutex_lock(&captures->lock);
    Capture *capture = find_capture(site, key);
    if (capture == NULL) {
        displaced = note_key(captures, site, tenant, key);
    } else {
        list_remove(&capture->by_use);
        list_append(&captures->by_use, &capture->by_use);
        count_use(captures, capture);
        capture->user_count++; /* so that it does not make room for itself */
        turn = choose_turn(captures, capture, &displaced);
        capture->user_count -= turn == CAPTURE_PLAIN;
    }
    mutex_unlock(&captures->lock);
    free_capture(captures, displaced);
    *ret_capture = turn == CAPTURE_PLAIN ? NULL : capture;
    return turn;
}

void
captures_count_refusal(Captures *captures, CaptureRefusal reason)
{
    assert(reason < CAPTURE_REFUSALS);
    atomic_add_relaxed(&captures->device->counts.uncaptured[reason], 1);
}

/* Lets the key be tried again when it has been run plainly twice as often as after the last refusal. */
static void
give_rest(Capture *capture)
{
    capture->rest_left = capture->rest_next == 0 ? CAPTURE_REST_MIN : capture->rest_next;
    capture->rest_next = capture->rest_left < CAPTURE_REST_MAX ? capture->rest_left * 2 : CAPTURE_REST_MAX;
}

void
captures_refuse(Captures *captures, Capture *capture, CaptureRefusal reason)
{
    free_recorded(captures, capture);
    captures_count_refusal(captures, reason);
    mutex_lock(&captures->lock);
    assert(capture->user_count == 1 && capture->state != STATE_READY);
    captures->graph_count -= holds_graph(capture);
    capture->user_count--;
    capture->memory_size = 0;
    capture->state = STATE_REFUSED;
    if (reason == CAPTURE_LACKS_MEMORY) {
        give_rest(capture);
    }
    mutex_unlock(&captures->lock);
}

/* Frees a broken graph behind the last turn with it: nobody else uses the capture meanwhile. */
static void
free_broken(Captures *captures, Capture *capture)
{
    free_recorded(captures, capture);
    mutex_lock(&captures->lock);
    assert(capture->user_count == 1 && capture->state == STATE_BROKEN);
    captures->graph_count--;
    capture->user_count--;
    capture->memory_size = 0;
    capture->state = capture->rest_left > 0 ? STATE_REFUSED : STATE_SEEN;
    mutex_unlock(&captures->lock);
}

/* Notes how the turn went, and returns whether it was the last one with a graph that is broken. Called with
 * the lock held. */
static bool
end_turn(Captures *captures, Capture *capture)
{
    assert(capture->user_count > 0);
    if (capture->state == STATE_BROKEN && capture->user_count == 1) {
        return true;
    }
    capture->user_count--;
    if (capture->state == STATE_MEASURING) {
        capture->state = capture->memory_size > 0 ? STATE_MEASURED : STATE_SEEN;
    } else if (capture->state == STATE_RECORDING) {
        assert(capture->graph != NULL);
        capture->state = STATE_READY;
        atomic_add_relaxed(&captures->device->counts.captured, 1);
    }
    return false;
}

void
captures_end(Captures *captures, Capture *capture)
{
    mutex_lock(&captures->lock);
    bool is_broken = end_turn(captures, capture);
    mutex_unlock(&captures->lock);
    if (is_broken) {
        free_broken(captures, capture);
    }
}

/* Lets no other run begin a turn with the graph. */
static void
break_graph(Captures *captures, Capture *capture, bool has_failed)
{
    mutex_lock(&captures->lock);
    assert(holds_graph(capture));
    if (has_failed && capture->state != STATE_BROKEN) {
        give_rest(capture);
    }
    capture->state = STATE_BROKEN;
    mutex_unlock(&captures->lock);
}

void
captures_end_stale(Captures *captures, Capture *capture)
{
    break_graph(captures, capture, false);
    captures_end(captures, capture);
}

void
captures_end_failed(Captures *captures, Capture *capture)
{
    captures_count_refusal(captures, CAPTURE_LAUNCH_FAILED);
    break_graph(captures, capture, true);
    captures_end(captures, capture);
}

void
captures_forget(Captures *captures, CaptureSite *site)
{
    ListLink forgotten;
    list_init(&forgotten);
    mutex_lock(&captures->lock);
    LIST_EACH(&site->captures, link)
    {
        Capture *capture = LIST_ITEM(link, Capture, of_site);
        unlist(captures, capture);
        list_append(&forgotten, &capture->of_site);
    }
    mutex_unlock(&captures->lock);
    LIST_EACH(&forgotten, link)
    {
        free_capture(captures, LIST_ITEM(link, Capture, of_site));
    }
}

bool
captures_give_up(Captures *captures, uint64_t tenant)
{
    mutex_lock(&captures->lock);
    Capture *oldest = take_oldest(captures, true, tenant);
    mutex_unlock(&captures->lock);
    free_capture(captures, oldest);
    return oldest != NULL;
}

TensorBuffer *
captures_allocate(Captures *captures, uint64_t tenant, size_t size)
{
    Device *device = captures->device;
    MemoryAccount *account = memory_account_new();
    if (account == NULL) {
        return NULL;
    }
    account->tenant = tenant;
    MemoryAccount *before = device->charge(device, account);
    TensorBuffer *block = device->allocate(device, size);
    (void)device->charge(device, before);
    memory_account_end(account);
    return block;
}
