/* float32 transposed convolutions in one and two dimensions, a channel of the output at a time: for each
 * element of the filter, the sum over the input's channels of a line, and that line added to where the output
 * has it. All else is left to the reference kernel. */
#include "shared/ops/convolution.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"

enum { LINE = 256 }; /* elements that are summed at once; they stay in the nearest cache */

/* One spatial dimension: element `position` of the input meets element `position × stride - before + element
 * × dilation` of the output. */
typedef struct Extent {
    int64_t input;
    int64_t output;
    int64_t filter;
    int64_t stride;
    int64_t dilation;
    int64_t before;
} Extent;

typedef struct Transposed {
    const float *x;
    const float *filter; /* [channels of the input, channels of a group of the output, rows, columns] */
    const float *bias;   /* NULL: none */
    float *z;
    int64_t inputs;  /* channels of a group of the input */
    int64_t outputs; /* channels of a group of the output */
    int64_t groups;
    Extent rows;
    Extent columns;
} Transposed;

/* Sums the weighted channels of a group in one chain of multiply-adds. */
VECTOR_FUNCTION void
sum_channels_body(
    const Transposed *transposed, const float *x, const float *weights, int64_t count, float *sums)
{
    int64_t step = transposed->rows.input * transposed->columns.input;
    int64_t weight_step = transposed->outputs * transposed->rows.filter * transposed->columns.filter;
    for (int64_t n = 0; n < count; n++) {
        sums[n] = 0;
    }
    for (int64_t channel = 0; channel < transposed->inputs; channel++) {
        float weight = weights[channel * weight_step];
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            sums[n] = multiply_add(weight, x[channel * step + n], sums[n]);
        }
    }
}
VECTOR_VARIANTS(sum_channels,
    (const Transposed *transposed, const float *x, const float *weights, int64_t count, float *sums),
    (transposed, x, weights, count, sums))

/* Adds the sums of a part of a line of the input, which begins at `first`, to the line of the output. */
static void
add_line(const Extent *columns, int64_t element, int64_t first, int64_t count, const float *sums, float *line)
{
    for (int64_t n = 0; n < count; n++) {
        int64_t target = (first + n) * columns->stride - columns->before + element * columns->dilation;
        if (target >= 0 && target < columns->output) {
            line[target] += sums[n];
        }
    }
}

static void
add_row(const Transposed *transposed, const float *x, const float *weights, int64_t row, float *plane)
{
    const Extent *rows = &transposed->rows;
    const Extent *columns = &transposed->columns;
    int64_t filter_size = rows->filter * columns->filter;
    float sums[LINE];
    for (int64_t element = 0; element < filter_size; element++) {
        int64_t target = row * rows->stride - rows->before + element / columns->filter * rows->dilation;
        if (target < 0 || target >= rows->output) {
            continue;
        }
        for (int64_t first = 0; first < columns->input; first += LINE) {
            int64_t count = columns->input - first < LINE ? columns->input - first : LINE;
            const float *part = x + row * columns->input + first;
            sum_channels(transposed, part, weights + element, count, sums);
            add_line(
                columns, element % columns->filter, first, count, sums, plane + target * columns->output);
        }
    }
}

/* Computes one channel of one image of the output. */
static void
compute_plane(void *context, int64_t index)
{
    const Transposed *transposed = context;
    int64_t channels = transposed->groups * transposed->outputs;
    int64_t batch = index / channels;
    int64_t channel = index % channels;
    int64_t group = channel / transposed->outputs;
    int64_t input_plane = transposed->rows.input * transposed->columns.input;
    int64_t output_plane = transposed->rows.output * transposed->columns.output;
    int64_t filter_size = transposed->rows.filter * transposed->columns.filter;
    const float *x = transposed->x + (batch * transposed->groups + group) * transposed->inputs * input_plane;
    const float *weights =
        transposed->filter +
        (group * transposed->inputs * transposed->outputs + channel % transposed->outputs) * filter_size;
    float *plane = transposed->z + index * output_plane;
    for (int64_t n = 0; n < output_plane; n++) {
        plane[n] = transposed->bias == NULL ? 0 : transposed->bias[channel];
    }
    for (int64_t row = 0; row < transposed->rows.input; row++) {
        add_row(transposed, x, weights, row, plane);
    }
}

static Extent
extent_of(const Convolution *convolution, const Shape *input, int dimension)
{
    const Window *window = &convolution->window;
    return (Extent){
        .input = input->dims[2 + dimension],
        .output = convolution->output.dims[2 + dimension],
        .filter = window->size[dimension],
        .stride = window->stride[dimension],
        .dilation = window->dilation[dimension],
        .before = window->before[dimension],
    };
}

static const Extent ONE_ROW = {.input = 1, .output = 1, .filter = 1, .stride = 1, .dilation = 1};

static Status
conv_transpose_compute(KernelContext *context)
{
    const Tensor *inputs = context->inputs;
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_transposed(context->call, &inference.context, &convolution));
    int rank = convolution.window.rank;
    bool has_bias = context->input_count > 2 && inputs[2].dtype != DTYPE_INVALID;
    if (rank > 2 || tensor_element_count(&inputs[0]) == 0 || tensor_element_count(&inputs[1]) == 0) {
        return kernel_find_reference(context->node)->compute(context);
    }
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &convolution.output, &output));
    Transposed transposed = {
        .x = inputs[0].data,
        .filter = inputs[1].data,
        .bias = has_bias ? inputs[2].data : NULL,
        .z = output->data,
        .inputs = convolution.outputs,
        .outputs = convolution.inputs,
        .groups = convolution.groups,
        .rows = rank == 2 ? extent_of(&convolution, &inputs[0].shape, 0) : ONE_ROW,
        .columns = extent_of(&convolution, &inputs[0].shape, rank - 1),
    };
    int64_t planes = convolution.output.dims[0] * convolution.output.dims[1];
    context->device->parallel_for(context->device, planes, compute_plane, &transposed);
    return STATUS_OK;
}

static bool
conv_transpose_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static const Kernel transposed_convolution_kernels[] = {
    {.op = "onnx::ConvTranspose", .supports = conv_transpose_supports, .compute = conv_transpose_compute},
};

KERNEL_FAMILY(cpu_kernels, transposed_convolution, transposed_convolution_kernels);
