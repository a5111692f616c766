#include "shared/ops/variable/apply_rule.h"

#include <assert.h>

static const ApplyRule rules[] = {
    {"GradientDescent", {"var"}, {"alpha"}},
    {"ProximalGradientDescent", {"var"}, {"alpha", "l1", "l2"}},
    {"Adadelta", {"var", "accum", "accum_update"}, {"lr", "rho", "epsilon"}},
    {"Adagrad", {"var", "accum"}, {"lr"}},
    {"AdagradV2", {"var", "accum"}, {"lr", "epsilon"}},
    {"ProximalAdagrad", {"var", "accum"}, {"lr", "l1", "l2"}},
    {"Ftrl", {"var", "accum", "linear"}, {"lr", "l1", "l2", "lr_power"}},
    {"FtrlV2", {"var", "accum", "linear"}, {"lr", "l1", "l2", "lr_power", "l2_shrinkage"}},
    {"Momentum", {"var", "accum"}, {"lr", "momentum"}},
    {"KerasMomentum", {"var", "accum"}, {"lr", "momentum"}},
    {"Adam", {"var", "m", "v"}, {"lr", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power"}},
    {"AdamWithAmsgrad", {"var", "m", "v", "vhat"},
        {"lr", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power"}},
    {"AdaMax", {"var", "m", "v"}, {"lr", "beta1", "beta2", "epsilon", "beta1_power"}},
    {"RMSProp", {"var", "ms", "mom"}, {"lr", "rho", "momentum", "epsilon"}},
    {"CenteredRMSProp", {"var", "mg", "ms", "mom"}, {"lr", "rho", "momentum", "epsilon"}},
    {"AddSign", {"var", "m"}, {"lr", "alpha", "sign_decay", "beta"}},
    {"PowerSign", {"var", "m"}, {"lr", "logbase", "sign_decay", "beta"}},
};

const ApplyRule *
apply_rule(Slice op)
{
    static const char *const prefixes[] = {"ResourceSparseApply", "ResourceApply", "SparseApply", "Apply"};
    Slice name = {0};
    for (size_t index = 0; name.size == 0 && index < COUNT_OF(prefixes); index++) {
        Slice prefix = slice_from_string(prefixes[index]);
        name = slice_starts_with(op, prefix) ? slice_part(op, prefix.size, SIZE_MAX) : name;
    }
    for (size_t index = 0; index < COUNT_OF(rules); index++) {
        if (slice_equals_string(name, rules[index].name)) {
            return &rules[index];
        }
    }
    return NULL;
}

/* Returns the number of the input of this name; NULL names none. */
static uint32_t
find_input(const Node *node, const char *name)
{
    for (uint32_t index = 0; name != NULL && index < node->op->input_count; index++) {
        if (slice_equals_string(node->op->inputs[index].name, name)) {
            return index;
        }
    }
    return APPLY_NO_INPUT;
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

ApplyInputs
apply_inputs(const Node *node)
{
    ApplyInputs inputs = {.rule = apply_rule(node->def->op)};
    assert(inputs.rule != NULL);
    for (size_t index = 0; index < APPLY_VARIABLES_MAX; index++) {
        inputs.variables[index] = find_input(node, inputs.rule->variables[index]);
        inputs.variable_count += inputs.variables[index] != APPLY_NO_INPUT;
    }
    for (size_t index = 0; index < APPLY_SCALARS_MAX; index++) {
        inputs.scalars[index] = find_input(node, inputs.rule->scalars[index]);
    }
    uint32_t delta = find_input(node, "delta");
    inputs.gradient = delta != APPLY_NO_INPUT ? delta : find_input(node, "grad");
    inputs.indices = find_input(node, "indices");
    inputs.has_flag = read_flag(node);
    return inputs;
}
