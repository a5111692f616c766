#include "worker/reference/forest.h"

#include <stdlib.h>

#include "shared/base/memory.h"
#include "worker/reference/cast.h"

static const char *const mode_names[MODE_COUNT] = {
    "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};

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

/* Reads the nodes; until they are sorted, when_true is their position in the tables. */
static Status
read_nodes(Call *call, const ForestTables *tables, Forest *forest)
{
    for (size_t index = 0; index < forest->node_count; index++) {
        const int64_t *row = tables->nodes + index * NODE_COLUMNS;
        TreeNode *one = &forest->nodes[index];
        if (row[NODE_MODE] < 0 || row[NODE_MODE] >= MODE_COUNT) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "there is no mode %lld", (long long)row[NODE_MODE]);
        }
        *one = (TreeNode){.tree = row[NODE_TREE],
            .id = row[NODE_ID],
            .feature = row[NODE_FEATURE],
            .value = tables->values[index],
            .when_true = index,
            .mode = (uint8_t)row[NODE_MODE],
            .takes_missing = row[NODE_MISSING] != 0,
            .is_root = index == 0 || row[NODE_TREE - NODE_COLUMNS] != row[NODE_TREE]};
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
connect_nodes(Call *call, const ForestTables *tables, Forest *forest)
{
    qsort(forest->nodes, forest->node_count, sizeof *forest->nodes, compare_nodes);
    for (size_t position = 0; position < forest->node_count; position++) {
        TreeNode *one = &forest->nodes[position];
        const int64_t *row = tables->nodes + one->when_true * NODE_COLUMNS;
        if (position > 0 && compare_nodes(one, one - 1) == 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "tree %lld has two nodes %lld",
                (long long)one->tree, (long long)one->id);
        }
        if (one->is_root) {
            forest->roots[forest->root_count++] = position;
        }
        if (one->mode != MODE_LEAF) {
            TRY(take_child(call, forest, one->tree, row[NODE_TRUE], &one->when_true));
            TRY(take_child(call, forest, one->tree, row[NODE_FALSE], &one->when_false));
        }
    }
    return STATUS_OK;
}

static Status
read_weights(Call *call, const ForestTables *tables, Forest *forest)
{
    for (size_t index = 0; index < forest->weight_count; index++) {
        const int64_t *row = tables->leaves + index * LEAF_COLUMNS;
        TreeWeight *weight = &forest->weights[index];
        *weight = (TreeWeight){.target = row[LEAF_TARGET], .weight = tables->weights[index]};
        TRY(find_node(call, forest, row[LEAF_TREE], row[LEAF_NODE], &weight->node));
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
read_aggregate(Call *call, const Node *node, const ForestTables *tables, Forest *forest)
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
    if (tables->base_count != 0 && tables->base_count != (size_t)forest->targets) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'base_values' has %zu items, not %lld",
            tables->base_count, (long long)forest->targets);
    }
    for (size_t target = 0; target < tables->base_count; target++) {
        forest->bases[target] = tables->bases[target];
    }
    return STATUS_OK;
}

void
forest_free(Forest *forest)
{
    if (forest != NULL) {
        memory_free(forest->nodes);
        memory_free(forest->weights);
        memory_free(forest->roots);
        memory_free(forest->bases);
        memory_free(forest);
    }
}

Status
forest_new(Call *call, const Node *node, const ForestTables *tables, Forest **ret_forest)
{
    AUTO_FOREST forest = memory_new(1, sizeof *forest);
    if (forest == NULL) {
        return call_fail_memory(call, "trees");
    }
    forest->node_count = tables->node_count;
    forest->weight_count = tables->weight_count;
    forest->targets = node_attr_int(node, "n_targets");
    forest->feature_max = -1;
    forest->nodes = memory_new(forest->node_count + 1, sizeof *forest->nodes);
    forest->weights = memory_new(forest->weight_count + 1, sizeof *forest->weights);
    forest->roots = memory_new(forest->node_count + 1, sizeof *forest->roots);
    forest->bases = memory_new((size_t)forest->targets, sizeof *forest->bases);
    if (forest->nodes == NULL || forest->weights == NULL || forest->roots == NULL || forest->bases == NULL) {
        return call_fail_memory(call, "trees");
    }
    TRY(read_nodes(call, tables, forest));
    TRY(connect_nodes(call, tables, forest));
    TRY(read_weights(call, tables, forest));
    TRY(read_aggregate(call, node, tables, forest));
    *ret_forest = TAKE(forest);
    return STATUS_OK;
}

