/* Sparse tensors (indices, elements, shape) combined with dense ones. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Checks indices [n, rank] and values [n]. */
static Status
check_sparse(Call *call, const InferContext *context)
{
    Shape indices;
    Shape values;
    int64_t count = 0;
    TRY(infer_rank(call, context, 0, 2, &indices));
    TRY(infer_rank(call, context, 1, 1, &values));
    return infer_equal(call, indices.dims[0], values.dims[0], "the number of sparse elements", &count);
}

static Status
infer_dense_add(Call *call, InferContext *context)
{
    Shape shape = shape_scalar();
    size_t count = 0;
    TRY(check_sparse(call, context));
    TRY(infer_ints(call, context, 2, shape.dims, SHAPE_RANK_MAX, &count));
    shape.rank = (int)count;
    Shape merged;
    if (infer_knows(context, 2) && !shape_merge(&shape, &context->inputs[3], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a sparse tensor of shape %s is added to one of shape %s", shape_text(&shape, left),
            shape_text(&context->inputs[3], right));
    }
    context->outputs[0] = context->inputs[3];
    return STATUS_OK;
}

/* Indices are a scalar, a vector for one dimension, or [n, rank]. */
static Status
infer_to_dense(Call *call, InferContext *context)
{
    Shape shape = shape_scalar();
    size_t count = 0;
    if (context->inputs[0].rank > 2 || context->inputs[2].rank > 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "indices of rank %d for values of rank %d",
            context->inputs[0].rank, context->inputs[2].rank);
    }
    TRY(infer_ints(call, context, 1, shape.dims, SHAPE_RANK_MAX, &count));
    if (!infer_knows(context, 1)) {
        return STATUS_OK;
    }
    shape.rank = (int)count;
    context->outputs[0] = shape;
    for (int index = 0; index < shape.rank; index++) {
        if (shape.dims[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is %lld, not at least 0", index,
                (long long)shape.dims[index]);
        }
    }
    return infer_check_size(call, &shape);
}

static Status
infer_sparse_matmul(Call *call, InferContext *context)
{
    int64_t sizes[2] = {-1, -1};
    size_t count = 0;
    Shape b;
    int64_t inner = 0;
    TRY(check_sparse(call, context));
    TRY(infer_ints(call, context, 2, sizes, 2, &count));
    TRY(infer_rank(call, context, 3, 2, &b));
    if (infer_knows(context, 2) && count != 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the sparse tensor has rank %zu, not 2", count);
    }
    bool turns_a = node_attr_bool(context->node, "adjoint_a");
    bool turns_b = node_attr_bool(context->node, "adjoint_b");
    TRY(infer_equal(call, sizes[turns_a ? 0 : 1], b.dims[turns_b ? 1 : 0], "the inner dimension", &inner));
    context->outputs[0] = shape_of_rank(2);
    context->outputs[0].dims[0] = sizes[turns_a ? 1 : 0];
    context->outputs[0].dims[1] = b.dims[turns_b ? 0 : 1];
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition sparse_ops[] = {
    OP("SparseTensorDenseAdd(a_indices:Tindices, a_values:T, a_shape:Tindices, b:T)->(output:T) {T:type, "
       "Tindices:type}",
        0, infer_dense_add),
    OP("SparseToDense(sparse_indices:Tindices, output_shape:Tindices, sparse_values:T, "
       "default_value:T)->(dense:T) {validate_indices:bool=true, T:type, Tindices:type}",
        0, infer_to_dense),
    OP("SparseTensorDenseMatMul(a_indices:Tindices, a_values:T, a_shape:int64, b:T)->(product:T) {T:type, "
       "Tindices:type=DT_INT64, adjoint_a:bool=false, adjoint_b:bool=false}",
        0, infer_sparse_matmul),
};

OP_FAMILY(sparse, sparse_ops);
