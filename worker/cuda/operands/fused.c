#include "worker/cuda/operands/fused.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/fusion/codes.h"
#include "worker/cuda/fusion/launch.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/map.h"
#include "worker/cuda/operands/types.h"

_Static_assert((int)CUDA_FUSED_RANK_MAX == (int)CUDA_MAP_RANK_MAX &&
                   (int)CUDA_FUSED_INPUTS_MAX == (int)CUDA_WALK_INPUTS_MAX &&
                   (int)CUDA_FUSED_PARAMETERS == (int)CUDA_MAP_PARAMETERS_MAX,
    "a fused kernel's argument holds what its nodes' hold");

typedef struct FusedGroup {
    CudaCodes *codes;
    CudaCode *code;
    bool is_used;   /* atomic: some run has launched the kernel */
    bool has_rules; /* some step's shapes must do more than broadcast */
    uint32_t input_count;
    uint32_t step_count;
    uint32_t operand_counts[CUDA_FUSED_STEPS_MAX];
    uint32_t operands[CUDA_FUSED_STEPS_MAX][CUDA_MAP_INPUTS_MAX];
    CudaShapeRule rules[CUDA_FUSED_STEPS_MAX];
    float parameters[CUDA_FUSED_STEPS_MAX][CUDA_MAP_PARAMETERS_MAX];
} FusedGroup;

/* False: the group is too large for a kernel's argument. */
static bool
describe(const KernelGroup *group, FusionGroup *ret_described)
{
    if (group->input_count > CUDA_FUSED_INPUTS_MAX || group->member_count > CUDA_FUSED_STEPS_MAX) {
        return false;
    }
    *ret_described = (FusionGroup){.input_count = group->input_count, .step_count = group->member_count};
    for (uint32_t index = 0; index < group->input_count; index++) {
        ret_described->inputs[index] = cuda_type(group->inputs[index]);
    }
    for (uint32_t index = 0; index < group->member_count; index++) {
        const KernelMember *member = &group->members[index];
        const CudaFunction *state = member->state;
        FusionStep *step = &ret_described->steps[index];
        uint32_t first = state->function == CUDA_STEP_CHOOSE ? 1 : 0;
        *step =
            (FusionStep){.function = state->function, .type = cuda_type(member->node->input_dtypes[first])};
        if (state->function == CUDA_STEP_CONVERT) {
            step->becomes = cuda_type(member->node->output_dtypes[0]);
        }
        assert((int)member->node->input_count == fusion_inputs(step->function, step->type));
        memcpy(step->operands, member->values, member->node->input_count * sizeof *member->values);
    }
    return true;
}

static void
note_steps(const KernelGroup *group, FusedGroup *made)
{
    made->input_count = group->input_count;
    made->step_count = group->member_count;
    for (uint32_t index = 0; index < group->member_count; index++) {
        const KernelMember *member = &group->members[index];
        const CudaFunction *state = member->state;
        made->operand_counts[index] = member->node->input_count;
        memcpy(made->operands[index], member->values, member->node->input_count * sizeof *member->values);
        made->rules[index] = state->rule;
        made->has_rules = made->has_rules || state->rule != CUDA_SHAPES_BROADCAST;
        memcpy(made->parameters[index], state->parameters, sizeof state->parameters);
    }
}

Status
cuda_fused_create(Call *call, const KernelGroup *group, void **ret_state)
{
    FusionGroup described;
    CudaCodes *codes = cuda_codes();
    CudaCode *code = codes != NULL && describe(group, &described) ? cuda_codes_get(codes, &described) : NULL;
    *ret_state = NULL;
    if (code == NULL) {
        return STATUS_OK;
    }
    FusedGroup *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        cuda_code_unref(code);
        return call_fail_memory(call, "a kernel");
    }
    made->codes = codes;
    made->code = code;
    note_steps(group, made);
    *ret_state = made;
    return STATUS_OK;
}

void
cuda_fused_destroy(void *state)
{
    FusedGroup *group = state;
    cuda_code_unref(group->code);
    memory_free(group);
}

/* Returns the kernel that this run is to launch; NULL: none. Work is captured as it was measured: with a
 * kernel that came in between it would want other memory. */
static cudaKernel_t
choose_kernel(const KernelContext *context, FusedGroup *group)
{
    bool is_captured = cuda_lane(context->lane)->captured != NULL;
    cudaKernel_t kernel = cuda_code_kernel(group->codes, group->code);
    if (kernel == NULL || (is_captured && !atomic_load_relaxed(&group->is_used))) {
        return NULL;
    }
    atomic_store_relaxed(&group->is_used, true);
    return kernel;
}

