/* Diagonals of matrices extracted, replaced and made into matrices, and bands of them. */
#include "shared/ops/diagonal/rule.h"
#include "shared/ops/family.h"

static Status
infer_of_matrix(Call *call, InferContext *context)
{
    Diagonals diagonals;
    TRY(diagonals_of_matrix(call, context, &diagonals));
    context->outputs[0] = diagonals.output;
    return STATUS_OK;
}

static Status
infer_to_matrix(Call *call, InferContext *context)
{
    Diagonals diagonals;
    TRY(diagonals_to_matrix(call, context, &diagonals));
    context->outputs[0] = diagonals.output;
    return STATUS_OK;
}

static Status
infer_band_part(Call *call, InferContext *context)
{
    if (context->inputs[0].rank == 0 || context->inputs[0].rank == 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d is no matrix", context->inputs[0].rank);
    }
    context->outputs[0] = context->inputs[0];
    return STATUS_OK;
}

static Status
infer_trilu(Call *call, InferContext *context)
{
    int64_t k = 0;
    bool is_known = false;
    TRY(infer_has_input(context, 1) ? infer_int(call, context, 1, &k, &is_known) : STATUS_OK);
    return infer_band_part(call, context);
}

/* The output has the dimensions of the input twice. */
static Status
infer_diag(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    if (input->rank == 0 || 2 * input->rank > SHAPE_RANK_MAX) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "rank %d is not within 1 to %d", input->rank, SHAPE_RANK_MAX / 2);
    }
    Shape output = *input;
    output.rank = 2 * input->rank;
    memcpy(&output.dims[input->rank], input->dims, (size_t)input->rank * sizeof *input->dims);
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

static Status
infer_diag_part(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    if (input->rank == 0 || input->rank % 2 != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d is no even number above 0", input->rank);
    }
    Shape output = *input;
    output.rank = input->rank / 2;
    for (int index = 0; index < output.rank; index++) {
        TRY(infer_equal(call, input->dims[index], input->dims[output.rank + index], "a diagonal's dimension",
            &output.dims[index]));
    }
    context->outputs[0] = output;
    return STATUS_OK;
}

#define ALIGNED "{T:type, align:string=RIGHT_LEFT}"
static const OpDefinition diagonal_ops[] = {
    OP("MatrixDiag(diagonal:T)->(output:T) {T:type}", 0, infer_to_matrix),
    OP("MatrixDiagV2(diagonal:T, k:int32, num_rows:int32, num_cols:int32, padding_value:T)->(output:T) "
       "{T:type}",
        0, infer_to_matrix),
    OP("MatrixDiagV3(diagonal:T, k:int32, num_rows:int32, num_cols:int32, "
       "padding_value:T)->(output:T) " ALIGNED,
        0, infer_to_matrix),
    OP("MatrixDiagPart(input:T)->(diagonal:T) {T:type}", 0, infer_of_matrix),
    OP("MatrixDiagPartV2(input:T, k:int32, padding_value:T)->(diagonal:T) {T:type}", 0, infer_of_matrix),
    OP("MatrixDiagPartV3(input:T, k:int32, padding_value:T)->(diagonal:T) " ALIGNED, 0, infer_of_matrix),
    OP("MatrixSetDiag(input:T, diagonal:T)->(output:T) {T:type}", 0, infer_of_matrix),
    OP("MatrixSetDiagV2(input:T, diagonal:T, k:int32)->(output:T) {T:type}", 0, infer_of_matrix),
    OP("MatrixSetDiagV3(input:T, diagonal:T, k:int32)->(output:T) " ALIGNED, 0, infer_of_matrix),
    OP("MatrixBandPart(input:T, num_lower:Tindex, num_upper:Tindex)->(band:T) {T:type, Tindex:type=DT_INT64}",
        0, infer_band_part),
    OP("onnx::Trilu(input:T, k?:int64)->(output:T) {upper:int=1, T:type}", 0, infer_trilu),
    OP("Diag(diagonal:T)->(output:T) {T:type}", 0, infer_diag),
    OP("DiagPart(input:T)->(diagonal:T) {T:type}", 0, infer_diag_part),
};

OP_FAMILY(diagonal, diagonal_ops);
