/* Local response normalisation of float32, over the last dimension (TensorFlow) or the second (ONNX), with
 * the exponents that networks have. Sums and roots are taken in double. Blocks of neighbouring positions, or
 * of neighbouring channels where these are next to each other, are shared by the threads. Wide windows and
 * other exponents are left to the reference kernel. */
#include "shared/ops/normalization/response_rule.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/scratch.h"

enum { BLOCK = 256, WINDOW_MAX = 64 };

typedef struct Response {
    ResponseRule rule;
    Lines lines;
    const float *x;
    float *z;
    int64_t blocks; /* of the positions of a plane, or of the channels of a line */
} Response;

/* Divides by a power of the sums of squares, for each exponent by a loop of its own. */
#define DIVIDE_LOOP(power)                                                                                   \
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                          \
    {                                                                                                        \
        double base = rule->bias + rule->alpha * squares[n];                                                 \
        z[n] = (float)((double)x[n] / (power));                                                              \
    }

VECTOR_FUNCTION void
divide(const ResponseRule *rule, const double *squares, const float *x, float *z, int64_t count)
{
    if (rule->beta == 0.75) {
        DIVIDE_LOOP(sqrt(base) * sqrt(sqrt(base)))
    } else if (rule->beta == 0.5) {
        DIVIDE_LOOP(sqrt(base))
    } else {
        DIVIDE_LOOP(base)
    }
}

static bool
has_root(double beta)
{
    return beta == 0.75 || beta == 0.5 || beta == 1;
}

/* Computes all channels of `count` neighbouring positions, from the first channel's `x` on. */
VECTOR_FUNCTION void
respond_positions_body(const Response *response, const float *x, float *z, int64_t count)
{
    const ResponseRule *rule = &response->rule;
    int64_t inner = response->lines.inner;
    int64_t channels = response->lines.size;
    for (int64_t channel = 0; channel < channels; channel++) {
        double squares[BLOCK] = {0};
        int64_t first = channel > rule->before ? channel - rule->before : 0;
        int64_t last = channel < channels - rule->after ? channel + rule->after : channels - 1;
        for (int64_t neighbour = first; neighbour <= last; neighbour++) {
            const float *line = x + neighbour * inner;
            VECTOR_LOOP for (int64_t n = 0; n < count; n++)
            {
                squares[n] += (double)line[n] * (double)line[n];
            }
        }
        divide(rule, squares, x + channel * inner, z + channel * inner, count);
    }
}
VECTOR_VARIANTS(respond_positions, (const Response *response, const float *x, float *z, int64_t count),
    (response, x, z, count))

/* Computes `count` channels of a line that begins at `x`, from `channel` on. Channels beyond its ends add
 * nothing. */
VECTOR_FUNCTION void
respond_channels_body(const Response *response, const float *x, float *z, int64_t channel, int64_t count)
{
    const ResponseRule *rule = &response->rule;
    double own[BLOCK + WINDOW_MAX] = {0};
    double squares[BLOCK] = {0};
    int64_t begin = channel - rule->before; /* the channel whose square is own[0] */
    int64_t end = channel + count + rule->after;
    int64_t first = begin > 0 ? begin : 0;
    int64_t last = end < response->lines.size ? end : response->lines.size;
    VECTOR_LOOP for (int64_t n = first; n < last; n++)
    {
        own[n - begin] = (double)x[n] * (double)x[n];
    }
    for (int64_t shift = 0; shift <= rule->before + rule->after; shift++) {
        const double *shifted = own + shift;
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            squares[n] += shifted[n];
        }
    }
    divide(rule, squares, x + channel, z + channel, count);
}
VECTOR_VARIANTS(respond_channels,
    (const Response *response, const float *x, float *z, int64_t channel, int64_t count),
    (response, x, z, channel, count))

static void
respond(void *context, int64_t index)
{
    const Response *response = context;
    const Lines *lines = &response->lines;
    bool has_planes = lines->inner > 1;
    int64_t length = has_planes ? lines->inner : lines->size;
    int64_t offset = index / response->blocks * lines->size * lines->inner;
    int64_t first = index % response->blocks * BLOCK;
    int64_t count = length - first < BLOCK ? length - first : BLOCK;
    if (has_planes) {
        respond_positions(response, response->x + offset + first, response->z + offset + first, count);
    } else {
        respond_channels(response, response->x + offset, response->z + offset, first, count);
    }
}

static Status
run_response(KernelContext *context, const ResponseRule *rule)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    if (!has_root(rule->beta) || rule->before + rule->after >= WINDOW_MAX) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &input->shape, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    Response response = {
        .rule = *rule, .lines = lines_along(&input->shape, rule->axis), .x = input->data, .z = output->data};
    int64_t length = response.lines.inner > 1 ? response.lines.inner : response.lines.size;
    response.blocks = (length + BLOCK - 1) / BLOCK;
    Device *device = context->device;
    device->parallel_for(device, response.lines.outer * response.blocks, respond, &response);
    return STATUS_OK;
}

static Status
lrn_compute(KernelContext *context)
{
    ResponseRule rule;
    TRY(response_rule(context->call, context->node, &context->inputs[0].shape, &rule));
    return run_response(context, &rule);
}

static bool
supports_float32(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static const Kernel response_kernels[] = {
    {.op = "LRN", .supports = supports_float32, .compute = lrn_compute},
    {.op = "onnx::LRN", .supports = supports_float32, .compute = lrn_compute},
};

KERNEL_FAMILY(cpu_kernels, response, response_kernels);
