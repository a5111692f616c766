/* resetContainers: drops variables and other state of the tenant's sessions in some containers, on all
 * workers that keep any (TensorFlow's Reset). Sessions stay, and running steps keep the state they hold. A
 * worker that fails is named in the answer, and the others are reset all the same.
 *
 * Happy path: the body is read → a job thread finds the workers in the database → this loop asks each of
 * them → the last answer completes the sum. */
#include <assert.h>
#include <string.h>

#include "gateway/dispatch/directory.h"
#include "gateway/dispatch/step.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/jobs/job_context.h"
#include "gateway/resources/resource.h"
#include "gateway/store/places.h"
#include "gateway/store/sessions.h"
#include "shared/base/text.h"
#include "shared/json/reader.h"
#include "shared/json/scanner.h"
#include "shared/wire/messages.h"

typedef struct Wanted {
    Slice containers; /* a JSON array */
    const char *session;
} Wanted;

typedef struct ResetCall ResetCall;

/* The reset on one life of a worker, and how it ended. */
typedef struct WorkerReset {
    ResetCall *reset;
    ContainerResetEnd end;
} WorkerReset;

struct ResetCall {
    Exchange *exchange;
    SessionId session; /* zero: all sessions */
    char session_text[ID_TEXT_SIZE];
    const Slice *containers;
    size_t container_count;
    PlaceWorker *places;
    WorkerReset *workers; /* one for each of `places` */
    size_t worker_count;
    size_t pending;
};

static void
write_worker(JsonWriter *writer, const PlaceWorker *place, const ContainerResetEnd *end)
{
    json_write_object_begin(writer);
    json_member_string(writer, "worker", place->name);
    json_member_int64(writer, "resources", end->resource_count);
    if (end->status != STATUS_OK) {
        json_write_name(writer, "error");
        json_write_object_begin(writer);
        json_member_string(writer, "code", status_name(end->status));
        json_member_string(writer, "message", end->message);
        json_write_object_end(writer);
    }
    json_write_object_end(writer);
}

static void
write_answer(const ResetCall *reset)
{
    int64_t resource_count = 0;
    uint64_t failed_count = 0;
    JsonWriter writer = json_writer(response_json(exchange_response(reset->exchange)));
    json_write_object_begin(&writer);
    json_write_name(&writer, "workers");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < reset->worker_count; index++) {
        const ContainerResetEnd *end = &reset->workers[index].end;
        write_worker(&writer, &reset->places[index], end);
        resource_count += end->resource_count;
        failed_count += end->status != STATUS_OK;
    }
    json_write_array_end(&writer);
    json_member_int64(&writer, "resources", resource_count);
    json_member_uint64(&writer, "failed", failed_count);
    json_write_object_end(&writer);
    exchange_finish(reset->exchange);
}

static void
worker_is_done(void *context, const ContainerResetEnd *end)
{
    assert(((const WorkerReset *)context)->reset->pending > 0);

    WorkerReset *worker = context;
    ResetCall *reset = worker->reset;
    const char *message = text_copy(exchange_call(reset->exchange)->arena, slice_from_string(end->message));
    worker->end = *end;
    worker->end.message = message == NULL ? "" : message;
    if (--reset->pending == 0) {
        write_answer(reset);
    }
}

/* Returns the worker if it is still the life that keeps the place's state, or NULL: a life that is over
 * has lost its state. */
static const WorkerInfo *
find_alive(const Roster *roster, const PlaceWorker *place)
{
    const WorkerInfo *worker = roster_find_name(roster, slice_from_string(place->name));
    bool is_alive = worker != NULL && worker->state != WORKER_LOST &&
                    strcmp(worker->incarnation, place->incarnation) == 0;
    return is_alive ? worker : NULL;
}

