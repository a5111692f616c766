/* getPartialRun: shows the state of a partial run, and which feeds and fetches are outstanding. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/partials/partial_visit.h"

static Status
leave_run(PartialVisit *visit, PartialRun *run)
{
    (void)visit;
    (void)run;
    return STATUS_OK;
}

static void
start_get_partial_run(Exchange *exchange)
{
    partial_visit_simply(
        exchange, exchange_request(exchange)->parts->partials, leave_run, partial_visit_show);
}

HANDLER(get_partial_run) = {
    .operation_id = "getPartialRun",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/partial-runs/{run}",
    .access = ACCESS_TENANT,
    .start = start_get_partial_run,
};
