/* Elements counted, made unique and ranked. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The number of bins is the value of input `input`. */
static Status
count_bins(Call *call, InferContext *context, uint32_t input, int64_t least)
{
    int64_t bins = -1;
    bool is_known = false;
    TRY(infer_int(call, context, input, &bins, &is_known));
    if (is_known && bins < least) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld bins are not at least %lld", (long long)bins,
            (long long)least);
    }
    context->outputs[0] = shape_vector(is_known ? bins : -1);
    return infer_check_size(call, &context->outputs[0]);
}

/* Weights are absent (no elements), or one for each element. */
static Status
infer_bincount(Call *call, InferContext *context)
{
    const Shape *elements = &context->inputs[0];
    const Shape *weights = &context->inputs[2];
    int64_t count = -1;
    Shape merged;
    if (shape_element_count(weights, &count) && count != 0 && !shape_merge(elements, weights, &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "weights have shape %s, not %s or no elements",
            shape_text(weights, left), shape_text(elements, right));
    }
    return count_bins(call, context, 1, 0);
}

/* Bins for the whole vector, or for each row of a matrix. */
static Status
infer_dense_bincount(Call *call, InferContext *context)
{
    const Shape *elements = &context->inputs[0];
    TRY(infer_bincount(call, context));
    if (elements->rank > 2 || elements->rank == 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "elements of rank %d are no vector or matrix", elements->rank);
    }
    int64_t bins = context->outputs[0].dims[0];
    if (elements->rank == 2) {
        context->outputs[0] = (Shape){.rank = 2, .dims = {elements->dims[0], bins}};
    }
    context->outputs[0] = elements->rank < 0 ? shape_unknown() : context->outputs[0];
    return infer_check_size(call, &context->outputs[0]);
}

static Status
infer_histogram(Call *call, InferContext *context)
{
    Shape range;
    int64_t size = 0;
    TRY(infer_rank(call, context, 1, 1, &range));
    TRY(infer_equal(call, range.dims[0], 2, "the number of ends of the range", &size));
    return count_bins(call, context, 2, 1);
}

static Status
infer_nth_element(Call *call, InferContext *context)
{
    int64_t n = 0;
    bool is_known = false;
    Shape shape = context->inputs[0];
    TRY(infer_int(call, context, 1, &n, &is_known));
    if (shape.rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a scalar has no n-th element");
    }
    int64_t size = shape.rank < 1 ? -1 : shape.dims[shape.rank - 1];
    if (is_known && (n < 0 || (size >= 0 && n >= size))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "n is %lld, not within %lld elements", (long long)n,
            (long long)size);
    }
    shape.rank -= shape.rank > 0 ? 1 : 0;
    context->outputs[0] = shape;
    return STATUS_OK;
}

static Status
infer_permutation(Call *call, InferContext *context)
{
    return infer_rank(call, context, 0, 1, &context->outputs[0]);
}

/* The number of different slices is known only when they are computed: y has it along the axis, idx has
 * one for each slice of the input, count one for each of y's. */
static Status
infer_unique(Call *call, InferContext *context)
{
    Shape y = context->inputs[0];
    int64_t axis = 0;
    bool is_known = true;
    size_t count = 0;
    int position = 0;
    if (context->node->input_count > 1) {
        TRY(infer_ints(call, context, 1, &axis, 1, &count));
        is_known = infer_knows(context, 1);
    }
    if (is_known && count == 0) {
        TRY(infer_rank(call, context, 0, 1, &y));
    }
    context->outputs[1] = shape_vector(-1);
    if (is_known && y.rank >= 0) {
        TRY(infer_axis(call, axis, y.rank, &position));
        context->outputs[1] = shape_vector(y.dims[position]);
        y.dims[position] = -1;
    } else if (!is_known && y.rank >= 0) {
        y = shape_of_rank(y.rank);
    }
    context->outputs[0] = y;
    if (context->node->output_count > 2) {
        context->outputs[2] = shape_vector(-1);
    }
    return STATUS_OK;
}

/* ONNX's Unique: without an axis, elements are told apart instead of slices, and Y is a vector. */
static Status
infer_onnx_unique(Call *call, InferContext *context)
{
    Shape y = context->inputs[0];
    int64_t slices = -1;
    int position = 0;
    int64_t axis = node_attr_int(context->node, "axis");
    if (axis == INT64_MIN) {
        slices = shape_element_count(&y, &slices) ? slices : -1;
        y = shape_vector(-1);
    } else if (y.rank >= 0) {
        TRY(infer_axis(call, axis, y.rank, &position));
        slices = y.dims[position];
        y.dims[position] = -1;
    }
    context->outputs[0] = y;
    for (uint32_t index = 1; index < context->node->output_count; index++) {
        context->outputs[index] = shape_vector(index == 2 ? slices : -1);
    }
    return STATUS_OK;
}

static const OpDefinition count_ops[] = {
    OP("Bincount(arr:int32, size:int32, weights:T)->(bins:T) {T:type}", 0, infer_bincount),
    OP("DenseBincount(input:Tidx, size:Tidx, weights:T)->(output:T) {Tidx:type, T:type, "
       "binary_output:bool=false}",
        0, infer_dense_bincount),
    OP("HistogramFixedWidth(values:T, value_range:T, nbins:int32)->(out:dtype) {T:type, dtype:type=DT_INT32}",
        0, infer_histogram),
    OP("Bucketize(input:T)->(output:int32) {T:type, boundaries:list(float)}", 0, infer_unchanged),
    OP("NthElement(input:T, n:int32)->(values:T) {reverse:bool=false, T:type}", 0, infer_nth_element),
    OP("InvertPermutation(x:T)->(y:T) {T:type=DT_INT32}", 0, infer_permutation),
    OP("Unique(x:T)->(y:T, idx:out_idx) {T:type, out_idx:type=DT_INT32}", 0, infer_unique),
    OP("UniqueV2(x:T, axis:Taxis)->(y:T, idx:out_idx) {T:type, Taxis:type=DT_INT64, out_idx:type=DT_INT32}",
        0, infer_unique),
    OP("UniqueWithCounts(x:T)->(y:T, idx:out_idx, count:out_idx) {T:type, out_idx:type=DT_INT32}", 0,
        infer_unique),
    OP("UniqueWithCountsV2(x:T, axis:Taxis)->(y:T, idx:out_idx, count:out_idx) {T:type, Taxis:type=DT_INT64, "
       "out_idx:type=DT_INT32}",
        0, infer_unique),
    OP("onnx::Unique(X:T)->(Y:T, indices?:int64, inverse_indices?:int64, counts?:int64) "
       "{axis:int=-9223372036854775808, sorted:int=1, T:type}",
        0, infer_onnx_unique),
};

OP_FAMILY(count, count_ops);
