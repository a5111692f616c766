/* Where the Sends and Recvs of one attempt of one step meet on one slot. A key is sent once and received once
 * in general; several values under one key queue in order. What is sent to another slot goes to the remote
 * hook; what comes from another slot is handed in with rendezvous_deliver() or rendezvous_announce().
 *
 * Key: "<send device>;<receive device>;<tensor>;<frame>:<iteration>", devices as "/slot:0/device:CPU:0"; keys
 * are compared in full (TensorFlow compares a 64-bit hash).
 *
 * Ownership: refcounted. A sent tensor's reference moves to the rendezvous, then to the receiver. A waiter
 *            belongs to the receiver and must live until done() or rendezvous_forget() returned true; so must
 *            the bytes of its key.
 * Threads:   any. Hooks and done() are called without the lock held, on the thread that caused them.
 * Errors:    after rendezvous_abort() everything fails with the status given to it. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef struct Rendezvous Rendezvous;

typedef struct RendezvousMessage {
    Status code; /* OK, or what the rendezvous was aborted with */
    const char *error;
    Tensor tensor; /* DTYPE_INVALID when dead; its reference is the receiver's */
    bool is_dead;
} RendezvousMessage;

/* A value or a waiter in the table; the fields are the table's. */
typedef struct RendezvousItem {
    struct RendezvousItem *next;
    uint64_t hash;
    Slice key;
    int kind;
} RendezvousItem;

typedef struct RendezvousWaiter RendezvousWaiter;
struct RendezvousWaiter {
    RendezvousItem item;
    bool is_pulled; /* the value was announced, and is asked for */
    /* Called once when the value comes or the rendezvous is aborted. May take message->tensor; what it leaves
     * is given back. message->error lives as long as the rendezvous. */
    void (*done)(RendezvousWaiter *waiter, RendezvousMessage *message);
};

/* The way to other slots. A NULL function refuses with UNIMPLEMENTED. */
typedef struct RendezvousRemote {
    void *context;
    /* Takes *tensor (zeroes it) on success. To have a large tensor pulled, deliver it to this same rendezvous
     * and announce the key to the peer. */
    Status (*send)(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead);
    /* The value of an announced key is wanted now: fetch and deliver it. */
    void (*pull)(void *context, Slice key);
} RendezvousRemote;

/* `slot`: which this is; keys whose receiving device names another one are sent to `remote` (copied; NULL:
 * there are none). NULL without memory. */
MUST_USE Rendezvous *rendezvous_new(uint32_t slot, const RendezvousRemote *remote);
Rendezvous *rendezvous_ref(Rendezvous *rendezvous);
void rendezvous_unref(Rendezvous *rendezvous); /* NULL is allowed; nobody may be waiting */

/* Takes *tensor (zeroes it) on success. With is_dead, tensor may be NULL. */
MUST_USE Status rendezvous_send(Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead);

/* Delivers a value that a peer pushed or a pull brought: as rendezvous_send(), but to this slot whatever
 * the key says. */
MUST_USE Status rendezvous_deliver(
    Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead);

/* Notes that a peer keeps this key's value until it is pulled; the hook's pull() is called when somebody
 * receives it. */
/* RESOURCE_EXHAUSTED when RENDEZVOUS_ITEMS_MAX of them, or of anything else, are parked. */
enum { RENDEZVOUS_ITEMS_MAX = 1 << 17 };
MUST_USE Status rendezvous_announce(Call *call, Rendezvous *rendezvous, Slice key);

/* Receives the key's value. True: the answer is in *ret_message, done() is not called. False: the waiter
 * waits. */
MUST_USE bool rendezvous_receive(
    Rendezvous *rendezvous, Slice key, RendezvousWaiter *waiter, RendezvousMessage *ret_message);

/* Withdraws a waiter. False when done() was called or is about to be. */
bool rendezvous_forget(Rendezvous *rendezvous, RendezvousWaiter *waiter);

/* The first call counts: values are dropped, waiters answered with code and message (copied). */
void rendezvous_abort(Rendezvous *rendezvous, Status code, const char *message);

/* Bytes of values sent and not yet received. */
uint64_t rendezvous_parked_bytes(Rendezvous *rendezvous);
