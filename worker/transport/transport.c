/* Happy path: rendezvous_send() on any thread → step_send() finds the peer by the slot in the key → a local
 * one is handed the pointer, another is sent a message (message.c). */
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/transport/internal.h"

/* --- Steps ---------------------------------------------------------------------------------------------- */

static void
copy_text(char *target, size_t size, Slice text)
{
    (void)snprintf(target, size, "%.*s", SLICE_PRINT(text));
}

TransportStep *
transport_step_new(Transport *transport, Slice id, const WireRun *run)
{
    TransportStep *const step = memory_new(1, sizeof *step);
    if (step == NULL) {
        return NULL;
    }
    step->reference_count = 1;
    step->transport = transport;
    step->attempt = run->attempt;
    copy_text(step->id, sizeof step->id, id);
    mutex_init(&step->lock);
    step->peer_count = run->peer_count;
    for (size_t index = 0; index < run->peer_count; index++) {
        Peer *const peer = &step->peers[index];
        peer->slot = run->peers[index].slot;
        peer->is_local = slice_equals_string(run->peers[index].incarnation, transport->options.incarnation);
        copy_text(peer->address, sizeof peer->address, run->peers[index].address);
        copy_text(peer->incarnation, sizeof peer->incarnation, run->peers[index].incarnation);
        copy_text(peer->push_token, sizeof peer->push_token, run->peers[index].push_token);
        (void)snprintf(peer->slot_text, sizeof peer->slot_text, "%lld", (long long)peer->slot);
    }
    return step;
}

TransportStep *
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

Rendezvous *
transport_step_rendezvous(TransportStep *step)
{
    mutex_lock(&step->lock);
    Rendezvous *const rendezvous = step->rendezvous == NULL ? NULL : rendezvous_ref(step->rendezvous);
    mutex_unlock(&step->lock);
    return rendezvous;
}

void
transport_step_abort(TransportStep *step, const Peer *peer, Status status, Slice reason)
{
    Rendezvous *const rendezvous = transport_step_rendezvous(step);
    if (rendezvous != NULL) {
        char message[ERROR_MESSAGE_SIZE];
        (void)snprintf(message, sizeof message, "slot %s at %s: %.*s", peer->slot_text, peer->address,
            SLICE_PRINT(reason));
        rendezvous_abort(rendezvous, status, message);
        rendezvous_unref(rendezvous);
    }
}

/* --- The hooks of the rendezvous ------------------------------------------------------------------------ */

/* "…/slot:N/…" of the key's part before (part 0) or behind (part 1) the first ';'. */
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
    const Slice rest = slice_part(device, SLICE("/slot:").size, device.size);
    return slice_to_int64(slice_part(rest, 0, slice_find(rest, '/')), &slot) ? slot : -1;
}

static Peer *
peer_find(TransportStep *step, int64_t slot)
{
    for (size_t index = 0; index < step->peer_count; index++) {
        if (step->peers[index].slot == slot) {
            return &step->peers[index];
        }
    }
    return NULL;
}

static Status
send_local(Call *call, TransportStep *step, const Peer *peer, Slice key, Tensor *tensor, bool is_dead)
{
    const TransportOptions *const options = &step->transport->options;
    Rendezvous *const rendezvous = options->find_local(options->context, slice_from_string(step->id),
        step->attempt, peer->slot, slice_from_string(peer->push_token));
    if (rendezvous == NULL) {
        return call_fail(call, STATUS_ABORTED, "slot %s of this step has ended", peer->slot_text);
    }
    const Status status = rendezvous_deliver(call, rendezvous, key, tensor, is_dead);
    rendezvous_unref(rendezvous);
    return status;
}

/* Parks a large value here, where the peer will pull it from, and tells the peer. */
static Status
send_announced(Call *call, TransportStep *step, const Peer *peer, Slice key, Tensor *tensor)
{
    Message *const message = message_new(step, peer, MESSAGE_ANNOUNCE, key);
    Rendezvous *const rendezvous = transport_step_rendezvous(step);
    if (message == NULL || rendezvous == NULL) {
        rendezvous_unref(rendezvous);
        if (message != NULL) {
            message_free(message);
        }
        return call_fail(call, STATUS_ABORTED, "the step has ended");
    }
    message->byte_size = tensor_byte_size(tensor);
    const Status status = rendezvous_deliver(call, rendezvous, key, tensor, false);
    rendezvous_unref(rendezvous);
    if (status != STATUS_OK) {
        message_free(message);
        return status;
    }
    message_post(message);
    return STATUS_OK;
}

/* Whatever the peer does not want yet is parked there: what all its peers push together must fit. */
static bool
may_push(const TransportStep *step, Peer *peer, uint64_t size)
{
    if (size > PUSH_SIZE_MAX) {
        return false;
    }
    const uint64_t pushed_size = atomic_add_relaxed(&peer->pushed_size, size);
    return pushed_size <= PARKED_SIZE_MAX / step->peer_count;
}

static Status
step_send(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead)
{
    TransportStep *const step = context;
    Peer *const peer = peer_find(step, key_slot(key, 1));
    if (peer == NULL) {
        return call_fail(
            call, STATUS_INTERNAL, "key '%.*s' is for a slot this step does not have", SLICE_PRINT(key));
    }
    if (peer->is_local) {
        return send_local(call, step, peer, key, tensor, is_dead);
    }
    if (!is_dead && !may_push(step, peer, tensor_byte_size(tensor))) {
        return send_announced(call, step, peer, key, tensor);
    }
    Message *const message = message_new(step, peer, is_dead ? MESSAGE_DEAD : MESSAGE_TENSOR, key);
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
    TransportStep *const step = context;
    const Peer *const peer = peer_find(step, key_slot(key, 0));
    Message *const message = peer == NULL ? NULL : message_new(step, peer, MESSAGE_PULL, key);
    if (message != NULL) {
        message_post(message);
    } else if (peer != NULL) {
        transport_step_abort(step, peer, STATUS_RESOURCE_EXHAUSTED, SLICE("no memory left for a transfer"));
    }
}

RendezvousRemote
transport_step_remote(TransportStep *step)
{
    return (RendezvousRemote){.context = step, .send = step_send, .pull = step_pull};
}

/* --- The transport -------------------------------------------------------------------------------------- */

Transport *
transport_new(Loop *loop, const TransportOptions *options)
{
    Transport *const transport = memory_new(1, sizeof *transport);
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
    while (!list_is_empty(&transport->queue)) {
        Message *const message = LIST_ITEM(list_first(&transport->queue), Message, link);
        list_remove(&message->link);
        message_free(message);
    }
    upstream_free(transport->upstream);
    mutex_done(&transport->lock);
    memory_free(transport);
}