static void
ask_worker(ResetCall *reset, const Roster *roster, size_t index)
{
    assert(index < reset->worker_count);

    const Request *request = exchange_request(reset->exchange);
    Dispatcher *dispatcher = request->parts->dispatcher;
    const WorkerInfo *worker = find_alive(roster, &reset->places[index]);
    char tenant[UUID_TEXT_SIZE];
    uuid_to_text(request->principal.tenant.value, tenant);
    ContainerReset wanted = {
        .tenant = tenant,
        .session = slice_from_string(reset->session_text),
        .containers = reset->containers,
        .container_count = reset->container_count,
    };
    reset->workers[index] = (WorkerReset){.reset = reset, .end.message = ""};
    if (worker == NULL) {
        return;
    }
    if (dispatcher_reset_containers(dispatcher, worker, &wanted, worker_is_done, &reset->workers[index])) {
        reset->pending++;
    } else {
        reset->workers[index].end = (ContainerResetEnd){
            .status = STATUS_RESOURCE_EXHAUSTED, .message = "no memory left for a request"};
    }
}

static void
ask_workers(ResetCall *reset)
{
    Roster *roster = directory_take(exchange_request(reset->exchange)->parts->directory);
    for (size_t index = 0; index < reset->worker_count; index++) {
        ask_worker(reset, roster, index);
    }
    roster_unref(roster);
    if (reset->pending == 0) {
        write_answer(reset);
    }
}

static Status
find_workers(Call *call, JobContext *job_context, void *owner)
{
    ResetCall *reset = owner;
    TenantId tenant = exchange_request(reset->exchange)->principal.tenant;
    Store *store = NULL;
    Session session;
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    if (!uuid_is_zero(reset->session.value)) {
        TRY(sessions_find(call, store, tenant, reset->session, &session));
    }
    TRY(places_workers(call, store, tenant, reset->session, &reset->places, &reset->worker_count));
    reset->workers = arena_alloc(call->arena, (reset->worker_count + 1) * sizeof *reset->workers);
    return reset->workers != NULL ? STATUS_OK : call_fail_memory(call, "a reset");
}

static void
workers_are_found(Exchange *exchange, Status status, void *owner)
{
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else {
        ask_workers(owner);
    }
}

/* Reads names of containers, as TensorFlow has them; an empty or absent list means the default container. */
static Status
read_containers(Call *call, Slice json, ResetCall *reset)
{
    enum { DEPTH = 2 };
    static const Slice defaults[] = {
        {.data = WIRE_CONTAINER_DEFAULT, .size = sizeof WIRE_CONTAINER_DEFAULT - 1}};
    JsonScanner scanner;
    if (json.size > 0) {
        json_scan_begin(&scanner, json, DEPTH);
        (void)json_strings(
            &scanner, call->arena, WIRE_CONTAINERS_MAX, &reset->containers, &reset->container_count);
        if (json_scan_end(call, &scanner) != STATUS_OK) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "'containers' is no list of at most %d names",
                WIRE_CONTAINERS_MAX);
        }
    }
    if (reset->container_count == 0) {
        reset->containers = defaults;
        reset->container_count = COUNT_OF(defaults);
    }
    return STATUS_OK;
}

static Status
read_body(Call *call, Slice json, ResetCall *reset)
{
    static const JsonMember members[] = {
        {"containers", JSON_TEXT, .offset = offsetof(Wanted, containers)},
        {"session", JSON_STRING_COPY, .offset = offsetof(Wanted, session)},
    };
    static const JsonTable table = JSON_TABLE("a reset", members);
    Wanted wanted = {0};
    if (json.size > 0) {
        TRY(json_document_read(call, json, &table, &wanted));
    }
    if (wanted.session != NULL) {
        if (!id_from_text("ses", slice_from_string(wanted.session), &reset->session.value)) {
            return call_fail(call, STATUS_NOT_FOUND, "session '%.64s' does not exist", wanted.session);
        }
        id_to_text("ses", reset->session.value, reset->session_text);
    }
    return read_containers(call, wanted.containers, reset);
}

static void
start_reset_containers(Exchange *exchange)
{
    Call *call = exchange_call(exchange);
    ResetCall *reset = arena_alloc(call->arena, sizeof *reset);
    if (reset == NULL) {
        exchange_fail(exchange, call_fail_memory(call, "a reset"));
        return;
    }
    reset->exchange = exchange;
    Status status = read_body(call, exchange_request(exchange)->body, reset);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (!exchange_offload(exchange, find_workers, workers_are_found, reset)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(reset_containers) = {
    .operation_id = "resetContainers",
    .method = "POST",
    .path = "/api/v1/containers:reset",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)64 << 10,
    .body_types = body_types,
    .start = start_reset_containers,
};
