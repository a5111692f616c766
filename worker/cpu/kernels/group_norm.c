/* float32 normalisation of groups of channels by their own statistics: GroupNormalization, and
 * InstanceNormalization, whose groups are single channels. Sums are kept in double. A group is normalised by
 * one thread. */
#include "worker/cpu/vector/folds.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { SHARED_ELEMENTS = 32 * 1024 }; /* fewer are not worth handing to another thread */

typedef struct GroupNorm {
    const float *x;
    const float *scale;
    const float *bias;
    float *z;
    double epsilon;
    int64_t count;    /* of the groups of all batches */
    int64_t groups;   /* of a batch */
    int64_t channels; /* of a group */
    int64_t inner;    /* elements of a channel */
    int64_t of_scale; /* channels that share a number of the scale: 1, or all of a group */
    int64_t part;     /* groups that a thread takes at once */
} GroupNorm;

VECTOR_FOLD(double, sum_of, 0, sum + a, sum + a)
VECTOR_FOLD(double, sum_of_squares, 0, sum + a * a, sum + a)

/* The group's distances from its mean are kept in z, where their squares are summed. */
VECTOR_FUNCTION void
normalize_group_body(const GroupNorm *norm, int64_t group)
{
    int64_t size = norm->channels * norm->inner;
    const float *x = norm->x + group * size;
    float *z = norm->z + group * size;
    double mean = sum_of(x, size) / (double)size;
    VECTOR_LOOP for (int64_t n = 0; n < size; n++)
    {
        z[n] = (float)((double)x[n] - mean);
    }
    double variance = sum_of_squares(z, size) / (double)size;
    float deviation = (float)(1 / sqrt(variance + norm->epsilon));
    for (int64_t channel = 0; channel < norm->channels; channel++) {
        int64_t place = (group % norm->groups * norm->channels + channel) / norm->of_scale;
        float scale = norm->scale[place];
        float bias = norm->bias[place];
        float *line = z + channel * norm->inner;
        VECTOR_LOOP for (int64_t n = 0; n < norm->inner; n++)
        {
            line[n] = line[n] * deviation * scale + bias;
        }
    }
}
VECTOR_VARIANTS(normalize_group, (const GroupNorm *norm, int64_t group), (norm, group))

static void
normalize_groups(void *context, int64_t index)
{
    const GroupNorm *norm = context;
    int64_t end = (index + 1) * norm->part < norm->count ? (index + 1) * norm->part : norm->count;
    for (int64_t group = index * norm->part; group < end; group++) {
        normalize_group(norm, group);
    }
}

static bool
supports_float32(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

/* Normalises groups of `of_group` channels each. */
static Status
normalize(KernelContext *context, int64_t of_group, int64_t of_scale)
{
    const Tensor *inputs = context->inputs;
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &inputs[0].shape, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    Lines lines = lines_along(&output->shape, 1);
    int64_t size = of_group * lines.inner;
    GroupNorm norm = {
        .x = inputs[0].data,
        .scale = inputs[1].data,
        .bias = inputs[2].data,
        .z = output->data,
        .epsilon = (double)node_attr_float(context->node, "epsilon"),
        .count = lines.outer * lines.size / of_group,
        .groups = lines.size / of_group,
        .channels = of_group,
        .inner = lines.inner,
        .of_scale = of_scale,
        .part = size >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / size,
    };
    Device *device = context->device;
    device->parallel_for(device, (norm.count + norm.part - 1) / norm.part, normalize_groups, &norm);
    return STATUS_OK;
}

static Status
group_norm_compute(KernelContext *context)
{
    const Node *node = context->node;
    Shape shape;
    TRY(output_shapes(context, &shape));
    int64_t of_group = shape.dims[1] / node_attr_int(node, "num_groups");
    return normalize(context, of_group, node_attr_int(node, "scales_groups") != 0 ? of_group : 1);
}

static Status
instance_norm_compute(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    return normalize(context, 1, 1);
}

static const Kernel group_norm_kernels[] = {
    {.op = "onnx::GroupNormalization", .supports = supports_float32, .compute = group_norm_compute},
    {.op = "onnx::InstanceNormalization", .supports = supports_float32, .compute = instance_norm_compute},
};

KERNEL_FAMILY(cpu_kernels, group_norm, group_norm_kernels);
