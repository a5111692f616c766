/* Happy path: the graph is made → the heuristics propose engines, best first → the first that may be used is
 * made a plan. An engine that fails in this is passed over; those of the fallback mode, slow but able, are
 * asked for when none of the others serves. */
#include "worker/cuda/dnn/plan.h"

#include <assert.h>

/* Proposals behind these are slower than a plain kernel may be. */
enum { PROPOSALS_MAX = 64, NOTES_MAX = 32 };

#define NOTE(name) (1U << CUDNN_NUMERICAL_NOTE_##name)

/* Winograd and Fourier transforms spread an infinite element over its neighbours, and round by the largest
 * one. */
static const uint32_t forbidden_always = NOTE(REDUCED_PRECISION_REDUCTION) | NOTE(NONDETERMINISTIC) |
                                         NOTE(FFT) | NOTE(WINOGRAD) | NOTE(WINOGRAD_TILE_4x4) |
                                         NOTE(WINOGRAD_TILE_6x6) | NOTE(WINOGRAD_TILE_13x13);
/* Inputs that are converted to fewer bits may lose bits of their exponents, too: no float32 is. */
static const uint32_t forbidden_for_float32 = NOTE(DOWN_CONVERT_INPUTS);
/* Tensor cores round float32 to TF32. */
static const uint32_t forbidden_without_tf32 = NOTE(TENSOR_CORE);

static uint32_t
forbidden_notes(const DnnRequest *request)
{
    uint32_t notes = forbidden_always;
    if (request->type == CUDA_FLOAT32) {
        notes |= forbidden_for_float32 | (request->is_tf32 ? 0 : forbidden_without_tf32);
    }
    return notes;
}

