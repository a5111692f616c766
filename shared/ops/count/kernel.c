/* Elements counted and ranked. */
#include <math.h>
#include <stdlib.h>

#include "worker/reference/doubles.h"
#include "worker/reference/elements.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

static bool
bincount_supports(const Node *node)
{
    return wide_supports(WIDE_ADD, node->output_dtypes[0]);
}

typedef struct Bins {
    Tensor sums;    /* of a wide dtype */
    Tensor weights; /* one for each number, in the dtype of `sums`; no elements: all are 1 */
    int64_t count;  /* bins of one row */
    int64_t row;    /* numbers of one row */
    bool is_binary; /* records whether a number occurs, not how often */
} Bins;

static void
bins_done(Bins *bins)
{
    tensor_unref(&bins->sums);
    tensor_unref(&bins->weights);
}
#define AUTO_BINS CLEANUP(bins_done) Bins

static Status
bins_begin(KernelContext *context, const Shape *shape, Bins *bins)
{
    const Tensor *numbers = &context->inputs[0];
    Dtype wide = wide_dtype(context->node->output_dtypes[0]);
    bool is_weighted = tensor_element_count(&context->inputs[2]) > 0 && !bins->is_binary;
    TRY(scratch_new(context, wide, shape, &bins->sums));
    TRY(scratch_cast(context, is_weighted ? &context->inputs[2] : numbers, wide, &bins->weights));
    if (!is_weighted) {
        fill_number(&bins->weights, 1);
    }
    fill_zero(&bins->sums);
    bins->count = shape->dims[shape->rank - 1];
    bins->row = shape->rank == 1 ? tensor_element_count(numbers) : numbers->shape.dims[1];
    return STATUS_OK;
}

static void
bins_add(Bins *bins, int64_t n, int64_t bin)
{
    size_t size = dtype_size(bins->sums.dtype);
    char *sum = (char *)bins->sums.data + (size_t)(n / bins->row * bins->count + bin) * size;
    wide_combine(bins->is_binary ? WIDE_REPLACE : WIDE_ADD, bins->sums.dtype, sum,
        (const char *)bins->weights.data + (size_t)n * size, 1);
}

/* Adds the weight of element n, or 1, to the bin of its number; numbers above the last bin are left out. */
static Status
count_numbers(KernelContext *context, bool is_binary)
{
    const Tensor *numbers = &context->inputs[0];
    AUTO_BINS bins = {.is_binary = is_binary};
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(bins_begin(context, &shape, &bins));
    for (int64_t n = 0; n < tensor_element_count(numbers); n++) {
        int64_t bin = -1;
        if (!tensor_to_int64(numbers, n, &bin) || bin < 0) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "element %lld is %lld, not at least 0",
                (long long)n, (long long)bin);
        }
        if (bin < bins.count) {
            bins_add(&bins, n, bin);
        }
    }
    return scratch_finish(context, 0, &bins.sums);
}

static Status
bincount_compute(KernelContext *context)
{
    return count_numbers(context, false);
}

static Status
dense_bincount_compute(KernelContext *context)
{
    return count_numbers(context, node_attr_bool(context->node, "binary_output"));
}

static bool
histogram_supports(const Node *node)
{
    return dtype_is_integer(node->output_dtypes[0]);
}

/* Values outside the range count for the first or the last bin. */
static Status
histogram_compute(KernelContext *context)
{
    Shape shape;
    AUTO_TENSOR values = {0};
    AUTO_TENSOR range = {0};
    AUTO_TENSOR bins = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &values));
    TRY(scratch_cast(context, &context->inputs[1], DTYPE_FLOAT64, &range));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &bins));
    fill_zero(&bins);
    const double *ends = range.data;
    if (!(ends[0] < ends[1])) {
        return call_fail(
            context->call, STATUS_INVALID_ARGUMENT, "the range ends at %g, not above %g", ends[1], ends[0]);
    }
    double last = (double)(shape.dims[0] - 1);
    double width = (ends[1] - ends[0]) / (double)shape.dims[0];
    for (int64_t n = 0; n < tensor_element_count(&values); n++) {
        double value = ((const double *)values.data)[n];
        double bin = value > ends[0] ? (value - ends[0]) / width : 0;
        ((double *)bins.data)[(int64_t)(bin < last ? bin : last)]++;
    }
    return scratch_finish(context, 0, &bins);
}

