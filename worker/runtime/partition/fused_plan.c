#include "worker/runtime/partition/fused_plan.h"

#include "shared/base/atomic.h"
#include "shared/graph/fusion.h"

static const size_t PLAN_SIZE_MAX = (size_t)1 << 20;

typedef struct Planning {
    Call *call;
    const Fused *fused;
    FusedPlan *plan;
    Shape *shapes;       /* shapes by value: inputs, then results of the steps */
    bool *is_tiled;      /* whether a step is computed tile by tile, by step */
    uint32_t *registers; /* the register that holds the tile of a step, by step */
    uint32_t *last_uses; /* the last step that reads the result of a step, by step */
    bool is_busy[FUSED_REGISTER_COUNT];
    FusedOperation *operations;
    size_t size_max; /* bytes of the largest element of any operand or result */
} Planning;

static bool
infer_step(const Planning *planning, const FusedStep *step, Shape *ret_shape)
{
    Shape inputs[FUSION_INPUTS_MAX];
    const Tensor *const values[FUSION_INPUTS_MAX] = {NULL};
    for (uint32_t index = 0; index < step->node->input_count; index++) {
        inputs[index] = planning->shapes[step->values[index]];
    }
    InferContext context = {.node = step->node, .inputs = inputs, .values = values, .outputs = ret_shape};
    *ret_shape = shape_unknown();
    return step->node->op->infer_shapes(planning->call, &context) == STATUS_OK && shape_is_known(ret_shape);
}

/* Infers the shapes of all steps. False when one is unknown or does not match; the nodes' own kernels then
 * report the error. */
static bool
infer_steps(const Planning *planning)
{
    const Fused *fused = planning->fused;
    for (uint32_t step = 0; step < fused->step_count; step++) {
        if (!infer_step(planning, &fused->steps[step], &planning->shapes[fused->input_count + step])) {
            return false;
        }
    }
    return true;
}

/* Marks the steps that have the result's shape, and notes the last reader of each step. False when a step
 * of another shape reads a marked one. */
static bool
choose_tiled(const Planning *planning)
{
    const Fused *fused = planning->fused;
    for (uint32_t step = 0; step < fused->step_count; step++) {
        const Shape *shape = &planning->shapes[fused->input_count + step];
        planning->is_tiled[step] = shape_equal(shape, &planning->plan->shape);
        for (uint32_t index = 0; index < fused->steps[step].node->input_count; index++) {
            uint32_t value = fused->steps[step].values[index];
            if (value < fused->input_count) {
                continue;
            }
            planning->last_uses[value - fused->input_count] = step;
            if (planning->is_tiled[value - fused->input_count] && !planning->is_tiled[step]) {
                return false;
            }
        }
    }
    return true;
}

static int64_t
walk_stride(const Shape *shape, int dimension, int64_t *size)
{
    if (dimension < 0 || dimension >= shape->rank || shape->dims[dimension] == 1) {
        return 0;
    }
    int64_t stride = *size;
    *size *= shape->dims[dimension];
    return stride;
}

static bool
is_broadcast(const Shape *shape, const Shape *result, int first)
{
    if (first < 0 || first + shape->rank > result->rank) {
        return false;
    }
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        if (shape->dims[dimension] != 1 && shape->dims[dimension] != result->dims[first + dimension]) {
            return false;
        }
    }
    return true;
}

/* Makes the walk over a value of `shape` in the order of the result. `first`: the dimension of the result
 * that the shape's first dimension aligns with. */
static void
walk_make(FusedWalk *walk, const Shape *shape, const Shape *result, int first)
{
    int64_t size = 1;
    for (int dimension = result->rank - 1; dimension >= 0; dimension--) {
        int last = walk->rank - 1;
        if (result->dims[dimension] == 1) {
            continue;
        }
        int64_t stride = walk_stride(shape, dimension - first, &size);
        if (last >= 0 && stride == walk->strides[last] * walk->dims[last]) {
            walk->dims[last] *= result->dims[dimension];
        } else {
            walk->dims[walk->rank] = result->dims[dimension];
            walk->strides[walk->rank++] = stride;
        }
    }
}

static bool
bind_walk(const Planning *planning, const Shape *shape, int axis, FusedOperand *operand)
{
    const Shape *result = &planning->plan->shape;
    int first = axis > 0 ? axis - 1 : result->rank - shape->rank;
    FusedWalk *walk = arena_alloc(planning->plan->arena, sizeof *walk);
    if (walk == NULL || !is_broadcast(shape, result, first)) {
        return false;
    }
    walk_make(walk, shape, result, first);
    operand->kind = FUSED_WALK;
    operand->walk = walk;
    return true;
}

