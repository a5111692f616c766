/* Captures parts of graphs as CUDA graphs (begin_capture(), replay() and the others of a Device).
 *
 * A part is captured on a stream of its own: on the lane's, what another run enqueues would become a part of
 * it. The mode is thread-local, so that other threads may allocate meanwhile. A graph is destroyed behind the
 * last event of its work.
 *
 * Ownership: the device's; all graphs are freed before cuda_captures_done().
 * Threads:   any; the functions take a turn of the lane. cuda_capture_free() may be called in one.
 * Errors:    a failed capture is ended, and its error taken from the thread; the lane serves on. */
#pragma once

#include "worker/cuda/allocator.h"
#include "worker/cuda/captured.h"
#include "worker/cuda/run.h"

typedef struct CudaCaptures {
    CudaLane *lane;
    Mutex lock;
    Condition changed;
    uint64_t graph_count; /* that have not been destroyed */
} CudaCaptures;

void cuda_captures_init(CudaCaptures *captures, CudaLane *lane);
void cuda_captures_done(CudaCaptures *captures); /* waits until all graphs are destroyed; also of zeroes */

/* Do as begin_capture(), end_capture(), replay() and free_graph() of a Device (worker/runtime/device.h). */
MUST_USE Status cuda_capture_begin(Call *call, CudaCaptures *captures, Device *device);
MUST_USE Status cuda_capture_end(Call *call, CudaCaptures *captures, DeviceGraph **ret_graph);
MUST_USE Status cuda_capture_replay(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *replay);
void cuda_capture_free(DeviceGraph *graph);