static bool
number_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

/* Counts the boundaries that are not above the element. */
static Status
bucketize_compute(KernelContext *context)
{
    const AttrValue *boundaries = node_attr(context->node, "boundaries");
    AUTO_TENSOR values = {0};
    Tensor *output = NULL;
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &values));
    TRY(output_new(context, &output));
    for (int64_t n = 0; n < tensor_element_count(&values); n++) {
        double value = ((const double *)values.data)[n];
        int32_t bucket = 0;
        while ((size_t)bucket < boundaries->value.list.count &&
               !(value < (double)boundaries->value.list.items[bucket].value.f)) {
            bucket++;
        }
        ((int32_t *)output->data)[n] = bucket;
    }
    return STATUS_OK;
}

#define NTH_LOOP(name, unused, upper, lower, storage, compute, read, write)                                  \
    static int name##_compare_##lower(const void *left, const void *right)                                   \
    {                                                                                                        \
        compute a = read(*(const storage *)left);                                                            \
        compute b = read(*(const storage *)right);                                                           \
        return (a > b) - (a < b);                                                                            \
    }

typedef int (*CompareElements)(const void *left, const void *right);

REAL_ELEMENTS(NTH_LOOP, nth, )
static const CompareElements nth_compare_loops[DTYPE_COUNT] = {REAL_LOOPS(nth_compare)};

/* Each line is sorted in a copy. */
static Status
nth_element_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    int64_t position = 0;
    size_t count = 0;
    Tensor *output = NULL;
    AUTO_TENSOR sorted = {0};
    TRY(output_new(context, &output));
    TRY(kernel_input_ints(context, 1, &position, 1, &count));
    TRY(scratch_cast(context, input, input->dtype, &sorted));
    int64_t line = input->shape.dims[input->shape.rank - 1];
    size_t size = dtype_size(input->dtype);
    position = node_attr_bool(context->node, "reverse") ? line - 1 - position : position;
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        char *elements = (char *)sorted.data + (size_t)(n * line) * size;
        qsort(elements, (size_t)line, size, nth_compare_loops[input->dtype]);
        memcpy((char *)output->data + (size_t)n * size, elements + (size_t)position * size, size);
    }
    return STATUS_OK;
}

/* Computes y[x[n]] = n; every number below the count must occur. */
static Status
invert_permutation_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    int64_t count = tensor_element_count(input);
    AUTO_TENSOR positions = {0};
    Shape vector = shape_vector(count);
    TRY(scratch_new(context, DTYPE_INT64, &vector, &positions));
    int64_t *inverse = positions.data;
    for (int64_t n = 0; n < count; n++) {
        inverse[n] = -1;
    }
    for (int64_t n = 0; n < count; n++) {
        int64_t position = -1;
        if (!tensor_to_int64(input, n, &position) || position < 0 || position >= count ||
            inverse[position] >= 0) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "element %lld is %lld, which is no place of a permutation of %lld or is there twice",
                (long long)n, (long long)position, (long long)count);
        }
        inverse[position] = n;
    }
    Shape shape;
    TRY(output_shapes(context, &shape));
    return scratch_finish(context, 0, &positions);
}

static const Kernel count_kernels[] = {
    {.op = "Bincount",
        .supports = bincount_supports,
        .compute = bincount_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 1},
    {.op = "DenseBincount",
        .supports = bincount_supports,
        .compute = dense_bincount_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 1},
    {.op = "HistogramFixedWidth",
        .supports = histogram_supports,
        .compute = histogram_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 2},
    {.op = "Bucketize", .supports = number_supports, .compute = bucketize_compute, .wide_inputs = 1},
    {.op = "NthElement", .supports = number_supports, .compute = nth_element_compute, .host_inputs = 1 << 1},
    {.op = "InvertPermutation",
        .supports = number_supports,
        .compute = invert_permutation_compute,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, count, count_kernels);
