/* Replaces the Gaussian error linear unit, as graphs spell it out, by one node, which a matrix product in
 * front can take in:
 *
 *     x · ½ · (1 + erf(x / √2))        x · ½ · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
 *     x · ½ · erfc(-x / √2)
 *
 * Factors and terms may come in any order (BERT, Keras, PyTorch's exports).
 *
 * Inexact: there are fewer roundings, and what 1 + erf loses far below 0 erfc does not. */
#include <math.h>

#include "gateway/optimise/match.h"
#include "gateway/optimise/pass.h"

static const char *const products[] = {"Mul", "onnx::Mul"};
static const char *const sums[] = {"Add", "AddV2", "onnx::Add"};
static const char *const quotients[] = {"Div", "RealDiv", "onnx::Div"};
static const char *const powers[] = {"Pow", "onnx::Pow"};
static const char *const error_functions[] = {"Erf", "onnx::Erf"};
static const char *const complements[] = {"Erfc"};
static const char *const negations[] = {"Neg", "onnx::Neg"};
static const char *const roots[] = {"Sqrt"};
static const char *const tangents[] = {"Tanh", "onnx::Tanh"};

static bool
is_root_of_two(const Match *match, Endpoint endpoint)
{
    return rewrite_is_number(match->rewrite, endpoint, M_SQRT2) ||
           (MATCH_IS_ANY_OF(match, endpoint, roots) &&
               rewrite_is_number(match->rewrite, match_input(match, endpoint, 0), 2));
}

/* Finds what is divided by √2. */
static bool
take_by_root_of_two(const Match *match, Endpoint endpoint, Endpoint *ret_dividend)
{
    if (MATCH_IS_ANY_OF(match, endpoint, quotients)) {
        *ret_dividend = match_input(match, endpoint, 0);
        return is_root_of_two(match, match_input(match, endpoint, 1));
    }
    return MATCH_IS_ANY_OF(match, endpoint, products) &&
           match_take_number(match, endpoint, M_SQRT1_2, ret_dividend);
}

static bool
is_x_by_root_of_two(const Match *match, Endpoint endpoint)
{
    Endpoint dividend;
    return take_by_root_of_two(match, endpoint, &dividend) && match_is_x(match, dividend);
}

static bool
is_minus_x_by_root_of_two(const Match *match, Endpoint endpoint)
{
    Endpoint dividend;
    if (MATCH_IS_ANY_OF(match, endpoint, negations)) {
        return is_x_by_root_of_two(match, match_input(match, endpoint, 0));
    }
    return take_by_root_of_two(match, endpoint, &dividend) && MATCH_IS_ANY_OF(match, dividend, negations) &&
           match_is_x(match, match_input(match, dividend, 0));
}

/* Matches 0.044715 · x³. */
static bool
is_cubic_term(const Match *match, Endpoint endpoint)
{
    Endpoint cube;
    return MATCH_IS_ANY_OF(match, endpoint, products) &&
           match_take_number(match, endpoint, 0.044715, &cube) && MATCH_IS_ANY_OF(match, cube, powers) &&
           match_is_x(match, match_input(match, cube, 0)) &&
           rewrite_is_number(match->rewrite, match_input(match, cube, 1), 3);
}

static bool
is_tangents_operand(const Match *match, Endpoint endpoint)
{
    Endpoint sum;
    if (!MATCH_IS_ANY_OF(match, endpoint, products) ||
        !match_take_number(match, endpoint, M_2_SQRTPI * M_SQRT1_2, &sum) ||
        !MATCH_IS_ANY_OF(match, sum, sums)) {
        return false;
    }
    Endpoint left = match_input(match, sum, 0);
    Endpoint right = match_input(match, sum, 1);
    return (match_is_x(match, left) && is_cubic_term(match, right)) ||
           (match_is_x(match, right) && is_cubic_term(match, left));
}

