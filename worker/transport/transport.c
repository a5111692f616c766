/* Happy path: rendezvous_send() on any thread → step_send() finds the peer by the slot in the key → a peer
 * in this process gets the tensor directly; for another, message_post() queues a Message and posts the
 * transport's task → on the loop, messages_send() sorts the queue into the peers' outboxes → one push request
 * for each peer that has something.
 *
 * Failures: a pull whose connection breaks is posted again, once. A push that is lost, a pull that is lost
 * twice and both when they are refused abort the rendezvous of their step, once; after a step has been
 * detached, failures and pulled values of its messages are dropped. A run that has ended waits until every
 * message that it posted is gone, and then every push that they went into. */
#include "worker/transport/transport.h"

#include <assert.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/buffer.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum {
    STEP_ID_SIZE = 48,
    NUMBER_SIZE = 24,
    PATH_SIZE = 128,
    DELIVER_ARENA_SIZE_MAX = 1 << 16,
    CLEANUP_TIMEOUT_MS = 5000,
};

struct Transport {
    Loop *loop;
    TransportOptions options;
    Upstream *upstream;
    Mutex lock;     /* guards `queue` and `is_posted` */
    ListLink queue; /* list of Message */
    bool is_posted; /* `task` is in the loop's mailbox */
    Task task;
    bool is_closing; /* nothing is sent any more */
};

/* Another slot of the step, from the run request. */
typedef struct Peer {
    ListLink link;   /* on the loop, while the outbox is not empty: in the list of such peers */
    ListLink outbox; /* list of Message, on the loop */
    int64_t slot;
    bool is_local;
    bool ends_pulls_last; /* it takes a pull that ends behind its answer */
    uint64_t push_max;    /* what may be pushed to it: its room, shared among those that send to it */
    uint64_t pushed_size; /* atomic: bytes of the tensors to it that were small enough to push */
    char address[ADDRESS_TEXT_SIZE];
    char incarnation[INCARNATION_TEXT_SIZE];
    char push_token[PUSH_TOKEN_TEXT_SIZE];
    char slot_text[NUMBER_SIZE];
} Peer;

struct TransportStep {
    int32_t reference_count; /* atomic */
    Transport *transport;
    char id[STEP_ID_SIZE];
    int64_t attempt;
    uint64_t deadline_ns;   /* 0: none */
    Mutex lock;             /* guards `rendezvous` and `failure` */
    Rendezvous *rendezvous; /* NULL once detached */
    Failure failure;        /* of the first transfer that failed */
    int32_t unsettled;      /* atomic: pushes under way, and values that wait for theirs */
    TransportWait *wait;    /* on the loop: to be told when there are none; NULL: nobody waits */
    const Peer *lost_peer;  /* atomic: the first that could not be reached; NULL: none */
    size_t peer_count;
    Peer peers[]; /* by slot, ascending */
};

typedef enum MessageKind { MESSAGE_TENSOR, MESSAGE_DEAD, MESSAGE_ANNOUNCE, MESSAGE_PULL } MessageKind;

typedef struct Message {
    ListLink link;
    TransportStep *step;
    Peer *peer;
    MessageKind kind;
    Tensor tensor;
    uint64_t byte_size; /* size of the announced tensor (MESSAGE_ANNOUNCE) */
    bool is_repeated;   /* the value was asked for before (MESSAGE_PULL) */
    size_t key_size;
    char key[];
} Message;

static void
copy_text(char *target, size_t size, Slice text)
{
    (void)snprintf(target, size, "%.*s", SLICE_PRINT(text));
}

static void
peer_init(Peer *peer, const WirePeer *from, const Transport *transport, size_t peer_count)
{
    size_t sender_count = from->sender_count > 0 ? (size_t)from->sender_count : peer_count;
    peer->slot = from->slot;
    peer->ends_pulls_last =
        from->version >= WIRE_VERSION_PULL_ENDS_LAST &&
        wire_versions_or_all(transport->options.upstream.versions).newest >= WIRE_VERSION_PULL_ENDS_LAST;
    peer->is_local = slice_equals_string(from->incarnation, transport->options.incarnation);
    peer->push_max = PARKED_SIZE_MAX / sender_count;
    copy_text(peer->address, sizeof peer->address, from->address);
    copy_text(peer->incarnation, sizeof peer->incarnation, from->incarnation);
    copy_text(peer->push_token, sizeof peer->push_token, from->push_token);
    (void)snprintf(peer->slot_text, sizeof peer->slot_text, "%lld", (long long)peer->slot);
}

