/* Replaces x · gate(x), as graphs spell it out, by one node, which a convolution or a product in front can
 * take in:
 *
 *     x · sigmoid(x)                        Swish, or SiLU: EfficientNet, YOLO
 *     x · hard_sigmoid(x)                   HardSwish: MobileNetV3
 *     x · relu6(x + 3) / 6
 *
 * Factors and terms may come in any order, and the sixth at any place.
 *
 * Inexact: there are fewer roundings. */
#include "gateway/optimise/match.h"
#include "gateway/optimise/pass.h"
#include "shared/ops/registry.h"

static const char *const products[] = {"Mul", "onnx::Mul"};
static const char *const quotients[] = {"Div", "RealDiv", "onnx::Div"};
static const char *const sums[] = {"Add", "AddV2", "onnx::Add"};
static const char *const sigmoids[] = {"Sigmoid", "onnx::Sigmoid"};
static const char *const hard_sigmoids[] = {"onnx::HardSigmoid"};
static const char *const limits[] = {"Relu6"};
static const char *const clips[] = {"onnx::Clip"};

static bool
is_number_of(const Match *match, Endpoint endpoint, const char *name, double number)
{
    double value = (double)node_attr_float(rewrite_node(match->rewrite, endpoint.node), name);
    return value >= number * (1 - 0x1p-20) && value <= number * (1 + 0x1p-20);
}

/* Matches relu6(x + 3). */
static bool
is_raised_limit(const Match *match, Endpoint endpoint)
{
    bool is_limit = MATCH_IS_ANY_OF(match, endpoint, limits) ||
                    (MATCH_IS_ANY_OF(match, endpoint, clips) &&
                        rewrite_is_number(match->rewrite, match_input(match, endpoint, 1), 0) &&
                        rewrite_is_number(match->rewrite, match_input(match, endpoint, 2), 6));
    Endpoint sum = is_limit ? match_input(match, endpoint, 0) : (Endpoint){.node = NODE_NONE};
    Endpoint other;
    return MATCH_IS_ANY_OF(match, sum, sums) && match_is_private(match, sum, endpoint.node) &&
           match_take_number(match, sum, 3, &other) && match_is_x(match, other);
}

/* Finds what is divided by 6. */
static bool
take_sixth(const Match *match, Endpoint endpoint, Endpoint *ret_whole)
{
    if (MATCH_IS_ANY_OF(match, endpoint, quotients)) {
        *ret_whole = match_input(match, endpoint, 0);
        return rewrite_is_number(match->rewrite, match_input(match, endpoint, 1), 6);
    }
    return MATCH_IS_ANY_OF(match, endpoint, products) &&
           match_take_number(match, endpoint, 1.0 / 6, ret_whole);
}

static bool
is_hard_gate(const Match *match, Endpoint endpoint)
{
    Endpoint whole;
    if (MATCH_IS_ANY_OF(match, endpoint, hard_sigmoids)) {
        return match_is_x(match, match_input(match, endpoint, 0)) &&
               is_number_of(match, endpoint, "alpha", 1.0 / 6) && is_number_of(match, endpoint, "beta", 0.5);
    }
    return take_sixth(match, endpoint, &whole) && match_is_private(match, whole, endpoint.node) &&
           is_raised_limit(match, whole);
}

/* Returns the op that x · gate is. */
static const char *
find_gate(const Match *match, Endpoint gate)
{
    if (MATCH_IS_ANY_OF(match, gate, sigmoids) && match_is_x(match, match_input(match, gate, 0))) {
        return "onnx::Swish";
    }
    return is_hard_gate(match, gate) ? "onnx::HardSwish" : NULL;
}

/* Matches a product of x and a gate or, where the sixth comes last, of x and relu6(x + 3). */
static const char *
find_product(Match *match, Endpoint product, bool has_sixth)
{
    for (uint32_t index = 0; index < 2 && MATCH_IS_ANY_OF(match, product, products); index++) {
        Endpoint gate = match_input(match, product, 1 - index);
        match->x = match_input(match, product, index);
        if (match->x.node == NODE_NONE || gate.node == NODE_NONE ||
            !match_is_private(match, gate, product.node)) {
            continue;
        }
        const char *op = has_sixth ? find_gate(match, gate) : NULL;
        if (!has_sixth && is_raised_limit(match, gate)) {
            op = "onnx::HardSwish";
        }
        if (op != NULL) {
            return op;
        }
    }
    return NULL;
}

static const char *
find_op(Match *match, uint32_t id)
{
    Endpoint whole;
    Endpoint output = {.node = id};
    if (match->counts[id][0] == 0) {
        return NULL;
    }
    const char *op = find_product(match, output, true);
    if (op == NULL && take_sixth(match, output, &whole) && match_is_private(match, whole, id)) {
        op = find_product(match, whole, false);
    }
    return op != NULL && match_keeps_shape(match, id) ? op : NULL;
}

static Status
swish(Rewrite *rewrite)
{
    uint32_t **counts = NULL;
    TRY(rewrite_count_readers(rewrite, &counts));
    for (uint32_t id = 0; id < rewrite->graph->node_count; id++) {
        Match match = {.rewrite = rewrite, .counts = counts};
        const char *op = find_op(&match, id);
        if (op == NULL) {
            continue;
        }
        const Attr attrs[] = {
            {.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_FLOAT32}},
            {.name = SLICE("alpha"), .value = {.kind = ATTR_FLOAT, .value.f = 1}},
        };
        bool has_alpha = op_find(slice_from_string(op))->attr_count == COUNT_OF(attrs);
        RewriteOp becomes = {
            .op = op, .inputs = &match.x, .input_count = 1, .attrs = attrs, .attr_count = has_alpha ? 2 : 1};
        TRY(rewrite_replace(rewrite, id, &becomes));
    }
    return STATUS_OK;
}

PASS(swish, PASS_SIMPLIFY, false);