/* Returns whether the endpoint is erfc(-x / √2), which is 1 + erf(x / √2), and read by the product alone. */
static bool
is_complement(const Match *match, Endpoint endpoint, uint32_t product)
{
    if (!MATCH_IS_ANY_OF(match, endpoint, complements) || !match_is_private(match, endpoint, product)) {
        return false;
    }
    Endpoint operand = match_input(match, endpoint, 0);
    return match_is_private(match, operand, endpoint.node) && is_minus_x_by_root_of_two(match, operand);
}

/* Returns the attribute "approximate" for 1 + erf(…), what equals it, or 1 + tanh(…), NULL for neither. The
 * inner nodes must have no other readers, such as a gradient, since they would be computed all the same. */
static const char *
find_form(const Match *match, Endpoint endpoint, uint32_t product)
{
    Endpoint function;
    if (is_complement(match, endpoint, product)) {
        return "none";
    }
    if (!MATCH_IS_ANY_OF(match, endpoint, sums) || !match_take_number(match, endpoint, 1, &function) ||
        !match_is_private(match, function, endpoint.node)) {
        return NULL;
    }
    Endpoint operand = match_input(match, function, 0);
    if (operand.node == NODE_NONE || !match_is_private(match, operand, function.node)) {
        return NULL;
    }
    if (MATCH_IS_ANY_OF(match, function, error_functions) && is_x_by_root_of_two(match, operand)) {
        return "none";
    }
    return MATCH_IS_ANY_OF(match, function, tangents) && is_tangents_operand(match, operand) ? "tanh" : NULL;
}

enum { FACTORS = 3 };

/* Finds the factors of a·b·c, however it is bracketed. */
static bool
find_factors(const Match *match, uint32_t id, Endpoint ret_factors[FACTORS])
{
    for (uint32_t index = 0; index < 2; index++) {
        Endpoint inner = rewrite_input(match->rewrite, id, index);
        if (MATCH_IS_ANY_OF(match, inner, products) && match_is_private(match, inner, id)) {
            ret_factors[0] = rewrite_input(match->rewrite, id, 1 - index);
            ret_factors[1] = match_input(match, inner, 0);
            ret_factors[2] = match_input(match, inner, 1);
            return true;
        }
    }
    return false;
}

/* Tests whether the factors of product `id` at these three positions, of an order, are ½, x and the rest. */
static const char *
match_factors(Match *match, uint32_t id, const Endpoint *factors, const int *order)
{
    int half = order[0];
    int rest = order[2];
    match->x = factors[order[1]];
    return rewrite_is_number(match->rewrite, factors[half], 0.5) && factors[rest].node != NODE_NONE
               ? find_form(match, factors[rest], id)
               : NULL;
}

static const char *
find_gelu(Match *match, uint32_t id)
{
    static const int orders[][FACTORS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    Endpoint output = {.node = id};
    Endpoint factors[FACTORS];
    if (!rewrite_is_any_of(match->rewrite, id, products, COUNT_OF(products)) || match->counts[id][0] == 0 ||
        rewrite_dtype(match->rewrite, output) != DTYPE_FLOAT32 || !find_factors(match, id, factors)) {
        return NULL;
    }
    const char *form = NULL;
    for (size_t index = 0; form == NULL && index < COUNT_OF(orders); index++) {
        form = match_factors(match, id, factors, orders[index]);
    }
    return form != NULL && match_keeps_shape(match, id) ? form : NULL;
}

static Status
gelu(Rewrite *rewrite)
{
    uint32_t **counts = NULL;
    TRY(rewrite_count_readers(rewrite, &counts));
    for (uint32_t id = 0; id < rewrite->graph->node_count; id++) {
        Match match = {.rewrite = rewrite, .counts = counts};
        const char *form = find_gelu(&match, id);
        if (form == NULL) {
            continue;
        }
        const Attr attrs[] = {
            {.name = SLICE("approximate"),
                .value = {.kind = ATTR_STRING, .value.s = slice_from_string(form)}},
            {.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_FLOAT32}},
        };
        RewriteOp becomes = {
            .op = "onnx::Gelu", .inputs = &match.x, .input_count = 1, .attrs = attrs, .attr_count = 2};
        TRY(rewrite_replace(rewrite, id, &becomes));
    }
    return STATUS_OK;
}

PASS(gelu, PASS_SIMPLIFY, false);
