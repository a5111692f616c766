/* Optimisers: all variables of one parameter are locked, checked and changed together. */
#include "shared/base/memory.h"
#include "shared/ops/variable/optimize.h"
#include "shared/ops/variable/positions.h"
#include "worker/runtime/variable.h"

static const uint32_t INPUT_NONE = UINT32_MAX;

/* The meaning of the op's inputs; made once a partition. */
typedef struct Apply {
    const OptimizeRule *rule;
    OptimizeLoop loop;
    uint32_t variables[OPTIMIZE_VARIABLES_MAX];
    size_t variable_count;
    uint32_t scalars[OPTIMIZE_SCALARS_MAX];
    uint32_t gradient;
    uint32_t indices; /* INPUT_NONE: every element changes */
    bool has_flag;
} Apply;

/* Finds the rule "Adam" for "ResourceSparseApplyAdam". */
static const OptimizeRule *
find_rule(Slice name)
{
    static const char *const prefixes[] = {"ResourceSparseApply", "ResourceApply", "SparseApply", "Apply"};
    for (size_t index = 0; index < COUNT_OF(prefixes); index++) {
        Slice prefix = slice_from_string(prefixes[index]);
        if (slice_starts_with(name, prefix)) {
            return optimize_rule(slice_part(name, prefix.size, SIZE_MAX));
        }
    }
    return NULL;
}

static uint32_t
find_input(const Node *node, const char *name)
{
    for (uint32_t index = 0; name != NULL && index < node->op->input_count; index++) {
        if (slice_equals_string(node->op->inputs[index].name, name)) {
            return index;
        }
    }
    return INPUT_NONE;
}

static bool
read_flag(const Node *node)
{
    static const char *const flags[] = {"use_nesterov", "update_slots"};
    for (size_t index = 0; index < COUNT_OF(flags); index++) {
        if (node_attr(node, flags[index]) != NULL) {
            return node_attr_bool(node, flags[index]);
        }
    }
    return false;
}

static bool
supports_apply(const Node *node)
{
    const OptimizeRule *rule = find_rule(node->def->op);
    return rule != NULL && rule->loops[node_attr_type(node, "T")] != NULL;
}

static Status
create_apply(Call *call, const Node *node, void **ret_state)
{
    Apply *apply = memory_new(1, sizeof *apply);
    if (apply == NULL) {
        return call_fail_memory(call, "an optimiser");
    }
    apply->rule = find_rule(node->def->op);
    apply->loop = apply->rule->loops[node_attr_type(node, "T")];
    for (size_t index = 0; index < OPTIMIZE_VARIABLES_MAX; index++) {
        apply->variables[index] = find_input(node, apply->rule->variables[index]);
        apply->variable_count += apply->variables[index] != INPUT_NONE;
    }
    for (size_t index = 0; index < OPTIMIZE_SCALARS_MAX; index++) {
        apply->scalars[index] = find_input(node, apply->rule->scalars[index]);
    }
    uint32_t delta = find_input(node, "delta");
    apply->gradient = delta != INPUT_NONE ? delta : find_input(node, "grad");
    apply->indices = find_input(node, "indices");
    apply->has_flag = read_flag(node);
    *ret_state = apply;
    return STATUS_OK;
}

static Status
take_scalars(KernelContext *context, const Apply *apply, OptimizeRun *run)
{
    for (size_t index = 0; index < OPTIMIZE_SCALARS_MAX; index++) {
        if (apply->scalars[index] == INPUT_NONE) {
            continue;
        }
        const Tensor *scalar = &context->inputs[apply->scalars[index]];
        if (scalar->shape.rank != 0) {
            char text[SHAPE_TEXT_SIZE];
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%s is of shape %s, not a scalar",
                apply->rule->scalars[index], shape_text(&scalar->shape, text));
        }
        run->scalars[index] = scalar->data;
    }
    return STATUS_OK;
}

