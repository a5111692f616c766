/* Activation functions of neural networks and their gradients. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define ACTIVATION(name) OP(name "(features:T)->(activations:T) {T:type}", OP_ELEMENTWISE, infer_unchanged)
#define ACTIVATION_GRADIENT(name, other)                                                                     \
    OP(name "(gradients:T, " other ":T)->(backprops:T) {T:type}", OP_ELEMENTWISE, infer_broadcast)

/* Scores along the last dimension, of which there must be one. */
static Status
infer_softmax(Call *call, InferContext *context)
{
    if (context->inputs[0].rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a scalar has no dimension to normalise");
    }
    return infer_unchanged(call, context);
}

static const OpDefinition activation_ops[] = {
    ACTIVATION("Relu"),
    ACTIVATION("Relu6"),
    ACTIVATION("Elu"),
    ACTIVATION("Selu"),
    ACTIVATION("Softplus"),
    ACTIVATION("Softsign"),
    ACTIVATION_GRADIENT("ReluGrad", "features"),
    ACTIVATION_GRADIENT("Relu6Grad", "features"),
    ACTIVATION_GRADIENT("EluGrad", "outputs"),
    ACTIVATION_GRADIENT("SeluGrad", "outputs"),
    ACTIVATION_GRADIENT("SoftplusGrad", "features"),
    ACTIVATION_GRADIENT("SoftsignGrad", "features"),
    OP("LeakyRelu(features:T)->(activations:T) {alpha:float=0.2, T:type=DT_FLOAT}", OP_ELEMENTWISE,
        infer_unchanged),
    OP("LeakyReluGrad(gradients:T, features:T)->(backprops:T) {alpha:float=0.2, T:type=DT_FLOAT}",
        OP_ELEMENTWISE, infer_broadcast),
    OP("Softmax(logits:T)->(softmax:T) {T:type}", 0, infer_softmax),
    OP("LogSoftmax(logits:T)->(logsoftmax:T) {T:type}", 0, infer_softmax),
};

OP_FAMILY(activation, activation_ops);
