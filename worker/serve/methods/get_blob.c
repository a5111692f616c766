/* GetBlob: sends a large constant to another worker, which checks its digest.
 *
 * Happy path: find_blob() has a thread of the device look, since a file may have to be read → the loop writes
 * the bytes from where they are, as the stream takes them. */
#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/h2/h2.h"
#include "shared/upstream/tensor_stream.h"
#include "worker/serve/worker.h"

enum { SEARCH_ARENA_SIZE = 1 << 12 };

/* A look for a blob; it may outlive the request. */
typedef struct Search {
    DeviceWork work;
    Task task;
    WorkerRequest *request; /* NULL after the stream has closed; used on the loop only */
    Worker *worker;
    Loop *loop;
    Arena *arena;
    CacheKey key;
    TensorBuffer *blob;
} Search;

static void
search_free(Search *search)
{
    tensor_buffer_unref(search->blob);
    arena_free(search->arena);
    memory_free(search);
}

static void
answer_blob(WorkerRequest *request, TensorBuffer *blob)
{
    H2Header type = {SLICE("content-type"), SLICE("application/octet-stream")};
    request->is_answered = true;
    h2_respond(request->stream, 200, &type, 1, false);
    stream_write_buffer(request->stream, slice_of(blob->data, blob->size), blob);
    request->is_over = true;
    h2_stream_end(request->stream);
}

static void
answer_on_loop(Task *task)
{
    Search *search = LIST_ITEM(task, Search, task);
    WorkerRequest *request = search->request;
    if (request != NULL) {
        request->context = NULL;
        if (search->blob != NULL) {
            answer_blob(request, search->blob);
        } else {
            (void)!call_fail(&request->call, STATUS_NOT_FOUND, "blob %.*s is not here",
                SLICE_PRINT(request->parameters[0]));
            worker_refuse(request, &request->call);
        }
    }
    (void)atomic_sub_relaxed(&search->worker->registering_count, 1);
    search_free(search);
}

static void
search_on_device(DeviceWork *work)
{
    Search *search = LIST_ITEM(work, Search, work);
    search->blob = blob_store_find(search->worker->blobs, search->key);
    loop_post(search->loop, &search->task);
}

static Status
find_blob(WorkerRequest *request)
{
    Worker *worker = request->worker;
    Search *search = memory_new(1, sizeof *search);
    Arena *arena = arena_new(SEARCH_ARENA_SIZE);
    const char *tenant = arena == NULL ? NULL : text_copy(arena, request->tenant);
    const char *digest = arena == NULL ? NULL : text_copy(arena, request->parameters[0]);
    if (search == NULL || tenant == NULL || digest == NULL) {
        memory_free(search);
        arena_free(arena);
        return call_fail_memory(&request->call, "the look for a blob");
    }
    *search = (Search){
        .work.run = search_on_device,
        .task.run = answer_on_loop,
        .request = request,
        .worker = worker,
        .loop = request->loop->loop,
        .arena = arena,
        .key = {.tenant = slice_of(tenant, request->tenant.size),
            .digest = slice_of(digest, request->parameters[0].size)},
    };
    request->context = search;
    (void)atomic_add_relaxed(&worker->registering_count, 1);
    worker->device->schedule(worker->device, &search->work);
    return STATUS_OK;
}

static void
forget_request(WorkerRequest *request)
{
    Search *search = request->context;
    if (search != NULL) {
        search->request = NULL;
    }
}

WORKER_METHOD(get_blob) = {
    .name = "GetBlob",
    .verb = "GET",
    .path = "/worker/v1/blobs/{sha256}",
    .finish = find_blob,
    .closed = forget_request,
};
