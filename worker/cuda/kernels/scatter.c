/* Slices folded together by where they go: scatters, segments, counts, by the rules of the reference kernels
 * (shared/ops/scatter, segment, count). As there, numbers are folded in the widest type of their class, in
 * the order of the slices, and rounded once. */
#include "worker/cuda/kernels/scatter.h"

#include <string.h>

#include "shared/ops/segment/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

_Static_assert((int)CUDA_FOLD_DIVIDE == (int)WIDE_COUNT &&
                   (int)CUDA_FOLD_NEWER_MAXIMUM == (int)WIDE_NEWER_MAXIMUM &&
                   (int)CUDA_FOLD_ADD == (int)WIDE_ADD,
    "both sides count the rules alike");

static bool
is_real(Dtype dtype)
{
    return dtype_is_floating(dtype) || dtype_is_integer(dtype);
}

static Status
convert(KernelContext *context, const Tensor *from, const Tensor *to)
{
    int error = cuda_convert(cuda_type(from->dtype), from->data, cuda_type(to->dtype), to->data,
        tensor_element_count(to), cuda_stream(context));
    return cuda_check(context->call, error, "a conversion");
}

/* Makes the target of a fold, all of whose elements are the rule's neutral one. */
static Status
make_target(KernelContext *context, Dtype dtype, WideCombination rule, const Shape *shape, Tensor *ret_target)
{
    uint64_t element = 0;
    Tensor neutral = {.dtype = wide_dtype(dtype), .shape = shape_vector(1), .data = &element};
    wide_fill_neutral(rule, dtype, &neutral);
    TRY(scratch_new(context, neutral.dtype, shape, ret_target));
    int64_t count = tensor_element_count(ret_target);
    int error =
        count == 0 ? 0 : cuda_fill(sizeof element, &element, ret_target->data, count, cuda_stream(context));
    return cuda_check(context->call, error, "a fill");
}

static Status
finish_target(KernelContext *context, const Tensor *target)
{
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &target->shape, &output));
    return tensor_element_count(output) == 0 ? STATUS_OK : convert(context, target, output);
}

/* Finds the places that the last dimension of the indices names, as coordinates in a target. */
static Status
find_places(KernelContext *context, CudaPlaces *places, CudaRefusal reason, Tensor *ret_places)
{
    Shape vector = shape_vector(places->count);
    CudaBlame blame;
    TRY(scratch_new(context, DTYPE_INT64, &vector, ret_places));
    TRY(cuda_blame(context, reason, &blame));
    blame.width = places->depth > 0 ? places->depth : 1;
    places->places = ret_places->data;
    int error = cuda_find_places(places, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "the search for places");
}

/* A scatter: slices of `updates` go into `target`, whose shape is `shape`. */
typedef struct Scatter {
    const Tensor *indices;
    const Tensor *updates;
    const Shape *shape;
    WideCombination rule;
    CudaRefusal reason; /* for a tuple that names no place */
} Scatter;

/* Describes the slices and their tuples of coordinates, which are lines of the indices. */
static void
describe_scatter(const Scatter *scatter, CudaPlaces *ret_places, CudaFold *ret_fold)
{
    const Shape *indices = &scatter->indices->shape;
    CudaPlaces places = {
        .indices = {.data = scatter->indices->data, .type = cuda_type(scatter->indices->dtype)},
        .depth = (int)indices->dims[indices->rank - 1],
        .count = 1};
    CudaFold fold = {.from = scatter->updates->data, .rows = 1, .inner = 1};
    for (int dimension = 0; dimension < indices->rank - 1; dimension++) {
        places.count *= indices->dims[dimension];
    }
    for (int dimension = 0; dimension < scatter->shape->rank; dimension++) {
        bool is_named = dimension < places.depth;
        *(is_named ? &fold.rows : &fold.inner) *= scatter->shape->dims[dimension];
        if (is_named) {
            places.sizes[dimension] = scatter->shape->dims[dimension];
        }
    }
    fold.count = places.count;
    *ret_places = places;
    *ret_fold = fold;
}

/* Slices without elements are not looked at. */
static Status
scatter_into(KernelContext *context, const Scatter *scatter, const Tensor *target)
{
    AUTO_TENSOR found = {0};
    CudaPlaces places;
    CudaFold fold;
    describe_scatter(scatter, &places, &fold);
    if (fold.inner == 0) {
        return STATUS_OK;
    }
    TRY(find_places(context, &places, scatter->reason, &found));
    fold.places = found.data;
    fold.to = target->data;
    int error = scatter->rule == WIDE_REPLACE
                    ? cuda_fold_last(dtype_size(target->dtype), &fold, cuda_stream(context))
                    : cuda_fold(cuda_type(scatter->updates->dtype), (CudaFoldRule)scatter->rule, &fold,
                          cuda_stream(context));
    return cuda_check(context->call, error, "a scatter");
}

