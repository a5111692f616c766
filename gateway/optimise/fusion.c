#include "gateway/optimise/fusion.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "shared/ops/epilogue.h"
#include "shared/ops/registry.h"

static const char bias_add[] = "BiasAdd";

/* A step that a node adds to the result of the op in front of it. */
typedef struct FusionStep {
    const char *name; /* its name in the attribute fused_ops */
    Endpoint operand; /* NODE_NONE for none */
    bool has_alpha;
    float alpha;
} FusionStep;

/* An activation that takes one input. `fits` returns false when the node's attributes ask for another
 * function. */
typedef struct ActivationRule {
    const char *op;
    EpilogueActivation activation;
    bool (*fits)(const Rewrite *rewrite, uint32_t id);
} ActivationRule;

static bool
has_alpha_of_one(const Rewrite *rewrite, uint32_t id)
{
    float alpha = node_attr_float(rewrite_node(rewrite, id), "alpha");
    return alpha >= 1 && alpha <= 1;
}

static bool
clips_from_zero_to_six(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_is_number(rewrite, rewrite_input(rewrite, id, 1), 0) &&
           rewrite_is_number(rewrite, rewrite_input(rewrite, id, 2), 6);
}

static bool
is_approximate(const Rewrite *rewrite, uint32_t id)
{
    return slice_equals_string(node_attr_string(rewrite_node(rewrite, id), "approximate"), "tanh");
}

static bool
is_exact(const Rewrite *rewrite, uint32_t id)
{
    return !is_approximate(rewrite, id);
}

static const ActivationRule activation_rules[] = {
    {"Elu", EPILOGUE_ELU, NULL},
    {"LeakyRelu", EPILOGUE_LEAKY_RELU, NULL},
    {"Relu", EPILOGUE_RELU, NULL},
    {"Relu6", EPILOGUE_RELU6, NULL},
    {"Sigmoid", EPILOGUE_SIGMOID, NULL},
    {"Tanh", EPILOGUE_TANH, NULL},
    {"onnx::Clip", EPILOGUE_RELU6, clips_from_zero_to_six},
    {"onnx::Elu", EPILOGUE_ELU, has_alpha_of_one},
    {"onnx::Gelu", EPILOGUE_GELU, is_exact},
    {"onnx::Gelu", EPILOGUE_GELU_TANH, is_approximate},
    {"onnx::HardSwish", EPILOGUE_HARD_SWISH, NULL},
    {"onnx::LeakyRelu", EPILOGUE_LEAKY_RELU, NULL},
    {"onnx::Relu", EPILOGUE_RELU, NULL},
    {"onnx::Sigmoid", EPILOGUE_SIGMOID, NULL},
    {"onnx::Swish", EPILOGUE_SWISH, has_alpha_of_one},
    {"onnx::Tanh", EPILOGUE_TANH, NULL},
};

static bool
find_activation(const Rewrite *rewrite, uint32_t id, FusionStep *ret_step)
{
    for (size_t index = 0; index < COUNT_OF(activation_rules); index++) {
        const ActivationRule *rule = &activation_rules[index];
        if (rewrite_is(rewrite, id, rule->op) && (rule->fits == NULL || rule->fits(rewrite, id))) {
            bool has_alpha = rule->activation == EPILOGUE_LEAKY_RELU;
            *ret_step = (FusionStep){
                .name = epilogue_activation_name(rule->activation),
                .operand = {.node = NODE_NONE},
                .has_alpha = has_alpha,
                .alpha = has_alpha ? node_attr_float(rewrite_node(rewrite, id), "alpha") : 0,
            };
            return true;
        }
    }
    return false;
}

