/* ONNX's losses of classifiers, in double. */
#include <math.h>

#include "shared/ops/loss/onnx_rule.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

typedef struct LossRun {
    OnnxLoss loss;
    Lines classes;         /* of the scores */
    const double *scores;  /* logarithms of probabilities */
    const double *weights; /* of classes; NULL: all are 1 */
    const Tensor *labels;
    double *losses; /* of each place; NULL: they are reduced */
    double sum;
    double weight_sum;
} LossRun;

static int64_t
label_at(const Tensor *labels, int64_t place)
{
    return labels->dtype == DTYPE_INT32 ? ((const int32_t *)labels->data)[place]
                                        : ((const int64_t *)labels->data)[place];
}

static Status
add_place(Call *call, LossRun *run, int64_t place)
{
    const Lines *classes = &run->classes;
    int64_t label = label_at(run->labels, place);
    if (run->loss.ignores_one && label == run->loss.ignored) {
        return STATUS_OK;
    }
    if (label < 0 || label >= classes->size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the label of place %lld is %lld, not within 0 to %lld", (long long)place, (long long)label,
            (long long)classes->size - 1);
    }
    int64_t offset =
        (place / classes->inner * classes->size + label) * classes->inner + place % classes->inner;
    double weight = run->weights == NULL ? 1 : run->weights[label];
    double loss = -run->scores[offset] * weight;
    run->sum += loss;
    run->weight_sum += weight;
    if (run->losses != NULL) {
        run->losses[place] = loss;
    }
    return STATUS_OK;
}

/* Computes output 0 of scores that are logarithms. */
static Status
sum_losses(KernelContext *context, Doubles *doubles, const double *scores)
{
    KernelInference inference;
    LossRun run = {.scores = scores,
        .labels = &context->inputs[1],
        .weights = context->input_count > 2 ? doubles_in(doubles, 2) : NULL};
    kernel_inference(context, NULL, &inference);
    TRY(onnx_loss_read(context->call, &inference.context, &run.loss));
    run.classes = lines_along(&context->inputs[0].shape, 1);
    run.losses = run.loss.reduction == ONNX_LOSS_NONE ? doubles_out(doubles, 0) : NULL;
    int64_t places = tensor_element_count(run.labels);
    for (int64_t place = 0; place < places; place++) {
        TRY(add_place(context->call, &run, place));
    }
    if (run.losses == NULL) {
        *doubles_out(doubles, 0) = run.loss.reduction == ONNX_LOSS_MEAN ? run.sum / run.weight_sum : run.sum;
    }
    return STATUS_OK;
}

static Status
likelihood_loss_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    TRY(sum_losses(context, &doubles, doubles_in(&doubles, 0)));
    return doubles_finish(context, &doubles);
}

/* Writes the logarithms of the softmax of a line. */
static void
take_log_softmax(const double *x, const Lines *lines, double *y)
{
    double largest = -(double)INFINITY;
    double sum = 0;
    for (int64_t n = 0; n < lines->size; n++) {
        largest = x[n * lines->inner] > largest ? x[n * lines->inner] : largest;
    }
    for (int64_t n = 0; n < lines->size; n++) {
        sum += exp(x[n * lines->inner] - largest);
    }
    for (int64_t n = 0; n < lines->size; n++) {
        y[n * lines->inner] = x[n * lines->inner] - largest - log(sum);
    }
}

static Status
softmax_loss_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    Lines lines = lines_along(&context->inputs[0].shape, 1);
    for (int64_t line = 0; line < lines.outer * lines.inner; line++) {
        int64_t offset = line / lines.inner * lines.size * lines.inner + line % lines.inner;
        take_log_softmax(doubles_in(&doubles, 0) + offset, &lines, doubles_out(&doubles, 1) + offset);
    }
    TRY(sum_losses(context, &doubles, doubles_out(&doubles, 1)));
    return doubles_finish(context, &doubles);
}

static const Kernel loss_onnx_kernels[] = {
    {.op = "onnx::NegativeLogLikelihoodLoss",
        .supports = supports_floats,
        .compute = likelihood_loss_compute,
        DOUBLES_SCRATCH},
    {.op = "onnx::SoftmaxCrossEntropyLoss",
        .supports = supports_floats,
        .compute = softmax_loss_compute,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, loss_onnx, loss_onnx_kernels);
