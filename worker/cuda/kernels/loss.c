/* Losses of classifiers, and the accuracy of predictions. The ops' own rules check shapes. */
#include "worker/cuda/kernels/loss.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static bool
supports_targets(const Node *node)
{
    return supports_floats(node) && dtype_is_integer(node->input_dtypes[1]);
}

/* Returns the rows of a tensor that broadcasts to [batch, classes]. */
static CudaScores
scores_of(const Tensor *tensor)
{
    int rank = tensor->shape.rank;
    int64_t columns = rank < 1 ? 1 : tensor->shape.dims[rank - 1];
    return (CudaScores){.data = tensor->data,
        .row_step = rank < 2 || tensor->shape.dims[0] == 1 ? 0 : columns,
        .column_step = columns == 1 ? 0 : 1};
}

/* Makes the outputs, and launches. */
static Status
run_cross_entropy(KernelContext *context, CudaCrossEntropy *entropy)
{
    enum { LOSSES, GRADIENTS, OUTPUTS };
    Dtype dtype = context->inputs[0].dtype;
    Shape shapes[OUTPUTS];
    Tensor *losses = NULL;
    Tensor *gradients = NULL;
    TRY(output_shapes(context, shapes));
    TRY(kernel_output(context, LOSSES, dtype, &shapes[LOSSES], &losses));
    TRY(kernel_output(context, GRADIENTS, dtype, &shapes[GRADIENTS], &gradients));
    entropy->losses = losses->data;
    entropy->gradients = gradients->data;
    entropy->rows = shapes[GRADIENTS].dims[0];
    entropy->classes = shapes[GRADIENTS].dims[1];
    int error = cuda_cross_entropy(cuda_type(dtype), entropy, cuda_stream(context));
    return cuda_check(context->call, error, "a cross entropy");
}

static Status
cross_entropy_compute(KernelContext *context)
{
    CudaCrossEntropy entropy = {
        .features = scores_of(&context->inputs[0]),
        .labels = scores_of(&context->inputs[1]),
    };
    return run_cross_entropy(context, &entropy);
}

static Status
sparse_cross_entropy_compute(KernelContext *context)
{
    const Tensor *targets = &context->inputs[1];
    CudaCrossEntropy entropy = {
        .features = scores_of(&context->inputs[0]),
        .targets = targets->data,
        .target_type = cuda_type(targets->dtype),
    };
    TRY(cuda_blame(context, CUDA_REFUSES_LABEL, &entropy.blame));
    return run_cross_entropy(context, &entropy);
}

static Status
in_top(KernelContext *context, int64_t k)
{
    const Tensor *predictions = &context->inputs[0];
    const Tensor *targets = &context->inputs[1];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    CudaInTop top = {
        .predictions = predictions->data,
        .targets = targets->data,
        .target_type = cuda_type(targets->dtype),
        .output = output->data,
        .rows = output->shape.dims[0],
        .classes = predictions->shape.dims[1],
        .k = k,
    };
    return cuda_check(context->call, cuda_in_top(&top, cuda_stream(context)), "a search for targets");
}

static Status
in_top_k_compute(KernelContext *context)
{
    return in_top(context, node_attr_int(context->node, "k"));
}

static Status
in_top_k_v2_compute(KernelContext *context)
{
    int64_t k = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, 2, &k, 1, &count));
    return count == 1 ? in_top(context, k)
                      : call_fail(context->call, STATUS_INVALID_ARGUMENT, "k is not one value");
}

static const Kernel loss_kernels[] = {
    {.op = "SoftmaxCrossEntropyWithLogits", .supports = supports_floats, .compute = cross_entropy_compute},
    {.op = "SparseSoftmaxCrossEntropyWithLogits",
        .supports = supports_targets,
        .compute = sparse_cross_entropy_compute},
    {.op = "InTopK", .supports = supports_targets, .compute = in_top_k_compute},
    {.op = "InTopKV2", .supports = supports_targets, .compute = in_top_k_v2_compute, .host_inputs = 1 << 2},
};

KERNEL_FAMILY(cuda_kernels, loss, loss_kernels);
