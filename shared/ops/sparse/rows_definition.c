/* Sparse tensors reordered, reshaped, sliced and concatenated: the number of elements is known only when
 * it runs. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Outputs 0 and 1 are the indices and elements of a sparse tensor of this rank. */
static void
tell_sparse(InferContext *context, int64_t rank)
{
    context->outputs[0] = (Shape){.rank = 2, .dims = {-1, rank}};
    context->outputs[1] = shape_of_rank(1);
}

static int64_t
input_rank(const InferContext *context)
{
    return context->inputs[0].rank == 2 ? context->inputs[0].dims[1] : -1;
}

static Status
infer_reorder(Call *call, InferContext *context)
{
    TRY(infer_rank(call, context, 0, 2, &context->outputs[0]));
    return infer_rank(call, context, 1, 1, &context->outputs[1]);
}

static Status
infer_reshape(Call *call, InferContext *context)
{
    Shape indices;
    Shape shape;
    TRY(infer_rank(call, context, 0, 2, &indices));
    TRY(infer_rank(call, context, 2, 1, &shape));
    context->outputs[0] = (Shape){.rank = 2, .dims = {indices.dims[0], shape.dims[0]}};
    context->outputs[1] = shape;
    return STATUS_OK;
}

static Status
infer_cut(Call *call, InferContext *context)
{
    (void)call;
    tell_sparse(context, input_rank(context));
    context->outputs[2] = shape_vector(input_rank(context));
    return STATUS_OK;
}

static Status
infer_fill_rows(Call *call, InferContext *context)
{
    Shape values;
    int64_t rows = -1;
    int64_t sizes[SHAPE_RANK_MAX];
    size_t count = 0;
    TRY(infer_rank(call, context, 1, 1, &values));
    TRY(infer_ints(call, context, 2, sizes, SHAPE_RANK_MAX, &count));
    rows = count > 0 && sizes[0] >= 0 ? sizes[0] : -1;
    tell_sparse(context, input_rank(context));
    context->outputs[2] = shape_vector(rows);
    context->outputs[3] = values;
    return STATUS_OK;
}

static Status
infer_fill_rows_grad(Call *call, InferContext *context)
{
    Shape gradient;
    TRY(infer_rank(call, context, 0, 1, &context->outputs[0]));
    TRY(infer_rank(call, context, 1, 1, &gradient));
    context->outputs[1] = shape_scalar();
    return STATUS_OK;
}

static const OpDefinition sparse_rows_ops[] = {
    OP("SparseReorder(input_indices:int64, input_values:T, input_shape:int64)->(output_indices:int64, "
       "output_values:T) {T:type}",
        0, infer_reorder),
    OP("SparseReshape(input_indices:int64, input_shape:int64, new_shape:int64)->(output_indices:int64, "
       "output_shape:int64) {}",
        0, infer_reshape),
    OP("SparseSlice(indices:int64, values:T, shape:int64, start:int64, size:int64)->(output_indices:int64, "
       "output_values:T, output_shape:int64) {T:type}",
        0, infer_cut),
    OP("SparseConcat(indices:N*int64, values:N*T, shapes:N*int64)->(output_indices:int64, output_values:T, "
       "output_shape:int64) {concat_dim:int, N:int>=1, T:type}",
        0, infer_cut),
    OP("SparseFillEmptyRows(indices:int64, values:T, dense_shape:int64, "
       "default_value:T)->(output_indices:int64, output_values:T, empty_row_indicator:bool, "
       "reverse_index_map:int64) {T:type}",
        0, infer_fill_rows),
    OP("SparseFillEmptyRowsGrad(reverse_index_map:int64, grad_values:T)->(d_values:T, d_default_value:T) "
       "{T:type}",
        0, infer_fill_rows_grad),
};

OP_FAMILY(sparse_rows, sparse_rows_ops);
