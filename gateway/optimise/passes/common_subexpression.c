/* Keeps one of several nodes that compute the same from the same inputs (TensorFlow's OptimizerCSE). */
#include <assert.h>

#include "gateway/optimise/pass.h"
#include "shared/base/buffer.h"

/* Nodes with the same key, which holds everything but their attributes. */
typedef struct Candidate {
    struct Candidate *next;
    uint32_t node;
} Candidate;

static bool
is_comparable(const RewriteNode *candidate)
{
    const Node *node = &candidate->node;
    return (node->op->flags & (OP_STATEFUL | OP_CONTROL_FLOW)) == 0 && node->control_count == 0 &&
           node->output_count > 0 && node->op->name.data[0] != '_' && !candidate->is_assigned;
}

/* The key has so much of a constant that different ones seldom share it. */
static void
write_constant_key(Buffer *key, const Tensor *value)
{
    enum { SAMPLE_SIZE = 64 };
    size_t size = value->dtype == DTYPE_STRING ? 0 : tensor_byte_size(value);
    buffer_append(key, &value->dtype, sizeof value->dtype);
    buffer_append_uint64(key, size);
    if (tensor_is_absent(value)) {
        buffer_append(key, tensor_digest(value), sizeof(Sha256));
    } else {
        buffer_append(key, value->data, size < SAMPLE_SIZE ? size : SAMPLE_SIZE);
    }
}

static bool
endpoint_is_before(Endpoint left, Endpoint right)
{
    return left.node != right.node ? left.node < right.node : left.port < right.port;
}

/* Addition of strings appends them, so that their order counts. */
static bool
is_commutative(const Node *node)
{
    return (node->op->flags & OP_COMMUTATIVE) != 0 && node->input_count == 2 &&
           node->output_dtypes[0] != DTYPE_STRING;
}

static void
write_inputs_key(Buffer *key, const Rewrite *rewrite, uint32_t id)
{
    const Node *node = rewrite_node(rewrite, id);
    Endpoint first = rewrite_input(rewrite, id, 0);
    Endpoint second = rewrite_input(rewrite, id, 1);
    uint32_t written = 0;
    if (is_commutative(node)) {
        bool is_swapped = endpoint_is_before(second, first);
        buffer_append(key, is_swapped ? &second : &first, sizeof first);
        buffer_append(key, is_swapped ? &first : &second, sizeof first);
        written = 2;
    }
    for (uint32_t index = written; index < node->input_count; index++) {
        Endpoint input = rewrite_input(rewrite, id, index);
        buffer_append(key, &input, sizeof input);
    }
}

static void
write_key(Buffer *key, const Rewrite *rewrite, uint32_t id)
{
    const Node *node = rewrite_node(rewrite, id);
    buffer_clear(key);
    buffer_append(key, &node->op, sizeof(const Op *));
    buffer_append_slice(key, node->def->device);
    buffer_append_byte(key, '\0');
    if (rewrite_is(rewrite, id, "Const")) {
        write_constant_key(key, node_attr_tensor(node, "value"));
    }
    write_inputs_key(key, rewrite, id);
}

static bool
has_equal_attrs(const Node *left, const Node *right)
{
    assert(left->op == right->op);

    if (left->attr_count != right->attr_count) {
        return false;
    }
    for (size_t index = 0; index < left->attr_count; index++) {
        if (!slice_equal(left->attrs[index].name, right->attrs[index].name) ||
            !attr_value_equal(&left->attrs[index].value, &right->attrs[index].value)) {
            return false;
        }
    }
    return true;
}

/* Compares with a limited number of candidates, so that a graph of constants that begin alike does not
 * take quadratic time. */
static const Candidate *
find_equal(const Rewrite *rewrite, const Candidate *first, uint32_t id)
{
    enum { CANDIDATES_MAX = 64 };
    const Candidate *candidate = first;
    for (int left = CANDIDATES_MAX; candidate != NULL && left > 0; left--) {
        if (has_equal_attrs(rewrite_node(rewrite, candidate->node), rewrite_node(rewrite, id))) {
            return candidate;
        }
        candidate = candidate->next;
    }
    return NULL;
}

static void
redirect_outputs(Rewrite *rewrite, uint32_t from, uint32_t to)
{
    assert(
        from != to && rewrite_node(rewrite, from)->output_count == rewrite_node(rewrite, to)->output_count);

    for (uint32_t port = 0; port < rewrite_node(rewrite, from)->output_count; port++) {
        Endpoint output = {.node = from, .port = port};
        if (rewrite_resolve(rewrite, output).node == from) {
            rewrite_redirect(rewrite, output, (Endpoint){.node = to, .port = port});
        }
    }
}

static Status
merge_or_keep(Rewrite *rewrite, Map *candidates, Slice key, uint32_t id)
{
    Candidate *first = map_get(candidates, key);
    const Candidate *equal = find_equal(rewrite, first, id);
    if (equal != NULL && rewrite_may_give_way(rewrite, id, (Endpoint){.node = equal->node})) {
        redirect_outputs(rewrite, id, equal->node);
        return STATUS_OK;
    }
    Candidate *candidate = arena_alloc(rewrite->call->arena, sizeof *candidate);
    if (candidate == NULL) {
        return rewrite_no_memory(rewrite);
    }
    *candidate = (Candidate){.next = first, .node = id};
    return map_put(candidates, key, candidate) ? STATUS_OK : rewrite_no_memory(rewrite);
}

static Status
common_subexpression(Rewrite *rewrite)
{
    AUTO_MAP candidates = map_new();
    AUTO_BUFFER key = {0};
    if (candidates == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t position = 0; position < rewrite->graph->node_count; position++) {
        uint32_t id = rewrite->graph->order[position];
        if (!is_comparable(rewrite->nodes[id]) ||
            rewrite_resolve(rewrite, (Endpoint){.node = id}).node != id) {
            continue;
        }
        write_key(&key, rewrite, id);
        if (!buffer_is_ok(&key)) {
            return rewrite_no_memory(rewrite);
        }
        TRY(merge_or_keep(rewrite, candidates, buffer_slice(&key), id));
    }
    return STATUS_OK;
}

PASS(common_subexpression, PASS_SIMPLIFY, true);
