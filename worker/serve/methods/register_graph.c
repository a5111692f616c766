/* RegisterGraph: compiles a partition and keeps it under its digest (201). Idempotent: a digest that is
 * known needs no work (200). The answer tells which device each node has got. When constants are missing, it
 * names their blobs.
 *
 * Happy path: begin_registration() moves the body of the request into a Registration → a thread of the
 * device checks, reads, compiles and caches it → the loop answers. The partition is cached even when the
 * caller has gone meanwhile. */
#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/crypto/digest.h"
#include "shared/formats/graphdef_json.h"
#include "worker/runtime/partition/compile.h"
#include "worker/serve/assignment.h"
#include "worker/serve/worker.h"

enum { PARTITION_SIZE_MAX = 64 << 20 };

_Static_assert(
    (int)MISSING_BLOBS_MAX <= (int)WIRE_MISSING_BLOBS_MAX, "an answer names all that the compiler does");

typedef struct Registration {
    DeviceWork work;
    Task task;
    WorkerRequest *request; /* NULL after the stream has closed; used on the loop only */
    Worker *worker;
    Loop *loop;
    Call call; /* a call of its own, whose arena outlives the request */
    Buffer document;
    CacheKey key; /* texts are in the arena of `call` */
    MissingBlobs missing;
    Buffer answer; /* JSON (assignment.h) */
    Status status;
} Registration;

static void
registration_free(Registration *registration)
{
    buffer_done(&registration->document);
    buffer_done(&registration->answer);
    arena_free(registration->call.arena);
    memory_free(registration);
}

static Status
registration_new(WorkerRequest *request, CacheKey key, Registration **ret_registration)
{
    Registration *registration = memory_new(1, sizeof *registration);
    Arena *arena = arena_new(WORKER_ARENA_SIZE_MAX);
    const char *tenant = arena == NULL ? NULL : text_copy(arena, key.tenant);
    const char *digest = arena == NULL ? NULL : text_copy(arena, key.digest);
    if (registration == NULL || tenant == NULL || digest == NULL) {
        memory_free(registration);
        arena_free(arena);
        return call_fail_memory(&request->call, "a registration");
    }
    *registration = (Registration){
        .request = request,
        .worker = request->worker,
        .loop = request->loop->loop,
        .call.arena = arena,
        .document = request->body,
        .key = {.tenant = slice_of(tenant, key.tenant.size), .digest = slice_of(digest, key.digest.size)},
    };
    request->body = (Buffer){0};
    *ret_registration = registration;
    return STATUS_OK;
}

static Status
check_digest(Registration *registration)
{
    Sha256 actual;
    char text[SHA256_HEX_SIZE];
    sha256(buffer_slice(&registration->document), &actual);
    sha256_to_hex(&actual, text);
    if (!slice_equals_string(registration->key.digest, text)) {
        return call_fail(&registration->call, STATUS_INVALID_ARGUMENT, "the body's digest is %s, not '%.*s'",
            text, SLICE_PRINT(registration->key.digest));
    }
    return STATUS_OK;
}

static DeviceSet
devices_of(const Worker *worker)
{
    const PluginDevice *accelerator = worker->options.accelerator;
    return (DeviceSet){
        .host = worker->device, .accelerator = accelerator == NULL ? NULL : accelerator->device};
}

static Status
compile_partition(Registration *registration)
{
    Call *call = &registration->call;
    Worker *worker = registration->worker;
    TenantBlobs tenant = {.store = worker->blobs, .tenant = registration->key.tenant};
    BlobSource blobs = tenant_blobs_source(&tenant);
    blobs.weights = worker->weights;
    blobs.tenant = tenant_number(tenant.tenant);
    AUTO_GRAPH_DEF def = NULL;
    AUTO_PARTITION partition = NULL;
    TRY(check_digest(registration));
    TRY(graphdef_json_read(call, buffer_slice(&registration->document), &def));
    TRY(partition_compile(call, def, devices_of(worker), &blobs, &registration->missing, &partition));
    TRY(assignment_write(call, &registration->answer, partition));
    return cache_put(call, worker->partitions, registration->key, partition);
}

static void
compile_on_device(DeviceWork *work)
{
    Registration *registration = (Registration *)(void *)work;
    registration->status = compile_partition(registration);
    loop_post(registration->loop, &registration->task);
}

static Status
answer_missing(WorkerRequest *request, Call *call, const MissingBlobs *missing)
{
    Slice *digests = arena_alloc(call->arena, missing->count * sizeof *digests);
    if (digests == NULL) {
        return call_fail_memory(call, "a list of blobs");
    }
    for (size_t index = 0; index < missing->count; index++) {
        digests[index] = slice_from_string(missing->sha256[index]);
    }
    WireStatus status = {
        .failure = failure_of(
            STATUS_FAILED_PRECONDITION, (Slice){0}, "constants of this partition are not here yet"),
        .reason = SLICE(WIRE_REASON_MISSING_BLOBS),
        .missing_blobs = digests,
        .missing_blob_count = missing->count,
    };
    worker_answer_status(request, &status);
    return STATUS_OK;
}

static void
answer_registration(WorkerRequest *request, Registration *registration)
{
    Status status = registration->status;
    if (registration->missing.count > 0) {
        status = answer_missing(request, &registration->call, &registration->missing);
    } else if (status == STATUS_OK) {
        worker_answer_json(request, 201, buffer_slice(&registration->answer));
    }
    if (status != STATUS_OK) {
        worker_refuse(request, &registration->call);
    }
}

static void
answer_on_loop(Task *task)
{
    Registration *registration = (Registration *)(void *)((char *)task - offsetof(Registration, task));
    if (registration->request != NULL) {
        registration->request->context = NULL;
        answer_registration(registration->request, registration);
    }
    (void)atomic_sub_relaxed(&registration->worker->registering_count, 1);
    registration_free(registration);
}

static Status
answer_known(WorkerRequest *request, const Partition *partition)
{
    AUTO_BUFFER answer = {0};
    TRY(assignment_write(&request->call, &answer, partition));
    worker_answer_json(request, 200, buffer_slice(&answer));
    return STATUS_OK;
}

static Status
begin_registration(WorkerRequest *request)
{
    Worker *worker = request->worker;
    CacheKey key = {.tenant = request->tenant, .digest = request->parameters[1]};
    Registration *registration = NULL;
    if (!session_table_renew(worker->sessions, request->parameters[0], loop_now_ns(request->loop->loop))) {
        return call_fail(&request->call, STATUS_NOT_FOUND, "session '%.*s' has no lease here",
            SLICE_PRINT(request->parameters[0]));
    }
    AUTO_PARTITION known = cache_get(worker->partitions, key);
    if (known != NULL) {
        return answer_known(request, known);
    }
    TRY(registration_new(request, key, &registration));
    request->context = registration;
    registration->work.run = compile_on_device;
    registration->task.run = answer_on_loop;
    (void)atomic_add_relaxed(&worker->registering_count, 1);
    worker->device->schedule(worker->device, &registration->work);
    return STATUS_OK;
}

static void
forget_request(WorkerRequest *request)
{
    Registration *registration = request->context;
    if (registration != NULL) {
        registration->request = NULL;
    }
}

WORKER_METHOD(register_graph) = {
    .name = "RegisterGraph",
    .verb = "PUT",
    .path = "/worker/v1/sessions/{session}/partitions/{digest}",
    .body = BODY_DOCUMENT,
    .body_size_max = PARTITION_SIZE_MAX,
    .finish = begin_registration,
    .closed = forget_request,
};
