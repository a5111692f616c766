/* Softmax and LogSoftmax of float32 along one dimension: the largest score is subtracted first, sums are kept
 * in double. A line with NaN becomes NaN. */
#include "worker/cpu/kernels/softmax.h"

#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/folds.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    COLUMNS = 128,               /* lines side by side that are computed at once */
    SHARED_ELEMENTS = 16 * 1024, /* fewer are not worth handing to another thread */
};

/* NaN is never larger. */
VECTOR_FUNCTION float
larger(float a, float b)
{
    return b > a ? b : a;
}

/* The order does not matter. */
VECTOR_FUNCTION float
largest_of(const float *x, int64_t count)
{
    float lanes[2 * VECTOR_LANES];
    enum { LANES = 2 * VECTOR_LANES };
    for (int lane = 0; lane < LANES; lane++) {
        lanes[lane] = -INFINITY;
    }
    int64_t n = 0;
    for (; n + LANES <= count; n += LANES) {
        VECTOR_LOOP for (int lane = 0; lane < LANES; lane++)
        {
            lanes[lane] = larger(lanes[lane], x[n + lane]);
        }
    }
    for (int lane = 0; n < count; n++, lane++) {
        lanes[lane] = larger(lanes[lane], x[n]);
    }
    for (int width = LANES / 2; width > 0; width /= 2) {
        for (int lane = 0; lane < width; lane++) {
            lanes[lane] = larger(lanes[lane], lanes[lane + width]);
        }
    }
    return lanes[0];
}

VECTOR_FOLD(sum_of, 0, sum + a, sum + a)

/* Computes one line, whose elements lie side by side. */
VECTOR_FUNCTION void
softmax_row_body(const float *x, float *z, int64_t count)
{
    float largest = largest_of(x, count);
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        z[n] = exponential_of(x[n] - largest);
    }
    float factor = (float)(1 / sum_of(z, count));
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        z[n] = z[n] * factor;
    }
}

/* The powers themselves are not wanted: a block of them at a time is enough. */
VECTOR_FUNCTION void
log_softmax_row_body(const float *x, float *z, int64_t count)
{
    enum { BLOCK = 8 * VECTOR_LANES };
    float powers[BLOCK];
    float largest = largest_of(x, count);
    double sum = 0;
    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t length = count - first < BLOCK ? count - first : BLOCK;
        VECTOR_LOOP for (int64_t n = 0; n < length; n++)
        {
            powers[n] = exponential_of(x[first + n] - largest);
        }
        sum += sum_of(powers, length);
    }
    // cppcheck-suppress invalidFunctionArg ; a line that is empty has no logarithm, and no elements
    double shift = (double)largest + log(sum);
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        z[n] = (float)((double)x[n] - shift);
    }
}

/* Finds the largest score of each column, and the sum of the powers, whose lines are `step` elements apart.
 */
VECTOR_FUNCTION void
column_sums(const float *x, int64_t count, int64_t step, int64_t columns, float *largest, double *sums)
{
    for (int64_t column = 0; column < columns; column++) {
        largest[column] = -INFINITY;
        sums[column] = 0;
    }
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            float a = x[row * step + column];
            largest[column] = a > largest[column] ? a : largest[column];
        }
    }
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            sums[column] += (double)exponential_of(x[row * step + column] - largest[column]);
        }
    }
}

VECTOR_FUNCTION void
softmax_columns_body(const float *x, float *z, int64_t count, int64_t step, int64_t columns)
{
    float largest[COLUMNS];
    double sums[COLUMNS];
    column_sums(x, count, step, columns, largest, sums);
    for (int64_t column = 0; column < columns; column++) {
        sums[column] = 1 / sums[column];
    }
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            float power = exponential_of(x[row * step + column] - largest[column]);
            z[row * step + column] = power * (float)sums[column];
        }
    }
}

VECTOR_FUNCTION void
log_softmax_columns_body(const float *x, float *z, int64_t count, int64_t step, int64_t columns)
{
    float largest[COLUMNS];
    double sums[COLUMNS];
    column_sums(x, count, step, columns, largest, sums);
    for (int64_t column = 0; column < columns; column++) {
        sums[column] = (double)largest[column] + log(sums[column]);
    }
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            z[row * step + column] = (float)((double)x[row * step + column] - sums[column]);
        }
    }
}

