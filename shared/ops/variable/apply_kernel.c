/* Optimisers: all variables of one parameter are locked, checked and changed together, by rules that change
 * them element by element in the order in which TensorFlow's training_ops.cc computes, for the same bits. */
#include <tgmath.h>

#include "shared/base/memory.h"
#include "shared/ops/variable/apply_rule.h"
#include "shared/ops/variable/positions_rule.h"
#include "worker/reference/elements.h"
#include "worker/runtime/variable.h"

/* A part of a parameter: `count` elements of each variable and of the gradient. */
typedef struct OptimizeRun {
    void *variables[APPLY_VARIABLES_MAX];   /* in the rule's order */
    const void *scalars[APPLY_SCALARS_MAX]; /* one element each, in the rule's order */
    const void *gradient;
    int64_t count;
    bool has_flag; /* use_nesterov or update_slots, whichever the op has */
} OptimizeRun;

typedef void (*OptimizeLoop)(const OptimizeRun *run);

/* One loop for each dtype. In the body a, b, c, d are the values of the rule's variables, written back
 * afterwards, the first one last; letters without a variable are free. g is the gradient; h[] are the
 * scalars; flag is use_nesterov or update_slots. */
#define RULE_LOOP(name, body, upper, lower, storage, compute, read, write)                                   \
    static void name##_##lower(const OptimizeRun *run)                                                       \
    {                                                                                                        \
        storage *variables[APPLY_VARIABLES_MAX];                                                             \
        compute h[APPLY_SCALARS_MAX];                                                                        \
        const storage *gradient = run->gradient;                                                             \
        bool flag = run->has_flag;                                                                           \
        compute one = 1;                                                                                     \
        for (int n = 0; n < APPLY_VARIABLES_MAX; n++) {                                                      \
            variables[n] = run->variables[run->variables[n] == NULL ? 0 : n];                                \
        }                                                                                                    \
        for (int n = 0; n < APPLY_SCALARS_MAX; n++) {                                                        \
            h[n] = run->scalars[n] == NULL ? 0 : read(*(const storage *)run->scalars[n]);                    \
        }                                                                                                    \
        (void)flag, (void)one;                                                                               \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute a = read(variables[0][n]);                                                               \
            compute b = read(variables[1][n]);                                                               \
            compute c = read(variables[2][n]);                                                               \
            compute d = read(variables[3][n]);                                                               \
            compute g = read(gradient[n]);                                                                   \
            body;                                                                                            \
            variables[3][n] = write(d);                                                                      \
            variables[2][n] = write(c);                                                                      \
            variables[1][n] = write(b);                                                                      \
            variables[0][n] = write(a);                                                                      \
        }                                                                                                    \
    }

#define RULE(name, ...)                                                                                      \
    FLOATING_ELEMENTS(RULE_LOOP, name, (__VA_ARGS__))                                                        \
    static const OptimizeLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

/* The square and the sign of a value, in its type. */
#define SQUARE(x) ((x) * (x))
#define SIGN(x) ((x) > 0 ? one : (x) < 0 ? -one : 0)

/* The soft threshold of the proximal rules: l1 pulls towards 0, l2 scales. */
#define POSITIVE(x) ((x) > 0 ? (x) : 0)
#define PROXIMAL(value, rate, l1, l2)                                                                        \
    (((l1) > 0 ? SIGN(value) * POSITIVE(fabs(value) - (rate) * (l1)) : (value)) / (1 + (l2) * (rate)))

/* The power of FTRL, which is usually a square root. */
#define LEARNING_POWER(x) (h[3] == -one / 2 ? sqrt(x) : pow(x, -h[3]))

RULE(gradient_descent, a -= g * h[0])
RULE(proximal_gradient_descent, d = a - g * h[0], a = PROXIMAL(d, h[0], h[1], h[2]))
RULE(adadelta, b = b * h[1] + SQUARE(g) * (1 - h[1]), d = sqrt(c + h[2]) / sqrt(b + h[2]) * g, a -= d * h[0],
    c = c * h[1] + SQUARE(d) * (1 - h[1]))
