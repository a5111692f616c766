/* A request waits in one of two lists. After each change both lists are served from their fronts until no
 * request proceeds. A request that is done leaves its list, and its promise completes after the lock is
 * released. */
#include "shared/ops/queue/tensor_queue.h"

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/ops/queue/queue_request.h"
#include "worker/reference/philox.h"

struct TensorQueue {
    Resource resource;
    Mutex lock; /* guards the members below */
    QueueDeclaration declaration;
    PhiloxStream random;
    Tuples tuples;
    ListLink puts;
    ListLink takes;
    bool is_closed;
    char name[];
};

/* Stands in promise->waiting instead of a request that has completed, or was cancelled before it began to
 * wait. */
static char settled;

static inline TensorQueue *
as_queue(Resource *resource)
{
    return (TensorQueue *)(void *)resource;
}

static void
queue_free(Resource *resource)
{
    TensorQueue *queue = as_queue(resource);
    tuples_done(&queue->tuples);
    mutex_done(&queue->lock);
    memory_free(queue);
}

const ResourceType tensor_queue_type = {.name = "a queue", .free = queue_free};

static Status
make_queue(Call *call, const void *context, Resource **ret_resource)
{
    const QueueDeclaration *declaration = context;
    TensorQueue *queue = memory_new(1, sizeof *queue + declaration->name.size);
    if (queue == NULL) {
        return call_fail_memory(call, "a queue");
    }
    resource_init(&queue->resource, &tensor_queue_type);
    mutex_init(&queue->lock);
    memcpy(queue->name, declaration->name.data, declaration->name.size);
    queue->declaration = *declaration;
    queue->declaration.name = slice_of(queue->name, declaration->name.size);
    queue->random = philox_stream(philox_seeded(declaration->seeds[0], declaration->seeds[1]));
    queue->tuples = (Tuples){.device = declaration->device, .component_count = declaration->component_count};
    list_init(&queue->puts);
    list_init(&queue->takes);
    *ret_resource = &queue->resource;
    return STATUS_OK;
}

static bool
is_declared_alike(const QueueDeclaration *left, const QueueDeclaration *right)
{
    bool is_alike = left->component_count == right->component_count && left->shuffles == right->shuffles &&
                    left->pads == right->pads && left->capacity == right->capacity;
    for (uint32_t index = 0; is_alike && index < left->component_count; index++) {
        is_alike = left->dtypes[index] == right->dtypes[index] &&
                   shape_equal(&left->shapes[index], &right->shapes[index]);
    }
    return is_alike;
}

Status
tensor_queue_output(KernelContext *context, const QueueDeclaration *declaration)
{
    ContainerEntry entry = {
        .name = declaration->name, .type = &tensor_queue_type, .make = make_queue, .context = declaration};
    Resource *resource = NULL;
    TRY(container_obtain(context->call, context->container, &entry, &resource));
    if (!is_declared_alike(&as_queue(resource)->declaration, declaration)) {
        resource_unref(resource);
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "queue '%.*s' was made otherwise in this session", SLICE_PRINT(declaration->name));
    }
    return kernel_handle(context, 0, resource);
}

Status
kernel_tensor_queue(KernelContext *context, TensorQueue **ret_queue)
{
    Resource *resource = NULL;
    TRY(kernel_resource(context, 0, &tensor_queue_type, &resource));
    *ret_queue = as_queue(resource);
    return STATUS_OK;
}

int64_t
tensor_queue_size(TensorQueue *queue)
{
    mutex_lock(&queue->lock);
    int64_t size = queue->tuples.size;
    mutex_unlock(&queue->lock);
    return size;
}

bool
tensor_queue_is_closed(TensorQueue *queue)
{
    mutex_lock(&queue->lock);
    bool is_closed = queue->is_closed;
    mutex_unlock(&queue->lock);
    return is_closed;
}

