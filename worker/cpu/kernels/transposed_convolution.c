/* float32 transposed convolutions in one and two dimensions: a product of matrices sums over the input's
 * channels for each element of the filter, and its rows are added to where the output has them, one channel
 * of the output after the other. All else is left to the reference kernel. */
#include "shared/base/memory.h"
#include "shared/ops/convolution.h"
#include "worker/cpu/product/product.h"
#include "worker/cpu/sizes.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

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
    const float *bias; /* of the group; NULL: none */
    const float
        *sums;       /* [channels of a group of the output, rows, columns of the filter, the input's plane] */
    float *z;        /* the group's channels */
    int64_t inputs;  /* channels of a group of the input */
    int64_t outputs; /* channels of a group of the output */
    int64_t groups;
    Extent rows;
    Extent columns;
} Transposed;

/* Adds the sums of one element of the filter and a line of the input to the line of the output. */
static void
add_line(const Extent *columns, int64_t element, const float *sums, float *line)
{
    int64_t shift = element * columns->dilation - columns->before;
    int64_t first = shift >= 0 ? 0 : divide_up(-shift, columns->stride);
    int64_t end = divide_up(columns->output - shift, columns->stride);
    end = end < columns->input ? end : columns->input;
    for (int64_t n = first; n < end; n++) {
        line[n * columns->stride + shift] += sums[n];
    }
}

static void
add_row(const Transposed *transposed, const float *sums, int64_t row, float *plane)
{
    const Extent *rows = &transposed->rows;
    const Extent *columns = &transposed->columns;
    for (int64_t element = 0; element < rows->filter * columns->filter; element++) {
        int64_t target = row * rows->stride - rows->before + element / columns->filter * rows->dilation;
        if (target >= 0 && target < rows->output) {
            const float *line = sums + (element * rows->input + row) * columns->input;
            add_line(columns, element % columns->filter, line, plane + target * columns->output);
        }
    }
}

/* Computes one channel of a group of the output. */
static void
compute_plane(void *context, int64_t channel)
{
    const Transposed *transposed = context;
    const Extent *rows = &transposed->rows;
    const Extent *columns = &transposed->columns;
    int64_t output_plane = rows->output * columns->output;
    int64_t sums = rows->filter * columns->filter * rows->input * columns->input;
    float *plane = transposed->z + channel * output_plane;
    for (int64_t n = 0; n < output_plane; n++) {
        plane[n] = transposed->bias == NULL ? 0 : transposed->bias[channel];
    }
    for (int64_t row = 0; row < rows->input; row++) {
        add_row(transposed, transposed->sums + channel * sums, row, plane);
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

static ProductShape
product_of(const Transposed *transposed)
{
    return (ProductShape){.m = transposed->outputs * transposed->rows.filter * transposed->columns.filter,
        .n = transposed->rows.input * transposed->columns.input,
        .k = transposed->inputs,
        .transposes_a = true,
        .alpha = 1};
}

static Transposed
transposed_of(const Convolution *convolution, const Shape *input)
{
    int rank = convolution->window.rank;
    return (Transposed){.inputs = convolution->outputs,
        .outputs = convolution->inputs,
        .groups = convolution->groups,
        .rows = rank == 2 ? extent_of(convolution, input, 0) : ONE_ROW,
        .columns = extent_of(convolution, input, rank - 1)};
}

/* Computes a group of one image. */
static Status
compute_group(KernelContext *context, Transposed *transposed, int64_t index, Tensor *sums)
{
    const Tensor *inputs = context->inputs;
    bool has_bias = context->input_count > 2 && inputs[2].dtype != DTYPE_INVALID;
    int64_t group = index % transposed->groups;
    ProductShape shape = product_of(transposed);
    ProductOperands operands = {.a = (const float *)inputs[1].data + group * shape.m * shape.k,
        .b = (const float *)inputs[0].data + index * shape.k * shape.n,
        .output = sums->data};
    Product *const *product = context->state;
    TRY(product_run(context->call, *product, context->device, &shape, &operands));
    int64_t plane = transposed->rows.output * transposed->columns.output;
    transposed->sums = sums->data;
    transposed->bias = has_bias ? (const float *)inputs[2].data + group * transposed->outputs : NULL;
    transposed->z = (float *)context->outputs[0].data + index * transposed->outputs * plane;
    context->device->parallel_for(context->device, transposed->outputs, compute_plane, transposed);
    return STATUS_OK;
}

static Status
conv_transpose_compute(KernelContext *context)
{
    const Tensor *inputs = context->inputs;
    KernelInference inference;
    Convolution convolution;
    Tensor *output = NULL;
    AUTO_TENSOR sums = {0};
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_transposed(context->call, &inference.context, &convolution));
    if (convolution.window.rank > 2 || tensor_element_count(&inputs[0]) == 0 ||
        tensor_element_count(&inputs[1]) == 0) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &convolution.output, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    Transposed transposed = transposed_of(&convolution, &inputs[0].shape);
    ProductShape shape = product_of(&transposed);
    TRY(scratch_bytes(context, shape.m * shape.n, sizeof(float), &sums));
    for (int64_t index = 0; index < convolution.output.dims[0] * transposed.groups; index++) {
        TRY(compute_group(context, &transposed, index, &sums));
    }
    return STATUS_OK;
}

/* The state is a Product, without constant weights: they are its first matrix. */
static Status
create_product(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    Product **state = memory_new(1, sizeof(Product *));
    if (state == NULL) {
        return call_fail_memory(call, "a transposed convolution");
    }
    Status status = product_new(call, state);
    if (status != STATUS_OK) {
        memory_free(state);
        return status;
    }
    *ret_state = state;
    return STATUS_OK;
}

static void
destroy_product(void *state)
{
    Product **product = state;
    product_free(*product);
    memory_free(state);
}

static uint64_t
conv_transpose_scratch(const KernelForecast *told)
{
    Convolution convolution;
    int64_t count = 0;
    Status status = convolution_onnx_transposed(told->call, &told->shapes, &convolution);
    if (status != STATUS_OK || convolution.window.rank > 2 ||
        !shape_element_count(&convolution.output, &count) || count == 0 ||
        !shape_element_count(&told->shapes.inputs[0], &count) || count == 0) {
        return 0;
    }
    Transposed transposed = transposed_of(&convolution, &told->shapes.inputs[0]);
    ProductShape shape = product_of(&transposed);
    Product *const *product = told->state;
    return (uint64_t)(shape.m * shape.n) * sizeof(float) + product_scratch(*product, told->device, &shape, 1);
}

static bool
conv_transpose_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static const Kernel transposed_convolution_kernels[] = {
    {.op = "onnx::ConvTranspose",
        .supports = conv_transpose_supports,
        .create = create_product,
        .destroy = destroy_product,
        .compute = conv_transpose_compute,
        .scratch = conv_transpose_scratch},
};

KERNEL_FAMILY(cpu_kernels, transposed_convolution, transposed_convolution_kernels);
