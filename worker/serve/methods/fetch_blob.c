/* FetchBlob: takes a large constant from another worker that has it, so that the gateway need not read and
 * send it once more. Any failure is the gateway's to mend: it sends the constant itself then.
 *
 * Happy path: the body names the worker → the constant is new here → GET of it there, over the loop's
 * connections to peers → the bytes are handed on as they come (blob_intake.h) → the digest is checked → 200.
 *
 * While much is held that is not written yet, the call to the peer is paused. */
#include <stdio.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "worker/serve/metrics.h"
#include "worker/serve/worker.h"

enum { STALL_MS = 30000, HELD_MAX = 512 << 10, PATH_SIZE = 128 };

typedef struct Fetch {
    WorkerRequest *request; /* NULL after the stream has closed */
    WorkerLoop *loop;
    BlobIntake *intake; /* NULL after its end */
    UpstreamCall *call; /* NULL before the constant is known to be new, and after the call's end */
    char path[PATH_SIZE];
    char address[ADDRESS_TEXT_SIZE];
    char incarnation[INCARNATION_TEXT_SIZE];
    char tenant[CACHE_KEY_MAX];
    uint64_t size;
    uint64_t left;        /* bytes to come */
    uint64_t left_before; /* when `stall` fired last */
    size_t held;          /* bytes that are not written yet */
    Timer stall;
} Fetch;

/* Ends the fetch, whatever of it is under way. */
static void
fetch_free(Fetch *fetch)
{
    timer_clear(fetch->loop->loop, &fetch->stall);
    blob_intake_abandon(fetch->intake);
    if (fetch->call != NULL) {
        upstream_detach(fetch->call);
    }
    if (fetch->request != NULL) {
        fetch->request->context = NULL;
    }
    memory_free(fetch);
}

/* Answers with the failure and ends the fetch. */
static void
refuse_fetch(Fetch *fetch, const Call *failing)
{
    if (fetch->request != NULL) {
        worker_refuse(fetch->request, failing);
    }
    fetch_free(fetch);
}

static void
take_bytes(UpstreamCall *call, Slice bytes)
{
    Fetch *fetch = upstream_context(call);
    Call failing = {.arena = NULL};
    if (bytes.size > fetch->left) {
        (void)!call_fail(&failing, STATUS_UNAVAILABLE, "the peer sends more than the blob");
        refuse_fetch(fetch, &failing);
    } else if (!blob_intake_write(fetch->intake, bytes)) {
        (void)!call_fail_memory(&failing, "a blob's bytes");
        refuse_fetch(fetch, &failing);
    } else {
        fetch->left -= bytes.size;
        fetch->held += bytes.size;
        if (fetch->held > HELD_MAX) {
            upstream_pause(call);
        }
    }
}

static void
call_ended(UpstreamCall *call, Status status, const char *message)
{
    Fetch *fetch = upstream_context(call);
    Call failing = {.arena = NULL};
    fetch->call = NULL;
    if (status == STATUS_OK && upstream_http_status(call) == 200) {
        timer_clear(fetch->loop->loop, &fetch->stall);
        blob_intake_finish(fetch->intake);
        return;
    }
    (void)!(status == STATUS_OK
                ? call_fail(&failing, STATUS_UNAVAILABLE, "the peer answers %d", upstream_http_status(call))
                : call_fail(&failing, status, "%s", message));
    refuse_fetch(fetch, &failing);
}

/* Gives up a peer that sends nothing; not one that waits for what is being written here. */
static void
check_progress(Timer *timer)
{
    Fetch *fetch = LIST_ITEM(timer, Fetch, stall);
    if (fetch->left == fetch->left_before && fetch->held == 0) {
        Call failing = {.arena = NULL};
        (void)!call_fail(&failing, STATUS_UNAVAILABLE, "the peer has sent nothing for %d s", STALL_MS / 1000);
        refuse_fetch(fetch, &failing);
        return;
    }
    fetch->left_before = fetch->left;
    timer_set(fetch->loop->loop, timer, loop_now_ns(fetch->loop->loop) + STALL_MS * CLOCK_NS_PER_MS);
}

