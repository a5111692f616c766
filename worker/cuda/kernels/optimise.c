/* Optimisers, and the assignments that add to a variable. The elements lie on the card
 * (partition/visit_kernel.h); those that somebody still reads are left as they are, and the variable gets new
 * ones. */
#include "worker/cuda/kernels/optimise.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/ops/variable/apply_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/operands/variable.h"
#include "worker/cuda/run.h"
#include "worker/runtime/device_memory.h"
#include "worker/runtime/variable.h"

/* The rules that the card computes; their variables come first among the op's inputs. */
static const struct {
    const char *rule;
    CudaOptimiser optimiser;
} optimisers[] = {
    {"GradientDescent", CUDA_GRADIENT_DESCENT},
    {"ProximalGradientDescent", CUDA_PROXIMAL_GRADIENT_DESCENT},
    {"Adadelta", CUDA_ADADELTA},
    {"Adagrad", CUDA_ADAGRAD},
    {"AdagradV2", CUDA_ADAGRAD_V2},
    {"ProximalAdagrad", CUDA_PROXIMAL_ADAGRAD},
    {"Ftrl", CUDA_FTRL},
    {"FtrlV2", CUDA_FTRL},
    {"Momentum", CUDA_MOMENTUM},
    {"KerasMomentum", CUDA_KERAS_MOMENTUM},
    {"Adam", CUDA_ADAM},
    {"AdamWithAmsgrad", CUDA_ADAM_AMSGRAD},
    {"AdaMax", CUDA_ADA_MAX},
    {"RMSProp", CUDA_RMS_PROP},
    {"CenteredRMSProp", CUDA_CENTERED_RMS_PROP},
    {"AddSign", CUDA_ADD_SIGN},
    {"PowerSign", CUDA_POWER_SIGN},
};

typedef struct Optimising {
    ApplyInputs inputs;
    CudaOptimiser optimiser;
} Optimising;

/* A kernel's work: the variables' values are locked. */
typedef struct Change {
    KernelContext *context;
    Variable *variables[CUDA_OPTIMISE_VARIABLES_MAX];
    uint32_t count;
    CudaOptimise operands;
    Tensor
        made[CUDA_OPTIMISE_VARIABLES_MAX]; /* new values; DTYPE_INVALID where the old one changes in place */
} Change;

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node_attr_type(node, "T"));
}

static CudaOptimiser
find_optimiser(const ApplyRule *rule)
{
    size_t index = 0;
    while (strcmp(optimisers[index].rule, rule->name) != 0) {
        index++;
        assert(index < COUNT_OF(optimisers)); /* the table of kernels has no other op */
    }
    return optimisers[index].optimiser;
}

static Status
create_optimising(Call *call, const Node *node, void **ret_state)
{
    Optimising *optimising = memory_new(1, sizeof *optimising);
    if (optimising == NULL) {
        return call_fail_memory(call, "an optimiser");
    }
    optimising->inputs = apply_inputs(node);
    optimising->optimiser = find_optimiser(optimising->inputs.rule);
    *ret_state = optimising;
    return STATUS_OK;
}

static Status
fail_shapes(KernelContext *context, Slice what, const Shape *shape, const Shape *expected)
{
    char given[SHAPE_TEXT_SIZE];
    char wanted[SHAPE_TEXT_SIZE];
    return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%.*s is of shape %s instead of %s",
        SLICE_PRINT(what), shape_text(shape, given), shape_text(expected, wanted));
}

static Status
take_scalars(Change *change, const Optimising *optimising)
{
    const KernelContext *context = change->context;
    const char *const *names = optimising->inputs.rule->scalars;
    for (int n = 0; n < CUDA_OPTIMISE_SCALARS_MAX && names[n] != NULL; n++) {
        const Tensor *scalar = &context->inputs[optimising->inputs.scalars[n]];
        if (scalar->shape.rank != 0) {
            char text[SHAPE_TEXT_SIZE];
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%s is of shape %s, not a scalar",
                names[n], shape_text(&scalar->shape, text));
        }
        change->operands.scalars[n] = scalar->data;
    }
    return STATUS_OK;
}