static int
compare_slots(const void *left, const void *right)
{
    int64_t a = ((const Peer *)left)->slot;
    int64_t b = ((const Peer *)right)->slot;
    return (a > b) - (a < b);
}

/* Sorts peers that come in another order; their lists are still empty. */
static void
peers_sort(TransportStep *step)
{
    bool is_sorted = true;
    for (size_t index = 1; index < step->peer_count; index++) {
        is_sorted = is_sorted && step->peers[index - 1].slot < step->peers[index].slot;
    }
    if (!is_sorted) {
        qsort(step->peers, step->peer_count, sizeof *step->peers, compare_slots);
    }
    for (size_t index = 0; index < step->peer_count; index++) {
        list_init(&step->peers[index].link);
        list_init(&step->peers[index].outbox);
    }
}

TransportStep *
transport_step_new(Transport *transport, Slice id, const WireRun *run, uint64_t deadline_ns)
{
    assert(run->peer_count <= SLOT_COUNT_MAX);
    TransportStep *step = memory_new(1, sizeof *step + run->peer_count * sizeof(Peer));
    if (step == NULL) {
        return NULL;
    }
    step->reference_count = 1;
    step->transport = transport;
    step->attempt = run->attempt;
    step->deadline_ns = deadline_ns;
    copy_text(step->id, sizeof step->id, id);
    mutex_init(&step->lock);
    step->peer_count = run->peer_count;
    for (size_t index = 0; index < run->peer_count; index++) {
        peer_init(&step->peers[index], &run->peers[index], transport, run->peer_count);
    }
    peers_sort(step);
    return step;
}

static TransportStep *
transport_step_ref(TransportStep *step)
{
    reference_count_add(&step->reference_count);
    return step;
}

void
transport_step_unref(TransportStep *step)
{
    if (step != NULL && reference_count_drop(&step->reference_count)) {
        mutex_done(&step->lock);
        memory_free(step);
    }
}

void
transport_step_attach(TransportStep *step, Rendezvous *rendezvous)
{
    mutex_lock(&step->lock);
    step->rendezvous = rendezvous;
    mutex_unlock(&step->lock);
}

void
transport_step_detach(TransportStep *step)
{
    transport_step_attach(step, NULL);
}

static Rendezvous *
transport_step_rendezvous(TransportStep *step)
{
    mutex_lock(&step->lock);
    Rendezvous *rendezvous = step->rendezvous == NULL ? NULL : rendezvous_ref(step->rendezvous);
    mutex_unlock(&step->lock);
    return rendezvous;
}

const char *
transport_step_lost_peer(const TransportStep *step)
{
    const Peer *lost = atomic_load_acquire(&step->lost_peer);
    return lost == NULL ? NULL : lost->address;
}

/* Notes that no connection to the peer could be made, or that it was lost. */
static void
note_lost_peer(TransportStep *step, const Peer *peer)
{
    const Peer *none = NULL;
    (void)atomic_compare_exchange_acq_rel(&step->lost_peer, &none, peer);
}

/* Notes the failure of a transfer, unless another came first. */
static void
note_failure(TransportStep *step, const Failure *failure)
{
    mutex_lock(&step->lock);
    if (step->failure.code == STATUS_OK) {
        step->failure = *failure;
    }
    mutex_unlock(&step->lock);
}

Failure
transport_step_failure(TransportStep *step)
{
    mutex_lock(&step->lock);
    Failure failure = step->failure;
    mutex_unlock(&step->lock);
    return failure;
}

static void
transport_step_abort(TransportStep *step, const Peer *peer, Status status, Slice reason)
{
    Failure failure = failure_of(
        status, (Slice){0}, "slot %s at %s: %.*s", peer->slot_text, peer->address, SLICE_PRINT(reason));
    note_failure(step, &failure);
    Rendezvous *rendezvous = transport_step_rendezvous(step);
    if (rendezvous != NULL) {
        rendezvous_abort(rendezvous, status, failure.message);
        rendezvous_unref(rendezvous);
    }
}

static void
hold_settling(TransportStep *step)
{
    (void)atomic_add_relaxed(&step->unsettled, 1);
}

static void
allow_settling(TransportStep *step)
{
    if (atomic_sub_acq_rel(&step->unsettled, 1) == 0 && step->wait != NULL) {
        TransportWait *wait = TAKE(step->wait);
        wait->done(wait);
    }
}

