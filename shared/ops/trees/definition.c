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

static const OpDefinition trees_ops[] = {
    OP("ai.onnx.ml::TreeEnsembleRegressor(X:T)->(Y:float) {aggregate_function:string=SUM, "
       "base_values:list(float)=[], n_targets:int>=1, nodes_falsenodeids:list(int)=[], "
       "nodes_featureids:list(int)=[], nodes_hitrates:list(float)=[], "
       "nodes_missing_value_tracks_true:list(int)=[], nodes_modes:list(string)=[], "
       "nodes_nodeids:list(int)=[], nodes_treeids:list(int)=[], nodes_truenodeids:list(int)=[], "
       "nodes_values:list(float)=[], post_transform:string=NONE, target_ids:list(int)=[], "
       "target_nodeids:list(int)=[], target_treeids:list(int)=[], target_weights:list(float)=[], T:type}",
        0, infer_trees),
    OP("ai.onnx.ml::_ClassNames(positions:T)->(labels:string) {names:list(string), T:type}", 0,
        infer_unchanged),
};

OP_FAMILY(trees, trees_ops);