static bool
supports_update(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]);
}

static Status
compute_update(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    CudaMove move = {.from = context->inputs[0].data,
        .to = output->data,
        .count = tensor_element_count(output),
        .rank = 1,
        .strides = {{1}, {1}}};
    move.sizes[0] = move.count;
    int error = move.count == 0 ? 0 : cuda_move(dtype_size(output->dtype), &move, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a move of elements"));
    Scatter scatter = {
        &context->inputs[1], &context->inputs[2], &output->shape, WIDE_REPLACE, CUDA_REFUSES_INDEX};
    return scatter_into(context, &scatter, output);
}

static bool
supports_combined(const Node *node)
{
    return is_real(node->output_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]);
}

/* Combines the slices with those of an input, and makes the output of it. */
static Status
combine_with(KernelContext *context, const Tensor *input, const Scatter *scatter)
{
    AUTO_TENSOR target = {0};
    TRY(scratch_new(context, wide_dtype(input->dtype), scatter->shape, &target));
    if (tensor_element_count(input) > 0) {
        TRY(convert(context, input, &target));
    }
    TRY(scatter_into(context, scatter, &target));
    return finish_target(context, &target);
}

static Status
combine_slices(KernelContext *context, WideCombination rule)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    Scatter scatter = {&context->inputs[1], &context->inputs[2], &shape, rule, CUDA_REFUSES_INDEX};
    return combine_with(context, &context->inputs[0], &scatter);
}

static bool
supports_sparse_add(const Node *node)
{
    return is_real(node->output_dtypes[0]) &&
           (node->input_dtypes[0] == DTYPE_INT32 || node->input_dtypes[0] == DTYPE_INT64);
}

static Status
compute_sparse_add(KernelContext *context)
{
    enum { INDICES, VALUES, DENSE = 3 };
    const Tensor *indices = &context->inputs[INDICES];
    Shape shape;
    TRY(output_shapes(context, &shape));
    if (indices->shape.dims[1] != shape.rank) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld coordinates for a tensor of rank %d",
            (long long)indices->shape.dims[1], shape.rank);
    }
    Scatter scatter = {indices, &context->inputs[VALUES], &shape, WIDE_ADD, CUDA_REFUSES_COORDINATE};
    return combine_with(context, &context->inputs[DENSE], &scatter);
}

static bool
supports_scatter_nd(const Node *node)
{
    return is_real(node->output_dtypes[0]) && dtype_is_integer(node->input_dtypes[0]);
}

/* The updates are added to zeros. */
static Status
compute_scatter_nd(KernelContext *context)
{
    AUTO_TENSOR target = {0};
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(make_target(context, context->inputs[1].dtype, WIDE_ADD, &shape, &target));
    Scatter scatter = {&context->inputs[0], &context->inputs[1], &shape, WIDE_ADD, CUDA_REFUSES_INDEX};
    TRY(scatter_into(context, &scatter, &target));
    return finish_target(context, &target);
}

/* The functions of a kernel that folds by a rule. */
#define FOLDS(name, function, rule)                                                                          \
    static Status name(KernelContext *context)                                                               \
    {                                                                                                        \
        return function(context, rule);                                                                      \
    }

FOLDS(compute_add, combine_slices, WIDE_ADD)
FOLDS(compute_subtract, combine_slices, WIDE_SUBTRACT)
FOLDS(compute_minimum, combine_slices, WIDE_MINIMUM)
FOLDS(compute_maximum, combine_slices, WIDE_MAXIMUM)

