/* Dimensions of float32 folded into one value, when those that are folded lie side by side: whole rows, or
 * columns. All else is left to the reference kernel. */
#include <math.h>

#include "shared/ops/reduce/rule.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/folds.h"
#include "worker/reference/outputs.h"

enum {
    COLUMNS = 256,               /* that are folded at once; their sums stay in the nearest cache */
    SHARED_ELEMENTS = 32 * 1024, /* fewer are not worth handing to another thread */
};

typedef struct FoldFunction {
    /* Folds a row, behind whose start so many elements can be read. */
    void (*fold_row)(const float *x, int64_t count, int64_t readable, double *ret_sum);

    /* Folds `count` rows, `step` elements apart, into as many sums as columns. */
    void (*fold_columns)(const float *x, int64_t count, int64_t step, int64_t columns, double *ret_sums);
    double (*finish)(double sum, double count);
} FoldFunction;

/* Folds several rows at a time, so that the sums are read and written once for all of them; each sum takes
 * its numbers in the order of the rows. */
#define COLUMN_STEP(type, row, step_expression)                                                              \
    {                                                                                                        \
        type a = (type)rows[(row)*step + column];                                                            \
        sum = (step_expression);                                                                             \
    }

#define COLUMN_FOLD(type, name, initial, step_expression)                                                    \
    VECTOR_FUNCTION void name##_columns_body(                                                                \
        const float *x, int64_t count, int64_t step, int64_t columns, double *ret_sums)                      \
    {                                                                                                        \
        type sums[COLUMNS];                                                                                  \
        for (int64_t column = 0; column < columns; column++) {                                               \
            sums[column] = (initial);                                                                        \
        }                                                                                                    \
        int64_t row = 0;                                                                                     \
        for (; row + 4 <= count; row += 4) {                                                                 \
            const float *rows = x + row * step;                                                              \
            VECTOR_LOOP for (int64_t column = 0; column < columns; column++)                                 \
            {                                                                                                \
                type sum = sums[column];                                                                     \
                COLUMN_STEP(type, 0, step_expression)                                                        \
                COLUMN_STEP(type, 1, step_expression)                                                        \
                COLUMN_STEP(type, 2, step_expression)                                                        \
                COLUMN_STEP(type, 3, step_expression)                                                        \
                sums[column] = sum;                                                                          \
            }                                                                                                \
        }                                                                                                    \
        for (; row < count; row++) {                                                                         \
            const float *rows = x + row * step;                                                              \
            VECTOR_LOOP for (int64_t column = 0; column < columns; column++)                                 \
            {                                                                                                \
                type sum = sums[column];                                                                     \
                COLUMN_STEP(type, 0, step_expression)                                                        \
                sums[column] = sum;                                                                          \
            }                                                                                                \
        }                                                                                                    \
        for (int64_t column = 0; column < columns; column++) {                                               \
            ret_sums[column] = (double)sums[column];                                                         \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(name##_columns,                                                                          \
        (const float *x, int64_t count, int64_t step, int64_t columns, double *ret_sums),                    \
        (x, count, step, columns, ret_sums))

#define FOLD(type, name, initial, step, combine)                                                             \
    VECTOR_FOLD(type, name##_of_row, initial, step, combine)                                                 \
    VECTOR_FUNCTION void name##_row_body(const float *x, int64_t count, int64_t readable, double *ret_sum)   \
    {                                                                                                        \
        *ret_sum = (double)name##_of_row_within(x, count, readable);                                         \
    }                                                                                                        \
    VECTOR_VARIANTS(name##_row, (const float *x, int64_t count, int64_t readable, double *ret_sum),          \
        (x, count, readable, ret_sum))                                                                       \
    COLUMN_FOLD(type, name, initial, step)

FOLD(double, sum, 0, sum + a, sum + a)
FOLD(double, absolute_sum, 0, sum + fabs(a), sum + a)
FOLD(double, sum_of_squares, 0, sum + a * a, sum + a)
FOLD(float, maximum, -INFINITY, VECTOR_LARGER, VECTOR_LARGER)
FOLD(float, minimum, INFINITY, VECTOR_SMALLER, VECTOR_SMALLER)

static double
finish_whole(double sum, double count)
{
    (void)count;
    return sum;
}

static double
finish_mean(double sum, double count)
{
    return sum / count;
}

static double
finish_norm(double sum, double count)
{
    (void)count;
    return sqrt(sum);
}

/* Element (o, k, i) is at (o × count + k) × inner + i; the values of one o and i are folded. */
typedef struct Fold {
    const FoldFunction *function;
    const float *x;
    float *z;
    int64_t outer;
    int64_t count;
    int64_t inner;
    int64_t part;        /* rows that a thread takes at once */
    int64_t inner_parts; /* blocks of columns */
} Fold;

/* Finds the three sizes. False: kept and folded dimensions alternate more often. */
static bool
find_sizes(const Shape *shape, const Reduction *reduction, Fold *fold)
{
    int64_t *const sizes[] = {&fold->outer, &fold->count, &fold->inner};
    int turn = 0;
    fold->outer = fold->count = fold->inner = 1;
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        if (shape->dims[dimension] == 1) {
            continue;
        }
        bool is_folded = turn == 1;
        turn += reduction->is_reduced[dimension] != is_folded ? 1 : 0;
        if (turn >= (int)COUNT_OF(sizes)) {
            return false;
        }
        *sizes[turn] *= shape->dims[dimension];
    }
    return true;
}

static void
fold_rows(void *context, int64_t index)
{
    const Fold *fold = context;
    int64_t end = smaller_of((index + 1) * fold->part, fold->outer);
    for (int64_t row = index * fold->part; row < end; row++) {
        double sum = 0;
        fold->function->fold_row(
            fold->x + row * fold->count, fold->count, (fold->outer - row) * fold->count, &sum);
        fold->z[row] = (float)fold->function->finish(sum, (double)fold->count);
    }
}

static void
fold_columns(void *context, int64_t index)
{
    const Fold *fold = context;
    double sums[COLUMNS];
    int64_t outer = index / fold->inner_parts;
    int64_t first = index % fold->inner_parts * COLUMNS;
    int64_t columns = smaller_of(COLUMNS, fold->inner - first);
    const float *x = fold->x + outer * fold->count * fold->inner + first;
    fold->function->fold_columns(x, fold->count, fold->inner, columns, sums);
    for (int64_t column = 0; column < columns; column++) {
        fold->z[outer * fold->inner + first + column] =
            (float)fold->function->finish(sums[column], (double)fold->count);
    }
}

static void
run_fold(Device *device, Fold *fold)
{
    if (fold->inner == 1) {
        fold->part = fold->count >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / fold->count;
        device->parallel_for(device, (fold->outer + fold->part - 1) / fold->part, fold_rows, fold);
    } else {
        fold->inner_parts = (fold->inner + COLUMNS - 1) / COLUMNS;
        device->parallel_for(device, fold->outer * fold->inner_parts, fold_columns, fold);
    }
}

static Status
compute_fold(KernelContext *context, const FoldFunction *function)
{
    const Tensor *input = &context->inputs[0];
    KernelInference inference;
    Reduction reduction;
    kernel_inference(context, NULL, &inference);
    TRY(reduction_read(context->call, &inference.context, &reduction));
    Fold fold = {.function = function, .x = input->data};
    if (!find_sizes(&input->shape, &reduction, &fold) || fold.outer * fold.count * fold.inner == 0) {
        return kernel_find_reference(context->node)->compute(context);
    }
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &reduction.output, &output));
    fold.z = output->data;
    run_fold(context->device, &fold);
    return STATUS_OK;
}

