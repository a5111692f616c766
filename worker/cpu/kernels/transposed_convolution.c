/* float32 transposed convolutions in one and two dimensions: a product of matrices sums over the input's
 * channels for each element of the filter, and its rows are added to where the output has them, one row of
 * the output after the other. All else is left to the reference kernel. */
#include "shared/base/memory.h"
#include "shared/ops/convolution.h"
#include "worker/cpu/product/product.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    STRETCH_MAX = 2048, /* columns of the output that are computed at once; they stay in the nearest cache */
    VECTOR = 8,         /* elements that are added at once */
    STRIDE_MAX = 512,   /* of columns: a stretch has at least four places of each remainder */
};

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

/* A stretch of a line of the output, sorted by what is left of its columns divided by the stride: place n of
 * a remainder is column (first + n) × stride + remainder. What an element of the filter adds to lies side by
 * side then. */
typedef struct Stretch {
    int64_t first;
    int64_t places; /* of each remainder */
    float *sorted;
} Stretch;

/* Lines are short as a rule, so that what is left of the widest vectors would be much of them. */
VECTOR_FUNCTION void
add_numbers(const float *x, int64_t count, float *z)
{
    int64_t n = 0;
    for (; n + VECTOR <= count; n += VECTOR) {
        VECTOR_LOOP for (int lane = 0; lane < VECTOR; lane++)
        {
            z[n + lane] += x[n + lane];
        }
    }
    for (; n < count; n++) {
        z[n] += x[n];
    }
}

static inline int64_t
floor_divide(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0 ? 1 : 0);
}

/* Adds the sums of one element of the filter and a line of the input. */
VECTOR_FUNCTION void
add_line(const Extent *columns, int64_t element, const float *sums, const Stretch *stretch)
{
    int64_t shift = element * columns->dilation - columns->before;
    int64_t place = columns->stride == 1 ? shift : floor_divide(shift, columns->stride);
    int64_t remainder = shift - place * columns->stride;
    int64_t before = stretch->first - place;
    int64_t first = before > 0 ? before : 0;
    int64_t end = before + stretch->places < columns->input ? before + stretch->places : columns->input;
    if (end > first) {
        float *target = stretch->sorted + remainder * stretch->places + (first - before);
        add_numbers(sums + first, end - first, target);
    }
}

/* Adds the lines of the input that meet a row of the output, in their order. */
VECTOR_FUNCTION void
add_lines(const Transposed *transposed, const float *sums, int64_t row, const Stretch *stretch)
{
    const Extent *rows = &transposed->rows;
    const Extent *columns = &transposed->columns;
    for (int64_t element = rows->filter - 1; element >= 0; element--) {
        int64_t distance = row + rows->before - element * rows->dilation;
        int64_t source = distance / rows->stride;
        if (distance < 0 || distance % rows->stride != 0 || source >= rows->input) {
            continue;
        }
        for (int64_t column = 0; column < columns->filter; column++) {
            int64_t index = (element * columns->filter + column) * rows->input + source;
            add_line(columns, column, sums + index * columns->input, stretch);
        }
    }
}

/* NOLINTBEGIN(clang-analyzer-core.uninitialized.Assign): a stretch is filled as far as its places reach */
/* Puts the first `count` columns of a stretch into their order. */
VECTOR_FUNCTION void
store_columns(const Stretch *stretch, int64_t stride, int64_t count, float *line)
{
    const float *sorted = stretch->sorted;
    if (stride == 1) {
        memcpy(line, sorted, (size_t)count * sizeof *line);
        return;
    }
    if (stride == 2) {
        const float *odd = sorted + stretch->places;
        VECTOR_LOOP for (int64_t n = 0; n < count / 2; n++)
        {
            line[2 * n] = sorted[n];
            line[2 * n + 1] = odd[n];
        }
        if (count % 2 == 1) {
            line[count - 1] = sorted[count / 2];
        }
        return;
    }
    for (int64_t remainder = 0; remainder < stride; remainder++) {
        const float *from = sorted + remainder * stretch->places;
        for (int64_t n = remainder; n < count; n += stride) {
            line[n] = *from++;
        }
    }
}
/* NOLINTEND(clang-analyzer-core.uninitialized.Assign) */

VECTOR_FUNCTION void
compute_row(const Transposed *transposed, const float *sums, float bias, int64_t row, float *line)
{
    float sorted[STRETCH_MAX];
    const Extent *columns = &transposed->columns;
    int64_t all = divide_up(columns->output, columns->stride);
    int64_t part = STRETCH_MAX / columns->stride;
    for (int64_t first = 0; first < all; first += part) {
        Stretch stretch = {.first = first, .places = smaller_of(part, all - first), .sorted = sorted};
        for (int64_t n = 0; n < stretch.places * columns->stride; n++) {
            sorted[n] = bias;
        }
        add_lines(transposed, sums, row, &stretch);
        int64_t begin = first * columns->stride;
        int64_t count = smaller_of(stretch.places * columns->stride, columns->output - begin);
        store_columns(&stretch, columns->stride, count, line + begin);
    }
}

VECTOR_FUNCTION void
compute_rows_body(const Transposed *transposed, int64_t channel)
{
    const Extent *rows = &transposed->rows;
    const Extent *columns = &transposed->columns;
    int64_t sums = rows->filter * columns->filter * rows->input * columns->input;
    float bias = transposed->bias == NULL ? 0 : transposed->bias[channel];
    for (int64_t row = 0; row < rows->output; row++) {
        float *line = transposed->z + (channel * rows->output + row) * columns->output;
        compute_row(transposed, transposed->sums + channel * sums, bias, row, line);
    }
}
VECTOR_VARIANTS(compute_rows, (const Transposed *transposed, int64_t channel), (transposed, channel))

/* Computes one channel of a group of the output. */
static void
compute_plane(void *context, int64_t channel)
{
    compute_rows(context, channel);
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

/* Returns whether such windows are computed here. */
static bool
is_planar(const Window *window)
{
    return window->rank <= 2 && window->stride[window->rank - 1] <= STRIDE_MAX;
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
    if (!is_planar(&convolution.window) || tensor_element_count(&inputs[0]) == 0 ||
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
    if (status != STATUS_OK || !is_planar(&convolution.window) ||
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
