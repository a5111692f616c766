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

/* Reads the `count` numbers of a line's end, and behind them scores that change nothing. */
VECTOR_FUNCTION void
read_end(const float *x, int count, float *block)
{
    VECTOR_LOOP for (int lane = 0; lane < VECTOR_LANES; lane++)
    {
        block[lane] = lane < count ? x[lane] : -INFINITY;
    }
}

VECTOR_FUNCTION void
write_end(const float *block, int count, float *z)
{
    VECTOR_LOOP for (int lane = 0; lane < VECTOR_LANES; lane++)
    {
        if (lane < count) {
            z[lane] = block[lane];
        }
    }
}

/* Takes as many numbers into the lanes. */
#define LARGER_OF_EACH(width, numbers)                                                                       \
    VECTOR_LOOP for (int lane = 0; lane < (width); lane++)                                                   \
    {                                                                                                        \
        lanes[lane] = larger(lanes[lane], (numbers)[lane]);                                                  \
    }

/* The order does not matter, and numbers may be compared twice. */
VECTOR_FUNCTION float
largest_of(const float *x, int64_t count)
{
    float lanes[VECTOR_LANES];
    read_end(x, (int)(count < VECTOR_LANES ? count : VECTOR_LANES), lanes);
    int64_t n = VECTOR_LANES;
    for (; n + VECTOR_LANES <= count; n += VECTOR_LANES) {
        LARGER_OF_EACH(VECTOR_LANES, x + n)
    }
    if (n < count) {
        LARGER_OF_EACH(VECTOR_LANES, x + count - VECTOR_LANES)
    }
    LARGER_OF_EACH(16, lanes + 16)
    LARGER_OF_EACH(8, lanes + 8)
    LARGER_OF_EACH(4, lanes + 4)
    LARGER_OF_EACH(2, lanes + 2)
    return larger(lanes[0], lanes[1]);
}

#define FOLD_SUM(width)                                                                                      \
    VECTOR_LOOP for (int lane = 0; lane < (width); lane++)                                                   \
    {                                                                                                        \
        sums[lane] += sums[lane + (width)];                                                                  \
    }
#define FOLD_SUMS FOLD_SUM(16) FOLD_SUM(8) FOLD_SUM(4) FOLD_SUM(2) FOLD_SUM(1)

/* Computes the powers of a block of scores, and adds them to the lanes' sums. */
VECTOR_FUNCTION void
add_powers(const float *x, float largest, float *powers, double *sums)
{
    VECTOR_LOOP for (int lane = 0; lane < VECTOR_LANES; lane++)
    {
        float power = exponential_of_score(x[lane] - largest);
        powers[lane] = power;
        sums[lane] += (double)power;
    }
}

/* Returns the sum of the powers of a line. Those that are kept go to `z`, which may be the scores' memory. */
VECTOR_FUNCTION double
sum_of_powers(const float *x, float largest, float *z, bool is_kept, int64_t count)
{
    double sums[VECTOR_LANES] = {0};
    float block[VECTOR_LANES];
    int64_t n = 0;
    for (; n + VECTOR_LANES <= count; n += VECTOR_LANES) {
        add_powers(x + n, largest, is_kept ? z + n : block, sums);
    }
    if (n < count) {
        int rest = (int)(count - n);
        read_end(x + n, rest, block);
        add_powers(block, largest, block, sums);
        if (is_kept) {
            write_end(block, rest, z + n);
        }
    }
    FOLD_SUMS
    return sums[0];
}

/* Computes one line, whose elements lie side by side. */
VECTOR_FUNCTION void
softmax_row_body(const float *x, float *z, int64_t count)
{
    float factor = (float)(1 / sum_of_powers(x, largest_of(x, count), z, true, count));
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        z[n] = z[n] * factor;
    }
}

/* Nothing cancels: x - largest and -log(sum) are both 0 or less. */
VECTOR_FUNCTION void
log_softmax_row_body(const float *x, float *z, int64_t count)
{
    float largest = largest_of(x, count);
    // cppcheck-suppress invalidFunctionArg ; a line that is empty has no logarithm, and no elements
    float shift = (float)log(sum_of_powers(x, largest, NULL, false, count));
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        z[n] = x[n] - largest - shift;
    }
}

/* The results of a first pass over lines side by side. */
typedef struct Columns {
    float largest[COLUMNS];
    double sums[COLUMNS];  /* of powers */
    float shares[COLUMNS]; /* 1 / sum, or log(sum) */
} Columns;

/* Finds the largest score of each column, whose lines are `step` elements apart. */
VECTOR_FUNCTION void
find_largest(const float *x, int64_t count, int64_t step, int64_t columns, Columns *found)
{
    for (int64_t column = 0; column < columns; column++) {
        found->largest[column] = -INFINITY;
        found->sums[column] = 0;
    }
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            found->largest[column] = larger(found->largest[column], x[row * step + column]);
        }
    }
}

/* Computes the power of a score, and adds it to its column's sum. */
VECTOR_FUNCTION float
add_power(Columns *found, int64_t column, float score)
{
    float power = exponential_of_score(score - found->largest[column]);
    found->sums[column] += (double)power;
    return power;
}

VECTOR_FUNCTION void
softmax_columns_body(const float *x, float *z, int64_t count, int64_t step, int64_t columns)
{
    Columns found;
    find_largest(x, count, step, columns, &found);
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            z[row * step + column] = add_power(&found, column, x[row * step + column]);
        }
    }
    for (int64_t column = 0; column < columns; column++) {
        found.shares[column] = (float)(1 / found.sums[column]);
    }
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            z[row * step + column] *= found.shares[column];
        }
    }
}

VECTOR_FUNCTION void
log_softmax_columns_body(const float *x, float *z, int64_t count, int64_t step, int64_t columns)
{
    Columns found;
    find_largest(x, count, step, columns, &found);
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            (void)add_power(&found, column, x[row * step + column]);
        }
    }
    for (int64_t column = 0; column < columns; column++) {
        found.shares[column] = (float)log(found.sums[column]);
    }
    for (int64_t row = 0; row < count; row++) {
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
        {
            z[row * step + column] = x[row * step + column] - found.largest[column] - found.shares[column];
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
