/* Removes transposes that undo each other, or do nothing. */
#include <assert.h>

#include "gateway/optimise/pass.h"

typedef struct Permutation {
    int rank; /* -1 when it is not known */
    int64_t axes[SHAPE_RANK_MAX];
} Permutation;

static bool
read_values(const Tensor *values, Permutation *ret_permutation)
{
    int64_t count = values == NULL ? -1 : tensor_element_count(values);
    if (count < 0 || count > SHAPE_RANK_MAX) {
        return false;
    }
    ret_permutation->rank = (int)count;
    for (int64_t index = 0; index < count; index++) {
        int64_t *axis = &ret_permutation->axes[index];
        if (!tensor_to_int64(values, index, axis)) {
            return false;
        }
        *axis += *axis < 0 ? count : 0;
        if (*axis < 0 || *axis >= count) {
            return false;
        }
    }
    return true;
}

/* ONNX reverses all axes when the attribute is missing; such a node is left alone. */
static bool
read_attribute(const Node *node, Permutation *ret_permutation)
{
    ret_permutation->rank = (int)node_attr_ints(node, "perm", ret_permutation->axes, SHAPE_RANK_MAX);
    return ret_permutation->rank > 0 && ret_permutation->rank <= SHAPE_RANK_MAX;
}

static bool
read_permutation(const Rewrite *rewrite, uint32_t id, Permutation *ret_permutation)
{
    if (rewrite_is(rewrite, id, "Transpose")) {
        return read_values(rewrite_constant(rewrite, rewrite_input(rewrite, id, 1)), ret_permutation);
    }
    return rewrite_is(rewrite, id, "onnx::Transpose") &&
           read_attribute(rewrite_node(rewrite, id), ret_permutation);
}

static bool
is_identity(const Permutation *permutation)
{
    for (int index = 0; index < permutation->rank; index++) {
        if (permutation->axes[index] != index) {
            return false;
        }
    }
    return true;
}

/* Axis i of the outer output is axis outer[i] of the inner output, which is axis inner[outer[i]] of the
 * input. */
static Permutation
compose_permutations(const Permutation *inner, const Permutation *outer)
{
    assert(inner->rank == outer->rank);

    Permutation result = {.rank = outer->rank};
    for (int index = 0; index < outer->rank; index++) {
        result.axes[index] = inner->axes[outer->axes[index]];
    }
    return result;
}

/* Finds an endpoint with the axes of the node's output. Returns false when the node really transposes. */
static bool
find_untransposed(const Rewrite *rewrite, uint32_t id, Endpoint *ret_endpoint)
{
    Permutation outer;
    Permutation inner;
    if (!read_permutation(rewrite, id, &outer)) {
        return false;
    }
    Endpoint input = rewrite_input(rewrite, id, 0);
    if (is_identity(&outer)) {
        *ret_endpoint = input;
        return true;
    }
    if (!read_permutation(rewrite, input.node, &inner) || inner.rank != outer.rank ||
        rewrite_node(rewrite, input.node)->control_count > 0 || !rewrite_rests_on(rewrite, input.node, 0)) {
        return false;
    }
    Permutation both = compose_permutations(&inner, &outer);
    *ret_endpoint = rewrite_input(rewrite, input.node, 0);
    return is_identity(&both);
}

static Status
transpose(Rewrite *rewrite)
{
    for (uint32_t position = 0; position < rewrite->graph->node_count; position++) {
        uint32_t id = rewrite->graph->order[position];
        Endpoint output = {.node = id};
        Endpoint untransposed;
        if (find_untransposed(rewrite, id, &untransposed) && rewrite_resolve(rewrite, output).node == id &&
            rewrite_rests_on(rewrite, id, 0) && rewrite_may_give_way(rewrite, id, untransposed)) {
            rewrite_redirect(rewrite, output, untransposed);
        }
    }
    return STATUS_OK;
}

PASS(transpose, PASS_SIMPLIFY, true);