static Dtype
value_dtype(const Fused *fused, const FusedStep *reader, uint32_t index)
{
    uint32_t value = reader->values[index];
    return value < fused->input_count ? reader->node->input_dtypes[index]
                                      : fused->steps[value - fused->input_count].node->output_dtypes[0];
}

static bool
bind_operand(Planning *planning, const FusedStep *step, uint32_t index, FusedOperand *operand)
{
    const Fused *fused = planning->fused;
    uint32_t value = step->values[index];
    int axis = step->function.is_fold ? 0 : step->function.axes[index];
    const Shape *shape = &planning->shapes[value];
    int64_t count = 0;
    *operand = (FusedOperand){.source = value, .size = dtype_size(value_dtype(fused, step, index))};
    planning->size_max = operand->size > planning->size_max ? operand->size : planning->size_max;
    if (value >= fused->input_count && planning->is_tiled[value - fused->input_count]) {
        operand->kind = FUSED_REGISTER;
        operand->source = planning->registers[value - fused->input_count];
        return true;
    }
    if (!shape_element_count(shape, &count)) {
        return false;
    }
    operand->kind = count == planning->plan->count ? FUSED_LINE : FUSED_SCALAR;
    return count == planning->plan->count || count == 1 || bind_walk(planning, shape, axis, operand);
}

static bool
take_register(Planning *planning, uint32_t *ret_register)
{
    for (uint32_t index = 0; index < FUSED_REGISTER_COUNT; index++) {
        if (!planning->is_busy[index]) {
            planning->is_busy[index] = true;
            *ret_register = index;
            return true;
        }
    }
    return false;
}

static void
give_registers_back(Planning *planning, uint32_t step)
{
    const Fused *fused = planning->fused;
    for (uint32_t index = 0; index < fused->steps[step].node->input_count; index++) {
        uint32_t value = fused->steps[step].values[index];
        uint32_t producer = value - fused->input_count;
        if (value >= fused->input_count && planning->is_tiled[producer] &&
            planning->last_uses[producer] == step) {
            planning->is_busy[planning->registers[producer]] = false;
        }
    }
}

static FusedOperation *
add_operation(Planning *planning, const FusedStep *step, uint32_t target)
{
    FusedOperation *operation = &planning->operations[planning->plan->operation_count++];
    operation->function = &step->function;
    planning->plan->may_refuse = planning->plan->may_refuse || step->function.accepts != NULL;
    operation->target = target;
    return operation;
}

/* Adds a step that combines any number of inputs, two at a time. Partial results stay in a register: the
 * output may be the memory of an input that is still to be read. */
static bool
add_fold(Planning *planning, const FusedStep *step, uint32_t target)
{
    uint32_t last = step->node->input_count - 1;
    uint32_t sum = target;
    if (target == FUSED_OUTPUT && !take_register(planning, &sum)) {
        return false;
    }
    for (uint32_t index = 1; index <= last; index++) {
        FusedOperation *operation = add_operation(planning, step, index == last ? target : sum);
        operation->operand_count = 2;
        operation->operands[0] = (FusedOperand){.kind = FUSED_REGISTER, .source = sum};
        if ((index == 1 && !bind_operand(planning, step, 0, &operation->operands[0])) ||
            !bind_operand(planning, step, index, &operation->operands[1])) {
            return false;
        }
    }
    return true;
}

static bool
add_function(Planning *planning, const FusedStep *step, uint32_t target)
{
    FusedOperation *operation = add_operation(planning, step, target);
    operation->operand_count = step->node->input_count;
    for (uint32_t index = 0; index < operation->operand_count; index++) {
        if (!bind_operand(planning, step, index, &operation->operands[index])) {
            return false;
        }
    }
    return true;
}

/* Adds the operations of one step. Its target register is none of those that it reads: their elements may
 * differ in size. */
static bool
add_step(Planning *planning, uint32_t index)
{
    const FusedStep *step = &planning->fused->steps[index];
    bool is_result = index + 1 == planning->fused->step_count;
    size_t size = dtype_size(step->node->output_dtypes[0]);
    uint32_t target = FUSED_OUTPUT;
    planning->size_max = size > planning->size_max ? size : planning->size_max;
    if (!is_result && !take_register(planning, &target)) {
        return false;
    }
    planning->registers[index] = target;
    bool is_bound =
        step->function.is_fold ? add_fold(planning, step, target) : add_function(planning, step, target);
    give_registers_back(planning, index);
    return is_bound;
}

