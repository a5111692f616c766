/* metrics: writes the gateway's numbers in Prometheus' text format. They name no tenant. */
#include "shared/telemetry/metrics.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"

static void
start_metrics(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    Buffer *body = response_body(exchange_response(exchange), "text/plain; version=0.0.4; charset=utf-8");
    metrics_write(parts->metrics, parts->metric_table_count, body);
    exchange_finish(exchange);
}

HANDLER(metrics) = {
    .operation_id = "metrics",
    .method = "GET",
    .path = "/metrics",
    .access = ACCESS_PUBLIC,
    .start = start_metrics,
};
