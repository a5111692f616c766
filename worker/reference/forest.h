/* An ensemble of decision trees as its node describes it, checked and linked: a forest, in which no node has
 * two parents and the first node of a tree has none.
 *
 * A node describes it by lists in its attributes (TreeEnsembleRegressor) or by constants (_Trees), which a
 * model of many trees needs: a list of attributes takes many times the memory of its numbers.
 *
 * Ownership: forest_free() frees what forest_new() and forest_of_attributes() make. It keeps nothing of its
 *            tables.
 * Threads:   any; immutable once made.
 * Errors:    INVALID_ARGUMENT for what is no forest; RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

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

typedef struct TreeNode {
    int64_t tree; /* the ids that its tables give it */
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
    double *bases; /* of the targets; all 0 when none are given */
    int64_t targets;
    int64_t feature_max; /* the highest feature that a node asks; -1: there is none */
    TreeAggregate aggregate;
} Forest;

/* The columns of the tables that describe nodes, and the weights of leaves. */
enum { NODE_TREE, NODE_ID, NODE_FEATURE, NODE_MODE, NODE_TRUE, NODE_FALSE, NODE_MISSING, NODE_COLUMNS };
enum { LEAF_TREE, LEAF_NODE, LEAF_TARGET, LEAF_COLUMNS };

/* A tree's first node in the table is its root. */
typedef struct ForestTables {
    const int64_t *nodes; /* [node_count, NODE_COLUMNS] */
    const double *values; /* what nodes compare with */
    size_t node_count;
    const int64_t *leaves; /* [weight_count, LEAF_COLUMNS] */
    const double *weights;
    size_t weight_count;
    const double *bases;
    size_t base_count; /* 0, or one for each target */
} ForestTables;

/* Makes the forest of tables, and of the attributes n_targets and aggregate_function of the node. */
MUST_USE Status forest_new(Call *call, const Node *node, const ForestTables *tables, Forest **ret_forest);

/* Makes the forest of a TreeEnsembleRegressor. */
MUST_USE Status forest_of_attributes(Call *call, const Node *node, Forest **ret_forest);

/* The inputs of _Trees. */
enum { TREES_X, TREES_NODES, TREES_VALUES, TREES_LEAVES, TREES_WEIGHTS, TREES_BASES, TREES_INPUTS };

/* Makes the forest of a _Trees with these inputs, of which X is not read. */
MUST_USE Status forest_of_tensors(
    Call *call, const Node *node, const Tensor *const *inputs, Forest **ret_forest);

void forest_free(Forest *forest); /* NULL is allowed */

static inline void
forest_freep(Forest **forest)
{
    forest_free(*forest);
}
#define AUTO_FOREST CLEANUP(forest_freep) Forest *

/* Fails unless rows of so many features have the highest one that a forest asks. */
MUST_USE Status forest_check_features(Call *call, int64_t feature_max, int64_t features);

/* Returns whether the node's input can be asked, and what it computes is the plain result. */
bool forest_supports(const Node *node);
