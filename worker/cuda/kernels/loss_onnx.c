/* onnx::NegativeLogLikelihoodLoss and onnx::SoftmaxCrossEntropyLoss, by the rules of the reference kernels
 * (shared/ops/loss). Scores of 16 bits are widened to float32 first; losses are summed in double. */
#include "worker/cuda/kernels/loss_onnx.h"

#include "shared/ops/loss/onnx_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/rows.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { SCORES, LABELS, WEIGHTS };
enum { LOSS, LOGARITHMS };

static bool
has_weights(const KernelContext *context)
{
    return context->input_count > WEIGHTS && context->inputs[WEIGHTS].dtype != DTYPE_INVALID;
}

static bool
supports_losses(const Node *node)
{
    Dtype labels = node->input_dtypes[LABELS];
    bool has_own = node->input_count > WEIGHTS && node->input_dtypes[WEIGHTS] != DTYPE_INVALID;
    return dtype_is_floating(node->input_dtypes[SCORES]) &&
           (labels == DTYPE_INT32 || labels == DTYPE_INT64) &&
           (!has_own || node->input_dtypes[WEIGHTS] == node->input_dtypes[SCORES]);
}

static Status
convert(KernelContext *context, const Tensor *from, const Tensor *to)
{
    if (tensor_element_count(to) == 0) {
        return STATUS_OK;
    }
    int error = cuda_convert(cuda_type(from->dtype), from->data, cuda_type(to->dtype), to->data,
        tensor_element_count(to), cuda_stream(context));
    return cuda_check(context->call, error, "a conversion");
}

/* Returns the dtype in which scores are computed. */
static Dtype
wide_dtype_of(const KernelContext *context)
{
    return context->inputs[SCORES].dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
}

/* Makes a tensor of an input in the wide dtype, which is the input itself when it has that. */
static Status
widen(KernelContext *context, uint32_t input, Tensor *ret_wide)
{
    const Tensor *given = &context->inputs[input];
    Dtype dtype = wide_dtype_of(context);
    if (given->dtype == dtype) {
        *ret_wide = tensor_ref(given);
        return STATUS_OK;
    }
    TRY(scratch_new(context, dtype, &given->shape, ret_wide));
    return convert(context, given, ret_wide);
}

/* Makes output 0 of the losses of all places. */
static Status
finish_losses(
    KernelContext *context, const OnnxLoss *loss, const CudaLabelled *labelled, const Tensor *losses)
{
    Dtype dtype = context->node->output_dtypes[LOSS];
    Shape scalar = shape_scalar();
    AUTO_TENSOR sum = {0};
    Tensor *output = NULL;
    if (loss->reduction == ONNX_LOSS_NONE) {
        TRY(kernel_output(context, LOSS, dtype, &losses->shape, &output));
        return convert(context, losses, output);
    }
    TRY(scratch_new(context, DTYPE_FLOAT64, &scalar, &sum));
    int error =
        cuda_sum_losses(labelled->losses, loss->reduction == ONNX_LOSS_MEAN ? labelled->loss_weights : NULL,
            labelled->places, sum.data, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a sum of losses"));
    TRY(kernel_output(context, LOSS, dtype, &scalar, &output));
    return convert(context, &sum, output);
}

/* Computes output 0 of scores that are logarithms, of the wide dtype. */
static Status
choose_losses(KernelContext *context, const Tensor *scores)
{
    const Tensor *labels = &context->inputs[LABELS];
    KernelInference inference;
    OnnxLoss loss = {0};
    AUTO_TENSOR weights = {0};
    AUTO_TENSOR losses = {0};
    AUTO_TENSOR loss_weights = {0};
    kernel_inference(context, NULL, &inference);
    TRY(onnx_loss_read(context->call, &inference.context, &loss));
    Lines lines = lines_along(&scores->shape, 1);
    CudaLabelled labelled = {.scores = scores->data,
        .labels = labels->data,
        .label_type = cuda_type(labels->dtype),
        .places = tensor_element_count(labels),
        .classes = lines.size,
        .inner = lines.inner,
        .ignores_one = loss.ignores_one,
        .ignored = loss.ignored};
    TRY(cuda_blame(context, CUDA_REFUSES_PLACE, &labelled.blame));
    if (has_weights(context)) {
        TRY(widen(context, WEIGHTS, &weights));
        labelled.weights = weights.data;
    }
    TRY(scratch_new(context, DTYPE_FLOAT64, &labels->shape, &losses));
    TRY(scratch_new(context, DTYPE_FLOAT64, &labels->shape, &loss_weights));
    labelled.losses = losses.data;
    labelled.loss_weights = loss_weights.data;
    int error = cuda_label_losses(cuda_type(scores->dtype), &labelled, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a search for labels"));
    return finish_losses(context, &loss, &labelled, &losses);
}

static Status
compute_likelihood(KernelContext *context)
{
    enum { OUTPUTS = 1 };
    Shape shapes[OUTPUTS];
    AUTO_TENSOR scores = {0};
    TRY(output_shapes(context, shapes));
    TRY(widen(context, SCORES, &scores));
    return choose_losses(context, &scores);
}

static Status
compute_softmax_loss(KernelContext *context)
{
    enum { OUTPUTS = 2 };
    Shape shapes[OUTPUTS];
    AUTO_TENSOR scores = {0};
    AUTO_TENSOR logarithms = {0};
    Tensor *output = NULL;
    TRY(output_shapes(context, shapes));
    TRY(widen(context, SCORES, &scores));
    TRY(scratch_new(context, scores.dtype, &scores.shape, &logarithms));
    Lines along = lines_along(&scores.shape, 1);
    CudaLines lines = {.input = scores.data,
        .output = logarithms.data,
        .outer = along.outer,
        .size = along.size,
        .inner = along.inner};
    int error = tensor_element_count(&scores) == 0
                    ? 0
                    : cuda_softmax(cuda_type(scores.dtype), &lines, true, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a LogSoftmax kernel"));
    if (context->output_count > LOGARITHMS) {
        TRY(kernel_output(
            context, LOGARITHMS, context->node->output_dtypes[LOGARITHMS], &scores.shape, &output));
        TRY(convert(context, &logarithms, output));
    }
    return choose_losses(context, &logarithms);
}

static const Kernel loss_onnx_kernels[] = {
    {.op = "onnx::NegativeLogLikelihoodLoss", .supports = supports_losses, .compute = compute_likelihood},
    {.op = "onnx::SoftmaxCrossEntropyLoss", .supports = supports_losses, .compute = compute_softmax_loss},
};

KERNEL_FAMILY(cuda_kernels, loss_onnx, loss_onnx_kernels);