/* Checks that the variables are of the gradient's dtype, here, and of one shape, that of the gradient. */
static Status
check_variables(const Change *change, const Optimising *optimising)
{
    KernelContext *context = change->context;
    const Tensor *gradient = &context->inputs[optimising->inputs.gradient];
    const Shape *shape = &variable_value(change->variables[0])->shape;
    for (uint32_t n = 0; n < change->count; n++) {
        Variable *variable = change->variables[n];
        if (variable_dtype(variable) != gradient->dtype) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "variable '%.*s' is %s, the gradient %s",
                SLICE_PRINT(variable_name(variable)), dtype_name(variable_dtype(variable)),
                dtype_name(gradient->dtype));
        }
        TRY(variable_reach(context, variable));
        if (!shape_equal(&variable_value(variable)->shape, shape)) {
            return fail_shapes(
                context, context->node->op->inputs[n].name, &variable_value(variable)->shape, shape);
        }
    }
    return shape_equal(&gradient->shape, shape)
               ? STATUS_OK
               : fail_shapes(context, SLICE("the gradient"), &gradient->shape, shape);
}

static Status
find_places(Change *change)
{
    for (uint32_t n = 0; n < change->count; n++) {
        change->operands.from[n] = variable_value(change->variables[n])->data;
        TRY(cuda_variable_place(
            change->context, change->variables[n], &change->made[n], &change->operands.to[n]));
    }
    return STATUS_OK;
}

static Status
launch_change(Change *change, CudaOptimiser optimiser, const Tensor *gradient)
{
    KernelContext *context = change->context;
    change->operands.gradient = gradient->data;
    change->operands.refused = cuda_refused(context);
    change->operands.count = tensor_element_count(gradient);
    TRY(find_places(change));
    int error = cuda_optimise(cuda_type(gradient->dtype), optimiser, &change->operands, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a change of variables"));
    for (uint32_t n = 0; n < change->count; n++) {
        if (change->made[n].dtype != DTYPE_INVALID) {
            variable_replace(change->variables[n], &change->made[n]);
        }
    }
    return STATUS_OK;
}

static Status
optimise(Change *change)
{
    const Optimising *optimising = change->context->state;
    TRY(take_scalars(change, optimising));
    TRY(check_variables(change, optimising));
    change->operands.has_flag = optimising->inputs.has_flag;
    return launch_change(
        change, optimising->optimiser, &change->context->inputs[optimising->inputs.gradient]);
}

/* Takes the variables, changes them under their locks, and returns the reference of one that came by that. */
static Status
change_variables(KernelContext *context, uint32_t count, Status (*how)(Change *change))
{
    Change change = {.context = context, .count = count};
    for (uint32_t n = 0; n < count; n++) {
        TRY(kernel_variable(context, n, &change.variables[n]));
    }
    variables_lock(change.variables, count);
    Status status = how(&change);
    variables_unlock(change.variables, count);
    for (uint32_t n = 0; n < count; n++) {
        tensor_unref(&change.made[n]);
    }
    if (status == STATUS_OK && context->output_count > 0) {
        Shape scalar = shape_scalar();
        kernel_alias(context, 0, 0, &scalar);
    }
    return status;
}

static Status
compute_optimiser(KernelContext *context)
{
    const Optimising *optimising = context->state;
    return change_variables(context, (uint32_t)optimising->inputs.variable_count, optimise);
}

static bool
supports_assigned(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[1]);
}