/* Reads the sum `id`, whose input `index` is not the op in front, as a step behind that op. */
static bool
find_addition(const Rewrite *rewrite, uint32_t id, uint32_t linear, uint32_t index, FusionStep *ret_step)
{
    static const char *const sums[] = {"Add", "AddV2", "onnx::Add", "onnx::Sum"};
    Endpoint operand = rewrite_input(rewrite, id, index);
    const Shape *output = rewrite_shape(rewrite, (Endpoint){.node = linear});
    *ret_step = (FusionStep){.operand = operand};
    if (linear_is_bias(rewrite, linear, id, index)) {
        ret_step->name = bias_add;
    } else if (rewrite_is_any_of(rewrite, id, sums, COUNT_OF(sums)) && operand.node != NODE_NONE &&
               rewrite_node(rewrite, id)->input_count == 2 && shape_is_known(output) &&
               shape_equal(rewrite_shape(rewrite, operand), output)) {
        ret_step->name = "Add";
    }
    return ret_step->name != NULL;
}

enum {
    INPUTS_MAX = EPILOGUE_FIRST_OPERAND + EPILOGUE_OPERANDS_MAX,
    ATTRS_MAX = 24,
};

/* The fused node while it is put together. */
typedef struct Fusion {
    uint32_t linear;
    const LinearOp *op;
    Endpoint inputs[INPUTS_MAX];
    uint32_t input_count;
    AttrValue *steps; /* room for EPILOGUE_STEPS_MAX */
    size_t step_count;
    float alpha; /* of a LeakyRelu that is added; NaN when none is */
} Fusion;

/* A Gemm must have factors of 1, and add a bias. */
static bool
has_plain_factors(const Rewrite *rewrite, uint32_t id)
{
    const Node *node = rewrite_node(rewrite, id);
    Endpoint bias = rewrite_input(rewrite, id, LINEAR_BIAS);
    if (!rewrite_is(rewrite, id, "onnx::Gemm")) {
        return true;
    }
    float alpha = node_attr_float(node, "alpha");
    float beta = bias.node == NODE_NONE ? 1 : node_attr_float(node, "beta");
    return alpha >= 1 && alpha <= 1 && beta >= 1 && beta <= 1 &&
           (bias.node == NODE_NONE || linear_fits_channels(rewrite, id, rewrite_shape(rewrite, bias)));
}

/* Kernels have no fused form of a product with empty weights. */
static bool
has_weights(const Rewrite *rewrite, uint32_t id)
{
    const Shape *weights = rewrite_shape(rewrite, rewrite_input(rewrite, id, LINEAR_WEIGHTS));
    int64_t count = 0;
    return shape_is_known(weights) && shape_element_count(weights, &count) && count > 0;
}

/* Adds a second bias to the first, so that the kernel adds their sum once. */
static Status
join_biases(Rewrite *rewrite, uint32_t id, Endpoint added, Endpoint *bias)
{
    Attr type = {.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_FLOAT32}};
    const Endpoint biases[] = {*bias, added};
    RewriteOp sum = {.op = "AddV2", .inputs = biases, .input_count = 2, .attrs = &type, .attr_count = 1};
    return rewrite_add(rewrite, id, "bias", &sum, bias);
}

static Status
add_bias(Rewrite *rewrite, Endpoint operand, Fusion *fusion)
{
    uint32_t id = fusion->linear;
    Shape vector = shape_vector(linear_channels(rewrite, id));
    Endpoint bias;
    TRY(linear_reshape(rewrite, id, operand, &vector, &bias));
    if (fusion->step_count > 0) {
        return join_biases(rewrite, id, bias, &fusion->inputs[EPILOGUE_FIRST_OPERAND]);
    }
    fusion->inputs[fusion->input_count++] = bias;
    fusion->steps[fusion->step_count++] =
        (AttrValue){.kind = ATTR_STRING, .value.s = slice_from_string(bias_add)};
    return STATUS_OK;
}

static Status
add_step(Rewrite *rewrite, const FusionStep *step, Fusion *fusion)
{
    if (step->name == bias_add) {
        return add_bias(rewrite, step->operand, fusion);
    }
    fusion->steps[fusion->step_count++] =
        (AttrValue){.kind = ATTR_STRING, .value.s = slice_from_string(step->name)};
    if (step->operand.node != NODE_NONE) {
        fusion->inputs[fusion->input_count++] = step->operand;
    }
    fusion->alpha = step->has_alpha ? step->alpha : fusion->alpha;
    return STATUS_OK;
}

