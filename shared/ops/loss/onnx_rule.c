#include "shared/ops/loss/onnx_rule.h"

static const char *const reductions[ONNX_LOSS_REDUCTIONS] = {
    [ONNX_LOSS_NONE] = "none",
    [ONNX_LOSS_SUM] = "sum",
    [ONNX_LOSS_MEAN] = "mean",
};

static Status
read_reduction(Call *call, const Node *node, OnnxLossReduction *ret_reduction)
{
    Slice given = node_attr_string(node, "reduction");
    for (int reduction = 0; reduction < ONNX_LOSS_REDUCTIONS; reduction++) {
        if (slice_equals_string(given, reductions[reduction])) {
            *ret_reduction = (OnnxLossReduction)reduction;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "reduction is '%.*s', not none, sum or mean",
        SLICE_PRINT(slice_part(given, 0, 64)));
}

/* Labels have the dimensions of the scores but for that of the classes. */
static Status
read_labels(Call *call, const InferContext *context, Shape *ret_labels)
{
    const Shape *scores = &context->inputs[0];
    Shape labels;
    if (scores->rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "scores of rank %d have no classes", scores->rank);
    }
    TRY(infer_rank(call, context, 1, scores->rank - 1, &labels));
    for (int index = 0; index < labels.rank; index++) {
        TRY(infer_equal(call, scores->dims[index == 0 ? 0 : index + 1], labels.dims[index],
            "a dimension of the labels", &labels.dims[index]));
    }
    *ret_labels = labels;
    return STATUS_OK;
}

Status
onnx_loss_read(Call *call, const InferContext *context, OnnxLoss *ret_loss)
{
    OnnxLoss loss = {.ignores_one = node_attr_int(context->node, "has_ignore_index") != 0,
        .ignored = node_attr_int(context->node, "ignore_index")};
    TRY(read_reduction(call, context->node, &loss.reduction));
    TRY(read_labels(call, context, &loss.labels));
    if (infer_has_input(context, 2)) {
        Shape weights;
        int64_t classes = 0;
        TRY(infer_rank(call, context, 2, 1, &weights));
        TRY(infer_equal(
            call, context->inputs[0].dims[1], weights.dims[0], "the number of classes", &classes));
    }
    *ret_loss = loss;
    return STATUS_OK;
}