/* A slice whose id is below 0 goes nowhere. */
static Status
fold_unsorted(KernelContext *context, WideCombination rule)
{
    const Tensor *data = &context->inputs[0];
    const Tensor *ids = &context->inputs[1];
    AUTO_TENSOR target = {0};
    AUTO_TENSOR found = {0};
    Shape shape;
    TRY(output_shapes(context, &shape));
    CudaPlaces places = {.indices = {.data = ids->data, .type = cuda_type(ids->dtype)},
        .count = tensor_element_count(ids),
        .depth = 1,
        .drops_below = true,
        .sizes = {shape.dims[0]}};
    TRY(find_places(context, &places, CUDA_REFUSES_SEGMENT, &found));
    TRY(make_target(context, data->dtype, rule, &shape, &target));
    CudaFold fold = {.places = found.data,
        .from = data->data,
        .to = target.data,
        .count = places.count,
        .rows = shape.dims[0],
        .inner = 1};
    for (int dimension = 1; dimension < shape.rank; dimension++) {
        fold.inner *= shape.dims[dimension];
    }
    int error = cuda_fold(cuda_type(data->dtype), (CudaFoldRule)rule, &fold, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a segment kernel"));
    return finish_target(context, &target);
}

FOLDS(compute_unsorted_sum, fold_unsorted, WIDE_ADD)
FOLDS(compute_unsorted_product, fold_unsorted, WIDE_MULTIPLY)
FOLDS(compute_unsorted_minimum, fold_unsorted, WIDE_NEWER_MINIMUM)
FOLDS(compute_unsorted_maximum, fold_unsorted, WIDE_NEWER_MAXIMUM)

/* Segments whose ids are sorted, and lie on the host: the last one tells the output's size. */
typedef struct SortedFold {
    WideCombination rule;
    bool has_mean;
    bool has_root;
    bool is_sparse; /* input 1 selects the slices, input 2 has the ids */
    int empty;
} SortedFold;

/* Finds where the segments from `first` on begin; `*position` moves behind the last of them. */
static Status
find_begins(KernelContext *context, const Tensor *ids, int64_t first, int64_t segments, int64_t *position,
    CudaSegments *ret_part)
{
    int64_t count = tensor_element_count(ids);
    int64_t left = segments - first;
    int64_t previous = first;
    ret_part->count = (int)(left < CUDA_SEGMENTS_MAX ? left : CUDA_SEGMENTS_MAX);
    for (int n = 0; n <= ret_part->count; n++) {
        int64_t segment = first + n;
        ret_part->begins[n] = *position;
        while (n < ret_part->count && *position < count && segment == first + n) {
            TRY(segment_read(context->call, ids, *position, previous, segments, &segment));
            previous = segment;
            *position += segment == first + n;
        }
    }
    return STATUS_OK;
}

static Status
fold_parts(KernelContext *context, const SortedFold *how, const Tensor *ids, CudaSegments *segments,
    const Tensor *target)
{
    const Tensor *data = &context->inputs[0];
    int64_t count = target->shape.dims[0];
    int64_t position = 0;
    CudaBlame blame = {0};
    if (how->is_sparse) {
        TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    }
    for (int64_t first = 0; first < count; first += CUDA_SEGMENTS_MAX) {
        TRY(find_begins(context, ids, first, count, &position, segments));
        segments->to = (char *)target->data + (size_t)(first * segments->inner) * dtype_size(target->dtype);
        int error = cuda_fold_segments(
            cuda_type(data->dtype), (CudaFoldRule)how->rule, segments, &blame, cuda_stream(context));
        TRY(cuda_check(context->call, error, "a segment kernel"));
    }
    return STATUS_OK;
}

static Status
fold_sorted(KernelContext *context, const SortedFold *how)
{
    const Tensor *data = &context->inputs[0];
    const Tensor *ids = &context->inputs[how->is_sparse ? 2 : 1];
    AUTO_TENSOR target = {0};
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(make_target(context, data->dtype, how->rule, &shape, &target));
    CudaSegments segments = {.from = data->data,
        .row_count = data->shape.dims[0],
        .inner = 1,
        .has_mean = how->has_mean,
        .has_root = how->has_root,
        .empty = how->empty};
    if (how->is_sparse) {
        segments.rows =
            (CudaIndices){.data = context->inputs[1].data, .type = cuda_type(context->inputs[1].dtype)};
    }
    for (int dimension = 1; dimension < shape.rank; dimension++) {
        segments.inner *= shape.dims[dimension];
    }
    TRY(fold_parts(context, how, ids, &segments, &target));
    return finish_target(context, &target);
}

#define SORTED(name, ...)                                                                                    \
    static const SortedFold name = {__VA_ARGS__};                                                            \
    static Status compute_##name(KernelContext *context)                                                     \
    {                                                                                                        \
        return fold_sorted(context, &name);                                                                  \
    }

SORTED(sorted_sum, .rule = WIDE_ADD)
SORTED(sorted_mean, .rule = WIDE_ADD, .has_mean = true)
SORTED(sorted_product, .rule = WIDE_MULTIPLY, .empty = 1)
SORTED(sorted_minimum, .rule = WIDE_NEWER_MINIMUM)
SORTED(sorted_maximum, .rule = WIDE_NEWER_MAXIMUM)
SORTED(sparse_sum, .rule = WIDE_ADD, .is_sparse = true)
SORTED(sparse_mean, .rule = WIDE_ADD, .has_mean = true, .is_sparse = true)
SORTED(sparse_root, .rule = WIDE_ADD, .has_root = true, .is_sparse = true)

static bool
supports_segments(const Node *node)
{
    return is_real(node->input_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]);
}

