/* FetchBlob: takes a large constant from another worker that has it, so that the gateway need not read and
 * send it once more. Any failure is the gateway's to mend: it sends the constant itself then.
 *
 * Happy path: the body names the worker → GET of the constant there, over the loop's connections to peers →
 * the bytes are taken to their final position as they come → the digest is checked → 200. */
#include <stdio.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "worker/serve/metrics.h"
#include "worker/serve/worker.h"

enum { STALL_MS = 30000 };

typedef struct Fetch {
    WorkerRequest *request; /* NULL after the stream has closed */
    Loop *loop;
    UpstreamCall *call;
    BlobArrival *arrival;
    uint64_t size;
    uint64_t left;        /* bytes to come */
    uint64_t left_before; /* when `stall` fired last */
    Timer stall;
    Call failing; /* what went wrong here, beside the call to the peer */
} Fetch;

static void
fetch_free(Fetch *fetch)
{
    timer_clear(fetch->loop, &fetch->stall);
    blob_arrival_end(fetch->arrival);
    memory_free(fetch);
}

static void
take_bytes(UpstreamCall *call, Slice bytes)
{
    Fetch *fetch = upstream_context(call);
    Status status = bytes.size > fetch->left
                        ? call_fail(&fetch->failing, STATUS_UNAVAILABLE, "the peer sends more than the blob")
                        : blob_arrival_write(&fetch->failing, fetch->arrival, bytes);
    if (status != STATUS_OK) {
        upstream_cancel(call);
        return;
    }
    fetch->left -= bytes.size;
}

static Status
keep_blob(Fetch *fetch, const UpstreamCall *call, Status status, const char *message)
{
    bool is_wrong = false;
    if (fetch->failing.error.code != STATUS_OK) {
        return fetch->failing.error.code;
    }
    if (status != STATUS_OK) {
        return call_fail(&fetch->failing, status, "%s", message);
    }
    if (upstream_http_status(call) != 200) {
        return call_fail(
            &fetch->failing, STATUS_UNAVAILABLE, "the peer answers %d", upstream_http_status(call));
    }
    TRY(blob_arrival_finish(&fetch->failing, fetch->arrival, &is_wrong));
    metrics_count_blob(BLOB_FROM_PEER, fetch->size);
    return STATUS_OK;
}

static void
fetch_ended(UpstreamCall *call, Status status, const char *message)
{
    Fetch *fetch = upstream_context(call);
    WorkerRequest *request = fetch->request;
    Status kept = keep_blob(fetch, call, status, message);
    if (request != NULL) {
        request->context = NULL;
        if (kept == STATUS_OK) {
            worker_answer_json(request, 200, SLICE("{}"));
        } else {
            worker_refuse(request, &fetch->failing);
        }
    }
    fetch_free(fetch);
}

static void
check_progress(Timer *timer)
{
    Fetch *fetch = LIST_ITEM(timer, Fetch, stall);
    if (fetch->left == fetch->left_before) {
        (void)!call_fail(
            &fetch->failing, STATUS_UNAVAILABLE, "the peer has sent nothing for %d s", STALL_MS / 1000);
        upstream_cancel(fetch->call);
        return;
    }
    fetch->left_before = fetch->left;
    timer_set(fetch->loop, timer, loop_now_ns(fetch->loop) + STALL_MS * CLOCK_NS_PER_MS);
}

static Status
begin_fetch(WorkerRequest *request, const WireFetch *wanted, BlobArrival *arrival)
{
    static const UpstreamEvents events = {.on_data = take_bytes, .on_done = fetch_ended};
    char path[128];
    char address[ADDRESS_TEXT_SIZE];
    Fetch *fetch = memory_new(1, sizeof *fetch);
    if (fetch == NULL) {
        blob_arrival_end(arrival);
        return call_fail_memory(&request->call, "the fetching of a blob");
    }
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%.*s", SLICE_PRINT(request->parameters[0]));
    (void)snprintf(address, sizeof address, "%.*s", SLICE_PRINT(wanted->address));
    UpstreamHead head = {
        .method = "GET",
        .path = slice_from_string(path),
        .address = address,
        .incarnation = wanted->incarnation,
        .tenant = request->tenant,
    };
    fetch->request = request;
    fetch->loop = request->loop->loop;
    fetch->arrival = arrival;
    fetch->size = (uint64_t)wanted->size;
    fetch->left = fetch->size;
    fetch->left_before = UINT64_MAX;
    fetch->stall.fire = check_progress;
    fetch->call = upstream_begin(transport_upstream(request->loop->transport), &head, &events, fetch);
    if (fetch->call == NULL) {
        fetch_free(fetch);
        return call_fail_memory(&request->call, "the fetching of a blob");
    }
    upstream_end(fetch->call);
    request->context = fetch;
    timer_set(fetch->loop, &fetch->stall, loop_now_ns(fetch->loop) + STALL_MS * CLOCK_NS_PER_MS);
    return STATUS_OK;
}

static Status
fetch_blob(WorkerRequest *request)
{
    CacheKey key = {.tenant = request->tenant, .digest = request->parameters[0]};
    BlobState state = BLOB_IS_NEW;
    BlobArrival *arrival = NULL;
    WireFetch wanted;
    TRY(wire_fetch_read(&request->call, buffer_slice(&request->body), &wanted));
    TRY(blob_arrival_begin(
        &request->call, request->worker->blobs, key, (uint64_t)wanted.size, &state, &arrival));
    if (state == BLOB_IS_NEW) {
        return begin_fetch(request, &wanted, arrival);
    }
    if (state == BLOB_IS_HERE) {
        worker_answer_json(request, 200, SLICE("{}"));
    } else {
        worker_refuse_coming(request);
    }
    return STATUS_OK;
}

static void
forget_request(WorkerRequest *request)
{
    Fetch *fetch = request->context;
    if (fetch != NULL) {
        fetch->request = NULL; /* the fetch goes on: the constant is wanted soon again */
    }
}

WORKER_METHOD(fetch_blob) = {
    .name = "FetchBlob",
    .verb = "POST",
    .path = "/worker/v1/blobs/{sha256}:fetch",
    .body = BODY_DOCUMENT,
    .body_size_max = (size_t)64 << 10,
    .finish = fetch_blob,
    .closed = forget_request,
};
