/* ONNX's losses of classifiers. Scores are [batch, class, …], labels [batch, …]. */
#include "shared/ops/family.h"
#include "shared/ops/loss/onnx_rule.h"

static Status
infer_onnx_loss(Call *call, InferContext *context)
{
    OnnxLoss loss;
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    TRY(onnx_loss_read(call, context, &loss));
    context->outputs[0] = loss.reduction == ONNX_LOSS_NONE ? loss.labels : shape_scalar();
    if (context->node->output_count > 1) {
        context->outputs[1] = context->inputs[0];
    }
    return STATUS_OK;
}

static const OpDefinition loss_onnx_ops[] = {
    OP("onnx::NegativeLogLikelihoodLoss(input:T, target:Tind, weight?:T)->(loss:T) "
       "{has_ignore_index:int=0, ignore_index:int=0, reduction:string=mean, T:type, Tind:type}",
        0, infer_onnx_loss),
    OP("onnx::SoftmaxCrossEntropyLoss(scores:T, labels:Tind, weights?:T)->(output:T, log_prob?:T) "
       "{has_ignore_index:int=0, ignore_index:int=0, reduction:string=mean, T:type, Tind:type}",
        0, infer_onnx_loss),
};

OP_FAMILY(loss_onnx, loss_onnx_ops);
