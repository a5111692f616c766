/* Multiplies a factor of the channels of a convolution or product into its constant weights, and into the
 * bias between: (x∗w + b)·m = x∗(w·m) + b·m. The products of constants are nodes of their own, which a
 * worker folds.
 *
 * Inexact: each product of an element is rounded elsewhere. */
#include <assert.h>

#include "gateway/optimise/linear.h"
#include "gateway/optimise/pass.h"

static const char *const products[] = {"Mul", "onnx::Mul"};

/* A product, and the convolution or matrix product that its multiplier can move into. */
typedef struct Scaled {
    uint32_t product;
    Endpoint multiplier;
    uint32_t sum;      /* the addition of a bias between them; NODE_NONE for none */
    uint32_t sum_bias; /* its input that is the bias */
    uint32_t linear;
    const LinearOp *op;
} Scaled;

static bool
is_scalable(const Rewrite *rewrite, const Scaled *scaled)
{
    uint32_t id = scaled->linear;
    bool has_bias = scaled->op->has_bias && rewrite_input(rewrite, id, LINEAR_BIAS).node != NODE_NONE;
    return rewrite_is_fixed(rewrite, rewrite_input(rewrite, id, LINEAR_WEIGHTS)) &&
           (!has_bias || rewrite_is_fixed(rewrite, rewrite_input(rewrite, id, LINEAR_BIAS))) &&
           rewrite_is_fixed(rewrite, scaled->multiplier) &&
           linear_fits_channels(rewrite, id, rewrite_shape(rewrite, scaled->multiplier));
}

/* Finds the convolution or matrix product itself. */
static bool
find_linear(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id, uint32_t reader, Scaled *scaled)
{
    const LinearOp *op = id == NODE_NONE ? NULL : linear_find(rewrite, id);
    scaled->linear = id;
    scaled->op = op;
    return op != NULL && !linear_is_fused(op) && rewrite_is_private(rewrite, counts, id, reader) &&
           is_scalable(rewrite, scaled);
}

/* Finds it directly in front of the product, or with the addition of a bias between. */
static bool
find_sum(const Rewrite *rewrite, uint32_t *const *counts, Scaled *scaled, uint32_t id)
{
    if (find_linear(rewrite, counts, id, scaled->product, scaled)) {
        return true;
    }
    for (uint32_t bias = 0; bias < 2; bias++) {
        Endpoint other = rewrite_input(rewrite, id, 1 - bias);
        if (find_linear(rewrite, counts, other.node, id, scaled) &&
            rewrite_is_private(rewrite, counts, id, scaled->product) &&
            linear_is_bias(rewrite, other.node, id, bias)) {
            scaled->sum = id;
            scaled->sum_bias = bias;
            return rewrite_is_fixed(rewrite, rewrite_input(rewrite, id, bias));
        }
    }
    return false;
}

static bool
find_scaled(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id, Scaled *ret_scaled)
{
    for (uint32_t index = 0; index < 2; index++) {
        Endpoint sum = rewrite_input(rewrite, id, index);
        Scaled scaled = {
            .product = id, .multiplier = rewrite_input(rewrite, id, 1 - index), .sum = NODE_NONE};
        if (rewrite_may_give_way(rewrite, id, sum) && find_sum(rewrite, counts, &scaled, sum.node)) {
            *ret_scaled = scaled;
            return true;
        }
    }
    return false;
}

/* Multiplies input `index` of a node by the multiplier in another shape. */
static Status
scale_input(Rewrite *rewrite, uint32_t id, uint32_t index, Endpoint multiplier, const Shape *shape)
{
    const Attr attrs[] = {{.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_FLOAT32}}};
    Endpoint inputs[LINEAR_BIAS + 1] = {0};
    Endpoint factors[] = {rewrite_input(rewrite, id, index), multiplier};
    RewriteOp product = {.op = "Mul", .inputs = factors, .input_count = 2, .attrs = attrs, .attr_count = 1};
    uint32_t input_count = rewrite_node(rewrite, id)->input_count;
    assert(index < input_count && input_count <= COUNT_OF(inputs));
    for (uint32_t input = 0; input < input_count; input++) {
        inputs[input] = rewrite_input(rewrite, id, input);
    }
    TRY(linear_reshape(rewrite, id, multiplier, shape, &factors[1]));
    TRY(rewrite_add(rewrite, id, "scaled", &product, &inputs[index]));
    return rewrite_reread(rewrite, id, inputs, input_count);
}

static Status
fold_scale(Rewrite *rewrite, uint32_t *const *counts, const Scaled *scaled)
{
    uint32_t id = scaled->linear;
    int64_t channels = linear_channels(rewrite, id);
    Shape vector = shape_vector(channels);
    Shape factor = scaled->op->factor(rewrite, id, channels);
    TRY(scale_input(rewrite, id, LINEAR_WEIGHTS, scaled->multiplier, &factor));
    if (scaled->op->has_bias && rewrite_input(rewrite, id, LINEAR_BIAS).node != NODE_NONE) {
        TRY(scale_input(rewrite, id, LINEAR_BIAS, scaled->multiplier, &vector));
    }
    if (scaled->sum != NODE_NONE) {
        Endpoint bias = rewrite_input(rewrite, scaled->sum, scaled->sum_bias);
        TRY(scale_input(
            rewrite, scaled->sum, scaled->sum_bias, scaled->multiplier, rewrite_shape(rewrite, bias)));
    }
    Endpoint from = {.node = scaled->product};
    Endpoint to = {.node = scaled->sum == NODE_NONE ? id : scaled->sum};
    rewrite_redirect(rewrite, from, to);
    counts[to.node][0] = counts[from.node][0];
    return STATUS_OK;
}

static bool
is_product(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_is_any_of(rewrite, id, products, COUNT_OF(products)) && !rewrite_is_in_loop(rewrite, id) &&
           rewrite_resolve(rewrite, (Endpoint){.node = id}).node == id;
}

/* A product behind another one can follow it once that is gone: all are visited until none goes, yet not more
 * often than networks have products in a row, since an author may write a row of any length. */
static Status
scale_folding(Rewrite *rewrite)
{
    enum { ROUNDS_MAX = 4 };
    uint32_t **counts = NULL;
    TRY(rewrite_count_readers(rewrite, &counts));
    uint32_t node_count = rewrite->node_count;
    bool has_folded = true;
    for (int round = 0; has_folded && round < ROUNDS_MAX; round++) {
        has_folded = false;
        for (uint32_t id = 0; id < node_count; id++) {
            Scaled scaled;
            if (is_product(rewrite, id) && find_scaled(rewrite, counts, id, &scaled)) {
                TRY(fold_scale(rewrite, counts, &scaled));
                has_folded = true;
            }
        }
    }
    return STATUS_OK;
}

PASS(scale_folding, PASS_SIMPLIFY, false);