Status
forest_check_features(Call *call, int64_t feature_max, int64_t features)
{
    if (feature_max < features) {
        return STATUS_OK;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "feature %lld is asked of rows of %lld",
        (long long)feature_max, (long long)features);
}

bool
forest_supports(const Node *node)
{
    Dtype rows = node->input_dtypes[0];
    bool has_tables = node->input_count == TREES_INPUTS;
    bool is_plain = has_tables || slice_equals_string(node_attr_string(node, "post_transform"), "NONE");
    Dtype numbers = has_tables ? node->input_dtypes[TREES_VALUES] : DTYPE_FLOAT32;
    return is_plain && (dtype_is_floating(rows) || dtype_is_integer(rows)) &&
           (numbers == DTYPE_FLOAT32 || numbers == DTYPE_FLOAT64);
}

/* The memory of tables that are copied before a forest is made of them. */
typedef struct Copies {
    int64_t *nodes;
    double *values;
    int64_t *leaves;
    double *weights;
    double *bases;
} Copies;

static void
copies_done(Copies *copies)
{
    memory_free(copies->nodes);
    memory_free(copies->values);
    memory_free(copies->leaves);
    memory_free(copies->weights);
    memory_free(copies->bases);
}

static Status
copies_new(Call *call, const ForestTables *sizes, Copies *copies)
{
    copies->nodes = memory_new(sizes->node_count * NODE_COLUMNS + 1, sizeof *copies->nodes);
    copies->values = memory_new(sizes->node_count + 1, sizeof *copies->values);
    copies->leaves = memory_new(sizes->weight_count * LEAF_COLUMNS + 1, sizeof *copies->leaves);
    copies->weights = memory_new(sizes->weight_count + 1, sizeof *copies->weights);
    copies->bases = memory_new(sizes->base_count + 1, sizeof *copies->bases);
    bool has_memory = copies->nodes != NULL && copies->values != NULL && copies->leaves != NULL &&
                      copies->weights != NULL && copies->bases != NULL;
    return has_memory ? STATUS_OK : call_fail_memory(call, "trees");
}

/* Makes the forest of copied tables, whose sizes are those of `sizes`. */
static Status
forest_of_copies(
    Call *call, const Node *node, const Copies *copies, const ForestTables *sizes, Forest **ret_forest)
{
    ForestTables tables = *sizes;
    tables.nodes = copies->nodes;
    tables.values = copies->values;
    tables.leaves = copies->leaves;
    tables.weights = copies->weights;
    tables.bases = copies->bases;
    return forest_new(call, node, &tables, ret_forest);
}

/* The attribute that a column of a table is copied from. */
typedef struct Column {
    const char *attribute;
    int column;
    bool is_optional; /* all are 0 in a list of another length */
} Column;

static const Column node_columns[] = {
    {"nodes_treeids", NODE_TREE, false},
    {"nodes_nodeids", NODE_ID, false},
    {"nodes_featureids", NODE_FEATURE, false},
    {"nodes_truenodeids", NODE_TRUE, false},
    {"nodes_falsenodeids", NODE_FALSE, false},
    {"nodes_missing_value_tracks_true", NODE_MISSING, true},
};
static const Column leaf_columns[] = {
    {"target_treeids", LEAF_TREE, false},
    {"target_nodeids", LEAF_NODE, false},
    {"target_ids", LEAF_TARGET, false},
};

static Status
check_length(Call *call, const Node *node, const char *name, size_t expected)
{
    size_t count = node_attr_count(node, name);
    return count == expected ? STATUS_OK
                             : call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' has %zu items, not %zu", name,
                                   count, expected);
}

/* A table that columns are copied to. */
typedef struct Table {
    const Column *columns;
    size_t column_count;
    size_t width;
    size_t rows;
    int64_t *cells;
} Table;

