/* Numbers counted in the rows of a ragged tensor. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* A row of bins for each row of numbers; weights are absent (no elements), or one for each number. */
static Status
infer_ragged_bincount(Call *call, InferContext *context)
{
    Shape splits;
    Shape values;
    int64_t bins = -1;
    bool is_known = false;
    TRY(infer_rank(call, context, 0, 1, &splits));
    TRY(infer_rank(call, context, 1, 1, &values));
    TRY(infer_int(call, context, 2, &bins, &is_known));
    if (splits.dims[0] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the splits have no element, not at least 1");
    }
    if (is_known && bins < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld bins are not at least 0", (long long)bins);
    }
    int64_t weights = -1;
    if (shape_element_count(&context->inputs[3], &weights) && weights != 0) {
        TRY(infer_equal(call, weights, values.dims[0], "the number of weights", &values.dims[0]));
    }
    int64_t rows = splits.dims[0] < 0 ? -1 : splits.dims[0] - 1;
    context->outputs[0] = (Shape){.rank = 2, .dims = {rows, is_known ? bins : -1}};
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition ragged_count_ops[] = {
    OP("RaggedBincount(splits:int64, values:Tidx, size:Tidx, weights:T)->(output:T) {Tidx:type, T:type, "
       "binary_output:bool=false}",
        0, infer_ragged_bincount),
};

OP_FAMILY(count_ragged, ragged_count_ops);
