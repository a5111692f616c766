/* Losses of classifiers with their gradients, and the accuracy of predictions. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Features and labels broadcast to [batch, classes]. */
static Status
infer_cross_entropy(Call *call, InferContext *context)
{
    Shape merged;
    if (!shape_broadcast(&context->inputs[0], &context->inputs[1], &merged) ||
        (merged.rank >= 0 && merged.rank != 2)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "features of shape %s and labels of shape %s are no "
            "[batch,classes]",
            shape_text(&context->inputs[0], left), shape_text(&context->inputs[1], right));
    }
    merged = merged.rank < 0 ? shape_of_rank(2) : merged;
    context->outputs[0] = shape_vector(merged.dims[0]);
    context->outputs[1] = merged;
    return STATUS_OK;
}

static Status
infer_sparse_cross_entropy(Call *call, InferContext *context)
{
    Shape features;
    Shape labels;
    TRY(infer_rank(call, context, 0, 2, &features));
    TRY(infer_rank(call, context, 1, 1, &labels));
    TRY(infer_equal(call, features.dims[0], labels.dims[0], "the batch", &features.dims[0]));
    if (features.dims[1] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "there must be at least one class");
    }
    context->outputs[0] = shape_vector(features.dims[0]);
    context->outputs[1] = features;
    return STATUS_OK;
}

static Status
infer_in_top_k(Call *call, InferContext *context)
{
    Shape predictions;
    Shape targets;
    TRY(infer_rank(call, context, 0, 2, &predictions));
    TRY(infer_rank(call, context, 1, 1, &targets));
    TRY(infer_equal(call, predictions.dims[0], targets.dims[0], "the batch", &targets.dims[0]));
    context->outputs[0] = targets;
    return STATUS_OK;
}

static const OpDefinition loss_ops[] = {
    OP("SoftmaxCrossEntropyWithLogits(features:T, labels:T)->(loss:T, backprop:T) {T:type}", 0,
        infer_cross_entropy),
    OP("SparseSoftmaxCrossEntropyWithLogits(features:T, labels:Tlabels)->(loss:T, backprop:T) {T:type, "
       "Tlabels:type=DT_INT64}",
        0, infer_sparse_cross_entropy),
    OP("InTopK(predictions:float, targets:T)->(precision:bool) {k:int, T:type=DT_INT32}", 0, infer_in_top_k),
    OP("InTopKV2(predictions:float, targets:T, k:T)->(precision:bool) {T:type=DT_INT32}", 0, infer_in_top_k),
};

OP_FAMILY(loss, loss_ops);
