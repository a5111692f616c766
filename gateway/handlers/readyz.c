/* readyz: tells whether the gateway is ready for work: it does not drain, PostgreSQL answers, at least one
 * worker serves. The body has one line a check. */
#include "gateway/domain/replica.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/store/migrate.h"
#include "gateway/workers/worker_pool.h"

static Status
run_readyz(Call *call, const Request *request, Response *response)
{
    Store *store = NULL;
    bool is_serving = !replica_is_draining(request->parts->replica);
    bool has_database =
        request_store(call, request, &store) == STATUS_OK && migrate_check(call, store) == STATUS_OK;
    bool has_workers = worker_pool_serves(request->parts->directory);
    Buffer *body = response_body(response, "text/plain");
    buffer_append_format(body, "[%c]serving %s\n", is_serving ? '+' : '-', is_serving ? "ok" : "draining");
    buffer_append_format(
        body, "[%c]database %s\n", has_database ? '+' : '-', has_database ? "ok" : call->error.message);
    buffer_append_format(
        body, "[%c]workers %s\n", has_workers ? '+' : '-', has_workers ? "ok" : "none is serving");
    response_status(response, is_serving && has_database && has_workers ? 200 : 503);
    return STATUS_OK;
}

HANDLER(readyz) = {
    .operation_id = "readyz",
    .method = "GET",
    .path = "/readyz",
    .access = ACCESS_PUBLIC,
    .run = run_readyz,
};