/* Completes requests that left their list, without the queue's lock: completing may begin another request. */
static void
queue_request_complete(Request *request)
{
    KernelPromise *promise = request->promise;
    void *waiting = atomic_exchange_acq_rel(&promise->waiting, &settled);
    Status status = request->status;
    if (status == STATUS_OK && queue_request_takes(request)) {
        status = queue_request_output(request);
    }
    if (waiting == request) {
        queue_request_unref(request);
    }
    queue_request_unref(request);
    kernel_complete(promise, status);
}

/* Moves a request from the queue's list to those that complete. */
static void
leave_list(Request *request, ListLink *done)
{
    list_remove(&request->link);
    list_append(done, &request->link);
    request->is_waiting = false;
}

static void
complete_all(ListLink *done)
{
    for (ListLink *link = list_first(done); link != NULL; link = list_first(done)) {
        list_remove(link);
        queue_request_complete(LIST_ITEM(link, Request, link));
    }
}

typedef enum Progress { STUCK, MOVED, DONE } Progress;

static Progress
settle_request(Request *request, Status status)
{
    request->status = status;
    return DONE;
}

static bool
has_room(const TensorQueue *queue)
{
    return queue->declaration.capacity < 1 || queue->tuples.size < queue->declaration.capacity;
}

static Progress
serve_put(TensorQueue *queue, Request *request)
{
    Progress progress = STUCK;
    while (request->tuples.size > 0 && has_room(queue)) {
        Tensor tuple[QUEUE_COMPONENTS_MAX];
        if (queue->tuples.size >= QUEUE_SIZE_MAX) {
            return settle_request(
                request, queue_request_fail(request, STATUS_RESOURCE_EXHAUSTED, "holds too many elements"));
        }
        if (!tuples_reserve(&queue->tuples, queue->tuples.size + 1)) {
            return settle_request(request, call_fail_memory(request->promise->context.call, "a queue"));
        }
        tuples_take(&request->tuples, 0, tuple);
        tuples_put_last(&queue->tuples, tuple);
        progress = MOVED;
    }
    return request->tuples.size == 0 ? settle_request(request, STATUS_OK) : progress;
}

static int64_t
next_index(TensorQueue *queue)
{
    bool shuffles = queue->declaration.shuffles && queue->tuples.size > 1;
    return shuffles ? (int64_t)(philox_stream_next(&queue->random) % (uint64_t)queue->tuples.size) : 0;
}

/* Puts the tuples that a request had taken back. Their room in the queue stays reserved while they are
 * taken. */
static void
give_back(TensorQueue *queue, Request *request)
{
    while (request->tuples.size > 0) {
        Tensor tuple[QUEUE_COMPONENTS_MAX];
        tuples_take(&request->tuples, request->tuples.size - 1, tuple);
        if (tuples_reserve(&queue->tuples, queue->tuples.size + 1)) {
            tuples_put_first(&queue->tuples, tuple);
        } else {
            for (uint32_t component = 0; component < queue->tuples.component_count; component++) {
                tensor_unref(&tuple[component]);
            }
        }
    }
}

static Progress
serve_take(TensorQueue *queue, Request *request)
{
    int64_t kept = queue->is_closed ? 0 : queue->declaration.kept;
    Progress progress = STUCK;
    while (request->tuples.size < request->wanted && queue->tuples.size > kept) {
        Tensor tuple[QUEUE_COMPONENTS_MAX];
        if (!tuples_reserve(&request->tuples, request->tuples.size + 1)) {
            give_back(queue, request);
            return settle_request(request, call_fail_memory(request->promise->context.call, "a queue"));
        }
        tuples_take(&queue->tuples, next_index(queue), tuple);
        tuples_put_last(&request->tuples, tuple);
        progress = MOVED;
    }
    if (request->tuples.size == request->wanted) {
        return settle_request(request, STATUS_OK);
    }
    if (!queue->is_closed || !list_is_empty(&queue->puts)) {
        return progress;
    }
    if (request->kind == QUEUE_TAKE_UP_TO && request->tuples.size > 0) {
        return settle_request(request, STATUS_OK);
    }
    give_back(queue, request);
    return settle_request(
        request, queue_request_fail(request, STATUS_OUT_OF_RANGE, "is closed and has not enough elements"));
}

