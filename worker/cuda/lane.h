/* The lane of a card: one compute stream, what it was given so far, and whose turn it is. A kernel has the
 * lane to itself from enter to leave: libraries forbid that two threads use a handle at a time, and the parts
 * of one product must not have another's between them.
 *
 * Every turn has a position, which only grows; an event that the watcher has seen moves `passed` to its
 * position: all turns up to it have ended. So one can tell what still runs without asking the card.
 *
 * Ownership: the device's (device.h).
 * Threads:   any. Locks are taken in the order lane, allocator, staging, watcher, events.
 * Errors:    codes of CUDA's, for cuda_check(). */
#pragma once

#include "worker/cuda/watcher.h"
#include "worker/runtime/kernel.h"

/* The things that a library keeps for a lane (handles, plans), first in a struct of its own, and used in the
 * lane's turn. */
typedef struct CudaLanePart CudaLanePart;
struct CudaLanePart {
    void (*free)(CudaLanePart *part);
};

typedef enum CudaLaneLibrary { CUDA_LANE_BLAS, CUDA_LANE_DNN, CUDA_LANE_LIBRARIES } CudaLaneLibrary;

typedef struct CudaLane {
    int card;
    cudaStream_t stream;    /* taken by cuda_stream() and cuda_lane_stream() only */
    cudaStream_t recording; /* takes the place of the other while a part of a graph is captured */
    DeviceGraph *captured;  /* the part that this turn captures (capture.h); NULL: none */
    uint64_t code_number;   /* grows when code is forgotten that captured work may have; of a turn */
    CudaEvents *events;
    CudaWatcher *watcher;
    Mutex lock;
    uintptr_t holder;                         /* atomic: the thread whose turn it is; 0: nobody's */
    uint64_t position;                        /* atomic: of the present turn, or else of the last one */
    uint64_t passed;                          /* atomic: all turns up to this one have ended on the card */
    Mutex busy_lock;                          /* the last of all locks */
    uint64_t busy_since_ns;                   /* 0: it has no work of runs */
    uint64_t *busy_ns;                        /* atomic */
    int error;                                /* met by cuda_lane_enter() */
    char node[ERROR_NODE_SIZE];               /* that enqueued work last */
    CudaLanePart *parts[CUDA_LANE_LIBRARIES]; /* NULL: not used yet */
    void *workspace;                          /* NULL: not used yet */
    size_t workspace_size;
} CudaLane;

/* Returns the stream for a kernel's work, within its compute() only. Whatever a kernel lends to what it
 * enqueues (tables of pointers, shapes) is passed by value or lies in the card's memory. */
cudaStream_t cuda_stream(const KernelContext *context);

/* The members that follow are the plugin's own. */

/* Returns the lane's workspace, in the caller's turn: memory of the card that a library's work may write to
 * while it runs. All libraries share it, since their works run one after another. It is of one size, so that
 * what a library chooses does not depend on what is free. */
MUST_USE Status cuda_lane_workspace(Call *call, CudaLane *lane, void **ret_workspace);

typedef struct CudaLaneOptions {
    int card;
    size_t workspace_size;
    Device *host;
    CudaEvents *events;
    uint64_t *busy_ns; /* atomic: grows by the time in which the lane has work of runs */
} CudaLaneOptions;

/* A lane of zeroes may be done without init. */
MUST_USE Status cuda_lane_init(Call *call, CudaLane *lane, const CudaLaneOptions *options);
void cuda_lane_done(CudaLane *lane);

/* Surround each use of the stream. leave() returns the first error that this thread met since enter(). */
void cuda_lane_enter(CudaLane *lane);
MUST_USE int cuda_lane_leave(CudaLane *lane);

/* Says that work of a run is enqueued in this turn: the lane is busy until an event behind it has passed,
 * which comes with each copy to the host and with the end of the run. */
void cuda_lane_note_work(CudaLane *lane);

/* Returns whether it is the calling thread's turn. */
bool cuda_lane_is_mine(const CudaLane *lane);

/* Returns the stream, in the caller's turn. */
cudaStream_t cuda_lane_stream(const CudaLane *lane);

/* Has passed(context, error) called by a thread of the host when all that the lane holds has ended; within a
 * turn. After an error it is not called. */
MUST_USE int cuda_lane_mark(CudaLane *lane, void (*passed)(void *context, int error), void *context);

/* Makes what is enqueued in another stream from now on wait for all turns up to `position`; outside of a
 * turn. */
MUST_USE int cuda_lane_order(CudaLane *lane, uint64_t position, cudaStream_t stream);

/* Waits until the lane is empty, in the caller's turn, so that code which its work ran may be unloaded. Work
 * that was captured before is refused from now on. */
void cuda_lane_forget_code(CudaLane *lane);

/* Has what was captured before captured anew, as better code is there for it; outside of a turn. */
void cuda_lane_renew_code(CudaLane *lane);

/* Waits until the lane is empty: the last resort after a failure. Outside of a turn. */
MUST_USE int cuda_lane_drain(CudaLane *lane);

/* The turns before the first: captured kernels, whose turns are not known when they are captured, blame
 * these. */
enum { CUDA_CAPTURED_TURNS = 1 << 16 };

/* Returns the card's lane, in which a run has its place: a CudaRun (run.h), whose first member this is. */
static inline CudaLane *
cuda_lane(DeviceLane *lane)
{
    return *(CudaLane **)(void *)lane;
}