static bool
obeys(CudaShapeRule rule, const Shape *const *operands, uint32_t count)
{
    const Shape *first = operands[0];
    if (rule == CUDA_SHAPES_OF_BIAS) {
        const Shape *bias = operands[1];
        return bias->rank == 1 && first->rank >= 2 && first->dims[first->rank - 1] == bias->dims[0];
    }
    for (uint32_t index = 1; rule == CUDA_SHAPES_OF_LIMITS && index < count; index++) {
        int64_t elements = 0;
        if (!shape_element_count(operands[index], &elements) || elements != 1 ||
            operands[index]->rank > first->rank) {
            return false;
        }
    }
    return true;
}

/* Follows the shapes of values from step to step. False: some do not fit. */
static bool
steps_obey(const KernelContext *context, const FusedGroup *group)
{
    Shape shapes[CUDA_FUSED_INPUTS_MAX + CUDA_FUSED_STEPS_MAX];
    for (uint32_t index = 0; index < group->input_count; index++) {
        shapes[index] = context->inputs[index].shape;
    }
    for (uint32_t step = 0; step < group->step_count; step++) {
        const Shape *operands[CUDA_MAP_INPUTS_MAX] = {NULL};
        Shape *result = &shapes[group->input_count + step];
        for (uint32_t index = 0; index < group->operand_counts[step]; index++) {
            operands[index] = &shapes[group->operands[step][index]];
        }
        *result = shapes[group->operands[step][0]];
        for (uint32_t index = 1; index < group->operand_counts[step]; index++) {
            Shape wider;
            if (!shape_broadcast(result, operands[index], &wider)) {
                return false;
            }
            *result = wider;
        }
        if (!obeys(group->rules[step], operands, group->operand_counts[step])) {
            return false;
        }
    }
    return true;
}

/* False: the shapes do not fit, which a node of the group is to say. */
static bool
broadcast(const KernelContext *context, Shape *ret_shape)
{
    Shape shape = context->inputs[0].shape;
    for (uint32_t index = 1; index < context->input_count; index++) {
        Shape wider;
        if (!shape_broadcast(&shape, &context->inputs[index].shape, &wider)) {
            return false;
        }
        shape = wider;
    }
    *ret_shape = shape;
    return true;
}

/* Makes the output, if possible in the memory of an input that nobody else needs and of which each thread
 * reads the element that it writes. */
static Status
make_output(KernelContext *context, const Shape *shape, Tensor **ret_output)
{
    Dtype dtype = context->node->output_dtypes[0];
    for (uint32_t index = 0; index < context->input_count; index++) {
        const Tensor *input = &context->inputs[index];
        bool is_alike = shape_equal(&input->shape, shape) && dtype_size(input->dtype) == dtype_size(dtype);
        if (is_alike && tensor_is_unique(input)) {
            return kernel_forward(context, index, 0, dtype, shape, ret_output);
        }
    }
    return kernel_output(context, 0, dtype, shape, ret_output);
}

static void
lay_out(const KernelContext *context, const FusedGroup *group, const Tensor *output, CudaFused *ret_fused)
{
    const Tensor *inputs[CUDA_FUSED_INPUTS_MAX];
    *ret_fused = (CudaFused){.output = output->data, .count = tensor_element_count(output)};
    CudaWalk walk = {
        .sizes = ret_fused->sizes, .strides = ret_fused->strides, .input_count = (int)context->input_count};
    for (uint32_t index = 0; index < context->input_count; index++) {
        inputs[index] = &context->inputs[index];
        ret_fused->inputs[index] = context->inputs[index].data;
    }
    ret_fused->rank = operands_walk(inputs, &output->shape, &walk);
    memcpy(ret_fused->parameters, group->parameters, group->step_count * sizeof *group->parameters);
}

Status
cuda_fused_compute(KernelContext *context, void *state, bool *ret_is_done)
{
    FusedGroup *group = state;
    Shape shape;
    CudaFused fused;
    Tensor *output = NULL;
    cudaKernel_t kernel = choose_kernel(context, group);
    *ret_is_done =
        kernel != NULL && broadcast(context, &shape) && (!group->has_rules || steps_obey(context, group));
    if (!*ret_is_done) {
        return STATUS_OK;
    }
    TRY(make_output(context, &shape, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    lay_out(context, group, output, &fused);
    return cuda_check(context->call, fusion_launch(kernel, &fused, cuda_stream(context)), "a fused kernel");
}
