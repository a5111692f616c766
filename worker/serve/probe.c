#include "worker/serve/probe.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/text.h"
#include "shared/upstream/upstream.h"

typedef struct Probe {
    Call *call;
    Loop *loop;
    const char *address;
    Status status;
} Probe;

static Status
read_state(Call *call, Slice json)
{
    WireWorker worker;
    TRY(wire_worker_read(call, json, &worker));
    if (!slice_equals_string(worker.state, "serving")) {
        return call_fail(call, STATUS_UNAVAILABLE, "worker '%.*s' is %.*s", SLICE_PRINT(worker.name),
            SLICE_PRINT(worker.state));
    }
    (void)printf("worker '%.*s' is serving\n", SLICE_PRINT(worker.name));
    return STATUS_OK;
}

static Status
read_answer(Probe *probe, const UpstreamCall *answer)
{
    int http_status = upstream_http_status(answer);
    if (http_status / 100 == 2) {
        return read_state(probe->call, upstream_body(answer));
    }
    return call_fail(probe->call, http_status == 401 ? STATUS_FAILED_PRECONDITION : STATUS_UNAVAILABLE,
        "the worker at %s answers %d%s", probe->address, http_status,
        http_status == 401 ? ": it wants another token" : "");
}

static void
end_probe(UpstreamCall *answer, Status status, const char *message)
{
    Probe *probe = upstream_context(answer);
    probe->status = status == STATUS_OK ? read_answer(probe, answer)
                                        : call_fail(probe->call, STATUS_UNAVAILABLE, "the worker at %s: %s",
                                              probe->address, message);
    loop_stop(probe->loop);
}

/* Asks, and runs the loop until the answer is there; the upstream ends a call that comes to none. */
static Status
ask(Probe *probe, Upstream *upstream)
{
    static const UpstreamEvents events = {.on_done = end_probe};
    UpstreamHead head = {
        .method = "GET",
        .path = SLICE("/worker/v1/status"),
        .address = probe->address,
        .deadline_ms = PROBE_MS,
    };
    UpstreamCall *request = upstream_begin(upstream, &head, &events, probe);
    if (request == NULL) {
        return call_fail_memory(probe->call, "a request");
    }
    upstream_end(request);
    loop_run(probe->loop);
    return probe->status;
}

Status
worker_probe(Call *call, const char *listen, const char *token)
{
    size_t size = strlen(listen);
    if (size >= 2 && strcmp(listen + size - 2, ":0") == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the port of a worker on '%s' is not known", listen);
    }
    Probe probe = {.call = call, .address = listen, .status = STATUS_OK};
    UpstreamOptions options = {.token = token, .connect_timeout_ms = PROBE_MS};
    TRY(loop_new(call, &probe.loop));
    Upstream *upstream = upstream_new(probe.loop, &options);
    Status status = upstream == NULL ? call_fail_memory(call, "a connection") : ask(&probe, upstream);
    upstream_free(upstream);
    loop_free(probe.loop);
    return status;
}
