/* drainWorker: keeps new steps from a worker, whichever gateway dispatches them; {"draining": false} takes
 * the mark back. Running steps end where they are. The mark is kept in the database, so that it outlives
 * gateways and workers. */
#include "gateway/dispatch/directory.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/store/workers.h"
#include "gateway/workers/worker_json.h"
#include "gateway/workers/worker_pool.h"
#include "shared/base/text.h"
#include "shared/json/reader.h"

typedef struct Body {
    bool is_draining;
} Body;

static Status
write_worker(Call *call, const Request *request, Response *response, bool is_draining)
{
    Slice name = request_parameter(request, "worker");
    Roster *roster = directory_take(request->parts->directory);
    const WorkerInfo *found = roster_find_name(roster, name);
    if (found == NULL) {
        roster_unref(roster);
        return worker_not_found(call, name);
    }
    /* The answer shows the state that discovery will publish in a moment; a worker that drains by itself
     * does so whatever the mark. */
    WorkerInfo worker = *found;
    if (is_draining && worker.state == WORKER_SERVING) {
        worker.state = WORKER_DRAINING;
    }
    JsonWriter writer = json_writer(response_json(response));
    worker_write(&writer, &worker, roster_devices(roster, &worker));
    roster_unref(roster);
    return STATUS_OK;
}

static Status
run_drain_worker(Call *call, const Request *request, Response *response)
{
    static const JsonMember members[] = {
        {"draining", JSON_BOOLEAN, .offset = offsetof(Body, is_draining)},
    };
    static const JsonTable table = JSON_TABLE("a drain", members);
    Body body = {.is_draining = true};
    Store *store = NULL;
    const char *name = text_copy(call->arena, request_parameter(request, "worker"));
    if (name == NULL) {
        return call_fail_memory(call, "a worker's name");
    }
    if (request->body.size > 0) {
        TRY(json_document_read(call, request->body, &table, &body));
    }
    TRY(request_store(call, request, &store));
    TRY(workers_set_draining(call, store, name, body.is_draining));
    worker_pool_look(request->parts->workers);
    return write_worker(call, request, response, body.is_draining);
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(drain_worker) = {
    .operation_id = "drainWorker",
    .method = "POST",
    .path = "/api/v1/workers/{worker}:drain",
    .access = ACCESS_OPERATOR,
    .body_size_max = 4096,
    .body_types = body_types,
    .run = run_drain_worker,
};