bool
transport_step_settle(TransportStep *step, TransportWait *wait)
{
    assert(step->wait == NULL || step->wait == wait);
    bool is_settled = atomic_load_acquire(&step->unsettled) == 0;
    step->wait = is_settled ? NULL : wait;
    return is_settled;
}

void
transport_step_forget(TransportStep *step)
{
    step->wait = NULL;
}

static void
message_free(Message *message)
{
    tensor_unref(&message->tensor);
    transport_step_unref(message->step);
    memory_free(message);
}

static Message *
message_new(TransportStep *step, Peer *peer, MessageKind kind, Slice key)
{
    Message *message = memory_new(1, sizeof *message + key.size);
    if (message != NULL) {
        message->step = transport_step_ref(step);
        message->peer = peer;
        message->kind = kind;
        message->key_size = key.size;
        memcpy(message->key, key.data, key.size);
    }
    return message;
}

static Slice
message_key(const Message *message)
{
    return slice_of(message->key, message->key_size);
}

/* Returns whether the sender's run ends with this message; a pull has a receiver that waits. */
static bool
is_sent(const Message *message)
{
    return message->kind != MESSAGE_PULL;
}

static void
message_post(Message *message)
{
    Transport *transport = message->step->transport;
    if (is_sent(message)) {
        hold_settling(message->step);
    }
    mutex_lock(&transport->lock);
    list_append(&transport->queue, &message->link);
    bool was_posted = transport->is_posted;
    transport->is_posted = true;
    mutex_unlock(&transport->lock);
    if (!was_posted) {
        loop_post(transport->loop, &transport->task);
    }
}

typedef struct Delivery {
    TransportStep *step;
    Peer *peer;
    size_t key_size; /* bytes of a pulled key; 0: a push */
    bool is_delivered;
    bool is_repeated;
    char key[];
} Delivery;

static Delivery *
delivery_new(const Message *message, Slice key)
{
    Delivery *delivery = memory_new(1, sizeof *delivery + key.size);
    if (delivery != NULL) {
        delivery->step = transport_step_ref(message->step);
        delivery->peer = message->peer;
        delivery->key_size = key.size;
        delivery->is_repeated = message->is_repeated;
        if (key.size > 0) {
            memcpy(delivery->key, key.data, key.size);
        } else {
            hold_settling(delivery->step);
        }
    }
    return delivery;
}

static void
delivery_free(Delivery *delivery)
{
    if (delivery->key_size == 0) {
        allow_settling(delivery->step);
    }
    transport_step_unref(delivery->step);
    memory_free(delivery);
}

static Slice
delivery_key(const Delivery *delivery)
{
    return slice_of(delivery->key, delivery->key_size);
}

static void
pulled_frame(UpstreamCall *call, Frame *frame)
{
    Delivery *delivery = upstream_context(call);
    Rendezvous *rendezvous = transport_step_rendezvous(delivery->step);
    bool has_value = frame->kind == FRAME_TENSOR || frame->kind == FRAME_DEAD;
    if (rendezvous != NULL && has_value && !delivery->is_delivered) {
        AUTO_ARENA arena = arena_new(DELIVER_ARENA_SIZE_MAX);
        Call delivering = {.arena = arena};
        delivery->is_delivered = true;
        Status status = rendezvous_deliver(
            &delivering, rendezvous, delivery_key(delivery), &frame->tensor, frame->kind == FRAME_DEAD);
        if (status != STATUS_OK) {
            /* Nobody else would tell the receiver, which waits for this value. */
            transport_step_abort(
                delivery->step, delivery->peer, status, slice_from_string(delivering.error.message));
        }
    }
    rendezvous_unref(rendezvous);
    tensor_unref(&frame->tensor);
}

/* Posts a pull whose connection broke again, so that it goes out when the broken connection is gone. False:
 * it was no pull, or has been repeated, or the step's time is over. */
static bool
pull_again(const Delivery *delivery)
{
    TransportStep *step = delivery->step;
    const Transport *transport = step->transport;
    bool is_late = step->deadline_ns != 0 && step->deadline_ns <= loop_now_ns(transport->loop);
    if (delivery->key_size == 0 || delivery->is_repeated || is_late || transport->is_closing) {
        return false;
    }
    Message *message = message_new(step, delivery->peer, MESSAGE_PULL, delivery_key(delivery));
    if (message != NULL) {
        message->is_repeated = true;
        message_post(message);
    }
    return message != NULL;
}

