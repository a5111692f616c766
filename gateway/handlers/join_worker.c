/* joinWorker: a worker joins the pool, or says that it is still there, by the same request. Its lease is kept
 * in the database, which tells all gateways of a change; each then polls the worker as one of its list. The
 * name belongs to the life that has it, until that is lost or has left. */
#include <string.h>

#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/jobs/job_context.h"
#include "gateway/workers/worker_join.h"
#include "shared/json/writer.h"
#include "shared/telemetry/log.h"
#include "shared/wire/messages.h"

/* The facts about a worker that already has the name, as this gateway knows them. */
typedef struct Namesake {
    bool is_lost;
    bool is_another;                 /* it lives, elsewhere */
    char address[ADDRESS_TEXT_SIZE]; /* "": it does not know it */
} Namesake;

/* Fails when the list has no room for a worker that is new. */
static Status
find_namesake(Call *call, const Parts *parts, const WorkerLease *lease, Namesake *ret_namesake)
{
    Roster *roster = directory_take(parts->directory);
    const WorkerInfo *known = roster_find_name(roster, slice_from_string(lease->name));
    bool is_full = known == NULL && roster->count >= WORKER_COUNT_MAX;
    *ret_namesake = (Namesake){0};
    if (known != NULL) {
        ret_namesake->is_lost = known->state == WORKER_LOST;
        ret_namesake->is_another = !ret_namesake->is_lost &&
                                   strcmp(known->incarnation, lease->incarnation) != 0 &&
                                   strcmp(known->address, lease->address) != 0;
        memcpy(ret_namesake->address, known->address, sizeof ret_namesake->address);
    }
    roster_unref(roster);
    return is_full ? call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the pool has %d workers, the most it may",
                         WORKER_COUNT_MAX)
                   : STATUS_OK;
}

static Status
refuse_namesake(Call *call, const WorkerLease *lease, const Namesake *namesake)
{
    log_event(LOG_ERROR, "two workers have one name, the second may not join", log_text("name", lease->name),
        log_text("first", namesake->address), log_text("second", lease->address));
    return call_fail(call, STATUS_ALREADY_EXISTS, "another worker named '%s' has joined%s%s, and is not lost",
        lease->name, namesake->address[0] == '\0' ? "" : " from ", namesake->address);
}

/* Refuses a worker that speaks no version of this gateway's; one that does not say so speaks the first. */
static Status
check_versions(Call *call, const Request *request)
{
    WireVersions own = wire_versions_or_all(request->parts->protocols);
    WireVersions its = {.oldest = 1, .newest = 1};
    Slice header = request_header(request, WIRE_HEADER_VERSIONS);
    TRY(header.data == NULL ? STATUS_OK : wire_versions_read(call, header, &its));
    return wire_versions_agree(own, its) != 0
               ? STATUS_OK
               : call_fail(call, STATUS_FAILED_PRECONDITION,
                     "the worker speaks versions %lld to %lld of the worker protocol, this gateway %lld to "
                     "%lld: " WIRE_VERSIONS_ADVICE,
                     (long long)its.oldest, (long long)its.newest, (long long)own.oldest,
                     (long long)own.newest);
}

static Status
run_join_worker(Call *call, const Request *request, Response *response)
{
    const Parts *parts = request->parts;
    WorkerJoin join;
    Namesake namesake;
    Store *store = NULL;
    bool is_held = false;
    TRY(worker_join_read(call, request, &join));
    TRY(find_namesake(call, parts, &join.lease, &namesake));
    TRY(join.is_leaving ? STATUS_OK : check_versions(call, request));
    join.lease.lease_ms = (int64_t)parts->worker_lease_ms;
    if (namesake.is_another) {
        return refuse_namesake(call, &join.lease, &namesake);
    }
    TRY(job_store(call, request->job_context, STORE_ROLE_QUEUE, &store));
    TRY(worker_leases_put(call, store, &join.lease, namesake.is_lost, &is_held));
    if (!is_held) {
        return refuse_namesake(call, &join.lease, &namesake);
    }
    if (join.is_leaving) {
        TRY(worker_mark_leaving(call, store, join.lease.name, join.lease.incarnation));
    }
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_member_int64(&writer, "lease_ms", join.lease.lease_ms);
    json_write_object_end(&writer);
    return STATUS_OK;
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(join_worker) = {
    .operation_id = "joinWorker",
    .method = "PUT",
    .path = "/api/v1/workers/{worker}",
    .access = ACCESS_WORKER,
    .body_size_max = 4096,
    .body_types = body_types,
    .run = run_join_worker,
};
