/* deletePartialRun: a partial run that nobody will complete ends now instead of when its time is over; who
 * waits for its fetches is told. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/partials/partial_visit.h"

static Status
end(PartialVisit *visit, PartialRun *run)
{
    (void)visit;
    partial_run_fail(run, STATUS_CANCELLED, "the partial run was deleted");
    run->is_told = true;
    return STATUS_OK;
}

static void
write(PartialVisit *visit)
{
    response_status(exchange_response(visit->step->exchange), 204);
}

static void
start(Exchange *exchange)
{
    partial_visit_simply(exchange, exchange_request(exchange)->parts->partials, end, write);
}

HANDLER(delete_partial_run) = {
    .operation_id = "deletePartialRun",
    .method = "DELETE",
    .path = "/api/v1/sessions/{session}/partial-runs/{run}",
    .access = ACCESS_TENANT,
    .start = start,
};
