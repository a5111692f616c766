/* Slices folded together by their segments: sums, means, products, extremes. Of NaN and what comes behind it
 * the extremes take the latter, as TensorFlow does (UnsortedSegmentMax everywhere, SegmentMax where a slice
 * is narrower than its vectors). */
#include <math.h>

#include "shared/ops/segment/rule.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

typedef enum Divisor { DIVIDE_NOT, DIVIDE_BY_COUNT, DIVIDE_BY_ROOT } Divisor;
typedef enum Kind { SORTED, UNSORTED, SPARSE } Kind;

typedef struct SegmentOp {
    WideCombination combination;
    Divisor divisor;
    Kind kind;
    int empty; /* the value of a sorted segment without slices */
} SegmentOp;

typedef struct Fold {
    KernelContext *context;
    const SegmentOp *op;
    const Tensor *ids;
    const Tensor *indices; /* numbers of the slices, or NULL: all in order */
    int64_t slice;         /* elements of a slice */
    int64_t segments;
    Tensor data; /* of a wide dtype */
    Tensor sums;
    Tensor counts; /* int64: slices in each segment */
} Fold;

/* A slice of segment -1 is dropped. */
static Status
read_segment(const Fold *fold, int64_t position, int64_t previous, int64_t *ret_segment)
{
    bool is_sorted = fold->op->kind != UNSORTED;
    int64_t segment = -1;
    if (!is_sorted && tensor_to_int64(fold->ids, position, &segment) && segment < 0) {
        *ret_segment = -1;
        return STATUS_OK;
    }
    return segment_read(
        fold->context->call, fold->ids, position, is_sorted ? previous : 0, fold->segments, ret_segment);
}

static Status
read_slice(const Fold *fold, int64_t position, int64_t *ret_slice)
{
    *ret_slice = position;
    if (fold->indices == NULL) {
        return STATUS_OK;
    }
    int64_t rows = fold->data.shape.dims[0];
    if (!tensor_to_int64(fold->indices, position, ret_slice) || *ret_slice < 0 || *ret_slice >= rows) {
        return call_fail(fold->context->call, STATUS_INVALID_ARGUMENT,
            "index %lld at %lld is not within %lld", (long long)*ret_slice, (long long)position,
            (long long)rows);
    }
    return STATUS_OK;
}

static Status
fold_slices(Fold *fold)
{
    int64_t count = tensor_element_count(fold->ids);
    size_t bytes = (size_t)fold->slice * dtype_size(fold->data.dtype);
    int64_t previous = 0;
    for (int64_t position = 0; position < count; position++) {
        int64_t segment = 0;
        int64_t slice = 0;
        TRY(read_segment(fold, position, previous, &segment));
        TRY(read_slice(fold, position, &slice));
        if (segment < 0) {
            continue;
        }
        wide_combine(fold->op->combination, fold->data.dtype,
            (char *)fold->sums.data + (size_t)segment * bytes,
            (const char *)fold->data.data + (size_t)slice * bytes, fold->slice);
        ((int64_t *)fold->counts.data)[segment]++;
        previous = segment;
    }
    return STATUS_OK;
}

static void
finish_segments(Fold *fold)
{
    size_t bytes = (size_t)fold->slice * dtype_size(fold->data.dtype);
    for (int64_t segment = 0; segment < fold->segments; segment++) {
        char *sums = (char *)fold->sums.data + (size_t)segment * bytes;
        int64_t count = ((const int64_t *)fold->counts.data)[segment];
        if (count == 0 && fold->op->kind != UNSORTED) {
            Tensor empty = {.dtype = fold->sums.dtype, .shape = shape_vector(fold->slice), .data = sums};
            fill_number(&empty, fold->op->empty);
        } else if (count > 0 && fold->op->divisor != DIVIDE_NOT) {
            double divisor = fold->op->divisor == DIVIDE_BY_ROOT ? sqrt((double)count) : (double)count;
            wide_divide(fold->sums.dtype, sums, divisor, fold->slice);
        }
    }
}

