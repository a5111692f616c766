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

#include "shared/ops/queue/queue_request.h"
#include "worker/runtime/resource.h"

enum { QUEUE_SIZE_MAX = 1 << 20 };

typedef struct TensorQueue TensorQueue;

extern const ResourceType tensor_queue_type;

/* Makes output 0 a handle of the session's queue of this name, which is created when new. */
MUST_USE Status tensor_queue_output(KernelContext *context, const QueueDeclaration *declaration);

/* Completes the promise, at once or when the queue allows it. */
void tensor_queue_start(KernelPromise *promise, QueueRequest kind);
void tensor_queue_cancel(KernelPromise *promise);

MUST_USE Status kernel_tensor_queue(KernelContext *context, TensorQueue **ret_queue);
int64_t tensor_queue_size(TensorQueue *queue);
bool tensor_queue_is_closed(TensorQueue *queue);

/* Refuses everything that is put from now on. Requests that wait to put go on, or fail with
 * `cancels_puts`. */
void tensor_queue_close(TensorQueue *queue, bool cancels_puts);
