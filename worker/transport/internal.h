/* Between the two halves of the transport: steps (transport.c), which say what goes to whom, and messages
 * (message.c), which carry it. */
#pragma once

#include "shared/base/list.h"
#include "shared/base/mutex.h"
#include "worker/transport/transport.h"

enum { STEP_ID_SIZE = 48, NUMBER_SIZE = 24 };

struct Transport {
    Loop *loop;
    TransportOptions options;
    Upstream *upstream;
    Mutex lock;     /* guards `queue` */
    ListLink queue; /* Messages */
    bool is_posted; /* guarded by lock */
    Task task;
};

/* Another slot of the step, as the run request named it. */
typedef struct Peer {
    int64_t slot;
    bool is_local;
    uint64_t pushed_size; /* atomic; bytes of tensors sent to it unasked */
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
    Mutex lock;             /* guards `rendezvous` */
    Rendezvous *rendezvous; /* NULL once detached */
    size_t peer_count;
    Peer peers[SLOT_COUNT_MAX];
};

typedef enum MessageKind { MESSAGE_TENSOR, MESSAGE_DEAD, MESSAGE_ANNOUNCE, MESSAGE_PULL } MessageKind;

typedef struct Message {
    ListLink link;
    TransportStep *step;
    const Peer *peer;
    MessageKind kind;
    Tensor tensor;
    uint64_t byte_size; /* ANNOUNCE */
    size_t key_size;
    char key[];
} Message;

TransportStep *transport_step_ref(TransportStep *step);

/* A new reference, or NULL when the step is over. */
Rendezvous *transport_step_rendezvous(TransportStep *step);

/* The peer could not be reached, or refused: ends the step with that reason, once. */
void transport_step_abort(TransportStep *step, const Peer *peer, Status status, Slice reason);

/* NULL without memory. message_post() takes the message over; any thread. */
MUST_USE Message *message_new(TransportStep *step, const Peer *peer, MessageKind kind, Slice key);
void message_free(Message *message);
void message_post(Message *message);

/* The transport's task: sends what is queued. */
void messages_send(Task *task);
