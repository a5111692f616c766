#include <assert.h>
#include <stdio.h>

#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

enum {
    PATH_SIZE = 128,
    RELEASE_TIMEOUT_MS = 5000,
    RESET_TIMEOUT_MS = 10000,
    ANSWER_ARENA_SIZE_MAX = 1 << 20,
};

Dispatcher *
dispatcher_new(Loop *loop, Directory *directory, AdmissionLane *lane, const UpstreamOptions *options,
    const BlobPieces *pieces)
{
    assert(loop != NULL && directory != NULL);

    Dispatcher *dispatcher = memory_new(1, sizeof *dispatcher);
    if (dispatcher == NULL) {
        return NULL;
    }
    list_init(&dispatcher->steps);
    list_init(&dispatcher->transfers);
    list_init(&dispatcher->cleanups);
    if (pieces != NULL) {
        dispatcher->pieces = *pieces;
    }
    dispatcher->loop = loop;
    dispatcher->directory = directory;
    dispatcher->lane = lane;
    dispatcher->upstream = upstream_new(loop, options);
    dispatcher->registrations = map_new();
    dispatcher->blobs = map_new();
    if (!bind_open(dispatcher) || dispatcher->upstream == NULL || dispatcher->registrations == NULL ||
        dispatcher->blobs == NULL) {
        dispatcher_free(dispatcher);
        return NULL;
    }
    return dispatcher;
}

void
dispatcher_close(Dispatcher *dispatcher)
{
    dispatcher->is_closing = true;
}

void
dispatcher_free(Dispatcher *dispatcher)
{
    if (dispatcher == NULL) {
        return;
    }
    dispatcher_close(dispatcher);
    while (!list_is_empty(&dispatcher->steps)) {
        StepRun *step = LIST_ITEM(list_first(&dispatcher->steps), StepRun, link);
        Failure failure = failure_of(STATUS_UNAVAILABLE, (Slice){0}, "the gateway is stopping");
        step_end(step, &failure);
        step_finish(step);
    }
    blob_transfers_end(dispatcher);
    cleanups_end(dispatcher);
    upstream_free(dispatcher->upstream);
    map_free(dispatcher->registrations);
    blob_transfers_free(dispatcher);
    bind_close(dispatcher);
    memory_free(dispatcher);
}

size_t
dispatcher_running_count(const Dispatcher *dispatcher)
{
    return dispatcher->step_count;
}

static void
release_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)status;
    (void)message;
}

void
dispatcher_release_session(
    Dispatcher *dispatcher, const char *tenant, const char *session, const char *address)
{
    static const UpstreamEvents events = {.on_done = release_done};
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/%s", session);
    UpstreamHead head = {
        .method = "DELETE",
        .path = slice_from_string(path),
        .address = address,
        .deadline_ms = RELEASE_TIMEOUT_MS,
        .tenant = slice_from_string(tenant),
    };
    UpstreamCall *call = upstream_begin(dispatcher->upstream, &head, &events, NULL);
    if (call != NULL) {
        upstream_end(call);
    }
}

typedef struct Reset {
    ContainerResetDone done;
    void *context;
} Reset;

static Status
read_answer(Call *reading, UpstreamCall *call, int64_t *ret_count)
{
    WireStatus refusal;
    if (reading->arena == NULL) {
        return call_fail_memory(reading, "a worker's answer");
    }
    if (answer_read_status(call, reading, &refusal) != STATUS_OK) {
        return failure_raise(reading, &refusal.failure);
    }
    return wire_reset_answer_read(reading, upstream_body(call), ret_count);
}

static void
reset_done(UpstreamCall *call, Status status, const char *message)
{
    Reset *reset = upstream_context(call);
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    ContainerResetEnd end = {.status = status, .message = message};
    if (status == STATUS_OK) {
        end.status = read_answer(&reading, call, &end.resource_count);
        end.message = reading.error.message;
    }
    reset->done(reset->context, &end);
    memory_free(reset);
}

bool
dispatcher_reset_containers(Dispatcher *dispatcher, const WorkerInfo *worker, const ContainerReset *reset,
    ContainerResetDone done, void *context)
{
    assert(done != NULL);

    static const UpstreamEvents events = {.on_done = reset_done};
    WireReset wanted = {
        .session = reset->session,
        .containers = reset->containers,
        .container_count = reset->container_count,
    };
    UpstreamHead head = {
        .method = "DELETE",
        .path = SLICE("/worker/v1/containers"),
        .address = worker->address,
        .incarnation = slice_from_string(worker->incarnation),
        .deadline_ms = RESET_TIMEOUT_MS,
        .tenant = slice_from_string(reset->tenant),
    };
    AUTO_BUFFER json = {0};
    wire_reset_write(&json, &wanted);
    Reset *pending = buffer_is_ok(&json) ? memory_new(1, sizeof *pending) : NULL;
    UpstreamCall *call =
        pending == NULL ? NULL : upstream_begin(dispatcher->upstream, &head, &events, pending);
    if (call == NULL) {
        memory_free(pending);
        return false;
    }
    *pending = (Reset){.done = done, .context = context};
    upstream_write_copy(call, buffer_slice(&json));
    upstream_end(call);
    return true;
}
