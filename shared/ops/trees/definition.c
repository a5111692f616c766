/* Ensembles of decision trees, and the names of classes (ai.onnx.ml). */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_trees(Call *call, InferContext *context)
{
    int64_t targets = node_attr_int(context->node, "n_targets");
    Shape rows = context->inputs[0];
    if (rows.rank < 0) {
        return STATUS_OK;
    }
    if (rows.rank != 1 && rows.rank != 2) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "an input of rank %d is no rows of features", rows.rank);
    }
    context->outputs[0] = (Shape){.rank = 2, .dims = {rows.rank == 1 ? 1 : rows.dims[0], targets}};
    return infer_check_size(call, &context->outputs[0]);
}

/* Fails unless a table has so many columns and, unless that is unknown, as many rows as there are numbers. */
static Status
check_table(Call *call, const Shape *table, const Shape *numbers, int64_t columns, const char *what)
{
    if (table->rank < 0 || numbers->rank < 0) {
        return STATUS_OK;
    }
    bool fits = table->rank == 2 && numbers->rank == 1 && (table->dims[1] == columns || table->dims[1] < 0) &&
                (table->dims[0] == numbers->dims[0] || table->dims[0] < 0 || numbers->dims[0] < 0);
    char text[2][SHAPE_TEXT_SIZE];
    return fits ? STATUS_OK
                : call_fail(call, STATUS_INVALID_ARGUMENT,
                      "%s of shape %s with numbers of shape %s are no table of %lld columns", what,
                      shape_text(table, text[0]), shape_text(numbers, text[1]), (long long)columns);
}

/* The tables of a _Trees: a row of nodes is (tree, id, feature, mode, true id, false id, whether NaN goes
 * where it is true), one of leaves is (tree, node, target). Modes are numbered as in ONNX's TreeEnsemble, and
 * 6 is a leaf. */
static Status
infer_tables(Call *call, InferContext *context)
{
    enum { NODES = 1, VALUES, LEAVES, WEIGHTS, BASES, NODE_COLUMNS = 7, LEAF_COLUMNS = 3 };
    const Shape *inputs = context->inputs;
    TRY(check_table(call, &inputs[NODES], &inputs[VALUES], NODE_COLUMNS, "nodes"));
    TRY(check_table(call, &inputs[LEAVES], &inputs[WEIGHTS], LEAF_COLUMNS, "leaves"));
    if (inputs[BASES].rank >= 0 && inputs[BASES].rank != 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "bases have rank %d, not 1", inputs[BASES].rank);
    }
    return infer_trees(call, context);
}

static const OpDefinition trees_ops[] = {
    OP("ai.onnx.ml::TreeEnsembleRegressor(X:T)->(Y:float) {aggregate_function:string=SUM, "
       "base_values:list(float)=[], n_targets:int>=1, nodes_falsenodeids:list(int)=[], "
       "nodes_featureids:list(int)=[], nodes_hitrates:list(float)=[], "
       "nodes_missing_value_tracks_true:list(int)=[], nodes_modes:list(string)=[], "
       "nodes_nodeids:list(int)=[], nodes_treeids:list(int)=[], nodes_truenodeids:list(int)=[], "
       "nodes_values:list(float)=[], post_transform:string=NONE, target_ids:list(int)=[], "
       "target_nodeids:list(int)=[], target_treeids:list(int)=[], target_weights:list(float)=[], T:type}",
        0, infer_trees),
    OP("ai.onnx.ml::_Trees(X:T, nodes:int32, values:V, leaves:int32, weights:V, bases:V)->(Y:float) "
       "{aggregate_function:string=SUM, n_targets:int>=1, T:type, V:type}",
        0, infer_tables),
    OP("ai.onnx.ml::_ClassNames(positions:T)->(labels:string) {names:list(string), T:type}", 0,
        infer_unchanged),
};

OP_FAMILY(trees, trees_ops);
