/* Happy path: PUT the session → PUT the partition → every slot that waited goes on. A worker that lacks
 * blobs names them (412); they are PUT, all at once, and the partition again.
 *
 * Failure: every waiting slot gets the failure, and its step decides whether to try another worker. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/metrics.h"
#include "shared/base/memory.h"

enum {
    KEY_SIZE = 192,
    PATH_SIZE = 256,
    ROUND_MAX = 3,
    ANSWER_ARENA_SIZE_MAX = 1 << 20,
    REGISTER_TIMEOUT_MS = 30000,
};

typedef struct Registration {
    Dispatcher *dispatcher;
    SlotRegistered registered;
    ListLink waiting; /* SlotRuns */
    Plan *plan;
    const PlanPartition *partition;
    char key[KEY_SIZE];
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    WorkerInfo worker;
    int round; /* how often the partition has been sent */
    int blobs_in_flight;
    bool is_known;           /* the worker had the partition */
    uint64_t uploaded_bytes; /* document and blobs */
    Failure blob_failure;    /* of the first blob that could not be put; STATUS_OK: none */
} Registration;

static void
registration_end(Registration *registration, const Failure *failure)
{
    (void)map_remove(registration->dispatcher->registrations, slice_from_string(registration->key));
    metrics_registration(failure->code, registration->uploaded_bytes);
    if (failure->code == STATUS_OK) {
        bind_note_holder(registration->dispatcher, &registration->worker, registration->partition);
    }
    while (!list_is_empty(&registration->waiting)) {
        SlotRun *slot = LIST_ITEM(list_first(&registration->waiting), SlotRun, waiting);
        list_remove(&slot->waiting);
        slot->is_known = registration->is_known;
        slot->uploaded_bytes = registration->uploaded_bytes;
        registration->registered(slot, failure);
    }
    plan_unref(registration->plan);
    memory_free(registration);
}

static void
fail_registration(Registration *registration, Status code, const char *message)
{
    Failure failure = failure_of(code, (Slice){0}, "%s", message);
    registration_end(registration, &failure);
}

static UpstreamCall *
begin_put(Registration *registration, const char *path, const UpstreamEvents *events)
{
    UpstreamHead head = {
        .method = "PUT",
        .path = slice_from_string(path),
        .address = registration->worker.address,
        .incarnation = slice_from_string(registration->worker.incarnation),
        .deadline_ms = REGISTER_TIMEOUT_MS,
        .tenant = slice_from_string(registration->tenant),
    };
    UpstreamCall *call = upstream_begin(registration->dispatcher->upstream, &head, events, registration);
    if (call == NULL) {
        fail_registration(registration, STATUS_RESOURCE_EXHAUSTED, "no memory left for a registration");
    }
    return call;
}

static void put_partition(Registration *registration);

static void
blob_put_done(UpstreamCall *call, Status status, const char *message)
{
    Registration *registration = upstream_context(call);
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireStatus answer = {.failure.code = STATUS_OK};
    if (status != STATUS_OK) {
        answer.failure = failure_of(status, (Slice){0}, "%s", message);
    } else if (arena != NULL) {
        (void)answer_read_status(call, &reading, &answer);
    }
    if (registration->blob_failure.code == STATUS_OK) {
        registration->blob_failure = answer.failure;
    }
    if (--registration->blobs_in_flight > 0) {
        return;
    }
    if (registration->blob_failure.code != STATUS_OK) {
        registration_end(registration, &registration->blob_failure);
    } else {
        put_partition(registration);
    }
}

static const UpstreamEvents blob_events = {.on_done = blob_put_done};

static const PlanBlob *
blob_find(const PlanPartition *partition, Slice digest)
{
    for (size_t index = 0; index < partition->blob_count; index++) {
        if (slice_equals_string(digest, partition->blobs[index].sha256)) {
            return &partition->blobs[index];
        }
    }
    return NULL;
}

