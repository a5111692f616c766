/* An engine of cuDNN's that computes a graph, chosen for one description.
 *
 * Threads: one at a time.
 * Errors:  the library's codes. */
#pragma once

#include "worker/cuda/dnn/graph.h"

typedef struct DnnPlan {
    DnnDescriptors descriptors;
    cudnnBackendDescriptor_t plan; /* what is executed */
} DnnPlan;

/* Pointers into the card's memory; those that the description does not have are not read. */
typedef struct DnnOperands {
    const void *input;
    const void *filter;
    const void *bias;
    const void *addend;
    const void *output; /* which of the three is written is the description's kind */
    void *workspace;
} DnnOperands;

/* Makes the plan that the library thinks fastest, among those that need at most this workspace, whose sums
 * have one order, and that compute in float32 throughout when the type is that, but for TF32 where the
 * request allows it. It is not timed: the choice depends on nothing else. CUDNN_STATUS_NOT_SUPPORTED: there
 * is none. `ret_plan` is to be freed also after a failure. */
MUST_USE cudnnStatus_t dnn_plan_choose(const CudaDnn *dnn, cudnnHandle_t handle, const DnnRequest *request,
    int64_t workspace_size, DnnPlan *ret_plan);

/* A tensor of the graph, by its number, and where it lies. */
typedef struct DnnBinding {
    int64_t id;
    const void *data;
} DnnBinding;

enum { DNN_BINDINGS_MAX = 8 };

/* Enqueues the graph in the stream of the handle. */
MUST_USE cudnnStatus_t dnn_plan_execute(
    const DnnPlan *plan, cudnnHandle_t handle, const DnnBinding *bindings, int64_t count, void *workspace);

/* Does the same with a convolution. */
MUST_USE cudnnStatus_t dnn_plan_run(const DnnPlan *plan, cudnnHandle_t handle,
    const DnnDescription *description, const DnnOperands *operands);

void dnn_plan_done(DnnPlan *plan);

/* Returns whether a code says that memory of the host or of the card is not to be had. */
static inline bool
dnn_lacks_memory(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
           status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

/* Returns whether a code is one of the refusals, which are a class of their own. */
static inline bool
dnn_refuses(cudnnStatus_t status)
{
    return status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR;
}
