/* Slices of one tensor folded together by their segments. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The output has `count` slices of the data's dimensions behind the first `skipped`. */
static Status
rows_of(Call *call, InferContext *context, int64_t count, int skipped)
{
    const Shape *data = &context->inputs[0];
    Shape output = shape_vector(count);
    if (data->rank < 0) {
        return STATUS_OK;
    }
    TRY(infer_append(call, data, skipped, data->rank, &output));
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

/* Returns one more than the last id, when the ids are known. */
static Status
count_sorted(Call *call, const InferContext *context, uint32_t input, int64_t *ret_count)
{
    const Tensor *ids = context->values[input];
    *ret_count = ids == NULL ? -1 : 0;
    if (ids == NULL || tensor_element_count(ids) == 0) {
        return STATUS_OK;
    }
    int64_t last = 0;
    if (!tensor_to_int64(ids, tensor_element_count(ids) - 1, &last) || last < 0 || last == INT64_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "segment ids must be integers of at least 0");
    }
    *ret_count = last + 1;
    return STATUS_OK;
}

static Status
check_data(Call *call, const InferContext *context)
{
    return context->inputs[0].rank == 0 ? call_fail(call, STATUS_INVALID_ARGUMENT, "a scalar has no segments")
                                        : STATUS_OK;
}

static Status
infer_segment(Call *call, InferContext *context)
{
    Shape ids;
    int64_t size = 0;
    int64_t count = 0;
    TRY(infer_rank(call, context, 1, 1, &ids));
    TRY(check_data(call, context));
    int64_t rows = context->inputs[0].rank < 0 ? -1 : context->inputs[0].dims[0];
    TRY(infer_equal(call, rows, ids.dims[0], "the number of segment ids", &size));
    TRY(count_sorted(call, context, 1, &count));
    return rows_of(call, context, count, 1);
}

/* Rows are first selected by index; the number of segments may be given. */
static Status
infer_sparse_segment(Call *call, InferContext *context)
{
    Shape indices;
    Shape ids;
    int64_t count = 0;
    bool is_known = false;
    TRY(infer_rank(call, context, 1, 1, &indices));
    TRY(infer_rank(call, context, 2, 1, &ids));
    TRY(check_data(call, context));
    TRY(infer_equal(call, indices.dims[0], ids.dims[0], "the number of segment ids", &count));
    TRY(count_sorted(call, context, 2, &count));
    if (context->node->input_count > 3) {
        TRY(infer_int(call, context, 3, &count, &is_known));
        count = is_known ? count : -1;
        if (is_known && count < 0) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "num_segments is %lld, not at least 0", (long long)count);
        }
    }
    return rows_of(call, context, count, 1);
}

/* The output has as many rows as the data had, which input 3 says. */
static Status
infer_sparse_gradient(Call *call, InferContext *context)
{
    Shape indices;
    Shape ids;
    int64_t count = 0;
    bool is_known = false;
    TRY(infer_rank(call, context, 1, 1, &indices));
    TRY(infer_rank(call, context, 2, 1, &ids));
    TRY(check_data(call, context));
    TRY(infer_equal(call, indices.dims[0], ids.dims[0], "the number of segment ids", &count));
    TRY(infer_int(call, context, 3, &count, &is_known));
    return rows_of(call, context, is_known ? count : -1, 1);
}

/* The data's shape begins with that of the ids. */
static Status
infer_unsorted_segment(Call *call, InferContext *context)
{
    int64_t count = -1;
    bool is_known = false;
    const Shape *data = &context->inputs[0];
    const Shape *ids = &context->inputs[1];
    TRY(infer_int(call, context, 2, &count, &is_known));
    if (is_known && count < 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "num_segments is %lld, not at least 0", (long long)count);
    }
    if (ids->rank < 0 || data->rank < 0) {
        return STATUS_OK;
    }
    for (int index = 0; index < ids->rank; index++) {
        int64_t size = 0;
        TRY(infer_equal(call, index < data->rank ? data->dims[index] : 0, ids->dims[index],
            "a dimension of the segment ids", &size));
        if (index >= data->rank) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "segment ids of rank %d for data of rank %d",
                ids->rank, data->rank);
        }
    }
    return rows_of(call, context, is_known ? count : -1, ids->rank);
}

#define SEGMENT(name)                                                                                        \
    OP(name "(data:T, segment_ids:Tindices)->(output:T) {T:type, Tindices:type}", 0, infer_segment)
#define UNSORTED(name)                                                                                       \
    OP(name "(data:T, segment_ids:Tindices, num_segments:Tnumsegments)->(output:T) {T:type, Tindices:type, " \
            "Tnumsegments:type=DT_INT32}",                                                                   \
        0, infer_unsorted_segment)
#define SPARSE(name)                                                                                         \
    OP(name "(data:T, indices:Tidx, segment_ids:Tsegmentids)->(output:T) {T:type, Tidx:type=DT_INT32, "      \
            "Tsegmentids:type=DT_INT32, sparse_gradient:bool=false}",                                        \
        0, infer_sparse_segment)
#define SPARSE_COUNTED(name)                                                                                 \
    OP(name "(data:T, indices:Tidx, segment_ids:Tsegmentids, num_segments:Tnumsegments)->"                   \
            "(output:T) {T:type, Tidx:type=DT_INT32, Tnumsegments:type=DT_INT32, "                           \
            "Tsegmentids:type=DT_INT32, sparse_gradient:bool=false}",                                        \
        0, infer_sparse_segment)
#define SPARSE_GRADIENT(name)                                                                                \
    OP(name "(grad:T, indices:Tidx, segment_ids:Tsegmentids, output_dim0:int32)->(output:T) {T:type, "       \
            "Tidx:type=DT_INT32, Tsegmentids:type=DT_INT32}",                                                \
        0, infer_sparse_gradient)

static const OpDefinition segment_ops[] = {
    SEGMENT("SegmentSum"),
    SEGMENT("SegmentMean"),
    SEGMENT("SegmentProd"),
    SEGMENT("SegmentMin"),
    SEGMENT("SegmentMax"),
    UNSORTED("UnsortedSegmentSum"),
    UNSORTED("UnsortedSegmentProd"),
    UNSORTED("UnsortedSegmentMin"),
    UNSORTED("UnsortedSegmentMax"),
    SPARSE("SparseSegmentSum"),
    SPARSE("SparseSegmentMean"),
    SPARSE("SparseSegmentSqrtN"),
    SPARSE_COUNTED("SparseSegmentSumWithNumSegments"),
    SPARSE_COUNTED("SparseSegmentMeanWithNumSegments"),
    SPARSE_COUNTED("SparseSegmentSqrtNWithNumSegments"),
    SPARSE_GRADIENT("SparseSegmentSumGrad"),
    SPARSE_GRADIENT("SparseSegmentMeanGrad"),
    SPARSE_GRADIENT("SparseSegmentSqrtNGrad"),
};

OP_FAMILY(segment, segment_ops);
