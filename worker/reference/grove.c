#include "worker/reference/grove.h"

#include <math.h>

#include "shared/base/memory.h"

enum { GREATEST, LEAST }; /* the places of NaN */

/* A node that waits for its place. */
typedef struct Waiting {
    const TreeNode *node;
    uint32_t *ways[2]; /* that lead to it; the second one may be the first */
} Waiting;

typedef struct Layout {
    const Forest *forest;
    Grove *grove;
    WideSplit *splits;
    Waiting *stack;
    size_t waiting;
    bool is_wide;
} Layout;

/* The least and the greatest key, which only NaN has. */
typedef struct KeyRange {
    int64_t least;
    int64_t greatest;
} KeyRange;

static KeyRange
key_range(const Layout *layout)
{
    return layout->is_wide ? (KeyRange){INT64_MIN, INT64_MAX} : (KeyRange){INT32_MIN, INT32_MAX};
}

static int64_t
key_of(const Layout *layout, double value, int64_t nan)
{
    return layout->is_wide ? grove_wide_key(value, nan) : (int64_t)grove_key((float)value, (int32_t)nan);
}

static void
wait_for_place(Layout *layout, size_t node, uint32_t *way, uint32_t *other_way)
{
    Waiting *waiting = &layout->stack[layout->waiting++];
    waiting->node = &layout->forest->nodes[node];
    waiting->ways[0] = way;
    waiting->ways[1] = other_way;
}

static WideSplit *
add_split(Layout *layout, int64_t key, int64_t feature, int place)
{
    WideSplit *split = &layout->splits[layout->grove->split_count++];
    *split = (WideSplit){.key = key, .column = (uint32_t)((feature * GROVE_PLACES + place) * GROVE_LANES)};
    return split;
}

/* x <= v holds unless x is greater than v, and x >= v when x is greater than the number before v. A
 * comparison with NaN is false, which no key of a number is: one below or above all of them decides. */
static void
add_order(Layout *layout, const TreeNode *node)
{
    KeyRange range = key_range(layout);
    bool is_greater = node->mode == MODE_GT || node->mode == MODE_GTE;
    bool counts_before = node->mode == MODE_LT || node->mode == MODE_GTE;
    int64_t key = is_greater ? range.greatest - 1 : range.least;
    if (!isnan(node->value)) {
        key = key_of(layout, node->value, 0) - (counts_before ? 1 : 0);
    }
    /* NaN is greater exactly if that is the way it goes. */
    WideSplit *split =
        add_split(layout, key, node->feature, is_greater == node->takes_missing ? GREATEST : LEAST);
    uint32_t *when_true = &split->next[is_greater ? 1 : 0];
    uint32_t *when_false = &split->next[is_greater ? 0 : 1];
    wait_for_place(layout, node->when_false, when_false, when_false);
    wait_for_place(layout, node->when_true, when_true, when_true);
}

/* x == v holds when x is not greater than v, but greater than the number before it. NaN is unequal to all. */
static void
add_equality(Layout *layout, const TreeNode *node)
{
    KeyRange range = key_range(layout);
    bool is_unequal = node->mode == MODE_NEQ;
    bool is_nan = isnan(node->value);
    int64_t key = is_nan ? range.least : key_of(layout, node->value, 0);
    bool takes_missing = node->takes_missing && !is_unequal;
    WideSplit *above = add_split(layout, key, node->feature, takes_missing ? LEAST : GREATEST);
    WideSplit *below = add_split(layout, is_nan ? key : key - 1, node->feature, GREATEST);
    above->next[0] = layout->grove->split_count - 1;
    wait_for_place(layout, is_unequal ? node->when_true : node->when_false, &above->next[1], &below->next[0]);
    wait_for_place(layout, is_unequal ? node->when_false : node->when_true, &below->next[1], &below->next[1]);
}

static void
add_leaf(Layout *layout, const TreeNode *node)
{
    Grove *grove = layout->grove;
    WideSplit *split = add_split(layout, grove->leaf_count, 0, GREATEST);
    split->next[0] = split->next[1] = grove->split_count - 1;
    uint32_t weight = grove->first_weights[grove->leaf_count++];
    for (size_t index = 0; index < node->weight_count; index++, weight++) {
        const TreeWeight *given = &layout->forest->weights[node->first_weight + index];
        grove->targets[weight] = (int32_t)given->target;
        grove->weights[weight] = given->weight;
    }
    grove->first_weights[grove->leaf_count] = weight;
}