/* Aborts the step that a push or pull has failed for. */
static void
delivery_fail(const Delivery *delivery, UpstreamCall *call, Status status, const char *message)
{
    int http_status = upstream_http_status(call);
    bool was_pull = delivery->key_size > 0;
    if (status == STATUS_UNAVAILABLE) {
        note_lost_peer(delivery->step, delivery->peer);
    }
    if (status != STATUS_OK) {
        transport_step_abort(delivery->step, delivery->peer, status, slice_from_string(message));
    } else if (http_status / 100 != 2) {
        AUTO_ARENA arena = arena_new(DELIVER_ARENA_SIZE_MAX);
        Call reading = {.arena = arena};
        WireStatus answer = {.failure = failure_of(STATUS_UNAVAILABLE, (Slice){0}, "refused")};
        if (arena != NULL) {
            (void)!wire_status_read(&reading, upstream_body(call), &answer);
        }
        const Failure *failure = &answer.failure;
        transport_step_abort(delivery->step, delivery->peer,
            failure->code == STATUS_OK ? STATUS_INTERNAL : failure->code,
            slice_from_string(failure->message));
    } else if (was_pull && !delivery->is_delivered) {
        transport_step_abort(
            delivery->step, delivery->peer, STATUS_INTERNAL, SLICE("an answer without a tensor"));
    }
}

static void
delivery_done(UpstreamCall *call, Status status, const char *message)
{
    Delivery *delivery = upstream_context(call);
    bool is_lost = status == STATUS_UNAVAILABLE;
    bool is_settled = is_lost && (delivery->is_delivered || pull_again(delivery));
    if (!is_settled) {
        delivery_fail(delivery, call, status, message);
    }
    delivery_free(delivery);
}

static const UpstreamEvents push_events = {.on_done = delivery_done};
static const UpstreamEvents pull_events = {.on_frame = pulled_frame, .on_done = delivery_done};

/* Returns the time until the step's deadline, at least 1 ms; 0: the step has no deadline. */
static uint64_t
time_left_ms(const TransportStep *step)
{
    uint64_t now_ns = loop_now_ns(step->transport->loop);
    if (step->deadline_ns == 0) {
        return 0;
    }
    return step->deadline_ns <= now_ns ? 1 : (step->deadline_ns - now_ns - 1) / CLOCK_NS_PER_MS + 1;
}

static UpstreamCall *
request_begin(
    const Message *message, const char *method, Slice path, const UpstreamEvents *events, Delivery *delivery)
{
    UpstreamHead head = {
        .method = method,
        .path = path,
        .address = message->peer->address,
        .incarnation = slice_from_string(message->peer->incarnation),
        .attempt = message->step->attempt,
        .deadline_ms = time_left_ms(message->step),
        .push_token = slice_from_string(message->peer->push_token),
        .slot = slice_from_string(message->peer->slot_text),
    };
    UpstreamCall *call =
        delivery == NULL ? NULL : upstream_begin(message->step->transport->upstream, &head, events, delivery);
    if (call == NULL) {
        transport_step_abort(
            message->step, message->peer, STATUS_RESOURCE_EXHAUSTED, SLICE("no memory left for a transfer"));
        if (delivery != NULL) {
            delivery_free(delivery);
        }
    }
    return call;
}

static void
message_pull(const Message *message)
{
    AUTO_BUFFER path = {0};
    buffer_append_format(&path, "/worker/v1/steps/%s/tensors/", message->step->id);
    wire_key_encode(&path, message_key(message));
    UpstreamCall *call = request_begin(
        message, "GET", buffer_slice(&path), &pull_events, delivery_new(message, message_key(message)));
    if (call != NULL && message->peer->ends_pulls_last) {
        upstream_end_last(call);
    } else if (call != NULL) {
        upstream_end(call);
    }
}

static void
message_write(UpstreamCall *call, const Message *message)
{
    AUTO_BUFFER frame = {0};
    switch (message->kind) {
    case MESSAGE_TENSOR:
        upstream_write_tensor(call, message_key(message), &message->tensor);
        return;
    case MESSAGE_DEAD:
        frame_write_dead(&frame, message_key(message));
        break;
    case MESSAGE_ANNOUNCE:
        frame_write_announce(&frame, message_key(message), message->byte_size);
        break;
    case MESSAGE_PULL:
        break;
    }
    upstream_write_copy(call, buffer_slice(&frame));
}

static void
messages_free(ListLink *messages)
{
    while (!list_is_empty(messages)) {
        Message *message = LIST_ITEM(list_first(messages), Message, link);
        list_remove(&message->link);
        if (is_sent(message)) {
            allow_settling(message->step);
        }
        message_free(message);
    }
}