RULE(adagrad, b += flag ? SQUARE(g) : 0, a -= g * h[0] / sqrt(b))
RULE(adagrad_v2, b += flag ? SQUARE(g) : 0, a -= g * h[0] / (sqrt(b) + h[1]))
RULE(proximal_adagrad, b += SQUARE(g), c = h[0] / sqrt(b), d = a - g * c, a = PROXIMAL(d, c, h[1], h[2]))
/* b is accum, c is linear; h is lr, l1, l2, lr_power, l2_shrinkage. */
RULE(ftrl, d = b + SQUARE(g), c += (g + 2 * h[4] * a) - (LEARNING_POWER(d) - LEARNING_POWER(b)) / h[0] * a,
    b = d, a = fabs(c) > h[1] ? (h[1] * SIGN(c) - c) / (LEARNING_POWER(b) / h[0] + 2 * h[2]) : 0)
RULE(momentum, b = b * h[1] + g, a -= flag ? g * h[0] + b * h[1] * h[0] : b * h[0])
RULE(keras_momentum, b = b * h[1] - g * h[0], a += flag ? b * h[1] - g * h[0] : b)
/* h is lr, beta1, beta2, epsilon, beta1_power, beta2_power. */
RULE(adam, d = h[0] * sqrt(1 - h[5]) / (1 - h[4]), b += (g - b) * (1 - h[1]),
    c += (SQUARE(g) - c) * (1 - h[2]), a -= (flag ? g * (1 - h[1]) + h[1] * b : b) * d / (sqrt(c) + h[3]))
RULE(adam_amsgrad, b += (g - b) * (1 - h[1]), c += (SQUARE(g) - c) * (1 - h[2]), d = fmax(d, c),
    a -= b * (h[0] * sqrt(1 - h[5]) / (1 - h[4])) / (sqrt(d) + h[3]))
RULE(ada_max, b += (g - b) * (1 - h[1]), c = fmax(h[2] * c, fabs(g)),
    a -= h[0] / (1 - h[4]) * (b / (c + h[3])))
RULE(rms_prop, b += (SQUARE(g) - b) * (1 - h[1]), c = c * h[2] + g * h[0] / sqrt(b + h[3]), a -= c)
RULE(centered_rms_prop, c += (SQUARE(g) - c) * (1 - h[1]), b += (g - b) * (1 - h[1]),
    d = d * h[2] + g * h[0] / sqrt(c - SQUARE(b) + h[3]), a -= d)
RULE(add_sign, b = b * h[3] + g * (1 - h[3]), a -= h[0] * (h[1] + h[2] * (SIGN(g) * SIGN(b))) * g)
RULE(power_sign, b = b * h[3] + g * (1 - h[3]), a -= h[0] * exp(h[1] * h[2] * (SIGN(g) * SIGN(b))) * g)

/* The rules' loops, by dtype; NULL where there is none. */
static const struct {
    const char *rule;
    const OptimizeLoop *loops;
} rule_loops[] = {
    {"GradientDescent", gradient_descent_loops},
    {"ProximalGradientDescent", proximal_gradient_descent_loops},
    {"Adadelta", adadelta_loops},
    {"Adagrad", adagrad_loops},
    {"AdagradV2", adagrad_v2_loops},
    {"ProximalAdagrad", proximal_adagrad_loops},
    {"Ftrl", ftrl_loops},
    {"FtrlV2", ftrl_loops},
    {"Momentum", momentum_loops},
    {"KerasMomentum", keras_momentum_loops},
    {"Adam", adam_loops},
    {"AdamWithAmsgrad", adam_amsgrad_loops},
    {"AdaMax", ada_max_loops},
    {"RMSProp", rms_prop_loops},
    {"CenteredRMSProp", centered_rms_prop_loops},
    {"AddSign", add_sign_loops},
    {"PowerSign", power_sign_loops},
};

