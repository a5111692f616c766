/* ai.onnx.ml::TreeEnsembleRegressor. The attributes' lists are made a table of nodes when the graph is
 * registered, which is a forest then: no node has two parents, and the first of a tree has none. A row goes
 * down each tree to a leaf, whose weights are added in double, in the order of trees. */
#include <math.h>
#include <stdlib.h>

#include "shared/base/memory.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef enum TreeMode {
    MODE_LEQ,
    MODE_LT,
    MODE_GTE,
    MODE_GT,
    MODE_EQ,
    MODE_NEQ,
    MODE_LEAF,
    MODE_COUNT
} TreeMode;

static const char *const mode_names[MODE_COUNT] = {
    "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};

typedef struct TreeNode {
    int64_t tree; /* the ids that the attributes give it */
    int64_t id;
    int64_t feature;
    double value;
    size_t when_true; /* positions of nodes */
    size_t when_false;
    size_t first_weight; /* of a leaf */
    size_t weight_count;
    uint8_t mode;
    bool takes_missing; /* NaN goes where it is true */
    bool has_parent;
    bool is_root;
} TreeNode;

typedef struct TreeWeight {
    size_t node; /* its position */
    int64_t target;
    double weight;
} TreeWeight;

typedef enum TreeAggregate { AGGREGATE_SUM, AGGREGATE_AVERAGE, AGGREGATE_MIN, AGGREGATE_MAX } TreeAggregate;

typedef struct Forest {
    TreeNode *nodes; /* in the order of their ids */
    size_t node_count;
    TreeWeight *weights; /* in the order of their nodes */
    size_t weight_count;
    size_t *roots; /* in the order of trees */
    size_t root_count;
    int64_t targets;
    int64_t feature_max; /* the highest feature that a node asks */

    const AttrValue *bases;
    TreeAggregate aggregate;
} Forest;

static int64_t
list_int(const Node *node, const char *name, size_t index)
{
    return node_attr(node, name)->value.list.items[index].value.i;
}

static double
list_float(const Node *node, const char *name, size_t index)
{
    return (double)node_attr(node, name)->value.list.items[index].value.f;
}

static int
compare_ids(int64_t tree, int64_t id, const TreeNode *node)
{
    if (tree != node->tree) {
        return tree < node->tree ? -1 : 1;
    }
    return id == node->id ? 0 : id < node->id ? -1 : 1;
}

static int
compare_nodes(const void *left, const void *right)
{
    const TreeNode *node = left;
    return compare_ids(node->tree, node->id, right);
}

static int
compare_weights(const void *left, const void *right)
{
    const TreeWeight *one = left;
    const TreeWeight *other = right;
    if (one->node != other->node) {
        return one->node < other->node ? -1 : 1;
    }
    return one->target < other->target ? -1 : one->target > other->target;
}

static Status
find_node(Call *call, const Forest *forest, int64_t tree, int64_t id, size_t *ret_position)
{
    size_t low = 0;
    size_t high = forest->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_ids(tree, id, &forest->nodes[middle]);
        if (order == 0) {
            *ret_position = middle;
            return STATUS_OK;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "tree %lld has no node %lld", (long long)tree, (long long)id);
}

static Status
check_lists(Call *call, const Node *node, const char *const *names, size_t count, size_t expected)
{
    for (size_t index = 0; index < count; index++) {
        if (node_attr_count(node, names[index]) != expected) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' has %zu items, not %zu", names[index],
                node_attr_count(node, names[index]), expected);
        }
    }
    return STATUS_OK;
}

static Status
read_mode(Call *call, const Node *node, size_t index, uint8_t *ret_mode)
{
    Slice name = node_attr(node, "nodes_modes")->value.list.items[index].value.s;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        if (slice_equals_string(name, mode_names[mode])) {
            *ret_mode = (uint8_t)mode;
            return STATUS_OK;
        }
    }
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "there is no mode '%.*s'", SLICE_PRINT(slice_part(name, 0, 64)));
}

/* Reads the nodes; until they are sorted, when_true and when_false are positions in the attributes. */
static Status
read_nodes(Call *call, const Node *node, Forest *forest)
{
    bool has_tracks = node_attr_count(node, "nodes_missing_value_tracks_true") == forest->node_count;
    for (size_t index = 0; index < forest->node_count; index++) {
        TreeNode *one = &forest->nodes[index];
        *one = (TreeNode){.tree = list_int(node, "nodes_treeids", index),
            .id = list_int(node, "nodes_nodeids", index),
            .feature = list_int(node, "nodes_featureids", index),
            .value = list_float(node, "nodes_values", index),
            .when_true = index,
            .takes_missing = has_tracks && list_int(node, "nodes_missing_value_tracks_true", index) != 0,
            .is_root = index == 0 ||
                       list_int(node, "nodes_treeids", index - 1) != list_int(node, "nodes_treeids", index)};
        TRY(read_mode(call, node, index, &one->mode));
        if (one->mode != MODE_LEAF && one->feature < 0) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "feature %lld is negative", (long long)one->feature);
        }
        forest->feature_max =
            one->mode != MODE_LEAF && one->feature > forest->feature_max ? one->feature : forest->feature_max;
    }
    return STATUS_OK;
}