static bool
supports_float(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

#define FOLD_COMPUTE(name, fold, finish_function)                                                            \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        static const FoldFunction function = {                                                               \
            .fold_row = fold##_row, .fold_columns = fold##_columns, .finish = (finish_function)};            \
        return compute_fold(context, &function);                                                             \
    }

FOLD_COMPUTE(sum, sum, finish_whole)
FOLD_COMPUTE(mean, sum, finish_mean)
FOLD_COMPUTE(maximum, maximum, finish_whole)
FOLD_COMPUTE(minimum, minimum, finish_whole)
FOLD_COMPUTE(absolute_sum, absolute_sum, finish_whole)
FOLD_COMPUTE(sum_of_squares, sum_of_squares, finish_whole)
FOLD_COMPUTE(norm, sum_of_squares, finish_norm)

#define FOLD_KERNEL(name, function)                                                                          \
    {                                                                                                        \
        .op = (name), .supports = supports_float, .compute = function##_compute, .host_inputs = 1 << 1       \
    }

static const Kernel reduce_kernels[] = {
    FOLD_KERNEL("Sum", sum),
    FOLD_KERNEL("Mean", mean),
    FOLD_KERNEL("Max", maximum),
    FOLD_KERNEL("Min", minimum),
    FOLD_KERNEL("EuclideanNorm", norm),
    FOLD_KERNEL("onnx::ReduceSum", sum),
    FOLD_KERNEL("onnx::ReduceMean", mean),
    FOLD_KERNEL("onnx::ReduceMax", maximum),
    FOLD_KERNEL("onnx::ReduceMin", minimum),
    FOLD_KERNEL("onnx::ReduceL1", absolute_sum),
    FOLD_KERNEL("onnx::ReduceL2", norm),
    FOLD_KERNEL("onnx::ReduceSumSquare", sum_of_squares),
};

KERNEL_FAMILY(cpu_kernels, reduce, reduce_kernels);
