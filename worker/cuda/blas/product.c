/* Happy path: the product is described, with its activation if the library's is Sluice's → its plan is found,
 * or made and its algorithm chosen → it is enqueued. An activation that the library does not fuse is left to
 * a kernel of its own. What the library will not do is remembered with the plan, so that it is not asked
 * again. */
#include "worker/cuda/blas/product.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "worker/cuda/blas/activation.h"
#include "worker/cuda/blas/plan.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"

/* PLANS_MAX bounds what shapes that never come again leave behind; then all are forgotten. */
enum { PLANS_MAX = 1024, ACTIVATIONS = CUDA_ACTIVATION_TANH + 1 };

typedef enum Verdict { UNKNOWN, EQUAL, DIFFERENT } Verdict;

typedef struct KeptPlan {
    BlasPlan plan;
    bool is_refused;
} KeptPlan;

typedef struct BlasLane {
    CudaLanePart part;       /* first */
    cublasLtHandle_t handle; /* NULL: the library gives none */
    size_t workspace_size;
    Map *plans; /* KeptPlan by BlasDescription */
    /* Whether the library's activations are Sluice's, without TF32 and with it. */
    Verdict activations[2][CUDA_TYPE_COUNT][ACTIVATIONS];
} BlasLane;

static uint64_t refusals[BLAS_REFUSALS]; /* atomic */

uint64_t
blas_refusals(BlasRefusal refusal)
{
    return atomic_load_relaxed(&refusals[refusal]);
}

static void
forget_plans(const CudaBlas *blas, Map *plans)
{
    size_t cursor = 0;
    const MapEntry *entry;
    while ((entry = map_next(plans, &cursor)) != NULL) {
        KeptPlan *kept = map_remove(plans, entry->key);
        blas_plan_done(blas, &kept->plan);
        memory_free(kept);
    }
}

static void
free_lane(CudaLanePart *part)
{
    BlasLane *lane = (BlasLane *)(void *)part;
    const CudaBlas *blas = cuda_blas();
    assert(blas != NULL);
    forget_plans(blas, lane->plans);
    map_free(lane->plans);
    if (lane->handle != NULL) {
        (void)blas->cublasLtDestroy(lane->handle);
    }
    memory_free(lane);
}

/* Says what the library failed with. An error of the card that it met on the way is told instead. */
static Status
fail_library(Call *call, const CudaBlas *blas, cublasStatus_t status, const char *what)
{
    assert(status != CUBLAS_STATUS_SUCCESS);
    TRY(cuda_check(call, (int)cudaGetLastError(), what));
    return call_fail(call, status == CUBLAS_STATUS_ALLOC_FAILED ? STATUS_RESOURCE_EXHAUSTED : STATUS_INTERNAL,
        "%s: cuBLASLt fails with %s", what, blas->cublasLtGetStatusName(status));
}

/* A library that does not work here at all gives no handle: then the lane has none, for good. */
static Status
open_lane(Call *call, const CudaBlas *blas, BlasLane *lane)
{
    lane->plans = map_new();
    if (lane->plans == NULL) {
        return call_fail_memory(call, "cuBLASLt's plans");
    }
    cublasStatus_t status = blas->cublasLtCreate(&lane->handle);
    if (status == CUBLAS_STATUS_ALLOC_FAILED) {
        return fail_library(call, blas, status, "opening cuBLASLt");
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        lane->handle = NULL;
        (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
    }
    return STATUS_OK;
}

static Status
find_lane(KernelContext *context, const CudaBlas *blas, BlasLane **ret_lane)
{
    CudaLane *lane = cuda_lane(context->lane);
    assert(cuda_lane_is_mine(lane));
    if (lane->parts[CUDA_LANE_BLAS] == NULL) {
        BlasLane *made = memory_new(1, sizeof *made);
        if (made == NULL) {
            return call_fail_memory(context->call, "cuBLASLt's handle");
        }
        *made = (BlasLane){.part = {.free = free_lane}, .workspace_size = lane->workspace_size};
        Status status = open_lane(context->call, blas, made);
        if (status != STATUS_OK) {
            free_lane(&made->part);
            return status;
        }
        lane->parts[CUDA_LANE_BLAS] = &made->part;
    }
    *ret_lane = (BlasLane *)(void *)lane->parts[CUDA_LANE_BLAS];
    return STATUS_OK;
}

/* Makes a plan. What the library refuses, for whatever reason but memory, is a plan that is refused. */
static cublasStatus_t
make_plan(const CudaBlas *blas, const BlasLane *lane, const BlasDescription *description, const void *bias,
    KeptPlan *kept)
{
    cublasStatus_t status = blas_plan_describe(blas, description, bias, &kept->plan);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = blas_plan_choose(blas, lane->handle, lane->workspace_size, &kept->plan);
    }
    if (status == CUBLAS_STATUS_ALLOC_FAILED) {
        return status;
    }
    kept->is_refused = status != CUBLAS_STATUS_SUCCESS;
    (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
    return CUBLAS_STATUS_SUCCESS;
}

static Status
find_plan(Call *call, const CudaBlas *blas, BlasLane *lane, const BlasDescription *description,
    const void *bias, KeptPlan **ret_kept)
{
    Slice key = slice_of(description, sizeof *description);
    KeptPlan *known = map_get(lane->plans, key);
    if (known != NULL) {
        *ret_kept = known;
        return STATUS_OK;
    }
    if (map_count(lane->plans) >= PLANS_MAX) {
        forget_plans(blas, lane->plans);
    }
    KeptPlan *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, "a plan of a matrix product");
    }
    cublasStatus_t status = make_plan(blas, lane, description, bias, made);
    if (status != CUBLAS_STATUS_SUCCESS || !map_put(lane->plans, key, made)) {
        blas_plan_done(blas, &made->plan);
        memory_free(made);
        return status != CUBLAS_STATUS_SUCCESS ? fail_library(call, blas, status, "planning a matrix product")
                                               : call_fail_memory(call, "a plan of a matrix product");
    }
    *ret_kept = made;
    return STATUS_OK;
}

