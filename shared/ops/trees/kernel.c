/* ai.onnx.ml::TreeEnsembleRegressor, and _Trees, whose lists are constants. A row goes down each tree to a
 * leaf, whose weights are added in double, in the order of trees. */
#include <math.h>

#include "worker/reference/forest.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

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
        output[target] = value + forest->bases[target];
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
run_forest(KernelContext *context, const Forest *forest)
{
    Shape shape;
    AUTO_TENSOR rows = {0};
    AUTO_TENSOR output = {0};
    const Shape *input = &context->inputs[0].shape;
    TRY(output_shapes(context, &shape));
    int64_t features = input->dims[input->rank - 1];
    TRY(forest_check_features(context->call, forest->feature_max, features));
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

static Status
regressor_create(Call *call, const Node *node, void **ret_state)
{
    Forest *forest = NULL;
    TRY(forest_of_attributes(call, node, &forest));
    *ret_state = forest;
    return STATUS_OK;
}

static void
regressor_destroy(void *state)
{
    forest_free(state);
}

static Status
regressor_compute(KernelContext *context)
{
    return run_forest(context, context->state);
}

static Status
trees_compute(KernelContext *context)
{
    AUTO_FOREST forest = NULL;
    Shape shape;
    const Tensor *inputs[TREES_INPUTS];
    TRY(output_shapes(context, &shape));
    for (uint32_t index = 0; index < TREES_INPUTS; index++) {
        inputs[index] = &context->inputs[index];
    }
    TRY(forest_of_tensors(context->call, context->node, inputs, &forest));
    return run_forest(context, forest);
}

static const Kernel trees_kernels[] = {
    {.op = "ai.onnx.ml::TreeEnsembleRegressor",
        .supports = forest_supports,
        .create = regressor_create,
        .destroy = regressor_destroy,
        .compute = regressor_compute,
        .wide_inputs = 1,
        .wide_outputs = 1},
    {.op = "ai.onnx.ml::_Trees",
        .supports = forest_supports,
        .compute = trees_compute,
        .wide_inputs = 1,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, trees, trees_kernels);
