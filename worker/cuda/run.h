/* A run's place in the card's lane (DeviceLane, worker/runtime/device.h). It knows the first value that one
 * of the run's kernels refused (blame.h): a record in the card's memory, made for the first kernel
 * that may refuse one, read with every copy to the host, and before the run ends.
 *
 * Ownership: a run's lane is open from cuda_run_open() to cuda_run_close(); the structs are used again.
 * Threads:   any. What belongs to a turn of the lane says so. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/trace.h"

typedef struct CudaRun CudaRun;

struct CudaRun {
    CudaLane *lane;
    TensorBuffer
        *record;     /* atomic: a CudaRefused on the card; NULL: no kernel of the run may refuse a value */
    uint64_t blamed; /* atomic: the last turn with a kernel that may refuse a value */
    uint64_t told;   /* atomic: the last turn with a copy of the record to the host */
    TensorBuffer *found; /* a CudaRefused on the host, for the copy before the run ends */
    DeviceCopy telling;
    DeviceFence *fence; /* that waits for this copy */
    CudaTrace *trace;   /* NULL: the run is not traced */
    CudaSpan span;      /* of a turn */
    CudaRun *next;      /* that is not open */
};

typedef struct CudaRuns {
    CudaLane *lane;
    Mutex lock;
    CudaRun *closed;
} CudaRuns;

void cuda_runs_init(CudaRuns *runs, CudaLane *lane);
void cuda_runs_done(CudaRuns *runs); /* no lane is open */

/* NULL without memory. */
DeviceLane *cuda_run_open(CudaRuns *runs);
void cuda_run_close(CudaRuns *runs, DeviceLane *lane);

/* Tells a kernel that is about to be enqueued, in its turn, whom to blame for a value that it refuses; lines
 * have one element. RESOURCE_EXHAUSTED. */
MUST_USE Status cuda_blame(const KernelContext *context, CudaRefusal reason, CudaBlame *ret_blame);

/* Returns where kernels that are about to be enqueued find on the card whether a value was refused before, so
 * that they change nothing which outlives the run; NULL: none can have been. */
const CudaRefused *cuda_refused(const KernelContext *context);

/* The members that follow are the plugin's own. */

static inline CudaRun *
cuda_run(DeviceLane *lane)
{
    return (CudaRun *)(void *)lane;
}

/* Makes the run's record, unless it has one; in a turn of the run. RESOURCE_EXHAUSTED. */
MUST_USE Status cuda_run_record(Call *call, Device *device, CudaRun *run);

/* Notes that work of this turn may refuse a value. */
void cuda_run_blames(CudaRun *run);

/* Returns whether a value was refused in a turn up to `position`, and describes it. */
bool cuda_run_has_refused(const CudaRefused *refused, uint64_t position, Failure *ret_failure);

/* Returns whether a kernel may have refused a value of which no copy to the host tells. */
bool cuda_run_owes(CudaRun *run);
