/* Dimensions folded into one value. The elements of one result are taken in row-major order by one thread:
 * sums of floats are kept in double, and are the same however the work is divided. */
#include <math.h>

#include "shared/ops/reduce/rule.h"
#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/reference/strided_copy.h"
#include "worker/reference/walk.h"

typedef struct Reduce {
    const void *input;
    void *output;
    int64_t output_count;
    Walk kept;          /* the first element of each result */
    Walk lines;         /* the first element of each line of a result, relative to the result's */
    int64_t line_count; /* elements of a line */
    int64_t line_stride;
    int64_t count; /* elements folded into one result */
} Reduce;

typedef void (*ReduceLoop)(Reduce *reduce);

/* `step` takes `a` into `sum`; `finish` makes the result from `sum` and `count`. */
#define REDUCE_LOOP(name, accumulator, initial, step, finish, upper, lower, storage, compute, read, write)   \
    static void name##_##lower(Reduce *reduce)                                                               \
    {                                                                                                        \
        typedef storage Storage __attribute__((unused));                                                     \
        const storage *x = reduce->input;                                                                    \
        storage *z = reduce->output;                                                                         \
        int64_t count = reduce->count;                                                                       \
        (void)count;                                                                                         \
        for (int64_t n = 0; n < reduce->output_count; n++, (void)walk_next(&reduce->kept)) {                 \
            accumulator sum = initial;                                                                       \
            for (bool goes_on = count > 0; goes_on; goes_on = walk_next(&reduce->lines)) {                   \
                const storage *line = &x[reduce->kept.offset + reduce->lines.offset];                        \
                for (int64_t k = 0; k < reduce->line_count; k++) {                                           \
                    compute a = read(line[k * reduce->line_stride]);                                         \
                    step;                                                                                    \
                }                                                                                            \
            }                                                                                                \
            z[n] = write((compute)(finish));                                                                 \
        }                                                                                                    \
    }

#define SIGNED_LOWEST ((int64_t)(UINT64_MAX << (8 * sizeof(Storage) - 1)))
#define SIGNED_HIGHEST (~SIGNED_LOWEST)
#define REAL(a) ((double)(a))
#define ENDLESS ((double)INFINITY)

#define NUMBERS(name, initial, float_step, integer_step)                                                     \
    FLOATING_ELEMENTS(REDUCE_LOOP, name, double, initial, float_step, sum)                                   \
    WRAPPING_ELEMENTS(REDUCE_LOOP, name, uint64_t, initial, integer_step, sum)                               \
    static const ReduceLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name)};

#define FLOATS(name, accumulator, initial, step, finish)                                                     \
    FLOATING_ELEMENTS(REDUCE_LOOP, name, accumulator, initial, step, finish)                                 \
    static const ReduceLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

NUMBERS(sum, 0, sum += REAL(a), sum += a)
NUMBERS(product, 1, sum *= REAL(a), sum *= a)
NUMBERS(sum_of_squares, 0, sum += REAL(a) * REAL(a), sum += a * a)
FLOATS(norm, double, 0, sum += REAL(a) * REAL(a), sqrt(sum))
// cppcheck-suppress invalidFunctionArg ; the logarithm of an empty sum is -inf
FLOATS(logarithm_of_sum, double, 0, sum += REAL(a), log(sum))

FLOATING_ELEMENTS(REDUCE_LOOP, mean, double, 0, sum += REAL(a), sum / REAL(count))
SIGNED_ELEMENTS(REDUCE_LOOP, mean, uint64_t, 0, sum += (uint64_t)a, count == 0 ? 0 : (int64_t)sum / count)
UNSIGNED_ELEMENTS(REDUCE_LOOP, mean, uint64_t, 0, sum += a, count == 0 ? 0 : sum / (uint64_t)count)
static const ReduceLoop mean_loops[DTYPE_COUNT] = {REAL_LOOPS(mean)};

FLOATING_ELEMENTS(REDUCE_LOOP, absolute_sum, double, 0, sum += fabs(REAL(a)), sum)
SIGNED_ELEMENTS(REDUCE_LOOP, absolute_sum, uint64_t, 0, sum += a < 0 ? 0 - (uint64_t)a : (uint64_t)a, sum)
UNSIGNED_ELEMENTS(REDUCE_LOOP, absolute_sum, uint64_t, 0, sum += a, sum)
static const ReduceLoop absolute_sum_loops[DTYPE_COUNT] = {REAL_LOOPS(absolute_sum)};

/* NaN wins. The maximum of no elements is the lowest number. */
FLOATING_ELEMENTS(REDUCE_LOOP, maximum, double, -ENDLESS, sum = REAL(a) > sum || a != a ? REAL(a) : sum, sum)
SIGNED_ELEMENTS(REDUCE_LOOP, maximum, int64_t, SIGNED_LOWEST, sum = a > sum ? a : sum, sum)
UNSIGNED_ELEMENTS(REDUCE_LOOP, maximum, uint64_t, 0, sum = a > sum ? a : sum, sum)
BOOL_ELEMENTS(REDUCE_LOOP, maximum, bool, false, sum = sum || a, sum)
static const ReduceLoop maximum_loops[DTYPE_COUNT] = {REAL_LOOPS(maximum) BOOL_LOOPS(maximum)};

