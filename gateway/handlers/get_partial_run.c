/* getPartialRun: what a partial run still lacks, and how it stands. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/partials/partial_visit.h"

static Status
look(PartialVisit *visit, PartialRun *run)
{
    (void)visit;
    (void)run;
    return STATUS_OK;
}

static void
start(Exchange *exchange)
{
    partial_visit_simply(exchange, exchange_request(exchange)->parts->partials, look, partial_visit_write);
}

HANDLER(get_partial_run) = {
    .operation_id = "getPartialRun",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/partial-runs/{run}",
    .access = ACCESS_TENANT,
    .start = start,
};