static void
put_blobs(Registration *registration, const WireStatus *answer)
{
    registration->blob_failure = (Failure){.code = STATUS_OK};
    registration->blobs_in_flight = 1; /* a count of this function's own, given back at its end */
    for (size_t index = 0; index < answer->missing_blob_count; index++) {
        const PlanBlob *blob = blob_find(registration->partition, answer->missing_blobs[index]);
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "/worker/v1/blobs/%.*s", SLICE_PRINT(answer->missing_blobs[index]));
        UpstreamHead head = {
            .method = "PUT",
            .path = slice_from_string(path),
            .address = registration->worker.address,
            .deadline_ms = REGISTER_TIMEOUT_MS,
            .tenant = slice_from_string(registration->tenant),
            .body_size = blob == NULL ? 0 : tensor_byte_size(&blob->tensor),
        };
        UpstreamCall *call = blob == NULL ? NULL
                                          : upstream_begin(registration->dispatcher->upstream, &head,
                                                &blob_events, registration);
        if (call == NULL) {
            registration->blob_failure =
                failure_of(STATUS_INTERNAL, (Slice){0}, "the worker asks for a blob the plan does not have");
            break;
        }
        size_t size = tensor_byte_size(&blob->tensor);
        registration->blobs_in_flight++;
        registration->uploaded_bytes += size;
        upstream_write_buffer(call, slice_of(blob->tensor.data, size), blob->tensor.buffer);
        upstream_end(call);
    }
    if (--registration->blobs_in_flight == 0) {
        fail_registration(registration, STATUS_INTERNAL, "the worker misses blobs but names none");
    }
}

static void
partition_put_done(UpstreamCall *call, Status status, const char *message)
{
    Registration *registration = upstream_context(call);
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    if (status != STATUS_OK || arena == NULL) {
        fail_registration(registration, status != STATUS_OK ? status : STATUS_RESOURCE_EXHAUSTED, message);
        return;
    }
    Call reading = {.arena = arena};
    WireStatus answer;
    (void)answer_read_status(call, &reading, &answer);
    if (slice_equals_string(answer.reason, "missing_blobs") && registration->round < ROUND_MAX) {
        put_blobs(registration, &answer);
        return;
    }
    registration->is_known = registration->round == 1 && upstream_http_status(call) == 200;
    /* A worker that drops blobs as soon as it has them is no fault of the client's. */
    if (slice_equals_string(answer.reason, "missing_blobs")) {
        answer.failure.code = STATUS_UNAVAILABLE;
    }
    registration_end(registration, &answer.failure);
}

static const UpstreamEvents partition_events = {.on_done = partition_put_done};

static void
put_partition(Registration *registration)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/%s/partitions/%s", registration->session,
        registration->partition->digest);
    registration->round++;
    UpstreamCall *call = begin_put(registration, path, &partition_events);
    if (call != NULL) {
        registration->uploaded_bytes += registration->partition->document.size;
        upstream_write_copy(call, registration->partition->document);
        upstream_end(call);
    }
}

static void
session_put_done(UpstreamCall *call, Status status, const char *message)
{
    Registration *registration = upstream_context(call);
    if (status != STATUS_OK) {
        fail_registration(registration, status, message);
    } else if (upstream_http_status(call) / 100 != 2) {
        fail_registration(registration, STATUS_UNAVAILABLE, "the worker refuses the session");
    } else {
        put_partition(registration);
    }
}

static const UpstreamEvents session_events = {.on_done = session_put_done};

static Registration *
registration_new(const SlotRun *slot, const char *key, SlotRegistered registered)
{
    Registration *registration = memory_new(1, sizeof *registration);
    if (registration == NULL ||
        !map_put(slot->step->dispatcher->registrations, slice_from_string(key), registration)) {
        memory_free(registration);
        return NULL;
    }
    registration->dispatcher = slot->step->dispatcher;
    registration->registered = registered;
    registration->plan = plan_ref(slot->step->plan);
    registration->partition = slot->partition;
    registration->worker = *slot_worker(slot);
    list_init(&registration->waiting);
    (void)snprintf(registration->key, sizeof registration->key, "%s", key);
    (void)snprintf(registration->tenant, sizeof registration->tenant, "%s", slot->step->tenant);
    (void)snprintf(registration->session, sizeof registration->session, "%s", slot->step->session);
    return registration;
}

void
registration_await(SlotRun *slot, SlotRegistered registered)
{
    assert(slot->state == SLOT_REGISTERING && registered != NULL);

    char key[KEY_SIZE];
    (void)snprintf(
        key, sizeof key, "%s %s %s", slot_worker(slot)->address, slot->step->tenant, slot->partition->digest);
    Registration *registration = map_get(slot->step->dispatcher->registrations, slice_from_string(key));
    if (registration != NULL) {
        list_append(&registration->waiting, &slot->waiting);
        return;
    }
    registration = registration_new(slot, key, registered);
    if (registration == NULL) {
        Failure failure =
            failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for a registration");
        registered(slot, &failure);
        return;
    }
    list_append(&registration->waiting, &slot->waiting);
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/%s", registration->session);
    UpstreamCall *call = begin_put(registration, path, &session_events);
    if (call != NULL) {
        upstream_end(call);
    }
}
