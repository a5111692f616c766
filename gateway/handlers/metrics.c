/* metrics: the gateway's numbers in Prometheus' text format. No tenant is named in them. */
#include "gateway/app/metrics.h"
#include "gateway/http/exchange.h"

static void
start(Exchange *exchange)
{
    metrics_write_all(response_body(exchange_response(exchange), "text/plain; version=0.0.4; charset=utf-8"));
    exchange_finish(exchange);
}

HANDLER(metrics) = {
    .operation_id = "metrics",
    .method = "GET",
    .path = "/metrics",
    .access = ACCESS_PUBLIC,
    .start = start,
};
