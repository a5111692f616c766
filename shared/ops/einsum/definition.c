/* Sums of products over indices, given by an equation. */
#include "shared/ops/einsum/rule.h"
#include "shared/ops/family.h"

static Status
infer_einsum(Call *call, InferContext *context)
{
    Einsum einsum;
    bool is_known = false;
    TRY(einsum_read(call, node_attr_string(context->node, "equation"), context, &einsum, &is_known));
    if (!is_known) {
        return STATUS_OK;
    }
    Shape output = shape_of_rank(einsum.output.rank);
    for (int index = 0; index < output.rank; index++) {
        output.dims[index] = einsum.sizes[einsum.output.labels[index]];
    }
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

static const OpDefinition einsum_ops[] = {
    OP("Einsum(inputs:N*T)->(output:T) {equation:string, N:int>=1, T:type}", 0, infer_einsum),
    OP("onnx::Einsum(Inputs:N*T)->(Output:T) {equation:string, N:int>=1, T:type}", 0, infer_einsum),
};

OP_FAMILY(einsum, einsum_ops);
