/* Happy path: message_post() on any thread queues a Message and posts the transport's task → on the loop,
 * messages_send() groups what is queued by step and peer → one push request each.
 *
 * Failures: a push or a pull that is refused or lost aborts the rendezvous of its step, once; messages of
 * steps that have been detached are dropped. */
#include <stdio.h>
#include <string.h>

#include "shared/base/buffer.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/transport/internal.h"

enum { PATH_SIZE = 128, DELIVER_ARENA_SIZE_MAX = 1 << 16 };

/* --- Messages ------------------------------------------------------------------------------------------- */

void
message_free(Message *message)
{
    tensor_unref(&message->tensor);
    transport_step_unref(message->step);
    memory_free(message);
}

Message *
message_new(TransportStep *step, const Peer *peer, MessageKind kind, Slice key)
{
    Message *const message = memory_new(1, sizeof *message + key.size);
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

void
message_post(Message *message)
{
    Transport *const transport = message->step->transport;
    mutex_lock(&transport->lock);
    list_append(&transport->queue, &message->link);
    const bool was_posted = transport->is_posted;
    transport->is_posted = true;
    mutex_unlock(&transport->lock);
    if (!was_posted) {
        loop_post(transport->loop, &transport->task);
    }
}

/* --- Answers of peers ----------------------------------------------------------------------------------- */

typedef struct Delivery {
    TransportStep *step;
    const Peer *peer;
    size_t key_size; /* of a pull; 0: a push */
    bool is_delivered;
    char key[];
} Delivery;

static Delivery *
delivery_new(const Message *message, Slice key)
{
    Delivery *const delivery = memory_new(1, sizeof *delivery + key.size);
    if (delivery != NULL) {
        delivery->step = transport_step_ref(message->step);
        delivery->peer = message->peer;
        delivery->key_size = key.size;
        if (key.size > 0) {
            memcpy(delivery->key, key.data, key.size);
        }
    }
    return delivery;
}

static void
pulled_frame(UpstreamCall *call, Frame *frame)
{
    Delivery *const delivery = upstream_context(call);
    Rendezvous *const rendezvous = transport_step_rendezvous(delivery->step);
    const bool has_value = frame->kind == FRAME_TENSOR || frame->kind == FRAME_DEAD;
    if (rendezvous != NULL && has_value && !delivery->is_delivered) {
        AUTO_ARENA arena = arena_new(DELIVER_ARENA_SIZE_MAX);
        Call delivering = {.arena = arena};
        delivery->is_delivered = true;
        /* It fails only for a rendezvous that has been aborted: its waiters know. */
        (void)!rendezvous_deliver(&delivering, rendezvous, slice_of(delivery->key, delivery->key_size),
            &frame->tensor, frame->kind == FRAME_DEAD);
    }
    rendezvous_unref(rendezvous);
    tensor_unref(&frame->tensor);
}

static void
delivery_done(UpstreamCall *call, Status status, const char *message)
{
    Delivery *const delivery = upstream_context(call);
    const int http_status = upstream_http_status(call);
    const bool was_pull = delivery->key_size > 0;
    if (status != STATUS_OK) {
        transport_step_abort(delivery->step, delivery->peer, status, slice_from_string(message));
    } else if (http_status / 100 != 2) {
        AUTO_ARENA arena = arena_new(DELIVER_ARENA_SIZE_MAX);
        Call reading = {.arena = arena};
        WireStatus answer = {.failure = failure_of(STATUS_UNAVAILABLE, (Slice){0}, "refused")};
        if (arena != NULL) {
            (void)!wire_status_read(&reading, upstream_body(call), &answer);
        }
        const Failure *const failure = &answer.failure;
        transport_step_abort(delivery->step, delivery->peer,
            failure->code == STATUS_OK ? STATUS_INTERNAL : failure->code,
            slice_from_string(failure->message));
    } else if (was_pull && !delivery->is_delivered) {
        transport_step_abort(
            delivery->step, delivery->peer, STATUS_INTERNAL, SLICE("an answer without a tensor"));
    }
    transport_step_unref(delivery->step);
    memory_free(delivery);
}

static const UpstreamEvents push_events = {.on_done = delivery_done};
static const UpstreamEvents pull_events = {.on_frame = pulled_frame, .on_done = delivery_done};

/* --- Sending -------------------------------------------------------------------------------------------- */

static UpstreamCall *
request_begin(
    const Message *message, const char *method, Slice path, const UpstreamEvents *events, Delivery *delivery)
{
    const UpstreamHead head = {
        .method = method,
        .path = path,
        .address = message->peer->address,
        .incarnation = slice_from_string(message->peer->incarnation),
        .attempt = message->step->attempt,
        .push_token = slice_from_string(message->peer->push_token),
        .slot = slice_from_string(message->peer->slot_text),
    };
    UpstreamCall *const call =
        delivery == NULL ? NULL : upstream_begin(message->step->transport->upstream, &head, events, delivery);
    if (call == NULL) {
        transport_step_abort(
            message->step, message->peer, STATUS_RESOURCE_EXHAUSTED, SLICE("no memory left for a transfer"));
        if (delivery != NULL) {
            transport_step_unref(delivery->step);
            memory_free(delivery);
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
    UpstreamCall *const call = request_begin(
        message, "GET", buffer_slice(&path), &pull_events, delivery_new(message, message_key(message)));
    if (call != NULL) {
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

/* One request with this message and all others in the list for the same slot of the same step. */
static void
messages_push(Message *first, ListLink *messages)
{
    char path[PATH_SIZE];
    const int size = snprintf(path, sizeof path, "/worker/v1/steps/%s/tensors", first->step->id);
    UpstreamCall *const call = request_begin(
        first, "POST", slice_of(path, (size_t)size), &push_events, delivery_new(first, slice_of(NULL, 0)));
    if (call == NULL) {
        return;
    }
    message_write(call, first);
    LIST_EACH(messages, link)
    {
        Message *const message = LIST_ITEM(link, Message, link);
        if (message->step == first->step && message->peer == first->peer && message->kind != MESSAGE_PULL) {
            message_write(call, message);
            list_remove(&message->link);
            message_free(message);
        }
    }
    upstream_end(call);
}

void
messages_send(Task *task)
{
    Transport *const transport = (Transport *)(void *)((char *)task - offsetof(Transport, task));
    ListLink messages;
    list_init(&messages);
    mutex_lock(&transport->lock);
    while (!list_is_empty(&transport->queue)) {
        ListLink *const link = list_first(&transport->queue);
        list_remove(link);
        list_append(&messages, link);
    }
    transport->is_posted = false;
    mutex_unlock(&transport->lock);
    while (!list_is_empty(&messages)) {
        Message *const message = LIST_ITEM(list_first(&messages), Message, link);
        list_remove(&message->link);
        if (message->kind == MESSAGE_PULL) {
            message_pull(message);
        } else {
            messages_push(message, &messages);
        }
        message_free(message);
    }
}