/* Returns the loop of an op for a dtype, or NULL. */
static OptimizeLoop
find_loop(Slice op, Dtype dtype)
{
    const ApplyRule *rule = apply_rule(op);
    for (size_t index = 0; rule != NULL && index < COUNT_OF(rule_loops); index++) {
        if (strcmp(rule->name, rule_loops[index].rule) == 0) {
            return rule_loops[index].loops[dtype];
        }
    }
    return NULL;
}

/* The meaning of the op's inputs; made once a partition. */
typedef struct Apply {
    ApplyInputs inputs;
    OptimizeLoop loop;
} Apply;

static bool
supports_apply(const Node *node)
{
    return find_loop(node->def->op, node_attr_type(node, "T")) != NULL;
}

static Status
create_apply(Call *call, const Node *node, void **ret_state)
{
    Apply *apply = memory_new(1, sizeof *apply);
    if (apply == NULL) {
        return call_fail_memory(call, "an optimiser");
    }
    apply->inputs = apply_inputs(node);
    apply->loop = find_loop(node->def->op, node_attr_type(node, "T"));
    *ret_state = apply;
    return STATUS_OK;
}

static Status
take_scalars(KernelContext *context, const Apply *apply, OptimizeRun *run)
{
    for (size_t index = 0; index < APPLY_SCALARS_MAX; index++) {
        if (apply->inputs.scalars[index] == APPLY_NO_INPUT) {
            continue;
        }
        const Tensor *scalar = &context->inputs[apply->inputs.scalars[index]];
        if (scalar->shape.rank != 0) {
            char text[SHAPE_TEXT_SIZE];
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%s is of shape %s, not a scalar",
                apply->inputs.rule->scalars[index], shape_text(&scalar->shape, text));
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
    Dtype dtype = context->inputs[apply->inputs.gradient].dtype;
    for (size_t index = 0; index < apply->inputs.variable_count; index++) {
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
            return fail_shapes(context, apply->inputs.rule->variables[index], &value->shape, ret_shape);
        }
        run->variables[index] = value->data;
    }
    return STATUS_OK;
}

static Status
apply_all(KernelContext *context, const Apply *apply, OptimizeRun *run, const Shape *shape)
{
    const Tensor *gradient = &context->inputs[apply->inputs.gradient];
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
    const Tensor *gradient = &context->inputs[apply->inputs.gradient];
    size_t size = dtype_size(gradient->dtype);
    OptimizeRun row = *run;
    Positions positions;
    Shape expected;
    TRY(positions_find(context->call, shape, &context->inputs[apply->inputs.indices], false, &positions));
    TRY(positions_shape(context->call, &positions, &expected));
    if (!shape_equal(&gradient->shape, &expected)) {
        return fail_shapes(context, "the gradient", &gradient->shape, &expected);
    }
    row.count = positions.inner;
    for (int64_t n = 0; n < positions.count && positions.inner > 0; n++) {
        size_t offset = (size_t)(positions_at(&positions, n) * positions.inner) * size;
        for (size_t index = 0; index < apply->inputs.variable_count; index++) {
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
    OptimizeRun run = {.has_flag = apply->inputs.has_flag};
    Shape shape = shape_scalar();
    TRY(take_scalars(context, apply, &run));
    TRY(take_variables(context, apply, variables, &run, &shape));
    return apply->inputs.indices == APPLY_NO_INPUT ? apply_all(context, apply, &run, &shape)
                                                   : apply_rows(context, apply, &run, &shape);
}

static Status
compute_apply(KernelContext *context)
{
    const Apply *apply = context->state;
    Variable *variables[APPLY_VARIABLES_MAX] = {NULL};
    for (size_t index = 0; index < apply->inputs.variable_count; index++) {
        TRY(kernel_variable(context, apply->inputs.variables[index], &variables[index]));
    }
    variables_lock(variables, APPLY_VARIABLES_MAX);
    Status status = apply_locked(context, apply, variables);
    variables_unlock(variables, APPLY_VARIABLES_MAX);
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
        .compute = compute_apply, .visits_variables = true                                                   \
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