static Status
fail_shapes(KernelContext *context, const char *what, const Shape *shape, const Shape *expected)
{
    char given[SHAPE_TEXT_SIZE];
    char wanted[SHAPE_TEXT_SIZE];
    return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%s is of shape %s instead of %s", what,
        shape_text(shape, given), shape_text(expected, wanted));
}

/* Takes all variables, of one dtype and shape, with buffers that nobody else holds. */
static Status
take_variables(KernelContext *context, const Apply *apply, Variable *const *variables, OptimizeRun *run,
    Shape *ret_shape)
{
    Dtype dtype = context->inputs[apply->gradient].dtype;
    for (size_t index = 0; index < apply->variable_count; index++) {
        Tensor *value = NULL;
        if (variable_dtype(variables[index]) != dtype) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "variable '%.*s' is %s, the gradient %s",
                SLICE_PRINT(variable_name(variables[index])), dtype_name(variable_dtype(variables[index])),
                dtype_name(dtype));
        }
        TRY(variable_own(context, variables[index], &value));
        if (index == 0) {
            *ret_shape = value->shape;
        } else if (!shape_equal(&value->shape, ret_shape)) {
            return fail_shapes(context, apply->rule->variables[index], &value->shape, ret_shape);
        }
        run->variables[index] = value->data;
    }
    return STATUS_OK;
}

static Status
apply_all(KernelContext *context, const Apply *apply, OptimizeRun *run, const Shape *shape)
{
    const Tensor *gradient = &context->inputs[apply->gradient];
    if (!shape_equal(&gradient->shape, shape)) {
        return fail_shapes(context, "the gradient", &gradient->shape, shape);
    }
    run->gradient = gradient->data;
    run->count = tensor_element_count(gradient);
    apply->loop(run);
    return STATUS_OK;
}

/* A row that is named twice changes twice, in the order of the indices. */
static Status
apply_rows(KernelContext *context, const Apply *apply, OptimizeRun *run, const Shape *shape)
{
    const Tensor *gradient = &context->inputs[apply->gradient];
    size_t size = dtype_size(gradient->dtype);
    OptimizeRun row = *run;
    Positions positions;
    Shape expected;
    TRY(positions_find(context->call, shape, &context->inputs[apply->indices], false, &positions));
    TRY(positions_shape(context->call, &positions, &expected));
    if (!shape_equal(&gradient->shape, &expected)) {
        return fail_shapes(context, "the gradient", &gradient->shape, &expected);
    }
    row.count = positions.inner;
    for (int64_t n = 0; n < positions.count && positions.inner > 0; n++) {
        size_t offset = (size_t)(positions_at(&positions, n) * positions.inner) * size;
        for (size_t index = 0; index < apply->variable_count; index++) {
            row.variables[index] = (char *)run->variables[index] + offset;
        }
        row.gradient = (const char *)gradient->data + (size_t)(n * positions.inner) * size;
        apply->loop(&row);
    }
    return STATUS_OK;
}

static Status
apply_locked(KernelContext *context, const Apply *apply, Variable *const *variables)
{
    OptimizeRun run = {.has_flag = apply->has_flag};
    Shape shape = shape_scalar();
    TRY(take_scalars(context, apply, &run));
    TRY(take_variables(context, apply, variables, &run, &shape));
    return apply->indices == INPUT_NONE ? apply_all(context, apply, &run, &shape)
                                        : apply_rows(context, apply, &run, &shape);
}

static Status
compute_apply(KernelContext *context)
{
    const Apply *apply = context->state;
    Variable *variables[OPTIMIZE_VARIABLES_MAX] = {NULL};
    for (size_t index = 0; index < apply->variable_count; index++) {
        TRY(kernel_variable(context, apply->variables[index], &variables[index]));
    }
    variables_lock(variables, OPTIMIZE_VARIABLES_MAX);
    Status status = apply_locked(context, apply, variables);
    variables_unlock(variables, OPTIMIZE_VARIABLES_MAX);
    TRY(status);
    if (context->output_count > 0) {
        Shape scalar = shape_scalar();
        kernel_alias(context, 0, 0, &scalar);
    }
    return STATUS_OK;
}

