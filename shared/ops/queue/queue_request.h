/* A request to a queue: the tuples that one kernel puts in or takes out, and its promise. Beside it stands
 * what a queue is declared as; everything else here is private to the queue.
 *
 * Ownership: refcounted. One reference is the queue's while the request waits. The other is in
 *            promise->waiting: only the one who takes it from there completes or cancels the request.
 * Threads:   the queue's lock guards everything that changes while the request waits. */
#pragma once

#include "shared/base/list.h"
#include "shared/ops/queue/tuples.h"
#include "worker/runtime/resource.h"

enum { QUEUE_COMPONENTS_MAX = 64 };

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

typedef enum QueueRequest {
    QUEUE_PUT,        /* the inputs behind the handle are one tuple */
    QUEUE_PUT_MANY,   /* the inputs behind the handle are cut along their first dimension */
    QUEUE_TAKE,       /* one tuple */
    QUEUE_TAKE_MANY,  /* as many tuples as input 1 says, stacked */
    QUEUE_TAKE_UP_TO, /* the same, or the tuples that a closed queue has left */
} QueueRequest;

typedef struct Request {
    ListLink link;
    int32_t reference_count;             /* atomic */
    Resource *queue;                     /* a reference */
    const QueueDeclaration *declaration; /* the queue's */
    KernelPromise *promise;
    QueueRequest kind;
    int64_t wanted; /* tuples to put or to take */
    Tuples tuples;  /* still to be put, or taken so far */
    Status status;
    bool is_waiting; /* in one of the queue's lists */
} Request;

static inline bool
queue_request_takes(const Request *request)
{
    return request->kind >= QUEUE_TAKE;
}

/* Checks the kernel's inputs and makes a request with two references. */
MUST_USE Status queue_request_new(KernelPromise *promise, QueueRequest kind, Resource *queue,
    const QueueDeclaration *declaration, Request **ret_request);
void queue_request_unref(Request *request);

/* Fails with "queue '…' <what>". */
Status queue_request_fail(const Request *request, Status status, const char *what);

/* Makes the outputs from the tuples that were taken. */
MUST_USE Status queue_request_output(const Request *request);
