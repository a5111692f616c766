/* float32 normalisation of rows, by their mean and variance or by their root mean square, when scale and bias
 * have one number for each element of a row. Sums are kept in double. All else is left to the reference
 * kernel. */
#include "worker/cpu/vector/folds.h"
#include "worker/reference/outputs.h"

enum { SHARED_ELEMENTS = 32 * 1024 }; /* fewer are not worth handing to another thread */

typedef struct LayerNorm {
    const float *x;
    const float *scale;
    const float *bias; /* NULL: none */
    float *z;
    float *mean;
    float *deviation; /* 1 / √(variance + ε) */
    double epsilon;
    int64_t rows;
    int64_t size; /* of a row */
    int64_t part; /* rows that a thread takes at once */
} LayerNorm;

VECTOR_FOLD(double, sum_of, 0, sum + a, sum + a)
VECTOR_FOLD(double, sum_of_squares, 0, sum + a * a, sum + a)

/* The row's distances from its mean are kept in z, where their squares are summed. */
VECTOR_FUNCTION void
normalize_row_body(const LayerNorm *norm, int64_t row)
{
    const float *x = norm->x + row * norm->size;
    const float *scale = norm->scale;
    const float *bias = norm->bias;
    float *z = norm->z + row * norm->size;
    double mean = sum_of(x, norm->size) / (double)norm->size;
    VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
    {
        z[n] = (float)((double)x[n] - mean);
    }
    double variance = sum_of_squares(z, norm->size) / (double)norm->size;
    float deviation = (float)(1 / sqrt(variance + norm->epsilon));
    if (bias != NULL) {
        VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
        {
            z[n] = z[n] * deviation * scale[n] + bias[n];
        }
    } else {
        VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
        {
            z[n] = z[n] * deviation * scale[n];
        }
    }
    norm->mean[row] = (float)mean;
    norm->deviation[row] = deviation;
}
VECTOR_VARIANTS(normalize_row, (const LayerNorm *norm, int64_t row), (norm, row))

VECTOR_FUNCTION void
divide_row_body(const LayerNorm *norm, int64_t row)
{
    const float *x = norm->x + row * norm->size;
    const float *scale = norm->scale;
    float *z = norm->z + row * norm->size;
    double squares = sum_of_squares(x, norm->size);
    float factor = (float)(1 / sqrt(squares / (double)norm->size + norm->epsilon));
    VECTOR_LOOP for (int64_t n = 0; n < norm->size; n++)
    {
        z[n] = x[n] * factor * scale[n];
    }
}
VECTOR_VARIANTS(divide_row, (const LayerNorm *norm, int64_t row), (norm, row))

static void
normalize_rows(void *context, int64_t index)
{
    const LayerNorm *norm = context;
    int64_t end = (index + 1) * norm->part < norm->rows ? (index + 1) * norm->part : norm->rows;
    for (int64_t row = index * norm->part; row < end; row++) {
        normalize_row(norm, row);
    }
}

static void
divide_rows(void *context, int64_t index)
{
    const LayerNorm *norm = context;
    int64_t end = (index + 1) * norm->part < norm->rows ? (index + 1) * norm->part : norm->rows;
    for (int64_t row = index * norm->part; row < end; row++) {
        divide_row(norm, row);
    }
}

static bool
supports_float32(const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->input_dtypes[index] != DTYPE_FLOAT32 && node->input_dtypes[index] != DTYPE_INVALID) {
            return false;
        }
    }
    return true;
}

static bool
layer_norm_supports(const Node *node)
{
    return supports_float32(node) && node->output_dtypes[1] == DTYPE_FLOAT32 &&
           node->output_dtypes[2] == DTYPE_FLOAT32;
}

static bool
has_input(const KernelContext *context, uint32_t index)
{
    return index < context->input_count && context->inputs[index].dtype != DTYPE_INVALID;
}

/* Returns whether the input has one number for each element of a row: the last dimensions of x, which have
 * `size` elements together, and none but ones in front. */
static bool
lies_along_rows(const Shape *shape, const Shape *x, int64_t size)
{
    int64_t found = 1;
    for (int back = 1; back <= shape->rank; back++) {
        int64_t dimension = shape->dims[shape->rank - back];
        int64_t expected = found < size ? x->dims[x->rank - back] : 1;
        if (dimension != expected) {
            return false;
        }
        found *= dimension;
    }
    return found == size;
}

static int64_t
rows_of_part(int64_t size)
{
    return size >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / size;
}

static Status
layer_norm_compute(KernelContext *context)
{
    Shape shapes[3];
    TRY(output_shapes(context, shapes));
    const Tensor *inputs = context->inputs;
    int64_t rows = 0;
    int64_t count = tensor_element_count(&inputs[0]);
    bool is_known = shape_element_count(&shapes[1], &rows) && rows > 0 && count > 0;
    int64_t size = is_known ? count / rows : 0;
    if (size == 0 || !lies_along_rows(&inputs[1].shape, &inputs[0].shape, size) ||
        (has_input(context, 2) && !lies_along_rows(&inputs[2].shape, &inputs[0].shape, size))) {
        return kernel_find_reference(context->node)->compute(context);
    }
    Tensor *outputs[3] = {NULL};
    for (uint32_t index = 0; index < COUNT_OF(outputs); index++) {
        TRY(kernel_output(context, index, DTYPE_FLOAT32, &shapes[index], &outputs[index]));
    }
    LayerNorm norm = {
        .x = inputs[0].data,
        .scale = inputs[1].data,
        .bias = has_input(context, 2) ? inputs[2].data : NULL,
        .z = outputs[0]->data,
        .mean = outputs[1]->data,
        .deviation = outputs[2]->data,
        .epsilon = (double)node_attr_float(context->node, "epsilon"),
        .rows = rows,
        .size = size,
        .part = rows_of_part(size),
    };
    Device *device = context->device;
    device->parallel_for(device, (rows + norm.part - 1) / norm.part, normalize_rows, &norm);
    return STATUS_OK;
}

static Status
rms_norm_compute(KernelContext *context)
{
    Shape shape;
    Tensor *output = NULL;
    const Tensor *inputs = context->inputs;
    TRY(output_shapes(context, &shape));
    int64_t axis = node_attr_int(context->node, "axis");
    int64_t size = 1;
    for (int64_t index = axis < 0 ? axis + shape.rank : axis; index < shape.rank; index++) {
        size *= shape.dims[index];
    }
    if (tensor_element_count(&inputs[0]) == 0 || !lies_along_rows(&inputs[1].shape, &inputs[0].shape, size)) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &shape, &output));
    LayerNorm norm = {
        .x = inputs[0].data,
        .scale = inputs[1].data,
        .z = output->data,
        .epsilon = (double)node_attr_float(context->node, "epsilon"),
        .rows = tensor_element_count(&inputs[0]) / size,
        .size = size,
        .part = rows_of_part(size),
    };
    Device *device = context->device;
    device->parallel_for(device, (norm.rows + norm.part - 1) / norm.part, divide_rows, &norm);
    return STATUS_OK;
}

static const Kernel layer_norm_kernels[] = {
    {.op = "onnx::LayerNormalization", .supports = layer_norm_supports, .compute = layer_norm_compute},
    {.op = "onnx::RMSNormalization", .supports = supports_float32, .compute = rms_norm_compute},
};

KERNEL_FAMILY(cpu_kernels, layer_norm, layer_norm_kernels);