/* Asks the peer, unless the worker has closed its connections while room was being found. */
static void
call_peer(void *context)
{
    static const UpstreamEvents events = {.on_data = take_bytes, .on_done = call_ended};
    Fetch *fetch = context;
    const Transport *transport = fetch->loop->transport;
    if (transport == NULL) {
        fetch_free(fetch);
        return;
    }
    UpstreamHead head = {
        .method = "GET",
        .path = slice_from_string(fetch->path),
        .address = fetch->address,
        .incarnation = slice_from_string(fetch->incarnation),
        .tenant = slice_from_string(fetch->tenant),
    };
    fetch->call = upstream_begin(transport_upstream(transport), &head, &events, fetch);
    if (fetch->call == NULL) {
        Call failing = {.arena = NULL};
        (void)!call_fail_memory(&failing, "the fetching of a blob");
        refuse_fetch(fetch, &failing);
        return;
    }
    upstream_end(fetch->call);
    timer_set(fetch->loop->loop, &fetch->stall, loop_now_ns(fetch->loop->loop) + STALL_MS * CLOCK_NS_PER_MS);
}

static void
go_on(void *context, size_t size)
{
    Fetch *fetch = context;
    fetch->held -= size;
    if (fetch->call != NULL && fetch->held <= HELD_MAX) {
        upstream_resume(fetch->call);
    }
}

static void
answer_fetch(void *context, const BlobIntakeEnd *end)
{
    Fetch *fetch = context;
    fetch->intake = NULL;
    if (end->status != STATUS_OK) {
        refuse_fetch(fetch, end->call);
        return;
    }
    if (end->state == BLOB_IS_NEW) {
        metrics_count_blob(BLOB_FROM_PEER, fetch->size);
    }
    if (fetch->request != NULL && end->state == BLOB_IS_COMING) {
        worker_refuse_coming(fetch->request);
    } else if (fetch->request != NULL) {
        worker_answer_json(fetch->request, 200, SLICE("{}"));
    }
    fetch_free(fetch);
}

static Status
begin_fetch(WorkerRequest *request)
{
    static const BlobIntakeEvents events = {.on_begun = call_peer, .on_taken = go_on, .on_end = answer_fetch};
    CacheKey key = {.tenant = request->tenant, .digest = request->parameters[0]};
    WireFetch wanted;
    TRY(wire_fetch_read(&request->call, buffer_slice(&request->body), &wanted));
    Fetch *fetch = memory_new(1, sizeof *fetch);
    if (fetch == NULL) {
        return call_fail_memory(&request->call, "the fetching of a blob");
    }
    (void)snprintf(fetch->path, sizeof fetch->path, "/worker/v1/blobs/%.*s", SLICE_PRINT(key.digest));
    (void)snprintf(fetch->address, sizeof fetch->address, "%.*s", SLICE_PRINT(wanted.address));
    (void)snprintf(fetch->incarnation, sizeof fetch->incarnation, "%.*s", SLICE_PRINT(wanted.incarnation));
    (void)snprintf(fetch->tenant, sizeof fetch->tenant, "%.*s", SLICE_PRINT(key.tenant));
    fetch->request = request;
    fetch->loop = request->loop;
    fetch->size = (uint64_t)wanted.size;
    fetch->left = fetch->size;
    fetch->left_before = UINT64_MAX;
    fetch->stall.fire = check_progress;
    request->context = fetch;
    fetch->intake =
        blob_intake_begin(request->worker->intakes, request->loop->loop, key, fetch->size, &events, fetch);
    if (fetch->intake == NULL) {
        fetch_free(fetch);
        return call_fail_memory(&request->call, "the fetching of a blob");
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
    .finish = begin_fetch,
    .closed = forget_request,
};