static void
lay_tree(Layout *layout, size_t root)
{
    Grove *grove = layout->grove;
    uint32_t *way = &grove->roots[grove->root_count++];
    wait_for_place(layout, root, way, way);
    while (layout->waiting > 0) {
        Waiting waiting = layout->stack[--layout->waiting];
        const TreeNode *node = waiting.node;
        *waiting.ways[0] = *waiting.ways[1] = grove->split_count;
        if (node->mode == MODE_LEAF) {
            add_leaf(layout, node);
        } else if (node->mode == MODE_EQ || node->mode == MODE_NEQ) {
            add_equality(layout, node);
        } else {
            add_order(layout, node);
        }
    }
}

/* Makes room for as many nodes as there may be: an equality takes two. */
static Status
make_room(Call *call, const Forest *forest, Layout *layout)
{
    Grove *grove = layout->grove;
    size_t nodes = forest->node_count;
    if (nodes > INT32_MAX / 2 || forest->weight_count > INT32_MAX || forest->targets > INT32_MAX ||
        forest->feature_max >= UINT32_MAX / (GROVE_LANES * GROVE_PLACES)) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "%zu nodes with %zu weights, of %lld targets and %lld features, are too many trees", nodes,
            forest->weight_count, (long long)forest->targets, (long long)forest->feature_max + 1);
    }
    layout->splits = memory_new(2 * nodes + 1, sizeof *layout->splits);
    layout->stack = memory_new(nodes + 2, sizeof *layout->stack);
    grove->roots = memory_new(forest->root_count + 1, sizeof *grove->roots);
    grove->first_weights = memory_new(nodes + 1, sizeof *grove->first_weights);
    grove->targets = memory_new(forest->weight_count + 1, sizeof *grove->targets);
    grove->weights = memory_new(forest->weight_count + 1, sizeof *grove->weights);
    grove->bases = memory_new((size_t)forest->targets, sizeof *grove->bases);
    bool has_memory = layout->splits != NULL && layout->stack != NULL && grove->roots != NULL &&
                      grove->first_weights != NULL && grove->targets != NULL && grove->weights != NULL &&
                      grove->bases != NULL;
    return has_memory ? STATUS_OK : call_fail_memory(call, "trees");
}

/* Gives the grove its nodes, with keys of its width. */
static Status
take_splits(Call *call, Layout *layout)
{
    Grove *grove = layout->grove;
    if (layout->is_wide) {
        grove->wide = TAKE(layout->splits);
        return STATUS_OK;
    }
    grove->splits = memory_new((size_t)grove->split_count + 1, sizeof *grove->splits);
    if (grove->splits == NULL) {
        return call_fail_memory(call, "trees");
    }
    for (uint32_t index = 0; index < grove->split_count; index++) {
        const WideSplit *split = &layout->splits[index];
        grove->splits[index] = (Split){
            .key = (int32_t)split->key, .column = split->column, .next = {split->next[0], split->next[1]}};
    }
    return STATUS_OK;
}

static Status
lay_forest(Call *call, const Forest *forest, Layout *layout)
{
    Grove *grove = layout->grove;
    TRY(make_room(call, forest, layout));
    for (size_t tree = 0; tree < forest->root_count; tree++) {
        lay_tree(layout, forest->roots[tree]);
    }
    for (int64_t target = 0; target < forest->targets; target++) {
        grove->bases[target] = forest->bases[target];
    }
    grove->target_count = forest->targets;
    grove->feature_max = forest->feature_max;
    grove->aggregate = forest->aggregate;
    return take_splits(call, layout);
}

Status
grove_new(Call *call, const Forest *forest, bool is_wide, Grove **ret_grove)
{
    Layout layout = {.forest = forest, .is_wide = is_wide, .grove = memory_new(1, sizeof *layout.grove)};
    Status status =
        layout.grove == NULL ? call_fail_memory(call, "trees") : lay_forest(call, forest, &layout);
    memory_free(layout.splits);
    memory_free(layout.stack);
    if (status != STATUS_OK) {
        grove_free(layout.grove);
        return status;
    }
    *ret_grove = layout.grove;
    return STATUS_OK;
}

void
grove_free(Grove *grove)
{
    if (grove != NULL) {
        memory_free(grove->splits);
        memory_free(grove->wide);
        memory_free(grove->roots);
        memory_free(grove->first_weights);
        memory_free(grove->targets);
        memory_free(grove->weights);
        memory_free(grove->bases);
        memory_free(grove);
    }
}