static cudnnStatus_t
read_notes(const CudaDnn *dnn, cudnnBackendDescriptor_t engine, uint32_t *ret_notes)
{
    cudnnBackendNumericalNote_t notes[NOTES_MAX];
    int64_t count = 0;
    DNN_TRY(dnn->cudnnBackendGetAttribute(
        engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, NOTES_MAX, &count, notes));
    *ret_notes = 0;
    for (int64_t index = 0; index < count && index < NOTES_MAX; index++) {
        *ret_notes |= 1U << (unsigned)notes[index];
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Refuses an engine for the way in which it computes. */
static cudnnStatus_t
check_engine(DnnDescriptors *descriptors, cudnnBackendDescriptor_t configuration, uint32_t forbidden)
{
    const CudaDnn *dnn = descriptors->dnn;
    cudnnBackendDescriptor_t engine = NULL;
    uint32_t notes = 0;
    int64_t count = 0;
    DNN_TRY(dnn_descriptor(descriptors, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    DNN_TRY(dnn->cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, (void *)&engine));
    DNN_TRY(read_notes(dnn, engine, &notes));
    return (notes & forbidden) == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t
finalize_plan(DnnDescriptors *descriptors, cudnnHandle_t handle, cudnnBackendDescriptor_t configuration,
    int64_t workspace_size, cudnnBackendDescriptor_t *ret_plan)
{
    const CudaDnn *dnn = descriptors->dnn;
    cudnnBackendDescriptor_t plan = NULL;
    int64_t needed = 0;
    int64_t count = 0;
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle},
        {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration},
    };
    DNN_TRY(dnn_descriptor(descriptors, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
    DNN_TRY(dnn_finalize(dnn, plan, attributes, COUNT_OF(attributes)));
    DNN_TRY(dnn->cudnnBackendGetAttribute(
        plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &needed));
    if (needed > workspace_size) {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    *ret_plan = plan;
    return CUDNN_STATUS_SUCCESS;
}

/* Makes a plan of a proposal, which with all that it is made of moves into the plan's list. */
static cudnnStatus_t
try_proposal(cudnnBackendDescriptor_t *configuration, cudnnHandle_t handle, uint32_t forbidden,
    int64_t workspace_size, DnnPlan *plan)
{
    DnnDescriptors tried = {.dnn = plan->descriptors.dnn};
    cudnnBackendDescriptor_t made = NULL;
    cudnnStatus_t status = check_engine(&tried, *configuration, forbidden);
    if (status == CUDNN_STATUS_SUCCESS) {
        status = finalize_plan(&tried, handle, *configuration, workspace_size, &made);
    }
    if (status != CUDNN_STATUS_SUCCESS) {
        dnn_descriptors_done(&tried);
        return status;
    }
    DnnDescriptors *kept = &plan->descriptors;
    assert(kept->count + tried.count + 1 <= DNN_DESCRIPTORS_MAX);
    kept->items[kept->count++] = *configuration;
    *configuration = NULL;
    for (int index = 0; index < tried.count; index++) {
        kept->items[kept->count++] = tried.items[index];
    }
    plan->plan = made;
    return CUDNN_STATUS_SUCCESS;
}

/* The configurations of engines that one mode of the heuristics proposes. */
typedef struct Proposals {
    cudnnBackendDescriptor_t items[PROPOSALS_MAX];
    int64_t count;
} Proposals;

static void
free_proposals(const CudaDnn *dnn, const Proposals *proposals)
{
    for (int index = 0; index < PROPOSALS_MAX; index++) {
        if (proposals->items[index] != NULL) {
            (void)dnn->cudnnBackendDestroyDescriptor(proposals->items[index]);
        }
    }
}

static cudnnStatus_t
ask_heuristics(const CudaDnn *dnn, cudnnBackendDescriptor_t heuristics, cudnnBackendDescriptor_t graph,
    cudnnBackendHeurMode_t mode, Proposals *proposals)
{
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, (void *)&graph},
        {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode},
    };
    int64_t count = 0;
    DNN_TRY(dnn_finalize(dnn, heuristics, attributes, COUNT_OF(attributes)));
    DNN_TRY(dnn->cudnnBackendGetAttribute(
        heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, NULL));
    count = count < PROPOSALS_MAX ? count : PROPOSALS_MAX;
    for (int64_t index = 0; index < count; index++) {
        DNN_TRY(
            dnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &proposals->items[index]));
    }
    return dnn->cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &proposals->count, (void *)proposals->items);
}

/* Takes the first proposal that serves. Without memory no other is tried. */
static cudnnStatus_t
take_proposal(
    Proposals *proposals, cudnnHandle_t handle, uint32_t forbidden, int64_t workspace_size, DnnPlan *plan)
{
    for (int64_t index = 0; index < proposals->count && index < PROPOSALS_MAX; index++) {
        cudnnStatus_t status =
            try_proposal(&proposals->items[index], handle, forbidden, workspace_size, plan);
        if (status == CUDNN_STATUS_SUCCESS || dnn_lacks_memory(status)) {
            return status;
        }
    }
    return CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t
choose_in_mode(cudnnBackendHeurMode_t mode, cudnnBackendDescriptor_t graph, cudnnHandle_t handle,
    uint32_t forbidden, int64_t workspace_size, DnnPlan *plan)
{
    DnnDescriptors heuristics = {.dnn = plan->descriptors.dnn};
    Proposals proposals = {.count = 0};
    cudnnBackendDescriptor_t asked = NULL;
    cudnnStatus_t status = dnn_descriptor(&heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &asked);
    if (status == CUDNN_STATUS_SUCCESS) {
        status = ask_heuristics(heuristics.dnn, asked, graph, mode, &proposals);
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        status = take_proposal(&proposals, handle, forbidden, workspace_size, plan);
    }
    free_proposals(heuristics.dnn, &proposals);
    dnn_descriptors_done(&heuristics);
    return status;
}

cudnnStatus_t
dnn_plan_choose(const CudaDnn *dnn, cudnnHandle_t handle, const DnnRequest *request, int64_t workspace_size,
    DnnPlan *ret_plan)
{
    cudnnBackendDescriptor_t graph = NULL;
    uint32_t forbidden = forbidden_notes(request);
    *ret_plan = (DnnPlan){.descriptors = {.dnn = dnn}};
    DNN_TRY(request->make_graph(&ret_plan->descriptors, handle, request->description.data, &graph));
    cudnnStatus_t status =
        choose_in_mode(CUDNN_HEUR_MODE_A, graph, handle, forbidden, workspace_size, ret_plan);
    return status == CUDNN_STATUS_SUCCESS || dnn_lacks_memory(status)
               ? status
               : choose_in_mode(CUDNN_HEUR_MODE_FALLBACK, graph, handle, forbidden, workspace_size, ret_plan);
}

static cudnnStatus_t
fill_pack(const CudaDnn *dnn, cudnnBackendDescriptor_t pack, const DnnBinding *bindings, int64_t count,
    void *workspace)
{
    int64_t ids[DNN_BINDINGS_MAX];
    const void *pointers[DNN_BINDINGS_MAX];
    assert(count <= DNN_BINDINGS_MAX);
    for (int64_t index = 0; index < count; index++) {
        ids[index] = bindings[index].id;
        pointers[index] = bindings[index].data;
    }
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids},
        {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, (const void *)pointers},
        {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, (const void *)&workspace},
    };
    return dnn_finalize(dnn, pack, attributes, COUNT_OF(attributes));
}

cudnnStatus_t
dnn_plan_execute(
    const DnnPlan *plan, cudnnHandle_t handle, const DnnBinding *bindings, int64_t count, void *workspace)
{
    const CudaDnn *dnn = plan->descriptors.dnn;
    cudnnBackendDescriptor_t pack = NULL;
    DNN_TRY(dnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
    cudnnStatus_t status = fill_pack(dnn, pack, bindings, count, workspace);
    if (status == CUDNN_STATUS_SUCCESS) {
        status = dnn->cudnnBackendExecute(handle, plan->plan, pack);
    }
    (void)dnn->cudnnBackendDestroyDescriptor(pack);
    return status;
}

cudnnStatus_t
dnn_plan_run(
    const DnnPlan *plan, cudnnHandle_t handle, const DnnDescription *description, const DnnOperands *operands)
{
    DnnBinding bindings[DNN_BINDINGS_MAX] = {
        {DNN_INPUT, operands->input}, {DNN_FILTER, operands->filter}, {DNN_OUTPUT, operands->output}};
    int64_t count = 3;
    if (description->bias.alignment != 0) {
        bindings[count++] = (DnnBinding){DNN_BIAS, operands->bias};
    }
    if (description->addend.alignment != 0) {
        bindings[count++] = (DnnBinding){DNN_ADDEND, operands->addend};
    }
    return dnn_plan_execute(plan, handle, bindings, count, operands->workspace);
}

void
dnn_plan_done(DnnPlan *plan)
{
    dnn_descriptors_done(&plan->descriptors);
    *plan = (DnnPlan){.plan = NULL};
}