#define OPTIMISER(name)                                                                                      \
    {                                                                                                        \
        .op = (name), .supports = supports_apply, .create = create_apply, .destroy = memory_free,            \
        .compute = compute_apply                                                                             \
    }

static const Kernel variable_apply_kernels[] = {
    OPTIMISER("ApplyGradientDescent"),
    OPTIMISER("ResourceApplyGradientDescent"),
    OPTIMISER("ApplyProximalGradientDescent"),
    OPTIMISER("ResourceApplyProximalGradientDescent"),
    OPTIMISER("SparseApplyProximalGradientDescent"),
    OPTIMISER("ResourceSparseApplyProximalGradientDescent"),
    OPTIMISER("ApplyAdadelta"),
    OPTIMISER("ResourceApplyAdadelta"),
    OPTIMISER("SparseApplyAdadelta"),
    OPTIMISER("ResourceSparseApplyAdadelta"),
    OPTIMISER("ApplyAdagrad"),
    OPTIMISER("ResourceApplyAdagrad"),
    OPTIMISER("SparseApplyAdagrad"),
    OPTIMISER("ResourceSparseApplyAdagrad"),
    OPTIMISER("ApplyAdagradV2"),
    OPTIMISER("ResourceApplyAdagradV2"),
    OPTIMISER("SparseApplyAdagradV2"),
    OPTIMISER("ResourceSparseApplyAdagradV2"),
    OPTIMISER("ApplyProximalAdagrad"),
    OPTIMISER("ResourceApplyProximalAdagrad"),
    OPTIMISER("SparseApplyProximalAdagrad"),
    OPTIMISER("ResourceSparseApplyProximalAdagrad"),
    OPTIMISER("ApplyFtrl"),
    OPTIMISER("ResourceApplyFtrl"),
    OPTIMISER("SparseApplyFtrl"),
    OPTIMISER("ResourceSparseApplyFtrl"),
    OPTIMISER("ApplyFtrlV2"),
    OPTIMISER("ResourceApplyFtrlV2"),
    OPTIMISER("SparseApplyFtrlV2"),
    OPTIMISER("ResourceSparseApplyFtrlV2"),
    OPTIMISER("ApplyMomentum"),
    OPTIMISER("ResourceApplyMomentum"),
    OPTIMISER("SparseApplyMomentum"),
    OPTIMISER("ResourceSparseApplyMomentum"),
    OPTIMISER("ResourceApplyKerasMomentum"),
    OPTIMISER("ResourceSparseApplyKerasMomentum"),
    OPTIMISER("ApplyAdam"),
    OPTIMISER("ResourceApplyAdam"),
    OPTIMISER("ResourceApplyAdamWithAmsgrad"),
    OPTIMISER("ApplyAdaMax"),
    OPTIMISER("ResourceApplyAdaMax"),
    OPTIMISER("ApplyRMSProp"),
    OPTIMISER("ResourceApplyRMSProp"),
    OPTIMISER("SparseApplyRMSProp"),
    OPTIMISER("ResourceSparseApplyRMSProp"),
    OPTIMISER("ApplyCenteredRMSProp"),
    OPTIMISER("ResourceApplyCenteredRMSProp"),
    OPTIMISER("SparseApplyCenteredRMSProp"),
    OPTIMISER("ResourceSparseApplyCenteredRMSProp"),
    OPTIMISER("ApplyAddSign"),
    OPTIMISER("ResourceApplyAddSign"),
    OPTIMISER("ApplyPowerSign"),
    OPTIMISER("ResourceApplyPowerSign"),
};

KERNEL_FAMILY(reference, variable_apply, variable_apply_kernels);
