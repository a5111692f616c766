/* The metrics of the worker, as GET /worker/v1/metrics shows them (shared/telemetry/metrics.h). */
#pragma once

#include "worker/serve/worker.h"

/* The way a tensor came or went: in the request of a run, in its answer, pushed by another slot, or pulled by
 * one. */
typedef enum TensorWay { TENSOR_FED, TENSOR_FETCHED, TENSOR_PUSHED_IN, TENSOR_PULLED_OUT } TensorWay;

/* The sender of a constant. */
typedef enum BlobSender { BLOB_FROM_GATEWAY, BLOB_FROM_PEER } BlobSender;

void metrics_count_blob(BlobSender sender, uint64_t size);
void metrics_count_tensor(TensorWay way, size_t byte_size);
void metrics_count_run(Status status, int64_t elapsed_us);

/* Sets the worker whose caches and device the metrics are read from; NULL: none. */
void worker_metrics_watch(const Worker *worker);

/* Appends all metrics in Prometheus' text format. */
void worker_metrics_write(Buffer *buffer);
