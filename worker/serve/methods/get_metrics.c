/* GetMetrics: the metrics of this worker in Prometheus' text format. */
#include "worker/serve/metrics.h"

static Status
answer_metrics(WorkerRequest *request)
{
    AUTO_BUFFER text = {0};
    worker_metrics_write(&text);
    worker_answer_text(request, buffer_slice(&text));
    return STATUS_OK;
}

WORKER_METHOD(get_metrics) = {
    .name = "GetMetrics",
    .verb = "GET",
    .path = "/worker/v1/metrics",
    .finish = answer_metrics,
};
