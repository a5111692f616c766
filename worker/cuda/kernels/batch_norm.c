/* TensorFlow's fused batch normalisation in training, or with statistics of another dtype than the input, and
 * its gradient. The ops' own rules check shapes. */
#include "worker/cuda/kernels/batch_norm.h"

#include "shared/ops/layout.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* Returns whether inputs first…last have one dtype, float32 or that of x, which is input `x`. */
static bool
has_statistics(const Node *node, uint32_t x, uint32_t first, uint32_t last)
{
    Dtype dtype = node->input_dtypes[first];
    for (uint32_t index = first; index <= last; index++) {
        if (node->input_dtypes[index] != dtype) {
            return false;
        }
    }
    return dtype_is_floating(node->input_dtypes[x]) &&
           (dtype == DTYPE_FLOAT32 || dtype == node->input_dtypes[x]);
}

/* The rows family has a shorter way for given statistics of x's own dtype. */
static bool
supports_norm(const Node *node)
{
    bool is_short = !node_attr_bool(node, "is_training") && node->input_dtypes[0] == node->input_dtypes[1];
    return has_statistics(node, 0, 1, 4) && !is_short;
}

static bool
supports_gradient(const Node *node)
{
    return has_statistics(node, 1, 2, 4);
}

static CudaChannels
channels_of(const Node *node, const Shape *shape)
{
    Lines lines = lines_along(shape, layout_channel(node, shape->rank));
    return (CudaChannels){.outer = lines.outer, .size = lines.size, .inner = lines.inner};
}

typedef struct Notes {
    Tensor chunks;
    Tensor channels;
} Notes;

static Status
make_notes(KernelContext *context, Dtype dtype, const CudaChannels *channels, Notes *ret_notes)
{
    enum { PAIR = 2, PAIRS = 2 };
    Dtype noted = dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    Shape chunks = shape_vector(PAIR * cuda_batch_chunks(channels) * channels->size);
    Shape pairs = shape_vector(channels->size * PAIRS * PAIR);
    TRY(scratch_new(context, noted, &chunks, &ret_notes->chunks));
    return scratch_new(context, noted, &pairs, &ret_notes->channels);
}

static void
release_notes(Notes *notes)
{
    tensor_unref(&notes->chunks);
    tensor_unref(&notes->channels);
}
#define AUTO_NOTES CLEANUP(release_notes) Notes

/* Makes all outputs; from `first_zero` on they are zeros: room for what other devices keep for the gradient.
 */
static Status
make_outputs(KernelContext *context, uint32_t first_zero)
{
    enum { OUTPUTS_MAX = 6 };
    Shape shapes[OUTPUTS_MAX];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < context->output_count; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, context->node->output_dtypes[index], &shapes[index], &output));
        if (index >= first_zero && output->data != NULL) {
            int error = (int)cudaMemsetAsync(output->data, 0, tensor_byte_size(output), cuda_stream(context));
            TRY(cuda_check(context->call, error, "a fill"));
        }
    }
    return STATUS_OK;
}

static float
average_factor(const Node *node)
{
    const AttrValue *factor = node_attr(node, "exponential_avg_factor");
    return factor == NULL ? 1 : factor->value.f;
}

static Status
norm_compute(KernelContext *context)
{
    enum { X, SCALE, OFFSET, MEAN, VARIANCE };
    enum { Y, RUNNING_MEAN, RUNNING_VARIANCE, BATCH_MEAN, BATCH_VARIANCE, RESERVE };
    const Node *node = context->node;
    const Tensor *in = context->inputs;
    const Tensor *out = context->outputs;
    AUTO_NOTES notes = {0};
    TRY(make_outputs(context, RESERVE));
    CudaChannels channels = channels_of(node, &in[X].shape);
    TRY(make_notes(context, in[X].dtype, &channels, &notes));
    CudaBatchNorm norm = {
        .channels = channels,
        .notes = {notes.chunks.data, notes.channels.data},
        .is_training = node_attr_bool(node, "is_training"),
        .epsilon = node_attr_float(node, "epsilon"),
        .average_factor = average_factor(node),
        .input = in[X].data,
        .scale = in[SCALE].data,
        .offset = in[OFFSET].data,
        .given_mean = in[MEAN].data,
        .given_variance = in[VARIANCE].data,
        .output = out[Y].data,
        .running_mean = out[RUNNING_MEAN].data,
        .running_variance = out[RUNNING_VARIANCE].data,
        .batch_mean = out[BATCH_MEAN].data,
        .batch_variance = out[BATCH_VARIANCE].data,
    };
    int error =
        cuda_batch_norm(cuda_type(in[X].dtype), cuda_type(in[SCALE].dtype), &norm, cuda_stream(context));
    return cuda_check(context->call, error, "a batch normalisation");
}

static Status
gradient_compute(KernelContext *context)
{
    enum { GRADIENTS, X, SCALE, MEAN, VARIANCE };
    enum { OF_X, OF_SCALE, OF_OFFSET, RESERVE };
    const Node *node = context->node;
    const Tensor *in = context->inputs;
    const Tensor *out = context->outputs;
    AUTO_NOTES notes = {0};
    TRY(make_outputs(context, RESERVE));
    CudaChannels channels = channels_of(node, &in[X].shape);
    TRY(make_notes(context, in[X].dtype, &channels, &notes));
    CudaBatchNormGradient gradient = {
        .channels = channels,
        .notes = {notes.chunks.data, notes.channels.data},
        .is_training = node_attr_bool(node, "is_training"),
        .epsilon = node_attr_float(node, "epsilon"),
        .gradients = in[GRADIENTS].data,
        .input = in[X].data,
        .scale = in[SCALE].data,
        .mean = in[MEAN].data,
        .variance = in[VARIANCE].data,
        .input_gradients = out[OF_X].data,
        .scale_gradients = out[OF_SCALE].data,
        .offset_gradients = out[OF_OFFSET].data,
    };
    int error = cuda_batch_norm_gradient(
        cuda_type(in[X].dtype), cuda_type(in[SCALE].dtype), &gradient, cuda_stream(context));
    return cuda_check(context->call, error, "the gradient of a batch normalisation");
}

static const Kernel batch_norm_kernels[] = {
    {.op = "FusedBatchNorm", .supports = supports_norm, .compute = norm_compute},
    {.op = "FusedBatchNormV2", .supports = supports_norm, .compute = norm_compute},
    {.op = "FusedBatchNormV3", .supports = supports_norm, .compute = norm_compute},
    {.op = "FusedBatchNormGrad", .supports = supports_gradient, .compute = gradient_compute},
    {.op = "FusedBatchNormGradV2", .supports = supports_gradient, .compute = gradient_compute},
    {.op = "FusedBatchNormGradV3", .supports = supports_gradient, .compute = gradient_compute},
};

KERNEL_FAMILY(cuda_kernels, batch_norm, batch_norm_kernels);
