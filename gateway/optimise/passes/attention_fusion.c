/* Makes one node of attention as graphs spell it out, so that workers never hold the whole matrix of scores:
 *
 *     softmax(steps(query × key)) × value
 *
 * Steps are at most three sums, differences, products and quotients of the scores with something that
 * broadcasts, such as the scale by √depth or a mask that is added, and choices between the scores and
 * something else by a mask. A scale that was applied to queries or keys stays where it is.
 *
 * Exact: the fused node rounds where its parts did, and sums in their order. Products with one matrix on the
 * right are left alone, since kernels pack such matrices and multiply all batches at once. */
#include <assert.h>
#include <string.h>

#include "gateway/optimise/pass.h"
#include "shared/ops/attention.h"

static const char fused_attention[] = "_FusedAttention";

/* An op that is a step when one of its inputs is the scores. */
typedef struct StepRule {
    const char *op;
    AttentionStep step;
    uint32_t scores; /* the numbers of its inputs */
    uint32_t operand;
} StepRule;

static const StepRule step_rules[] = {
    {"Add", ATTENTION_ADD, 0, 1},
    {"Add", ATTENTION_ADD, 1, 0},
    {"AddV2", ATTENTION_ADD, 0, 1},
    {"AddV2", ATTENTION_ADD, 1, 0},
    {"Div", ATTENTION_DIVIDE, 0, 1},
    {"Mul", ATTENTION_MULTIPLY, 0, 1},
    {"Mul", ATTENTION_MULTIPLY, 1, 0},
    {"RealDiv", ATTENTION_DIVIDE, 0, 1},
    {"Select", ATTENTION_KEEP, 1, 2},
    {"Select", ATTENTION_REPLACE, 2, 1},
    {"SelectV2", ATTENTION_KEEP, 1, 2},
    {"SelectV2", ATTENTION_REPLACE, 2, 1},
    {"Sub", ATTENTION_SUBTRACT, 0, 1},
    {"onnx::Add", ATTENTION_ADD, 0, 1},
    {"onnx::Add", ATTENTION_ADD, 1, 0},
    {"onnx::Div", ATTENTION_DIVIDE, 0, 1},
    {"onnx::Mul", ATTENTION_MULTIPLY, 0, 1},
    {"onnx::Mul", ATTENTION_MULTIPLY, 1, 0},
    {"onnx::Sub", ATTENTION_SUBTRACT, 0, 1},
    {"onnx::Where", ATTENTION_KEEP, 1, 2},
    {"onnx::Where", ATTENTION_REPLACE, 2, 1},
};

/* The attention that ends in one node, while it is matched from its end to its beginning. */
typedef struct Match {
    const Rewrite *rewrite;
    uint32_t *const *counts;
    bool transposes_key;
    Endpoint inputs[ATTENTION_INPUTS_MAX]; /* operands in the order of their steps */
    Endpoint masks[ATTENTION_STEPS_MAX];
    uint32_t mask_count;
    AttentionStep steps[ATTENTION_STEPS_MAX];
    int step_count;
} Match;

static bool
has_flag(const Node *node, const char *name)
{
    const AttrValue *value = node_attr(node, name);
    return value != NULL && value->value.b;
}

/* Returns true for products of two batches of matrices, of which the left ones are not transposed. */
static bool
is_batch_product(const Rewrite *rewrite, uint32_t id)
{
    static const char *const products[] = {"BatchMatMul", "BatchMatMulV2", "onnx::MatMul"};
    enum { RANK_MIN = 3 };
    return rewrite_is_any_of(rewrite, id, products, COUNT_OF(products)) &&
           !has_flag(rewrite_node(rewrite, id), "adj_x") &&
           rewrite_shape(rewrite, rewrite_input(rewrite, id, 0))->rank >= RANK_MIN &&
           rewrite_shape(rewrite, rewrite_input(rewrite, id, 1))->rank >= RANK_MIN;
}

static bool
is_softmax_of_rows(const Rewrite *rewrite, uint32_t id)
{
    if (rewrite_is(rewrite, id, "onnx::Softmax")) {
        int64_t axis = node_attr_int(rewrite_node(rewrite, id), "axis");
        return axis == -1 || axis == rewrite_shape(rewrite, (Endpoint){.node = id})->rank - 1;
    }
    return rewrite_is(rewrite, id, "Softmax");
}

/* Returns whether the node does what the rule says. Select takes a mask that does not broadcast as SelectV2's
 * does, unless it has the shape of what it chooses from. */
static bool
obeys(const Rewrite *rewrite, uint32_t id, const StepRule *rule)
{
    if (!rewrite_is(rewrite, id, rule->op)) {
        return false;
    }
    const Shape *mask = rewrite_shape(rewrite, rewrite_input(rewrite, id, 0));
    return strcmp(rule->op, "Select") != 0 ||
           (shape_is_known(mask) && shape_equal(mask, rewrite_shape(rewrite, (Endpoint){.node = id})));
}

static bool
is_private(const Match *match, Endpoint endpoint, uint32_t reader)
{
    return endpoint.node != NODE_NONE && endpoint.port == 0 &&
           rewrite_is_private(match->rewrite, match->counts, endpoint.node, reader);
}