/* Begins with the op in front: one that is fused has steps already, another one perhaps a bias. */
static Status
begin_fusion(Rewrite *rewrite, uint32_t id, const LinearOp *op, Fusion *fusion)
{
    const Node *node = rewrite_node(rewrite, id);
    bool is_fused = linear_is_fused(op);
    Endpoint bias = rewrite_input(rewrite, id, LINEAR_BIAS);
    *fusion = (Fusion){.linear = id, .op = op, .alpha = NAN};
    fusion->steps = rewrite_alloc(rewrite, EPILOGUE_STEPS_MAX, sizeof *fusion->steps);
    if (fusion->steps == NULL) {
        return rewrite_no_memory(rewrite);
    }
    fusion->input_count = is_fused ? node->input_count : EPILOGUE_FIRST_OPERAND;
    for (uint32_t index = 0; index < fusion->input_count; index++) {
        fusion->inputs[index] = rewrite_input(rewrite, id, index);
    }
    const AttrValue *names = is_fused ? node_attr(node, "fused_ops") : NULL;
    for (size_t index = 0; is_fused && index < names->value.list.count; index++) {
        fusion->steps[fusion->step_count++] = names->value.list.items[index];
    }
    return op->has_bias && bias.node != NODE_NONE ? add_bias(rewrite, bias, fusion) : STATUS_OK;
}

static Slice
last_step(const Rewrite *rewrite, uint32_t id, const LinearOp *op)
{
    if (!linear_is_fused(op)) {
        bool has_bias = op->has_bias && rewrite_input(rewrite, id, LINEAR_BIAS).node != NODE_NONE;
        return has_bias ? slice_from_string(bias_add) : SLICE("");
    }
    const AttrValue *names = node_attr(rewrite_node(rewrite, id), "fused_ops");
    size_t count = names->value.list.count;
    return count == 0 ? SLICE("") : names->value.list.items[count - 1].value.s;
}

static const AttrValue *
find_attr(const Node *node, Slice name)
{
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equal(node->attrs[index].name, name)) {
            return &node->attrs[index].value;
        }
    }
    return NULL;
}

/* Returns the node's own value, or Gemm's under its name for it, or the default of the fused op. */
static AttrValue
inherited_value(const Node *node, const OpAttribute *declared)
{
    static const char *const renamed[][2] = {{"transpose_a", "transA"}, {"transpose_b", "transB"}};
    const AttrValue *value = find_attr(node, declared->name);
    for (size_t index = 0; value == NULL && index < COUNT_OF(renamed); index++) {
        const AttrValue *other = node_attr(node, renamed[index][1]);
        if (slice_equals_string(declared->name, renamed[index][0]) && other != NULL) {
            return (AttrValue){.kind = ATTR_BOOL, .value.b = other->value.i != 0};
        }
    }
    return value != NULL ? *value : declared->default_value;
}

static AttrValue
attr_value(const Fusion *fusion, const Node *node, const OpAttribute *declared)
{
    if (slice_equals_string(declared->name, "fused_ops")) {
        return (AttrValue){.kind = ATTR_STRING,
            .is_list = true,
            .value.list = {.count = fusion->step_count, .items = fusion->steps}};
    }
    if (slice_equals_string(declared->name, "num_args")) {
        return (AttrValue){.kind = ATTR_INT, .value.i = fusion->input_count - EPILOGUE_FIRST_OPERAND};
    }
    if (slice_equals_string(declared->name, "leakyrelu_alpha") && !isnan(fusion->alpha)) {
        return (AttrValue){.kind = ATTR_FLOAT, .value.f = fusion->alpha};
    }
    return inherited_value(node, declared);
}