static Status
take_child(Call *call, Forest *forest, int64_t tree, int64_t id, size_t *ret_position)
{
    TRY(find_node(call, forest, tree, id, ret_position));
    TreeNode *child = &forest->nodes[*ret_position];
    if (child->has_parent || child->is_root) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "node %lld of tree %lld has two parents",
            (long long)id, (long long)tree);
    }
    child->has_parent = true;
    return STATUS_OK;
}

static Status
connect_nodes(Call *call, const Node *node, Forest *forest)
{
    qsort(forest->nodes, forest->node_count, sizeof *forest->nodes, compare_nodes);
    for (size_t position = 0; position < forest->node_count; position++) {
        TreeNode *one = &forest->nodes[position];
        size_t index = one->when_true;
        if (position > 0 && compare_nodes(one, one - 1) == 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "tree %lld has two nodes %lld",
                (long long)one->tree, (long long)one->id);
        }
        if (one->is_root) {
            forest->roots[forest->root_count++] = position;
        }
        if (one->mode != MODE_LEAF) {
            TRY(take_child(
                call, forest, one->tree, list_int(node, "nodes_truenodeids", index), &one->when_true));
            TRY(take_child(
                call, forest, one->tree, list_int(node, "nodes_falsenodeids", index), &one->when_false));
        }
    }
    return STATUS_OK;
}

static Status
read_weights(Call *call, const Node *node, Forest *forest)
{
    for (size_t index = 0; index < forest->weight_count; index++) {
        TreeWeight *weight = &forest->weights[index];
        weight->target = list_int(node, "target_ids", index);
        weight->weight = list_float(node, "target_weights", index);
        TRY(find_node(call, forest, list_int(node, "target_treeids", index),
            list_int(node, "target_nodeids", index), &weight->node));
        if (weight->target < 0 || weight->target >= forest->targets) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "target %lld is not 0 to %lld",
                (long long)weight->target, (long long)forest->targets - 1);
        }
    }
    qsort(forest->weights, forest->weight_count, sizeof *forest->weights, compare_weights);
    for (size_t index = 0; index < forest->weight_count; index++) {
        TreeNode *leaf = &forest->nodes[forest->weights[index].node];
        leaf->first_weight = leaf->weight_count == 0 ? index : leaf->first_weight;
        leaf->weight_count++;
    }
    return STATUS_OK;
}

static Status
read_aggregate(Call *call, const Node *node, Forest *forest)
{
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    Slice name = node_attr_string(node, "aggregate_function");
    size_t row = 0;
    while (row < COUNT_OF(names) && !slice_equals_string(name, names[row])) {
        row++;
    }
    if (row == COUNT_OF(names)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no aggregate_function '%.*s'",
            SLICE_PRINT(slice_part(name, 0, 64)));
    }
    forest->aggregate = (TreeAggregate)row;
    forest->bases = node_attr(node, "base_values");
    size_t bases = forest->bases->value.list.count;
    if (bases != 0 && bases != (size_t)forest->targets) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'base_values' has %zu items, not %lld", bases,
            (long long)forest->targets);
    }
    return STATUS_OK;
}

static Status
read_forest(Call *call, const Node *node, Forest *forest)
{
    static const char *const of_nodes[] = {"nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes",
        "nodes_truenodeids", "nodes_falsenodeids"};
    static const char *const of_weights[] = {"target_nodeids", "target_ids", "target_weights"};
    TRY(check_lists(call, node, of_nodes, COUNT_OF(of_nodes), forest->node_count));
    TRY(check_lists(call, node, of_weights, COUNT_OF(of_weights), forest->weight_count));
    TRY(read_nodes(call, node, forest));
    TRY(connect_nodes(call, node, forest));
    TRY(read_weights(call, node, forest));
    return read_aggregate(call, node, forest);
}

static void
forest_free(void *state)
{
    Forest *forest = state;
    if (forest != NULL) {
        memory_free(forest->nodes);
        memory_free(forest->weights);
        memory_free(forest->roots);
        memory_free(forest);
    }
}

static Status
forest_create(Call *call, const Node *node, void **ret_state)
{
    Forest *forest = memory_new(1, sizeof *forest);
    if (forest == NULL) {
        return call_fail_memory(call, "trees");
    }
    forest->node_count = node_attr_count(node, "nodes_treeids");
    forest->weight_count = node_attr_count(node, "target_treeids");
    forest->targets = node_attr_int(node, "n_targets");
    forest->feature_max = -1;
    forest->nodes = memory_new(forest->node_count + 1, sizeof *forest->nodes);
    forest->weights = memory_new(forest->weight_count + 1, sizeof *forest->weights);
    forest->roots = memory_new(forest->node_count + 1, sizeof *forest->roots);
    bool has_memory = forest->nodes != NULL && forest->weights != NULL && forest->roots != NULL;
    Status status = has_memory ? read_forest(call, node, forest) : call_fail_memory(call, "trees");
    if (status != STATUS_OK) {
        forest_free(forest);
        return status;
    }
    *ret_state = forest;
    return STATUS_OK;
}