/* Serves the request at the front of a list; false when none proceeds. */
static bool
serve_first(TensorQueue *queue, ListLink *list, ListLink *done)
{
    ListLink *link = list_first(list);
    if (link == NULL) {
        return false;
    }
    Request *request = LIST_ITEM(link, Request, link);
    Progress progress = queue_request_takes(request) ? serve_take(queue, request) : serve_put(queue, request);
    if (progress == DONE) {
        leave_list(request, done);
    }
    return progress != STUCK;
}

static void
serve_lists(TensorQueue *queue, ListLink *done)
{
    bool gets_on = true;
    while (gets_on) {
        bool has_put = serve_first(queue, &queue->puts, done);
        bool has_taken = serve_first(queue, &queue->takes, done);
        gets_on = has_put || has_taken;
    }
}

void
tensor_queue_close(TensorQueue *queue, bool cancels_puts)
{
    ListLink done;
    list_init(&done);
    mutex_lock(&queue->lock);
    queue->is_closed = true;
    LIST_EACH(&queue->puts, link)
    {
        Request *request = LIST_ITEM(link, Request, link);
        if (cancels_puts) {
            request->status = queue_request_fail(request, STATUS_CANCELLED, "was closed");
            leave_list(request, &done);
        }
    }
    serve_lists(queue, &done);
    mutex_unlock(&queue->lock);
    complete_all(&done);
}

/* Returns false when the request was cancelled before it began to wait. */
static bool
begin_waiting(Request *request)
{
    void *nothing = NULL;
    return atomic_compare_exchange_acq_rel(&request->promise->waiting, &nothing, request);
}

static void
enter_list(TensorQueue *queue, Request *request, ListLink *done)
{
    if (!begin_waiting(request)) {
        request->status = queue_request_fail(request, STATUS_CANCELLED, "is not waited for any more");
        queue_request_unref(request); /* no other thread finds it in the promise */
        list_append(done, &request->link);
    } else if (queue->is_closed && !queue_request_takes(request)) {
        request->status = queue_request_fail(request, STATUS_CANCELLED, "is closed");
        list_append(done, &request->link);
    } else {
        request->is_waiting = true;
        list_append(queue_request_takes(request) ? &queue->takes : &queue->puts, &request->link);
        serve_lists(queue, done);
    }
}

void
tensor_queue_start(KernelPromise *promise, QueueRequest kind)
{
    TensorQueue *queue = NULL;
    Request *request = NULL;
    ListLink done;
    Status status = kernel_tensor_queue(&promise->context, &queue);
    if (status == STATUS_OK) {
        status = queue_request_new(promise, kind, &queue->resource, &queue->declaration, &request);
    }
    if (status != STATUS_OK) {
        kernel_complete(promise, status);
        return;
    }
    Resource *kept = resource_ref(&queue->resource);
    list_init(&done);
    mutex_lock(&queue->lock);
    enter_list(queue, request, &done);
    mutex_unlock(&queue->lock);
    complete_all(&done);
    resource_unref(kept);
}

/* A request that is being served is in no list, and completes itself. */
void
tensor_queue_cancel(KernelPromise *promise)
{
    Request *request = atomic_exchange_acq_rel(&promise->waiting, &settled);
    ListLink done;
    if (request == NULL || (void *)request == &settled) {
        return;
    }
    TensorQueue *queue = as_queue(request->queue);
    Resource *kept = resource_ref(&queue->resource);
    list_init(&done);
    mutex_lock(&queue->lock);
    if (request->is_waiting) {
        request->status = queue_request_fail(request, STATUS_CANCELLED, "is not waited for any more");
        leave_list(request, &done);
        if (queue_request_takes(request)) {
            give_back(queue, request);
        }
        serve_lists(queue, &done);
    }
    mutex_unlock(&queue->lock);
    queue_request_unref(request);
    complete_all(&done);
    resource_unref(kept);
}