FLOATING_ELEMENTS(REDUCE_LOOP, minimum, double, ENDLESS, sum = REAL(a) < sum || a != a ? REAL(a) : sum, sum)
SIGNED_ELEMENTS(REDUCE_LOOP, minimum, int64_t, SIGNED_HIGHEST, sum = a < sum ? a : sum, sum)
UNSIGNED_ELEMENTS(REDUCE_LOOP, minimum, uint64_t, UINT64_MAX, sum = a < sum ? a : sum, sum)
BOOL_ELEMENTS(REDUCE_LOOP, minimum, bool, true, sum = sum && a, sum)
static const ReduceLoop minimum_loops[DTYPE_COUNT] = {REAL_LOOPS(minimum) BOOL_LOOPS(minimum)};

/* log Σ e^a. The largest a is factored out as it grows, so that nothing overflows. */
typedef struct Exponentials {
    double largest;
    double sum; /* of e^(a - largest) */
} Exponentials;

static void
exponentials_add(Exponentials *exponentials, double a)
{
    if (a == -ENDLESS) {
        return;
    }
    if (a > exponentials->largest) {
        exponentials->sum = exponentials->sum * exp(exponentials->largest - a) + 1;
        exponentials->largest = a;
    } else {
        exponentials->sum += a == exponentials->largest ? 1 : exp(a - exponentials->largest);
    }
}

static double
exponentials_logarithm(const Exponentials *exponentials)
{
    return exponentials->sum == 0 ? -ENDLESS : exponentials->largest + log(exponentials->sum);
}

#define NO_EXPONENTIALS ((Exponentials){.largest = -ENDLESS})
FLOATS(logarithm_of_exponentials, Exponentials, NO_EXPONENTIALS, exponentials_add(&sum, REAL(a)),
    exponentials_logarithm(&sum))

static void
add_dimension(Walk *walk, int64_t size, int64_t stride)
{
    walk->dims[walk->rank] = size;
    walk->strides[walk->rank++] = stride;
}

/* Divides the dimensions into kept and reduced ones; the last reduced one becomes the line. */
static Reduce
plan_reduction(const Tensor *input, const Reduction *reduction, Tensor *output)
{
    Reduce reduce = {.input = input->data,
        .output = output->data,
        .output_count = tensor_element_count(output),
        .line_count = 1,
        .line_stride = 1};
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(&input->shape, strides);
    for (int dimension = 0; dimension < input->shape.rank; dimension++) {
        Walk *walk = reduction->is_reduced[dimension] ? &reduce.lines : &reduce.kept;
        add_dimension(walk, input->shape.dims[dimension], strides[dimension]);
    }
    reduce.count = walk_count(&reduce.lines);
    if (reduce.lines.rank > 0) {
        int last = --reduce.lines.rank;
        reduce.line_count = reduce.lines.dims[last];
        reduce.line_stride = reduce.lines.strides[last];
    }
    return reduce;
}

static Status
compute_reduction(KernelContext *context, const ReduceLoop *loops)
{
    KernelInference inference;
    Reduction reduction;
    kernel_inference(context, NULL, &inference);
    TRY(reduction_read(context->call, &inference.context, &reduction));
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &reduction.output, &output));
    Reduce reduce = plan_reduction(&context->inputs[0], &reduction, output);
    loops[context->inputs[0].dtype](&reduce);
    return STATUS_OK;
}

/* The kernel functions of a reduction with the loops `name_loops`. */
#define REDUCTION(name)                                                                                      \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        return name##_loops[node->input_dtypes[0]] != NULL;                                                  \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute_reduction(context, name##_loops);                                                     \
    }

REDUCTION(sum)
REDUCTION(mean)
REDUCTION(maximum)
REDUCTION(minimum)
REDUCTION(product)
REDUCTION(norm)
REDUCTION(absolute_sum)
REDUCTION(sum_of_squares)
REDUCTION(logarithm_of_sum)
REDUCTION(logarithm_of_exponentials)

#define REDUCTION_KERNEL(name, function)                                                                     \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_compute, .host_inputs = 1 << 1  \
    }

static const Kernel reduce_kernels[] = {
    REDUCTION_KERNEL("Sum", sum),
    REDUCTION_KERNEL("Mean", mean),
    REDUCTION_KERNEL("Max", maximum),
    REDUCTION_KERNEL("Min", minimum),
    REDUCTION_KERNEL("Prod", product),
    REDUCTION_KERNEL("EuclideanNorm", norm),
    REDUCTION_KERNEL("Any", maximum),
    REDUCTION_KERNEL("All", minimum),
    REDUCTION_KERNEL("onnx::ReduceSum", sum),
    REDUCTION_KERNEL("onnx::ReduceMean", mean),
    REDUCTION_KERNEL("onnx::ReduceMax", maximum),
    REDUCTION_KERNEL("onnx::ReduceMin", minimum),
    REDUCTION_KERNEL("onnx::ReduceProd", product),
    REDUCTION_KERNEL("onnx::ReduceL1", absolute_sum),
    REDUCTION_KERNEL("onnx::ReduceL2", norm),
    REDUCTION_KERNEL("onnx::ReduceSumSquare", sum_of_squares),
    REDUCTION_KERNEL("onnx::ReduceLogSum", logarithm_of_sum),
    REDUCTION_KERNEL("onnx::ReduceLogSumExp", logarithm_of_exponentials),
};

KERNEL_FAMILY(reference, reduce, reduce_kernels);
