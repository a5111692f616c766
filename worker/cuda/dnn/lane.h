/* A lane's part of cuDNN: a handle, and the plans of all that was computed with it. Refusals of the library
 * are remembered, so that it is not asked again.
 *
 * Ownership: the lane's; plans are valid until the next one is asked for.
 * Threads:   the one whose turn the lane is.
 * Errors:    RESOURCE_EXHAUSTED without memory for plans; those of cuda_check(). */
#pragma once

#include "shared/base/map.h"
#include "worker/cuda/dnn/plan.h"
#include "worker/cuda/lane.h"

typedef struct DnnLane {
    CudaLanePart part; /* first */
    const CudaDnn *dnn;
    CudaLane *owner;
    cudaStream_t stream; /* the handle's */
    size_t workspace_size;
    cudnnHandle_t handle; /* NULL: the library gives none */
    Map *plans;           /* DnnKeptPlan by the bytes of its description */
} DnnLane;

typedef struct DnnKeptPlan {
    DnnPlan plan;
    bool is_refused;
} DnnKeptPlan;

/* Finds the part of the context's lane, whose handle enqueues where the lane's turn does. */
MUST_USE Status dnn_lane_find(KernelContext *context, const CudaDnn *dnn, DnnLane **ret_lane);

/* Finds the plan of what is asked for, or makes it. What the library refuses, for whatever reason but memory,
 * is a plan that is refused. The lane has a handle. */
MUST_USE Status dnn_lane_plan(
    Call *call, const DnnLane *lane, const DnnRequest *request, DnnKeptPlan **ret_kept);

/* Says what the library failed with. An error of the card that it met on the way is told instead. */
MUST_USE Status dnn_lane_fail(Call *call, const DnnLane *lane, cudnnStatus_t status, const char *what);