/* Sends the messages, all for one slot of one step, in one request. */
static void
messages_push(ListLink *messages)
{
    assert(!list_is_empty(messages));
    const Message *first = LIST_ITEM(messages->next, Message, link);
    char path[PATH_SIZE];
    int size = snprintf(path, sizeof path, "/worker/v1/steps/%s/tensors", first->step->id);
    UpstreamCall *call = request_begin(
        first, "POST", slice_of(path, (size_t)size), &push_events, delivery_new(first, slice_of(NULL, 0)));
    if (call == NULL) {
        return;
    }
    LIST_EACH(messages, link)
    {
        message_write(call, LIST_ITEM(link, Message, link));
    }
    upstream_end(call);
}

/* Empties the outbox. The peer may be gone afterwards: the messages hold its step. */
static void
outbox_send(Peer *peer)
{
    ListLink messages;
    list_init(&messages);
    list_remove(&peer->link);
    list_move(&peer->outbox, &messages);
    messages_push(&messages);
    messages_free(&messages);
}

/* Sends a pull at once, and puts anything else into its peer's outbox. */
static void
message_sort(Message *message, ListLink *peers)
{
    Peer *peer = message->peer;
    if (message->kind == MESSAGE_PULL) {
        message_pull(message);
        message_free(message);
        return;
    }
    if (list_is_empty(&peer->outbox)) {
        list_append(peers, &peer->link);
    }
    list_append(&peer->outbox, &message->link);
}

static void
messages_send(Task *task)
{
    Transport *transport = (Transport *)(void *)((char *)task - offsetof(Transport, task));
    ListLink messages;
    ListLink peers;
    list_init(&messages);
    list_init(&peers);
    mutex_lock(&transport->lock);
    list_move(&transport->queue, &messages);
    transport->is_posted = false;
    mutex_unlock(&transport->lock);
    while (!list_is_empty(&messages)) {
        Message *message = LIST_ITEM(list_first(&messages), Message, link);
        list_remove(&message->link);
        message_sort(message, &peers);
    }
    while (!list_is_empty(&peers)) {
        outbox_send(LIST_ITEM(list_first(&peers), Peer, link));
    }
}

/* Returns the slot of a device in the key, "/slot:N/…": of the sending device (part 0) or the receiving
 * one (part 1). -1: it names none. */
static int64_t
key_slot(Slice key, int part)
{
    Slice device = {0};
    int64_t slot = -1;
    for (int index = 0; index <= part; index++) {
        if (!slice_split(&key, ';', &device)) {
            return -1;
        }
    }
    if (!slice_starts_with(device, SLICE("/slot:"))) {
        return -1;
    }
    Slice rest = slice_part(device, SLICE("/slot:").size, device.size);
    return slice_to_int64(slice_part(rest, 0, slice_find(rest, '/')), &slot) ? slot : -1;
}