#define ROWS_AND_COLUMNS(name)                                                                               \
    VECTOR_VARIANTS(name##_row, (const float *x, float *z, int64_t count), (x, z, count))                    \
    VECTOR_VARIANTS(name##_columns,                                                                          \
        (const float *x, float *z, int64_t count, int64_t step, int64_t columns),                            \
        (x, z, count, step, columns))

ROWS_AND_COLUMNS(softmax)
ROWS_AND_COLUMNS(log_softmax)

void
softmax_rows(const float *x, float *z, int64_t rows, int64_t count)
{
    for (int64_t row = 0; row < rows; row++) {
        softmax_row(x + row * count, z + row * count, count);
    }
}

typedef struct Softmax {
    void (*compute_row)(const float *x, float *z, int64_t count);
    void (*compute_columns)(const float *x, float *z, int64_t count, int64_t step, int64_t columns);
    const float *x;
    float *z;
    Lines lines;
    int64_t part;        /* rows that a thread takes at once */
    int64_t inner_parts; /* blocks of columns */
} Softmax;

static void
compute_rows(void *context, int64_t index)
{
    const Softmax *softmax = context;
    int64_t end = smaller_of((index + 1) * softmax->part, softmax->lines.outer);
    for (int64_t row = index * softmax->part; row < end; row++) {
        int64_t offset = row * softmax->lines.size;
        softmax->compute_row(softmax->x + offset, softmax->z + offset, softmax->lines.size);
    }
}

static void
compute_columns(void *context, int64_t index)
{
    const Softmax *softmax = context;
    const Lines *lines = &softmax->lines;
    int64_t first = index % softmax->inner_parts * COLUMNS;
    int64_t offset = index / softmax->inner_parts * lines->size * lines->inner + first;
    softmax->compute_columns(softmax->x + offset, softmax->z + offset, lines->size, lines->inner,
        smaller_of(COLUMNS, lines->inner - first));
}

static Status
compute_softmax(KernelContext *context, int64_t axis, Softmax *softmax)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    Device *device = context->device;
    const Shape *shape = &output->shape;
    Lines lines = lines_along(shape, (int)(axis < 0 ? axis + shape->rank : axis));
    softmax->x = context->inputs[0].data;
    softmax->z = output->data;
    softmax->lines = lines;
    if (lines.inner == 1) {
        softmax->part = lines.size >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / lines.size;
        device->parallel_for(
            device, (lines.outer + softmax->part - 1) / softmax->part, compute_rows, softmax);
    } else {
        softmax->inner_parts = (lines.inner + COLUMNS - 1) / COLUMNS;
        device->parallel_for(device, lines.outer * softmax->inner_parts, compute_columns, softmax);
    }
    return STATUS_OK;
}

static Status
compute_plain(KernelContext *context, int64_t axis)
{
    Softmax softmax = {.compute_row = softmax_row, .compute_columns = softmax_columns};
    return compute_softmax(context, axis, &softmax);
}

static Status
compute_logarithm(KernelContext *context, int64_t axis)
{
    Softmax softmax = {.compute_row = log_softmax_row, .compute_columns = log_softmax_columns};
    return compute_softmax(context, axis, &softmax);
}

static Status
softmax_compute(KernelContext *context)
{
    return compute_plain(context, -1);
}

static Status
log_softmax_compute(KernelContext *context)
{
    return compute_logarithm(context, -1);
}

static Status
onnx_softmax_compute(KernelContext *context)
{
    return compute_plain(context, node_attr_int(context->node, "axis"));
}

static Status
onnx_log_softmax_compute(KernelContext *context)
{
    return compute_logarithm(context, node_attr_int(context->node, "axis"));
}

static bool
supports_float(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

#define SOFTMAX_KERNEL(name, function)                                                                       \
    {                                                                                                        \
        .op = (name), .supports = supports_float, .compute = (function), .sharing = KERNEL_FORWARDS          \
    }

static const Kernel softmax_kernels[] = {
    SOFTMAX_KERNEL("Softmax", softmax_compute),
    SOFTMAX_KERNEL("LogSoftmax", log_softmax_compute),
    SOFTMAX_KERNEL("onnx::Softmax", onnx_softmax_compute),
    SOFTMAX_KERNEL("onnx::LogSoftmax", onnx_log_softmax_compute),
};

KERNEL_FAMILY(cpu_kernels, softmax, softmax_kernels);