/* Makes the step's node the fused one. */
static Status
replace_by_fused(Rewrite *rewrite, uint32_t id, const Fusion *fusion)
{
    const Op *op = op_find(slice_from_string(fusion->op->fused));
    Attr attrs[ATTRS_MAX];
    assert(op != NULL && op->attr_count <= ATTRS_MAX);
    for (size_t index = 0; index < op->attr_count; index++) {
        attrs[index] = (Attr){
            .name = op->attrs[index].name,
            .value = attr_value(fusion, rewrite_node(rewrite, fusion->linear), &op->attrs[index]),
        };
    }
    RewriteOp fused = {
        .op = fusion->op->fused,
        .inputs = fusion->inputs,
        .input_count = fusion->input_count,
        .attrs = attrs,
        .attr_count = (uint32_t)op->attr_count,
    };
    return rewrite_replace(rewrite, id, &fused);
}

static bool
may_follow(const Rewrite *rewrite, uint32_t id, const LinearOp *op, const FusionStep *step)
{
    Slice last = last_step(rewrite, id, op);
    bool has_both = step->name == bias_add && slice_equals_string(last, bias_add);
    return has_both ? rewrite_is_fixed(rewrite, step->operand) &&
                          rewrite_is_fixed(rewrite, rewrite_input(rewrite, id, EPILOGUE_FIRST_OPERAND))
                    : epilogue_may_follow(last, slice_from_string(step->name));
}

static bool
is_vector(const Rewrite *rewrite, uint32_t id, Endpoint bias)
{
    Shape vector = shape_vector(linear_channels(rewrite, id));
    return bias.node == NODE_NONE || shape_equal(rewrite_shape(rewrite, bias), &vector);
}

/* Returns false when a bias would have to be reshaped, or added to another one. */
static bool
adds_no_nodes(const Rewrite *rewrite, uint32_t id, const LinearOp *op, const FusionStep *step)
{
    Endpoint none = {.node = NODE_NONE};
    bool is_bias = step->name == bias_add;
    return is_vector(rewrite, id, op->has_bias ? rewrite_input(rewrite, id, LINEAR_BIAS) : none) &&
           is_vector(rewrite, id, is_bias ? step->operand : none) &&
           !(is_bias && slice_equals_string(last_step(rewrite, id, op), bias_add));
}

/* Returns true when the node behind input `index` can do what node `id` does to its result. */
static bool
find_step(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id, uint32_t index, LinearKind kind,
    FusionStep *ret_step)
{
    uint32_t front = rewrite_input(rewrite, id, index).node;
    const LinearOp *op = front == NODE_NONE ? NULL : linear_find(rewrite, front);
    if (op == NULL || op->kind != kind || !rewrite_is_private(rewrite, counts, front, id)) {
        return false;
    }
    bool is_found = (index == 0 && find_activation(rewrite, id, ret_step)) ||
                    find_addition(rewrite, id, front, 1 - index, ret_step);
    return is_found && has_plain_factors(rewrite, front) && has_weights(rewrite, front) &&
           may_follow(rewrite, front, op, ret_step) &&
           (!rewrite_is_in_loop(rewrite, id) || adds_no_nodes(rewrite, front, op, ret_step));
}

Status
fusion_run(Rewrite *rewrite, LinearKind kind)
{
    uint32_t **counts = NULL;
    TRY(rewrite_count_readers(rewrite, &counts));
    for (uint32_t position = 0; position < rewrite->graph->node_count; position++) {
        uint32_t id = rewrite->graph->order[position];
        FusionStep step;
        uint32_t index = 0;
        while (index < 2 && !find_step(rewrite, counts, id, index, kind, &step)) {
            index++;
        }
        if (index < 2) {
            uint32_t front = rewrite_input(rewrite, id, index).node;
            Fusion fusion;
            TRY(begin_fusion(rewrite, front, linear_find(rewrite, front), &fusion));
            TRY(add_step(rewrite, &step, &fusion));
            TRY(replace_by_fused(rewrite, id, &fusion));
        }
    }
    return STATUS_OK;
}