static Status
check_assigned(const Change *change)
{
    KernelContext *context = change->context;
    Variable *variable = change->variables[0];
    const Tensor *value = &context->inputs[1];
    TRY(variable_check_dtype(context->call, variable, value->dtype, "the value is"));
    TRY(variable_reach(context, variable));
    char wanted[SHAPE_TEXT_SIZE];
    char given[SHAPE_TEXT_SIZE];
    const Shape *shape = &variable_value(variable)->shape;
    return shape_equal(&value->shape, shape)
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT,
                     "variable '%.*s' is of shape %s, the value of shape %s",
                     SLICE_PRINT(variable_name(variable)), shape_text(shape, wanted),
                     shape_text(&value->shape, given));
}

static Status
add_assigned(Change *change)
{
    TRY(check_assigned(change));
    return launch_change(change, CUDA_ASSIGN_ADD, &change->context->inputs[1]);
}

static Status
subtract_assigned(Change *change)
{
    TRY(check_assigned(change));
    return launch_change(change, CUDA_ASSIGN_SUB, &change->context->inputs[1]);
}

static Status
compute_assign_add(KernelContext *context)
{
    return change_variables(context, 1, add_assigned);
}

static Status
compute_assign_sub(KernelContext *context)
{
    return change_variables(context, 1, subtract_assigned);
}

#define OPTIMISER(name)                                                                                      \
    {                                                                                                        \
        .op = (name), .supports = supports_floats, .create = create_optimising, .destroy = memory_free,      \
        .compute = compute_optimiser, .visits_variables = true                                               \
    }

#define ASSIGNMENT(name, function)                                                                           \
    {                                                                                                        \
        .op = (name), .supports = supports_assigned, .compute = (function), .visits_variables = true         \
    }

static const Kernel optimise_kernels[] = {
    OPTIMISER("ApplyGradientDescent"),
    OPTIMISER("ResourceApplyGradientDescent"),
    OPTIMISER("ApplyProximalGradientDescent"),
    OPTIMISER("ResourceApplyProximalGradientDescent"),
    OPTIMISER("ApplyAdadelta"),
    OPTIMISER("ResourceApplyAdadelta"),
    OPTIMISER("ApplyAdagrad"),
    OPTIMISER("ResourceApplyAdagrad"),
    OPTIMISER("ApplyAdagradV2"),
    OPTIMISER("ResourceApplyAdagradV2"),
    OPTIMISER("ApplyProximalAdagrad"),
    OPTIMISER("ResourceApplyProximalAdagrad"),
    OPTIMISER("ApplyFtrl"),
    OPTIMISER("ResourceApplyFtrl"),
    OPTIMISER("ApplyFtrlV2"),
    OPTIMISER("ResourceApplyFtrlV2"),
    OPTIMISER("ApplyMomentum"),
    OPTIMISER("ResourceApplyMomentum"),
    OPTIMISER("ResourceApplyKerasMomentum"),
    OPTIMISER("ApplyAdam"),
    OPTIMISER("ResourceApplyAdam"),
    OPTIMISER("ResourceApplyAdamWithAmsgrad"),
    OPTIMISER("ApplyAdaMax"),
    OPTIMISER("ResourceApplyAdaMax"),
    OPTIMISER("ApplyRMSProp"),
    OPTIMISER("ResourceApplyRMSProp"),
    OPTIMISER("ApplyCenteredRMSProp"),
    OPTIMISER("ResourceApplyCenteredRMSProp"),
    OPTIMISER("ApplyAddSign"),
    OPTIMISER("ResourceApplyAddSign"),
    OPTIMISER("ApplyPowerSign"),
    OPTIMISER("ResourceApplyPowerSign"),
    ASSIGNMENT("AssignAdd", compute_assign_add),
    ASSIGNMENT("AssignAddVariableOp", compute_assign_add),
    ASSIGNMENT("AssignSub", compute_assign_sub),
    ASSIGNMENT("AssignSubVariableOp", compute_assign_sub),
};

KERNEL_FAMILY(cuda_kernels, optimise, optimise_kernels);
