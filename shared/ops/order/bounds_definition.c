/* Places of values in sorted lines (tf.searchsorted). */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Sorted lines and values are matrices with one row for each other. */
static Status
infer_bounds(Call *call, InferContext *context)
{
    Shape sorted;
    Shape values;
    TRY(infer_rank(call, context, 0, 2, &sorted));
    TRY(infer_rank(call, context, 1, 2, &values));
    TRY(infer_equal(call, sorted.dims[0], values.dims[0], "the number of rows", &values.dims[0]));
    context->outputs[0] = values;
    return STATUS_OK;
}

static const OpDefinition bounds_ops[] = {
    OP("LowerBound(sorted_inputs:T, values:T)->(output:out_type) {T:type, out_type:type=DT_INT32}", 0,
        infer_bounds),
    OP("UpperBound(sorted_inputs:T, values:T)->(output:out_type) {T:type, out_type:type=DT_INT32}", 0,
        infer_bounds),
};

OP_FAMILY(order_bounds, bounds_ops);
