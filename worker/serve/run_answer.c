#include "worker/serve/run_answer.h"

#include <stdio.h>

void
run_answer_status(WorkerRequest *request, const WireStatus *status)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    wire_status_write(&json, status);
    frame_write_json(&frame, FRAME_STATUS, buffer_slice(&json));
    worker_frames_begin(request);
    worker_frames_write(request, buffer_slice(&frame));
}

void
run_answer_stats(WorkerRequest *request, const WireStats *stats)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    wire_stats_write(&json, stats);
    frame_write_json(&frame, FRAME_STATS, buffer_slice(&json));
    worker_frames_write(request, buffer_slice(&frame));
}

void
run_answer_output(WorkerRequest *request, uint32_t index, const Tensor *tensor)
{
    char name[24];
    int size = snprintf(name, sizeof name, "%u", index);
    worker_frames_begin(request);
    if (tensor != NULL) {
        worker_frames_tensor(request, slice_of(name, (size_t)size), tensor);
        return;
    }
    AUTO_BUFFER frame = {0};
    frame_write_dead(&frame, slice_of(name, (size_t)size));
    worker_frames_write(request, buffer_slice(&frame));
}

void
run_answer_unknown(WorkerRequest *request, Slice digest)
{
    WireStatus status = {
        .failure = failure_of(
            STATUS_NOT_FOUND, (Slice){0}, "partition %.*s is not registered here", SLICE_PRINT(digest)),
        .reason = SLICE("unknown_partition"),
    };
    run_answer_status(request, &status);
    worker_frames_end(request);
}
