/* float32 normalisation of the rows of a sum, as ONNX Runtime has it. Sums of rows are kept in double. A skip
 * that has its own shape is left to the reference kernel. */
#include "worker/cpu/vector/folds.h"
#include "worker/reference/outputs.h"

enum { SHARED_ELEMENTS = 32 * 1024 }; /* fewer are not worth handing to another thread */
enum { OUTPUT, MEAN, DEVIATION, SUM, OUTPUTS };

typedef struct SkipNorm {
    const float *x;
    const float *skip;
    const float *gamma;
    const float *beta; /* NULL: none */
    const float *bias; /* NULL: none */
    float *outputs[OUTPUTS];
    double epsilon;
    bool has_mean; /* the rows' mean is taken off */
    int64_t rows;
    int64_t size; /* of a row */
    int64_t part; /* rows that a thread takes at once */
} SkipNorm;

VECTOR_FOLD(double, sum_of, 0, sum + a, sum + a)
VECTOR_FOLD(double, sum_of_squares, 0, sum + a * a, sum + a)

VECTOR_FUNCTION void
add_row(const SkipNorm *norm, int64_t first, float *sum)
{
    VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
    {
        sum[n] = norm->x[first + n] + norm->skip[first + n];
    }
    if (norm->bias != NULL) {
        VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
        {
            sum[n] = sum[n] + norm->bias[n];
        }
    }
}

/* The row's distances from its mean are kept in z, where their squares are summed. */
VECTOR_FUNCTION void
normalize_row_body(const SkipNorm *norm, int64_t row)
{
    float *sum = norm->outputs[SUM] + row * norm->size;
    float *z = norm->outputs[OUTPUT] + row * norm->size;
    const float *gamma = norm->gamma;
    const float *beta = norm->beta;
    add_row(norm, row * norm->size, sum);
    double mean = norm->has_mean ? sum_of(sum, norm->size) / (double)norm->size : 0;
    VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
    {
        z[n] = (float)((double)sum[n] - mean);
    }
    double variance = sum_of_squares(z, norm->size) / (double)norm->size;
    float deviation = (float)(1 / sqrt(variance + norm->epsilon));
    VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
    {
        z[n] = z[n] * deviation * gamma[n];
    }
    if (beta != NULL) {
        VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
        {
            z[n] = z[n] + beta[n];
        }
    }
    norm->outputs[MEAN][row] = (float)mean;
    norm->outputs[DEVIATION][row] = deviation;
}
VECTOR_VARIANTS(normalize_row, (const SkipNorm *norm, int64_t row), (norm, row))

static void
normalize_rows(void *context, int64_t index)
{
    const SkipNorm *norm = context;
    int64_t end = (index + 1) * norm->part < norm->rows ? (index + 1) * norm->part : norm->rows;
    for (int64_t row = index * norm->part; row < end; row++) {
        normalize_row(norm, row);
    }
}

static bool
supports_float32(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static const float *
optional_input(const KernelContext *context, uint32_t input)
{
    return input < context->input_count ? context->inputs[input].data : NULL;
}

static Status
compute(KernelContext *context, SkipNorm *norm)
{
    Shape shapes[OUTPUTS];
    const Tensor *inputs = context->inputs;
    TRY(output_shapes(context, shapes));
    int64_t count = tensor_element_count(&inputs[0]);
    if (count == 0 || tensor_element_count(&inputs[1]) != count) {
        return kernel_find_reference(context->node)->compute(context);
    }
    for (uint32_t index = 0; index < OUTPUTS; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, DTYPE_FLOAT32, &shapes[index], &output));
        norm->outputs[index] = output->data;
    }
    norm->x = inputs[0].data;
    norm->skip = inputs[1].data;
    norm->gamma = inputs[2].data;
    norm->epsilon = (double)node_attr_float(context->node, "epsilon");
    norm->size = inputs[0].shape.dims[inputs[0].shape.rank - 1];
    norm->rows = count / norm->size;
    norm->part = norm->size >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / norm->size;
    Device *device = context->device;
    device->parallel_for(device, (norm->rows + norm->part - 1) / norm->part, normalize_rows, norm);
    return STATUS_OK;
}

static Status
skip_norm_compute(KernelContext *context)
{
    SkipNorm norm = {
        .has_mean = true, .beta = optional_input(context, 3), .bias = optional_input(context, 4)};
    return compute(context, &norm);
}

static Status
simplified_compute(KernelContext *context)
{
    SkipNorm norm = {.has_mean = false, .bias = optional_input(context, 3)};
    return compute(context, &norm);
}

static const Kernel skip_layer_norm_kernels[] = {
    {.op = "com.microsoft::SkipLayerNormalization",
        .supports = supports_float32,
        .compute = skip_norm_compute},
    {.op = "com.microsoft::SkipSimplifiedLayerNormalization",
        .supports = supports_float32,
        .compute = simplified_compute},
};

KERNEL_FAMILY(cpu_kernels, skip_layer_norm, skip_layer_norm_kernels);
