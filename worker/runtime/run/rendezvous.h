/* Brings the _Sends and _Recvs of one attempt of one step together on one slot. A key is usually sent once
 * and received once; several values under one key queue in order. A value for another slot goes to the
 * remote hook; one from another slot comes by rendezvous_deliver() or rendezvous_announce().
 *
 * Key: "<send device>;<receive device>;<tensor>;<frame>:<iteration>", devices as "/slot:0/device:CPU:0".
 * Keys are compared in full (TensorFlow compares a 64-bit hash).
 *
 * Ownership: refcounted. A sent tensor's reference moves to the rendezvous, then to the receiver. A waiter
 *            belongs to the receiver and must live, with the bytes of its key, until done() was called or
 *            rendezvous_forget() returned true.
 * Threads:   any. Hooks and done() are called without the lock held, on the thread that caused them.
 * Errors:    after rendezvous_abort(), all that meets on this slot fails with its status; whether a value
 *            for another slot can still be sent is up to the remote hook. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef struct Rendezvous Rendezvous;

typedef struct RendezvousMessage {
    Status code; /* STATUS_OK, or the status that the rendezvous was aborted with */
    const char *error;
    Tensor tensor; /* absent (DTYPE_INVALID) when dead; the receiver owns its reference */
    bool is_dead;
} RendezvousMessage;

/* A value or a waiter in the rendezvous's table; only rendezvous.c touches the members. */
typedef struct RendezvousItem {
    struct RendezvousItem *next;
    uint64_t hash;
    Slice key;
    int kind;
} RendezvousItem;

typedef struct RendezvousWaiter RendezvousWaiter;
struct RendezvousWaiter {
    RendezvousItem item;
    bool is_pulled; /* the value was announced by a peer, and had to be pulled */
    /* Called once, when the value arrives or the rendezvous is aborted. It may take message->tensor; a
     * tensor that it leaves is released. message->error lives as long as the rendezvous. */
    void (*done)(RendezvousWaiter *waiter, RendezvousMessage *message);
};

/* Hooks that lead to other slots. A hook may be NULL: what needs it fails with UNIMPLEMENTED. */
typedef struct RendezvousRemote {
    void *context;
    /* Sends a value to the slot that its key names, and takes *tensor (zeroes it) on success. A large
     * tensor can be left to be pulled: deliver it to this same rendezvous and announce its key to the
     * peer. */
    Status (*send)(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead);
    /* Asks for the value of an announced key, which somebody receives now: fetch and deliver it. */
    void (*pull)(void *context, Slice key);
} RendezvousRemote;

/* Makes the rendezvous of a slot. Values whose keys name another receiving slot go to `remote`, which is
 * copied; NULL: there are no other slots. NULL without memory. */
MUST_USE Rendezvous *rendezvous_new(uint32_t slot, const RendezvousRemote *remote);
Rendezvous *rendezvous_ref(Rendezvous *rendezvous);
void rendezvous_unref(Rendezvous *rendezvous); /* NULL is allowed; nobody may be waiting */

/* Sends a value to the slot that the key names, and takes *tensor (zeroes it) on success. `tensor` may be
 * NULL with is_dead. */
MUST_USE Status rendezvous_send(Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead);

/* Delivers a value that a peer pushed, or that was pulled from it: as rendezvous_send(), but to this slot
 * whatever the key says. */
MUST_USE Status rendezvous_deliver(
    Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead);

/* Gives back a value that was received here for a peer and got lost on its way there: as
 * rendezvous_deliver(), but the next to receive the key gets it, before values that were sent later. */
MUST_USE Status rendezvous_give_back(
    Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead);

/* The limit for announcements: none is stored while the table holds this many items (values, waiters and
 * announcements). */
enum { RENDEZVOUS_ITEMS_MAX = 1 << 17 };

/* Notes that a peer keeps this key's value until it is pulled. The remote hook's pull() is called when a
 * receiver wants it, at once if one waits already. RESOURCE_EXHAUSTED at the limit. */
MUST_USE Status rendezvous_announce(Call *call, Rendezvous *rendezvous, Slice key);

/* Receives the key's value. True: the answer is in *ret_message, and done() is not called. False: the
 * waiter waits, and done() may have been called already. */
MUST_USE bool rendezvous_receive(
    Rendezvous *rendezvous, Slice key, RendezvousWaiter *waiter, RendezvousMessage *ret_message);

/* Withdraws a waiter. False when done() was called or is about to be. */
bool rendezvous_forget(Rendezvous *rendezvous, RendezvousWaiter *waiter);

/* Drops all values and answers all waiters with this status and message (copied). Later calls change
 * nothing. */
void rendezvous_abort(Rendezvous *rendezvous, Status code, const char *message);

/* Returns the bytes of values that were sent and not yet received. */
uint64_t rendezvous_parked_bytes(Rendezvous *rendezvous);