/* Returns the bias that the library adds: that of the epilogue, or Gemm's C. */
static const void *
bias_of(const CudaProduct *product)
{
    return product->epilogue.bias != NULL ? product->epilogue.bias : product->c.data;
}

/* Computes a product as it is described, unless the library refuses it. */
static Status
try_product(KernelContext *context, BlasLane *lane, const BlasDescription *description,
    const BlasOperands *operands, bool *ret_is_done)
{
    const CudaBlas *blas = cuda_blas();
    KeptPlan *kept = NULL;
    *ret_is_done = false;
    TRY(find_plan(context->call, blas, lane, description, operands->bias, &kept));
    assert(kept != NULL);
    if (kept->is_refused) {
        return STATUS_OK;
    }
    cublasStatus_t status =
        blas_plan_run(blas, lane->handle, &kept->plan, operands, lane->workspace_size, cuda_stream(context));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
        kept->is_refused = true;
        return STATUS_OK;
    }
    *ret_is_done = status == CUBLAS_STATUS_SUCCESS;
    return status == CUBLAS_STATUS_SUCCESS
               ? cuda_check(context->call, (int)cudaGetLastError(), "a matrix product")
               : fail_library(context->call, blas, status, "a matrix product");
}

/* Asks the library once whether its activation is Sluice's. Nothing can be asked while a part of a graph is
 * captured; a part is captured only after it has run. */
static Status
ask_activation(KernelContext *context, BlasLane *lane, const BlasDescription *description, void *workspace,
    bool *ret_is_equal)
{
    Verdict *verdict = &lane->activations[description->is_tf32][description->type][description->activation];
    if (*verdict == UNKNOWN && cuda_lane(context->lane)->captured == NULL) {
        bool is_equal = false;
        BlasQuestion question = {.blas = cuda_blas(),
            .handle = lane->handle,
            .workspace = workspace,
            .workspace_size = lane->workspace_size,
            .stream = cuda_stream(context),
            .type = (CudaType)description->type,
            .is_tf32 = description->is_tf32 != 0,
            .activation = (CudaActivation)description->activation};
        TRY(blas_activation_check(context->call, &question, &is_equal));
        *verdict = is_equal ? EQUAL : DIFFERENT;
    }
    *ret_is_equal = *verdict == EQUAL;
    return STATUS_OK;
}

/* Tries the product with its activation, if it has one that the library computes as Sluice does. */
static Status
try_activated(KernelContext *context, BlasLane *lane, const BlasDescription *sums,
    const BlasOperands *operands, CudaEpilogue *rest, bool *ret_is_done)
{
    BlasDescription fused = *sums;
    CudaEpilogue left = blas_fuse(rest, &fused);
    bool is_equal = false;
    *ret_is_done = false;
    if (fused.activation == (int64_t)CUDA_ACTIVATION_NONE) {
        return STATUS_OK;
    }
    TRY(ask_activation(context, lane, &fused, operands->workspace, &is_equal));
    if (!is_equal) {
        return STATUS_OK;
    }
    TRY(try_product(context, lane, &fused, operands, ret_is_done));
    if (*ret_is_done) {
        *rest = left;
    }
    return STATUS_OK;
}

static Status
run_product(KernelContext *context, const BlasDescription *description, const CudaProduct *product,
    CudaEpilogue *rest, BlasRefusal *ret_refusal)
{
    BlasLane *lane = NULL;
    bool is_done = false;
    BlasOperands operands = {.left = product->b.data,
        .right = product->a.data,
        .c = product->c.data,
        .bias = bias_of(product),
        .output = product->output,
        .alpha = product->alpha,
        .beta = product->beta};
    TRY(find_lane(context, cuda_blas(), &lane));
    assert(lane != NULL);
    if (lane->handle == NULL) {
        *ret_refusal = BLAS_NO_HANDLE;
        return STATUS_OK;
    }
    TRY(cuda_lane_workspace(context->call, cuda_lane(context->lane), &operands.workspace));
    TRY(try_activated(context, lane, description, &operands, rest, &is_done));
    if (!is_done) {
        TRY(try_product(context, lane, description, &operands, &is_done));
    }
    *ret_refusal = is_done ? BLAS_ACCEPTED : BLAS_NO_ALGORITHM;
    return STATUS_OK;
}

Status
blas_multiply(KernelContext *context, CudaType type, const CudaProduct *product, BlasRefusal *ret_refusal,
    CudaEpilogue *ret_rest)
{
    BlasDescription description;
    BlasRefusal refusal = cuda_blas() == NULL
                              ? BLAS_NO_LIBRARY
                              : blas_describe(type, context->allows_tf32, product, &description, ret_rest);
    if (refusal == BLAS_ACCEPTED) {
        TRY(run_product(context, &description, product, ret_rest, &refusal));
    }
    (void)atomic_fetch_add_relaxed(&refusals[refusal], 1);
    DeviceCounts *counts = &context->device->counts;
    atomic_add_relaxed(refusal == BLAS_ACCEPTED ? &counts->library : &counts->plain, 1);
    *ret_refusal = refusal;
    return STATUS_OK;
}