static Status
fold_segments(Fold *fold)
{
    KernelContext *context = fold->context;
    Dtype dtype = context->inputs[0].dtype;
    Dtype wide = wide_dtype(dtype);
    Shape shape;
    TRY(output_shapes(context, &shape));
    fold->segments = shape.dims[0];
    fold->slice = 1;
    for (int index = 1; index < shape.rank; index++) {
        fold->slice *= shape.dims[index];
    }
    Shape counts = shape_vector(fold->segments);
    TRY(scratch_cast(context, &context->inputs[0], wide, &fold->data));
    TRY(scratch_new(context, wide, &shape, &fold->sums));
    TRY(scratch_new(context, DTYPE_INT64, &counts, &fold->counts));
    wide_fill_neutral(fold->op->combination, dtype, &fold->sums);
    fill_zero(&fold->counts);
    TRY(fold_slices(fold));
    finish_segments(fold);
    return scratch_finish(context, 0, &fold->sums);
}

static Status
compute_segments(KernelContext *context, const SegmentOp *op)
{
    Fold fold = {.context = context,
        .op = op,
        .ids = &context->inputs[op->kind == SPARSE ? 2 : 1],
        .indices = op->kind == SPARSE ? &context->inputs[1] : NULL};
    Status status = fold_segments(&fold);
    tensor_unref(&fold.data);
    tensor_unref(&fold.sums);
    tensor_unref(&fold.counts);
    return status;
}

/* The functions of a kernel that folds as the SegmentOp of this name says. */
#define FOLDS(name, ...)                                                                                     \
    static const SegmentOp name = {__VA_ARGS__};                                                             \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        return wide_supports(name.combination, node->input_dtypes[0]);                                       \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute_segments(context, &name);                                                             \
    }

FOLDS(sorted_sum, WIDE_ADD, DIVIDE_NOT, SORTED, 0)
FOLDS(sorted_mean, WIDE_ADD, DIVIDE_BY_COUNT, SORTED, 0)
FOLDS(sorted_product, WIDE_MULTIPLY, DIVIDE_NOT, SORTED, 1)
FOLDS(sorted_minimum, WIDE_NEWER_MINIMUM, DIVIDE_NOT, SORTED, 0)
FOLDS(sorted_maximum, WIDE_NEWER_MAXIMUM, DIVIDE_NOT, SORTED, 0)
FOLDS(unsorted_sum, WIDE_ADD, DIVIDE_NOT, UNSORTED, 0)
FOLDS(unsorted_product, WIDE_MULTIPLY, DIVIDE_NOT, UNSORTED, 0)
FOLDS(unsorted_minimum, WIDE_NEWER_MINIMUM, DIVIDE_NOT, UNSORTED, 0)
FOLDS(unsorted_maximum, WIDE_NEWER_MAXIMUM, DIVIDE_NOT, UNSORTED, 0)
FOLDS(sparse_sum, WIDE_ADD, DIVIDE_NOT, SPARSE, 0)
FOLDS(sparse_mean, WIDE_ADD, DIVIDE_BY_COUNT, SPARSE, 0)
FOLDS(sparse_root, WIDE_ADD, DIVIDE_BY_ROOT, SPARSE, 0)

/* `on_host` has the bit of the input that holds the number of segments, if there is one. */
#define SEGMENT(name, function, on_host)                                                                     \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_compute, .wide_inputs = 1,      \
        .wide_outputs = 1, .host_inputs = (on_host)                                                          \
    }

static const Kernel segment_kernels[] = {
    SEGMENT("SegmentSum", sorted_sum, 0),
    SEGMENT("SegmentMean", sorted_mean, 0),
    SEGMENT("SegmentProd", sorted_product, 0),
    SEGMENT("SegmentMin", sorted_minimum, 0),
    SEGMENT("SegmentMax", sorted_maximum, 0),
    SEGMENT("UnsortedSegmentSum", unsorted_sum, 1 << 2),
    SEGMENT("UnsortedSegmentProd", unsorted_product, 1 << 2),
    SEGMENT("UnsortedSegmentMin", unsorted_minimum, 1 << 2),
    SEGMENT("UnsortedSegmentMax", unsorted_maximum, 1 << 2),
    SEGMENT("SparseSegmentSum", sparse_sum, 1 << 2),
    SEGMENT("SparseSegmentMean", sparse_mean, 1 << 2),
    SEGMENT("SparseSegmentSqrtN", sparse_root, 1 << 2),
    SEGMENT("SparseSegmentSumWithNumSegments", sparse_sum, 1 << 3),
    SEGMENT("SparseSegmentMeanWithNumSegments", sparse_mean, 1 << 3),
    SEGMENT("SparseSegmentSqrtNWithNumSegments", sparse_root, 1 << 3),
};

KERNEL_FAMILY(reference, segment, segment_kernels);
