/* RegisterGraph: compiles a partition and keeps it under its digest. Idempotent: the same digest again is no
 * work. When constants are missing, the answer names their blobs. */
#include "shared/crypto/digest.h"
#include "shared/formats/graphdef_json.h"
#include "worker/runtime/partition.h"
#include "worker/serve/server.h"

enum { PARTITION_SIZE_MAX = 64 << 20 };

static Status
answer_missing(WorkerRequest *request, const MissingBlobs *missing)
{
    Slice *const digests = arena_alloc(request->call.arena, missing->count * sizeof *digests);
    if (digests == NULL) {
        return call_fail_memory(&request->call, "a list of blobs");
    }
    for (size_t index = 0; index < missing->count; index++) {
        digests[index] = slice_from_string(missing->sha256[index]);
    }
    const WireStatus status = {
        .code = STATUS_FAILED_PRECONDITION,
        .message = SLICE("constants of this partition are not here yet"),
        .reason = SLICE("missing_blobs"),
        .missing_blobs = digests,
        .missing_blob_count = missing->count,
    };
    worker_answer_status(request, &status);
    return STATUS_OK;
}

static Status
compile(WorkerRequest *request, Slice key)
{
    Call *const call = &request->call;
    TenantBlobs tenant = {.cache = request->worker->blobs, .tenant = request->tenant};
    const BlobSource blobs = blob_cache_source(&tenant);
    MissingBlobs missing = {0};
    AUTO_GRAPH_DEF def = NULL;
    AUTO_PARTITION partition = NULL;
    TRY(graphdef_json_read(call, buffer_slice(&request->body), &def));
    const Status status = partition_compile(call, def, request->worker->device, &blobs, &missing, &partition);
    if (missing.count > 0) {
        return answer_missing(request, &missing);
    }
    TRY(status);
    TRY(partition_cache_put(call, request->worker->partitions, key, partition));
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

static Status
finish(WorkerRequest *request)
{
    Call *const call = &request->call;
    const Slice digest = request->parameters[1];
    Sha256 actual;
    char actual_text[SHA256_HEX_SIZE];
    if (!session_table_renew(
            request->worker->sessions, request->parameters[0], loop_now_ns(request->loop->loop))) {
        return call_fail(
            call, STATUS_NOT_FOUND, "session '%.*s' has no lease here", SLICE_PRINT(request->parameters[0]));
    }
    sha256(buffer_slice(&request->body), &actual);
    sha256_to_hex(&actual, actual_text);
    if (!slice_equals_string(digest, actual_text)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the body's digest is %s, not '%.*s'", actual_text,
            SLICE_PRINT(digest));
    }
    Slice key;
    TRY(worker_partition_key(request, digest, &key));
    Partition *const known = partition_cache_get(request->worker->partitions, key);
    if (known != NULL) {
        partition_unref(known);
        worker_answer_json(request, 200, SLICE("{}"));
        return STATUS_OK;
    }
    return compile(request, key);
}

WORKER_METHOD(register_graph) = {
    .name = "RegisterGraph",
    .verb = "PUT",
    .path = "/worker/v1/sessions/{session}/partitions/{digest}",
    .body = BODY_DOCUMENT,
    .body_size_max = PARTITION_SIZE_MAX,
    .finish = finish,
};