static bool
add_steps(Planning *planning)
{
    FusedPlan *plan = planning->plan;
    uint32_t *whole = arena_alloc(plan->arena, planning->fused->step_count * sizeof *whole);
    for (uint32_t step = 0; whole != NULL && step < planning->fused->step_count; step++) {
        if (!planning->is_tiled[step]) {
            whole[plan->whole_count++] = step;
        } else if (!add_step(planning, step)) {
            return false;
        }
    }
    plan->whole = whole;
    plan->tile = (int64_t)(FUSED_REGISTER_SIZE / planning->size_max);
    return whole != NULL;
}

static bool
plan_tiles(Planning *planning)
{
    FusedPlan *plan = planning->plan;
    const Fused *fused = planning->fused;
    if (!infer_steps(planning)) {
        return false;
    }
    plan->shape = planning->shapes[fused->input_count + fused->step_count - 1];
    return shape_element_count(&plan->shape, &plan->count) && plan->count > 0 && choose_tiled(planning) &&
           add_steps(planning);
}

static Status
plan_fill(Planning *planning, const Tensor *inputs)
{
    const Fused *fused = planning->fused;
    FusedPlan *plan = planning->plan;
    Arena *scratch = planning->call->arena;
    size_t step_size = fused->step_count * sizeof(uint32_t);
    planning->shapes = arena_alloc(plan->arena, (fused->input_count + fused->step_count) * sizeof(Shape));
    planning->is_tiled = arena_alloc(scratch, fused->step_count * sizeof(bool));
    planning->registers = arena_alloc(scratch, step_size);
    planning->last_uses = arena_alloc(scratch, step_size);
    planning->operations = arena_alloc(plan->arena, FUSION_INPUTS_MAX * sizeof *planning->operations);
    if (planning->shapes == NULL || planning->is_tiled == NULL || planning->registers == NULL ||
        planning->last_uses == NULL || planning->operations == NULL) {
        return call_fail_memory(planning->call, "a plan of fused nodes");
    }
    for (uint32_t index = 0; index < fused->input_count; index++) {
        planning->shapes[index] = inputs[index].shape;
    }
    plan->inputs = planning->shapes;
    plan->operations = planning->operations;
    if (!plan_tiles(planning)) {
        plan->operation_count = 0;
    }
    return STATUS_OK;
}

static Status
plan_new(Call *call, const Fused *fused, const Tensor *inputs, const FusedPlan **ret_plan)
{
    AUTO_ARENA arena = arena_new(PLAN_SIZE_MAX);
    FusedPlan *plan = arena == NULL ? NULL : arena_alloc(arena, sizeof *plan);
    if (plan == NULL) {
        return call_fail_memory(call, "a plan of fused nodes");
    }
    plan->arena = arena;
    Planning planning = {.call = call, .fused = fused, .plan = plan, .size_max = 1};
    TRY(plan_fill(&planning, inputs));
    (void)TAKE(arena);
    *ret_plan = plan;
    return STATUS_OK;
}

void
fused_plan_free(const FusedPlan *plan)
{
    if (plan != NULL) {
        arena_free(plan->arena);
    }
}

static bool
plan_fits(const FusedPlan *plan, const Fused *fused, const Tensor *inputs)
{
    for (uint32_t index = 0; index < fused->input_count; index++) {
        if (!shape_equal(&plan->inputs[index], &inputs[index].shape)) {
            return false;
        }
    }
    return true;
}

/* Keeps a plan in a free entry. Another thread may have kept one for the same shapes, which does no harm. */
static bool
plan_keep(const Fused *fused, const FusedPlan *plan)
{
    for (int i = 0; i < FUSED_PLAN_COUNT; i++) {
        const FusedPlan *none = NULL;
        if (atomic_compare_exchange_acq_rel(&fused->plans[i], &none, plan)) {
            return true;
        }
    }
    return false;
}

Status
fused_plan_get(
    Call *call, const Fused *fused, const Tensor *inputs, const FusedPlan **ret_plan, bool *ret_is_kept)
{
    for (int i = 0; i < FUSED_PLAN_COUNT; i++) {
        const FusedPlan *plan = atomic_load_acquire(&fused->plans[i]);
        if (plan == NULL) {
            break;
        }
        if (plan_fits(plan, fused, inputs)) {
            *ret_plan = plan;
            *ret_is_kept = true;
            return STATUS_OK;
        }
    }
    TRY(plan_new(call, fused, inputs, ret_plan));
    *ret_is_kept = plan_keep(fused, *ret_plan);
    return STATUS_OK;
}
