#include "gateway/http/metrics.h"

METRIC_DEFINE(metric_refused_bodies, 1, .name = "sluice_refused_bodies_total", .kind = METRIC_COUNTER,
    .help = "Requests refused since --body-memory had no room for them.");

static const Metric *const metrics[] = {&metric_refused_bodies};

const MetricTable http_metrics = {.metrics = metrics, .count = COUNT_OF(metrics)};

void
metrics_count_refused_body(void)
{
    metric_add(&metric_refused_bodies, 0, 1);
}
