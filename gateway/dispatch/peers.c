#include "gateway/dispatch/peers.h"

#include <assert.h>

#include "gateway/dispatch/internals.h"
#include "shared/base/memory.h"

enum { ASK_MS = 2000, ANSWER_ARENA_SIZE_MAX = 4 << 20 };

typedef struct PeersQuestion {
    PeersDone done;
    void *context;
} PeersQuestion;

static Status
read_peers(Call *reading, UpstreamCall *call, PeersEnd *end)
{
    WireStatus refusal;
    if (reading->arena == NULL) {
        return call_fail_memory(reading, "a worker's answer");
    }
    if (answer_read_status(call, reading, &refusal) != STATUS_OK) {
        return failure_raise(reading, &refusal.failure);
    }
    return wire_traffic_read(reading, upstream_body(call), &end->peers, &end->count);
}

static void
end_question(UpstreamCall *call, Status status, const char *message)
{
    PeersQuestion *question = upstream_context(call);
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    PeersEnd end = {.status = status, .message = message};
    if (status == STATUS_OK) {
        end.status = read_peers(&reading, call, &end);
        end.message = reading.error.message;
    }
    question->done(question->context, &end);
    memory_free(question);
}

bool
dispatcher_ask_peers(Dispatcher *dispatcher, const WorkerInfo *worker, PeersDone done, void *context)
{
    assert(done != NULL);

    static const UpstreamEvents events = {.on_done = end_question};
    UpstreamHead head = {
        .method = "GET",
        .path = SLICE("/worker/v1/peers"),
        .address = worker->address,
        .incarnation = slice_from_string(worker->incarnation),
        .deadline_ms = ASK_MS,
    };
    PeersQuestion *question = memory_new(1, sizeof *question);
    UpstreamCall *call =
        question == NULL ? NULL : upstream_begin(dispatcher->upstream, &head, &events, question);
    if (call == NULL) {
        memory_free(question);
        return false;
    }
    *question = (PeersQuestion){.done = done, .context = context};
    upstream_end(call);
    return true;
}
