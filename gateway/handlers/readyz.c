/* readyz: tells whether the gateway is ready for work: it is not about to end, PostgreSQL answers, at least
 * one worker serves, and at first as many as --workers-wanted says. While PostgreSQL is gone it may be ready
 * all the same (--database-outage), for what is in caches. The body has one line a check. It waits for
 * nothing: neither a job thread nor a connection to the database is needed, however busy those are. */
#include "gateway/domain/replica.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/http/handler.h"
#include "gateway/jobs/database_probe.h"
#include "gateway/workers/worker_pool.h"

static void
write_workers(Buffer *body, bool has_workers, const WorkersThere *there)
{
    if (has_workers || there->wanted == 1) {
        buffer_append_format(
            body, "[%c]workers %s\n", has_workers ? '+' : '-', has_workers ? "ok" : "none is serving");
    } else {
        buffer_append_format(
            body, "[-]workers waits for %zu workers, %zu are there\n", there->wanted, there->count);
    }
}

static void
start_readyz(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    Call *call = exchange_call(exchange);
    Response *response = exchange_response(exchange);
    bool is_serving = !replica_is_leaving(parts->replica);
    Status database = database_probe_read(parts->database, call);
    bool has_database = database == STATUS_OK;
    bool may_do_without = parts->outlasts_outage && database != STATUS_FAILED_PRECONDITION;
    WorkersThere there;
    bool has_workers = worker_pool_serves(parts->workers, &there);
    Buffer *body = response_body(response, "text/plain");
    buffer_append_format(body, "[%c]serving %s\n", is_serving ? '+' : '-', is_serving ? "ok" : "draining");
    buffer_append_format(
        body, "[%c]database %s\n", has_database ? '+' : '-', has_database ? "ok" : call->error.message);
    write_workers(body, has_workers, &there);
    response_status(response, is_serving && (has_database || may_do_without) && has_workers ? 200 : 503);
    exchange_finish(exchange);
}

HANDLER(readyz) = {
    .operation_id = "readyz",
    .method = "GET",
    .path = "/readyz",
    .access = ACCESS_PUBLIC,
    .start = start_readyz,
};