static bool
is_true(const TreeNode *node, double x)
{
    switch ((TreeMode)node->mode) {
    case MODE_LEQ:
        return x <= node->value;
    case MODE_LT:
        return x < node->value;
    case MODE_GTE:
        return x >= node->value;
    case MODE_GT:
        return x > node->value;
    case MODE_EQ:
        return x == node->value;
    case MODE_NEQ:
        return x != node->value;
    case MODE_LEAF:
    case MODE_COUNT:
        break;
    }
    return false;
}

static const TreeNode *
find_leaf(const Forest *forest, size_t root, const double *row)
{
    const TreeNode *node = &forest->nodes[root];
    while (node->mode != MODE_LEAF) {
        double x = row[node->feature];
        bool goes = is_true(node, x) || (node->takes_missing && isnan(x));
        node = &forest->nodes[goes ? node->when_true : node->when_false];
    }
    return node;
}

typedef struct TreeRun {
    const Forest *forest;
    const double *rows;
    double *output;
    int64_t row_count;
    int64_t features;
} TreeRun;

enum { ROWS_A_PART = 32 };

static double
join(TreeAggregate aggregate, double before, double weight)
{
    switch (aggregate) {
    case AGGREGATE_MIN:
        return weight < before ? weight : before;
    case AGGREGATE_MAX:
        return weight > before ? weight : before;
    case AGGREGATE_SUM:
    case AGGREGATE_AVERAGE:
        break;
    }
    return before + weight;
}

/* A target that no leaf of this row names is 0. */
static void
run_row(const TreeRun *run, int64_t row)
{
    const Forest *forest = run->forest;
    double *output = run->output + row * forest->targets;
    bool is_extreme = forest->aggregate == AGGREGATE_MIN || forest->aggregate == AGGREGATE_MAX;
    for (int64_t target = 0; target < forest->targets; target++) {
        output[target] = is_extreme ? (double)NAN : 0;
    }
    for (size_t tree = 0; tree < forest->root_count; tree++) {
        const TreeNode *leaf = find_leaf(forest, forest->roots[tree], run->rows + row * run->features);
        for (size_t index = 0; index < leaf->weight_count; index++) {
            const TreeWeight *weight = &forest->weights[leaf->first_weight + index];
            double before = output[weight->target];
            output[weight->target] = is_extreme && isnan(before)
                                         ? weight->weight
                                         : join(forest->aggregate, before, weight->weight);
        }
    }
    for (int64_t target = 0; target < forest->targets; target++) {
        double value = isnan(output[target]) && is_extreme ? 0 : output[target];
        value /= forest->aggregate == AGGREGATE_AVERAGE ? (double)forest->root_count : 1;
        const AttrValue *bases = forest->bases;
        output[target] =
            value + (bases->value.list.count == 0 ? 0 : (double)bases->value.list.items[target].value.f);
    }
}

static void
run_part(void *context, int64_t part)
{
    const TreeRun *run = context;
    for (int64_t row = part * ROWS_A_PART; row < run->row_count && row < (part + 1) * ROWS_A_PART; row++) {
        run_row(run, row);
    }
}

static Status
forest_compute(KernelContext *context)
{
    Shape shape;
    AUTO_TENSOR rows = {0};
    AUTO_TENSOR output = {0};
    const Forest *forest = context->state;
    const Shape *input = &context->inputs[0].shape;
    TRY(output_shapes(context, &shape));
    int64_t features = input->dims[input->rank - 1];
    if (forest->feature_max >= features) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "feature %lld is asked of rows of %lld",
            (long long)forest->feature_max, (long long)features);
    }
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &rows));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &output));
    TreeRun run = {.forest = forest,
        .rows = rows.data,
        .output = output.data,
        .row_count = shape.dims[0],
        .features = features};
    context->device->parallel_for(
        context->device, (run.row_count + ROWS_A_PART - 1) / ROWS_A_PART, run_part, &run);
    return scratch_finish(context, 0, &output);
}

static bool
supports_trees(const Node *node)
{
    return (dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0])) &&
           slice_equals_string(node_attr_string(node, "post_transform"), "NONE");
}

static const Kernel trees_kernels[] = {
    {.op = "ai.onnx.ml::TreeEnsembleRegressor",
        .supports = supports_trees,
        .create = forest_create,
        .destroy = forest_free,
        .compute = forest_compute,
        .wide_inputs = 1,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, trees, trees_kernels);
