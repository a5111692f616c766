/* deletePartialRun: ends a partial run before its time is over, when nobody will complete it; clients that
 * wait for its fetches get an error. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/partials/partial_visit.h"

static Status
end_run(PartialVisit *visit, PartialRun *run)
{
    (void)visit;
    partial_run_fail(run, STATUS_CANCELLED, "the partial run was deleted");
    run->is_told = true;
    return STATUS_OK;
}

static void
answer_nothing(PartialVisit *visit)
{
    Exchange *exchange = visit->step->exchange;
    response_status(exchange_response(exchange), 204);
    exchange_finish(exchange);
}

static void
start_delete_partial_run(Exchange *exchange)
{
    partial_visit_simply(exchange, exchange_request(exchange)->parts->partials, end_run, answer_nothing);
}

HANDLER(delete_partial_run) = {
    .operation_id = "deletePartialRun",
    .method = "DELETE",
    .path = "/api/v1/sessions/{session}/partial-runs/{run}",
    .access = ACCESS_TENANT,
    .start = start_delete_partial_run,
};
