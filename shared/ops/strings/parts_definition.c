/* Strings split, cut, joined along dimensions, and assigned to buckets. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The outputs are a sparse matrix with a row for each string. */
static Status
infer_split(Call *call, InferContext *context)
{
    Shape strings;
    Shape separator;
    TRY(infer_rank(call, context, 0, 1, &strings));
    TRY(infer_rank(call, context, 1, 0, &separator));
    context->outputs[0] = (Shape){.rank = 2, .dims = {-1, 2}};
    context->outputs[1] = shape_of_rank(1);
    context->outputs[2] = shape_vector(2);
    return STATUS_OK;
}

static Status
infer_reduce_join(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    int64_t axes[SHAPE_RANK_MAX];
    bool is_joined[SHAPE_RANK_MAX] = {0};
    size_t count = 0;
    TRY(infer_ints(call, context, 1, axes, SHAPE_RANK_MAX, &count));
    if (!infer_knows(context, 1) || input->rank < 0) {
        return STATUS_OK;
    }
    for (size_t index = 0; index < count; index++) {
        int axis = 0;
        TRY(infer_axis(call, axes[index], input->rank, &axis));
        if (is_joined[axis]) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is joined twice", axis);
        }
        is_joined[axis] = true;
    }
    Shape output = shape_scalar();
    for (int dimension = 0; dimension < input->rank; dimension++) {
        if (!is_joined[dimension] || node_attr_bool(context->node, "keep_dims")) {
            output.dims[output.rank++] = is_joined[dimension] ? 1 : input->dims[dimension];
        }
    }
    context->outputs[0] = output;
    return STATUS_OK;
}

static const OpDefinition string_parts_ops[] = {
    OP("StringSplit(input:string, delimiter:string)->(indices:int64, values:string, shape:int64) "
       "{skip_empty:bool=true}",
        0, infer_split),
    OP("StringSplitV2(input:string, sep:string)->(indices:int64, values:string, shape:int64) "
       "{maxsplit:int=-1}",
        0, infer_split),
    OP("Substr(input:string, pos:T, len:T)->(output:string) {T:type, unit:string=BYTE}", 0, infer_broadcast),
    OP("ReduceJoin(inputs:string, reduction_indices:int32)->(output:string) {keep_dims:bool=false, "
       "separator:string=}",
        0, infer_reduce_join),
    OP("StringToHashBucket(string_tensor:string)->(output:int64) {num_buckets:int}", 0, infer_unchanged),
    OP("StringToHashBucketFast(input:string)->(output:int64) {num_buckets:int}", 0, infer_unchanged),
    OP("StringToHashBucketStrong(input:string)->(output:int64) {num_buckets:int, key:list(int)}", 0,
        infer_unchanged),
};

OP_FAMILY(strings_parts, string_parts_ops);
