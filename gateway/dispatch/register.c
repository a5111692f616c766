/* Happy path: PUT the session → PUT the partition → every slot that waited goes on. A worker that lacks
 * blobs names them, some at a time (412); they are sent (blob_transfer.c), and the partition again.
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
    BLOBS_AT_ONCE = 16,
    ANSWER_ARENA_SIZE_MAX = 1 << 20,
    ASSIGNMENT_ARENA_SIZE_MAX = 16 << 20,
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
    int round;  /* how often the partition has been sent */
    Map *blobs; /* positions of the partition's blobs, from 1, by digest; NULL until some are missing */
    const PlanBlob **missing; /* blobs that the worker asked for last */
    size_t missing_count;
    size_t next_blob;   /* the first of them that is not sent yet */
    size_t asked_count; /* blobs that it asked for in all rounds */
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
    map_free(registration->blobs);
    memory_free(registration->missing);
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
static void put_blobs(Registration *registration);

static void
blob_sent(void *context, const Failure *failure, uint64_t sent_bytes)
{
    Registration *registration = context;
    registration->uploaded_bytes += sent_bytes;
    registration->blobs_in_flight--;
    if (registration->blob_failure.code == STATUS_OK) {
        registration->blob_failure = *failure;
    }
    put_blobs(registration);
}

/* Sends blobs, some at once, until the worker has all that it misses, then the partition again; after a
 * failure no more are begun. */
static void
put_blobs(Registration *registration)
{
    registration->blobs_in_flight++; /* a count of this function's own, since a transfer may end within */
    while (registration->blob_failure.code == STATUS_OK &&
           registration->next_blob < registration->missing_count &&
           registration->blobs_in_flight <= BLOBS_AT_ONCE) {
        const PlanBlob *blob = registration->missing[registration->next_blob++];
        BlobTransferRequest request = {
            .dispatcher = registration->dispatcher,
            .worker = &registration->worker,
            .tenant = registration->tenant,
            .blob = blob,
        };
        registration->blobs_in_flight++;
        if (!blob_transfer_begin(&request, blob_sent, registration)) {
            registration->blobs_in_flight--;
            registration->blob_failure =
                failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for sending a constant");
        }
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

/* Makes a map from the digests of the partition's blobs to their positions, plus one. NULL without memory. */
static Map *
map_blobs(const PlanPartition *partition)
{
    Map *blobs = map_new();
    for (size_t index = 0; blobs != NULL && index < partition->blob_count; index++) {
        Slice digest = slice_from_string(partition->blobs[index].sha256);
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number that nobody follows */
        if (!map_put(blobs, digest, (void *)(uintptr_t)(index + 1))) {
            map_free(TAKE(blobs));
        }
    }
    return blobs;
}

/* Makes room for the blobs that a worker asks for. False without memory. */
static bool
make_lists(Registration *registration, size_t count)
{
    memory_free(registration->missing);
    registration->missing = memory_new(count + 1, sizeof *registration->missing);
    registration->missing_count = 0;
    registration->next_blob = 0;
    registration->blobs =
        registration->blobs == NULL ? map_blobs(registration->partition) : registration->blobs;
    return registration->missing != NULL && registration->blobs != NULL;
}

/* Notes the blobs that the worker asks for, and sends them. */
static void
send_missing(Registration *registration, const WireStatus *answer)
{
    registration->blob_failure.code = STATUS_OK;
    if (!make_lists(registration, answer->missing_blob_count)) {
        fail_registration(registration, STATUS_RESOURCE_EXHAUSTED, "no memory left for a registration");
        return;
    }
    for (size_t index = 0; index < answer->missing_blob_count; index++) {
        uintptr_t position = (uintptr_t)map_get(registration->blobs, answer->missing_blobs[index]);
        if (position == 0) {
            fail_registration(
                registration, STATUS_INTERNAL, "the worker asks for a blob the plan does not have");
            return;
        }
        registration->missing[registration->missing_count++] = &registration->partition->blobs[position - 1];
    }
    if (registration->missing_count == 0) {
        fail_registration(registration, STATUS_INTERNAL, "the worker misses blobs but names none");
        return;
    }
    registration->asked_count += registration->missing_count;
    put_blobs(registration);
}

/* Returns whether the worker has asked for no more than it may have dropped once: it drops blobs to make room
 * for others, and one that drops them as fast as they come will never have all. */
static bool
may_ask(const Registration *registration)
{
    return registration->asked_count <= 2 * registration->partition->blob_count;
}

/* Remembers which devices the worker has given the nodes. An answer that cannot be read is that of another
 * version, and tells nothing. */
static void
note_assignment(const Registration *registration, Slice answer)
{
    AUTO_ARENA arena = arena_new(ASSIGNMENT_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireAssignment assignment;
    bool is_read = arena != NULL && wire_assignment_read(&reading, answer, &assignment) == STATUS_OK;
    assignments_note(directory_assignments(registration->dispatcher->directory),
        slice_from_string(registration->partition->digest), registration->worker.name,
        is_read ? answer : SLICE("{}"));
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
    bool misses_blobs = slice_equals_string(answer.reason, WIRE_REASON_MISSING_BLOBS);
    if (misses_blobs && may_ask(registration)) {
        send_missing(registration, &answer);
        return;
    }
    registration->is_known = registration->round == 1 && upstream_http_status(call) == 200;
    /* A worker that drops blobs as soon as it has them is no fault of the client's. */
    if (misses_blobs) {
        answer.failure.code = STATUS_UNAVAILABLE;
    }
    if (answer.failure.code == STATUS_OK) {
        note_assignment(registration, upstream_body(call));
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
    registration->worker.gpu = NULL; /* the roster's, which may go first */
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