static Peer *
peer_find(TransportStep *step, int64_t slot)
{
    size_t low = 0;
    size_t high = step->peer_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (step->peers[middle].slot < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < step->peer_count && step->peers[low].slot == slot ? &step->peers[low] : NULL;
}

static Status
send_local(Call *call, TransportStep *step, const Peer *peer, Slice key, Tensor *tensor, bool is_dead)
{
    const TransportOptions *options = &step->transport->options;
    Rendezvous *rendezvous = options->find_local(options->context, slice_from_string(step->id), step->attempt,
        peer->slot, slice_from_string(peer->push_token));
    if (rendezvous == NULL) {
        return call_fail(call, STATUS_ABORTED, "slot %s of this step has ended", peer->slot_text);
    }
    Status status = rendezvous_deliver(call, rendezvous, key, tensor, is_dead);
    rendezvous_unref(rendezvous);
    return status;
}

/* Parks a large value in this slot's rendezvous and announces it to the peer, which will pull it. */
static Status
send_announced(Call *call, TransportStep *step, Peer *peer, Slice key, Tensor *tensor)
{
    Message *message = message_new(step, peer, MESSAGE_ANNOUNCE, key);
    Rendezvous *rendezvous = transport_step_rendezvous(step);
    if (message == NULL || rendezvous == NULL) {
        rendezvous_unref(rendezvous);
        if (message != NULL) {
            message_free(message);
        }
        return call_fail(call, STATUS_ABORTED, "the step has ended");
    }
    message->byte_size = tensor_byte_size(tensor);
    Status status = rendezvous_deliver(call, rendezvous, key, tensor, false);
    rendezvous_unref(rendezvous);
    if (status != STATUS_OK) {
        message_free(message);
        return status;
    }
    message_post(message);
    return STATUS_OK;
}

/* Returns whether a value may be pushed unasked, and counts it. The peer parks pushed values until they
 * are wanted: each slot that sends to it may use an equal share of PARKED_SIZE_MAX. */
static bool
may_push(Peer *peer, uint64_t size)
{
    if (size > PUSH_SIZE_MAX) {
        return false;
    }
    uint64_t pushed_size = atomic_add_relaxed(&peer->pushed_size, size);
    return pushed_size <= peer->push_max;
}

static Status
step_send(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead)
{
    TransportStep *step = context;
    Peer *peer = peer_find(step, key_slot(key, 1));
    if (peer == NULL) {
        return call_fail(
            call, STATUS_INTERNAL, "key '%.*s' is for a slot this step does not have", SLICE_PRINT(key));
    }
    if (peer->is_local) {
        return send_local(call, step, peer, key, tensor, is_dead);
    }
    if (!is_dead && !may_push(peer, tensor_byte_size(tensor))) {
        return send_announced(call, step, peer, key, tensor);
    }
    Message *message = message_new(step, peer, is_dead ? MESSAGE_DEAD : MESSAGE_TENSOR, key);
    if (message == NULL) {
        return call_fail_memory(call, "a transfer");
    }
    if (!is_dead) {
        message->tensor = *tensor;
        *tensor = (Tensor){0};
    }
    message_post(message);
    return STATUS_OK;
}

static void
step_pull(void *context, Slice key)
{
    TransportStep *step = context;
    Peer *peer = peer_find(step, key_slot(key, 0));
    Message *message = peer == NULL ? NULL : message_new(step, peer, MESSAGE_PULL, key);
    if (message != NULL) {
        message_post(message);
    } else if (peer != NULL) {
        transport_step_abort(step, peer, STATUS_RESOURCE_EXHAUSTED, SLICE("no memory left for a transfer"));
    }
}

static void
cleanup_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)status;
    (void)message;
}

static void
end_peer(const TransportStep *step, const Peer *peer)
{
    static const UpstreamEvents events = {.on_done = cleanup_done};
    char path[PATH_SIZE];
    int size = snprintf(path, sizeof path, "/worker/v1/steps/%s", step->id);
    UpstreamHead head = {
        .method = "DELETE",
        .path = slice_of(path, (size_t)size),
        .address = peer->address,
        .incarnation = slice_from_string(peer->incarnation),
        .attempt = step->attempt,
        .deadline_ms = CLEANUP_TIMEOUT_MS,
    };
    UpstreamCall *call = upstream_begin(step->transport->upstream, &head, &events, NULL);
    if (call != NULL) {
        upstream_end(call);
    }
}

/* Returns whether a peer before this one has the same worker. */
static bool
shares_worker(const TransportStep *step, size_t index)
{
    bool is_shared = false;
    for (size_t other = 0; other < index; other++) {
        is_shared = is_shared || strcmp(step->peers[other].address, step->peers[index].address) == 0;
    }
    return is_shared;
}

void
transport_step_end_peers(TransportStep *step)
{
    for (size_t index = 0; index < step->peer_count && !step->transport->is_closing; index++) {
        if (!step->peers[index].is_local && !shares_worker(step, index)) {
            end_peer(step, &step->peers[index]);
        }
    }
}

RendezvousRemote
transport_step_remote(TransportStep *step)
{
    return (RendezvousRemote){.context = step, .send = step_send, .pull = step_pull};
}

Transport *
transport_new(Loop *loop, const TransportOptions *options)
{
    Transport *transport = memory_new(1, sizeof *transport);
    if (transport == NULL) {
        return NULL;
    }
    transport->loop = loop;
    transport->options = *options;
    transport->task.run = messages_send;
    list_init(&transport->queue);
    mutex_init(&transport->lock);
    transport->upstream = upstream_new(loop, &options->upstream);
    if (transport->upstream == NULL) {
        transport_free(transport);
        return NULL;
    }
    return transport;
}

void
transport_free(Transport *transport)
{
    if (transport == NULL) {
        return;
    }
    transport->is_closing = true;
    messages_free(&transport->queue);
    upstream_free(transport->upstream);
    mutex_done(&transport->lock);
    memory_free(transport);
}

Upstream *
transport_upstream(const Transport *transport)
{
    return transport->upstream;
}