static Status
copy_columns(Call *call, const Node *node, const Table *table)
{
    for (size_t index = 0; index < table->column_count; index++) {
        const Column *column = &table->columns[index];
        if (column->is_optional && node_attr_count(node, column->attribute) != table->rows) {
            continue;
        }
        TRY(check_length(call, node, column->attribute, table->rows));
        const AttrValue *list = node_attr(node, column->attribute);
        for (size_t row = 0; row < table->rows; row++) {
            table->cells[row * table->width + (size_t)column->column] = list->value.list.items[row].value.i;
        }
    }
    return STATUS_OK;
}

static Status
copy_floats(Call *call, const Node *node, const char *name, size_t expected, double *copy)
{
    TRY(check_length(call, node, name, expected));
    for (size_t index = 0; index < expected; index++) {
        copy[index] = (double)node_attr(node, name)->value.list.items[index].value.f;
    }
    return STATUS_OK;
}

static Status
copy_modes(Call *call, const Node *node, size_t expected, int64_t *table)
{
    TRY(check_length(call, node, "nodes_modes", expected));
    for (size_t index = 0; index < expected; index++) {
        Slice name = node_attr(node, "nodes_modes")->value.list.items[index].value.s;
        int mode = 0;
        while (mode < MODE_COUNT && !slice_equals_string(name, mode_names[mode])) {
            mode++;
        }
        if (mode == MODE_COUNT) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no mode '%.*s'",
                SLICE_PRINT(slice_part(name, 0, 64)));
        }
        table[index * NODE_COLUMNS + NODE_MODE] = mode;
    }
    return STATUS_OK;
}

Status
forest_of_attributes(Call *call, const Node *node, Forest **ret_forest)
{
    CLEANUP(copies_done) Copies copies = {0};
    ForestTables sizes = {.node_count = node_attr_count(node, "nodes_treeids"),
        .weight_count = node_attr_count(node, "target_treeids"),
        .base_count = node_attr_count(node, "base_values")};
    TRY(copies_new(call, &sizes, &copies));
    Table nodes = {node_columns, COUNT_OF(node_columns), NODE_COLUMNS, sizes.node_count, copies.nodes};
    Table leaves = {leaf_columns, COUNT_OF(leaf_columns), LEAF_COLUMNS, sizes.weight_count, copies.leaves};
    TRY(copy_columns(call, node, &nodes));
    TRY(copy_floats(call, node, "nodes_values", sizes.node_count, copies.values));
    TRY(copy_modes(call, node, sizes.node_count, copies.nodes));
    TRY(copy_columns(call, node, &leaves));
    TRY(copy_floats(call, node, "target_weights", sizes.weight_count, copies.weights));
    TRY(copy_floats(call, node, "base_values", sizes.base_count, copies.bases));
    return forest_of_copies(call, node, &copies, &sizes, ret_forest);
}

static void
copy_tensor(const Tensor *tensor, Dtype dtype, void *copy)
{
    cast_elements(tensor->dtype, tensor->data, dtype, copy, tensor_element_count(tensor));
}

/* The rule of the op has checked the tensors' shapes. */
Status
forest_of_tensors(Call *call, const Node *node, const Tensor *const *inputs, Forest **ret_forest)
{
    CLEANUP(copies_done) Copies copies = {0};
    ForestTables sizes = {.node_count = (size_t)tensor_element_count(inputs[TREES_VALUES]),
        .weight_count = (size_t)tensor_element_count(inputs[TREES_WEIGHTS]),
        .base_count = (size_t)tensor_element_count(inputs[TREES_BASES])};
    TRY(copies_new(call, &sizes, &copies));
    copy_tensor(inputs[TREES_NODES], DTYPE_INT64, copies.nodes);
    copy_tensor(inputs[TREES_VALUES], DTYPE_FLOAT64, copies.values);
    copy_tensor(inputs[TREES_LEAVES], DTYPE_INT64, copies.leaves);
    copy_tensor(inputs[TREES_WEIGHTS], DTYPE_FLOAT64, copies.weights);
    copy_tensor(inputs[TREES_BASES], DTYPE_FLOAT64, copies.bases);
    return forest_of_copies(call, node, &copies, &sizes, ret_forest);
}