static bool
match_product(Match *match, uint32_t id)
{
    if (!is_batch_product(match->rewrite, id)) {
        return false;
    }
    match->inputs[ATTENTION_QUERY] = rewrite_input(match->rewrite, id, 0);
    match->inputs[ATTENTION_KEY] = rewrite_input(match->rewrite, id, 1);
    match->transposes_key = has_flag(rewrite_node(match->rewrite, id), "adj_y");
    return true;
}

static bool match_scores(Match *match, Endpoint scores, uint32_t reader, int depth);

/* Matches a step and what its scores are made of. */
static bool
match_step(Match *match, uint32_t id, const StepRule *rule, int depth) // NOLINT(misc-no-recursion)
{
    if (!obeys(match->rewrite, id, rule) ||
        !match_scores(match, rewrite_input(match->rewrite, id, rule->scores), id, depth - 1)) {
        return false;
    }
    match->inputs[ATTENTION_FIRST_OPERAND + match->step_count] =
        rewrite_input(match->rewrite, id, rule->operand);
    match->steps[match->step_count++] = rule->step;
    if (attention_step_chooses(rule->step)) {
        match->masks[match->mask_count++] = rewrite_input(match->rewrite, id, 0);
    }
    return true;
}

/* Matches what the scores that `reader` reads are made of, at most `depth` steps and a product. The steps are
 * noted on the way back, so that the one next to the product comes first. */
static bool
match_scores(Match *match, Endpoint scores, uint32_t reader, int depth) // NOLINT(misc-no-recursion)
{
    if (!is_private(match, scores, reader)) {
        return false;
    }
    for (size_t index = 0; depth > 0 && index < COUNT_OF(step_rules); index++) {
        if (match_step(match, scores.node, &step_rules[index], depth)) {
            return true;
        }
    }
    return match_product(match, scores.node);
}

/* The worker's products of float64 are faster than those of the fused node, and have no scores to save. */
static bool
match_attention(Match *match, uint32_t id)
{
    const Rewrite *rewrite = match->rewrite;
    if (!is_batch_product(rewrite, id) || has_flag(rewrite_node(rewrite, id), "adj_y")) {
        return false;
    }
    Dtype dtype = rewrite_dtype(rewrite, (Endpoint){.node = id});
    if (match->counts[id][0] == 0 || !dtype_is_floating(dtype) || dtype == DTYPE_FLOAT64) {
        return false;
    }
    Endpoint weights = rewrite_input(rewrite, id, 0);
    match->inputs[ATTENTION_VALUE] = rewrite_input(rewrite, id, 1);
    return is_private(match, weights, id) && is_softmax_of_rows(rewrite, weights.node) &&
           match_scores(match, rewrite_input(rewrite, weights.node, 0), weights.node, ATTENTION_STEPS_MAX);
}

static Status
replace_by_fused(Rewrite *rewrite, uint32_t id, Match *match)
{
    AttrValue *names = rewrite_alloc(rewrite, ATTENTION_STEPS_MAX, sizeof *names);
    if (names == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (int step = 0; step < match->step_count; step++) {
        Slice name = slice_from_string(attention_step_name(match->steps[step]));
        names[step] = (AttrValue){.kind = ATTR_STRING, .value.s = name};
    }
    uint32_t operands_end = ATTENTION_FIRST_OPERAND + (uint32_t)match->step_count;
    memcpy(&match->inputs[operands_end], match->masks, match->mask_count * sizeof *match->masks);
    const Attr attrs[] = {
        {.name = SLICE("transpose_key"), .value = {.kind = ATTR_BOOL, .value.b = match->transposes_key}},
        {.name = SLICE("T"),
            .value = {.kind = ATTR_TYPE, .value.type = rewrite_dtype(rewrite, (Endpoint){.node = id})}},
        {.name = SLICE("num_args"), .value = {.kind = ATTR_INT, .value.i = match->step_count}},
        {.name = SLICE("num_masks"), .value = {.kind = ATTR_INT, .value.i = match->mask_count}},
        {.name = SLICE("fused_ops"),
            .value = {.kind = ATTR_STRING,
                .is_list = true,
                .value.list = {.count = (size_t)match->step_count, .items = names}}},
    };
    RewriteOp fused = {
        .op = fused_attention,
        .inputs = match->inputs,
        .input_count = operands_end + match->mask_count,
        .attrs = attrs,
        .attr_count = COUNT_OF(attrs),
    };
    return rewrite_replace(rewrite, id, &fused);
}

static Status
attention_fusion(Rewrite *rewrite)
{
    uint32_t **counts = NULL;
    TRY(rewrite_count_readers(rewrite, &counts));
    for (uint32_t id = 0; id < rewrite->graph->node_count; id++) {
        Match match = {.rewrite = rewrite, .counts = counts};
        if (match_attention(&match, id)) {
            TRY(replace_by_fused(rewrite, id, &match));
        }
    }
    return STATUS_OK;
}

PASS(attention_fusion, PASS_FUSE, true);
