/* Slices folded together by their segments: sums, means, products, extremes. */
#include <math.h>

#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

typedef enum Divisor { DIVIDE_NOT, DIVIDE_BY_COUNT, DIVIDE_BY_ROOT } Divisor;
typedef enum Kind { SORTED, UNSORTED, SPARSE } Kind;

typedef struct SegmentOp {
    const char *name;
    WideCombination combination;
    Divisor divisor;
    Kind kind;
    int empty; /* the value of a sorted segment without slices */
} SegmentOp;

static const SegmentOp segment_rows[] = {
    {"SegmentSum", WIDE_ADD, DIVIDE_NOT, SORTED, 0},
    {"SegmentMean", WIDE_ADD, DIVIDE_BY_COUNT, SORTED, 0},
    {"SegmentProd", WIDE_MULTIPLY, DIVIDE_NOT, SORTED, 1},
    {"SegmentMin", WIDE_MINIMUM, DIVIDE_NOT, SORTED, 0},
    {"SegmentMax", WIDE_MAXIMUM, DIVIDE_NOT, SORTED, 0},
    {"UnsortedSegmentSum", WIDE_ADD, DIVIDE_NOT, UNSORTED, 0},
    {"UnsortedSegmentProd", WIDE_MULTIPLY, DIVIDE_NOT, UNSORTED, 0},
    {"UnsortedSegmentMin", WIDE_MINIMUM, DIVIDE_NOT, UNSORTED, 0},
    {"UnsortedSegmentMax", WIDE_MAXIMUM, DIVIDE_NOT, UNSORTED, 0},
    {"SparseSegmentSum", WIDE_ADD, DIVIDE_NOT, SPARSE, 0},
    {"SparseSegmentMean", WIDE_ADD, DIVIDE_BY_COUNT, SPARSE, 0},
    {"SparseSegmentSqrtN", WIDE_ADD, DIVIDE_BY_ROOT, SPARSE, 0},
    {"SparseSegmentSumWithNumSegments", WIDE_ADD, DIVIDE_NOT, SPARSE, 0},
    {"SparseSegmentMeanWithNumSegments", WIDE_ADD, DIVIDE_BY_COUNT, SPARSE, 0},
    {"SparseSegmentSqrtNWithNumSegments", WIDE_ADD, DIVIDE_BY_ROOT, SPARSE, 0},
};

static const SegmentOp *
find_row(const Node *node)
{
    for (size_t index = 0; index < COUNT_OF(segment_rows); index++) {
        if (slice_equals_string(node->op->name, segment_rows[index].name)) {
            return &segment_rows[index];
        }
    }
    return NULL;
}

static bool
supports_segments(const Node *node)
{
    return wide_supports(find_row(node)->combination, node->input_dtypes[0]);
}

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
    Call *call = fold->context->call;
    int64_t segment = -1;
    bool is_number = tensor_to_int64(fold->ids, position, &segment);
    if (is_number && fold->op->kind == UNSORTED && segment < 0) {
        *ret_segment = -1;
        return STATUS_OK;
    }
    if (!is_number || segment < 0 || segment >= fold->segments) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "segment id %lld at %lld is not within %lld segments",
            (long long)segment, (long long)position, (long long)fold->segments);
    }
    if (fold->op->kind != UNSORTED && segment < previous) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "segment ids are not increasing at %lld", (long long)position);
    }
    *ret_segment = segment;
    return STATUS_OK;
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
compute_segments(KernelContext *context)
{
    const SegmentOp *op = find_row(context->node);
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

/* `on_host` has the bit of the input that holds the number of segments, if there is one. */
#define SEGMENT(name, on_host)                                                                               \
    {                                                                                                        \
        .op = (name), .supports = supports_segments, .compute = compute_segments, .wide_inputs = 1,          \
        .wide_outputs = 1, .host_inputs = (on_host)                                                          \
    }

static const Kernel segment_kernels[] = {
    SEGMENT("SegmentSum", 0),
    SEGMENT("SegmentMean", 0),
    SEGMENT("SegmentProd", 0),
    SEGMENT("SegmentMin", 0),
    SEGMENT("SegmentMax", 0),
    SEGMENT("UnsortedSegmentSum", 1 << 2),
    SEGMENT("UnsortedSegmentProd", 1 << 2),
    SEGMENT("UnsortedSegmentMin", 1 << 2),
    SEGMENT("UnsortedSegmentMax", 1 << 2),
    SEGMENT("SparseSegmentSum", 1 << 2),
    SEGMENT("SparseSegmentMean", 1 << 2),
    SEGMENT("SparseSegmentSqrtN", 1 << 2),
    SEGMENT("SparseSegmentSumWithNumSegments", 1 << 3),
    SEGMENT("SparseSegmentMeanWithNumSegments", 1 << 3),
    SEGMENT("SparseSegmentSqrtNWithNumSegments", 1 << 3),
};

KERNEL_FAMILY(reference, segment, segment_kernels);
