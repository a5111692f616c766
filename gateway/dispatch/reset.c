/* Has a worker drop what lies in some containers (CleanupAll). */
#include "gateway/dispatch/step_internal.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

enum { RESET_TIMEOUT_MS = 10000, ANSWER_ARENA_SIZE_MAX = 1 << 20 };

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
        return call_fail(reading, refusal.code, "%.*s", SLICE_PRINT(refusal.message));
    }
    return wire_reset_answer_read(reading, upstream_body(call), ret_count);
}

static void
reset_done(UpstreamCall *call, Status status, const char *message)
{
    Reset *const reset = upstream_context(call);
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
    static const UpstreamEvents events = {.on_done = reset_done};
    const WireReset wanted = {
        .session = reset->session,
        .containers = reset->containers,
        .container_count = reset->container_count,
    };
    const UpstreamHead head = {
        .method = "DELETE",
        .path = SLICE("/worker/v1/containers"),
        .address = worker->address,
        .incarnation = slice_from_string(worker->incarnation),
        .deadline_ms = RESET_TIMEOUT_MS,
        .tenant = slice_from_string(reset->tenant),
    };
    AUTO_BUFFER json = {0};
    wire_reset_write(&json, &wanted);
    Reset *const pending = buffer_is_ok(&json) ? memory_new(1, sizeof *pending) : NULL;
    UpstreamCall *const call =
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
