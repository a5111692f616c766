/* A queue of tuples of tensors that a session keeps: steps put in and take out, and wait while it is full
 * or has too few. Requests are served in the order they came; one that is served in part goes on when it
 * can.
 *
 * A cancelled request leaves the queue unchanged: tuples that it had taken go back to the front. Other
 * requests, of its own step or another, keep waiting.
 *
 * Ownership: a resource (resource.h).
 * Threads:   any; a queue locks itself, and completes promises without its lock.
 * Errors:    INVALID_ARGUMENT for tuples of other dtypes or shapes than the queue's; CANCELLED for putting
 *            into a closed queue; OUT_OF_RANGE for taking more than a closed one will ever have;
 *            RESOURCE_EXHAUSTED above QUEUE_SIZE_MAX tuples. */
#pragma once

#include "worker/runtime/resource.h"

enum { QUEUE_SIZE_MAX = 1 << 20, QUEUE_COMPONENTS_MAX = 64 };

typedef struct TensorQueue TensorQueue;

extern const ResourceType tensor_queue_type;

typedef struct QueueDeclaration {
    Slice name;
    Device *device;
    uint32_t component_count;
    Dtype dtypes[QUEUE_COMPONENTS_MAX];
    Shape shapes[QUEUE_COMPONENTS_MAX]; /* of unknown rank where none is declared */
    int64_t capacity;                   /* below 1: no limit */
    int64_t kept;                       /* tuples that stay until the queue is closed, for a good shuffle */
    bool shuffles;
    bool pads; /* tuples taken together are filled up with zeros to one shape */
    uint64_t seeds[2];
} QueueDeclaration;

/* Makes output 0 a handle of the session's queue of this name, which is created when new. */
MUST_USE Status tensor_queue_output(KernelContext *context, const QueueDeclaration *declaration);

typedef enum QueueRequest {
    QUEUE_PUT,        /* the inputs behind the handle are one tuple */
    QUEUE_PUT_MANY,   /* the inputs behind the handle are cut along their first dimension */
    QUEUE_TAKE,       /* one tuple */
    QUEUE_TAKE_MANY,  /* as many tuples as input 1 says, stacked */
    QUEUE_TAKE_UP_TO, /* the same, or the tuples that a closed queue has left */
} QueueRequest;

/* Completes the promise, at once or when the queue allows it. */
void tensor_queue_start(KernelPromise *promise, QueueRequest kind);
void tensor_queue_cancel(KernelPromise *promise);

MUST_USE Status kernel_tensor_queue(KernelContext *context, TensorQueue **ret_queue);
int64_t tensor_queue_size(TensorQueue *queue);
bool tensor_queue_is_closed(TensorQueue *queue);

/* Refuses everything that is put from now on. Requests that wait to put go on, or fail with
 * `cancels_puts`. */
void tensor_queue_close(TensorQueue *queue, bool cancels_puts);
