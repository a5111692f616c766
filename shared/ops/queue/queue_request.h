/* A request to a queue: what one kernel wants to put in or take out, and its promise. Inside the queue alone.
 *
 * Ownership: refcounted. One reference is the queue's while the request waits, the other lies in
 *            promise->waiting: whoever takes it from there (who completes, or who cancels) is the only one.
 * Threads:   what changes while it waits is under the queue's lock. */
#pragma once

#include "shared/base/list.h"
#include "shared/ops/queue/tensor_queue.h"
#include "shared/ops/queue/tuples.h"

typedef struct Request {
    ListLink link;
    int32_t reference_count;             /* atomic */
    Resource *queue;                     /* a reference */
    const QueueDeclaration *declaration; /* the queue's */
    KernelPromise *promise;
    QueueRequest kind;
    int64_t wanted; /* tuples to be put or taken */
    Tuples tuples;  /* still to be put, or taken so far */
    Status status;
    bool is_waiting; /* in one of the queue's lists */
} Request;

static inline bool
queue_request_takes(const Request *request)
{
    return request->kind >= QUEUE_TAKE;
}

/* Checks what the kernel asks for; two references. */
MUST_USE Status queue_request_new(KernelPromise *promise, QueueRequest kind, Resource *queue,
    const QueueDeclaration *declaration, Request **ret_request);
void queue_request_unref(Request *request);

/* "queue '…' <what>" */
Status queue_request_fail(const Request *request, Status status, const char *what);

/* Makes the outputs of what was taken. */
MUST_USE Status queue_request_output(const Request *request);