static bool
supports_counts(const Node *node)
{
    return is_real(node->output_dtypes[0]) && dtype_is_integer(node->input_dtypes[0]);
}

/* Adds the weight of each number, or 1, to its bin; numbers behind the last bin are left out. */
static Status
compute_bincount(KernelContext *context)
{
    const Tensor *numbers = &context->inputs[0];
    const Tensor *weights = &context->inputs[2];
    AUTO_TENSOR target = {0};
    AUTO_TENSOR found = {0};
    Shape shape;
    TRY(output_shapes(context, &shape));
    CudaPlaces places = {.indices = {.data = numbers->data, .type = cuda_type(numbers->dtype)},
        .count = tensor_element_count(numbers),
        .depth = 1,
        .drops_above = true,
        .sizes = {shape.dims[0]}};
    TRY(find_places(context, &places, CUDA_REFUSES_BIN, &found));
    TRY(make_target(context, context->node->output_dtypes[0], WIDE_ADD, &shape, &target));
    CudaFold fold = {.places = found.data,
        .from = tensor_element_count(weights) > 0 ? weights->data : NULL,
        .to = target.data,
        .count = places.count,
        .rows = shape.dims[0],
        .inner = 1};
    int error =
        cuda_fold(cuda_type(context->node->output_dtypes[0]), CUDA_FOLD_ADD, &fold, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a count"));
    return finish_target(context, &target);
}

#define SCATTER(name, function)                                                                              \
    {                                                                                                        \
        .op = (name), .supports = supports_combined, .compute = (function)                                   \
    }
#define SEGMENT(name, function, on_host)                                                                     \
    {                                                                                                        \
        .op = (name), .supports = supports_segments, .compute = (function), .host_inputs = (on_host)         \
    }

enum { SECOND = 1 << 1, THIRD = 1 << 2, FOURTH = 1 << 3 };

static const Kernel scatter_kernels[] = {
    {.op = "TensorScatterUpdate", .supports = supports_update, .compute = compute_update},
    {.op = "ScatterNd", .supports = supports_scatter_nd, .compute = compute_scatter_nd, .host_inputs = THIRD},
    SCATTER("TensorScatterAdd", compute_add),
    SCATTER("TensorScatterSub", compute_subtract),
    SCATTER("TensorScatterMin", compute_minimum),
    SCATTER("TensorScatterMax", compute_maximum),
    SCATTER("ScatterNdNonAliasingAdd", compute_add),
    SEGMENT("UnsortedSegmentSum", compute_unsorted_sum, THIRD),
    SEGMENT("UnsortedSegmentProd", compute_unsorted_product, THIRD),
    SEGMENT("UnsortedSegmentMin", compute_unsorted_minimum, THIRD),
    SEGMENT("UnsortedSegmentMax", compute_unsorted_maximum, THIRD),
    SEGMENT("SegmentSum", compute_sorted_sum, SECOND),
    SEGMENT("SegmentMean", compute_sorted_mean, SECOND),
    SEGMENT("SegmentProd", compute_sorted_product, SECOND),
    SEGMENT("SegmentMin", compute_sorted_minimum, SECOND),
    SEGMENT("SegmentMax", compute_sorted_maximum, SECOND),
    SEGMENT("SparseSegmentSum", compute_sparse_sum, THIRD),
    SEGMENT("SparseSegmentMean", compute_sparse_mean, THIRD),
    SEGMENT("SparseSegmentSqrtN", compute_sparse_root, THIRD),
    SEGMENT("SparseSegmentSumWithNumSegments", compute_sparse_sum, THIRD | FOURTH),
    SEGMENT("SparseSegmentMeanWithNumSegments", compute_sparse_mean, THIRD | FOURTH),
    SEGMENT("SparseSegmentSqrtNWithNumSegments", compute_sparse_root, THIRD | FOURTH),
    {.op = "SparseTensorDenseAdd",
        .supports = supports_sparse_add,
        .compute = compute_sparse_add,
        .host_inputs = THIRD},
    {.op = "Bincount", .supports = supports_counts, .compute = compute_bincount, .host_inputs = SECOND},
};

KERNEL_FAMILY(cuda_kernels, scatter, scatter_kernels);
