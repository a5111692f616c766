/* Ragged tensors, whose rows have lengths of their own, made rectangular. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/ragged/rule.h"

/* Reads the wanted shape, in which -1 stands for as much as the values need; a scalar -1 leaves all of it
 * open. */
static Status
read_wanted(Call *call, const InferContext *context, int rank, Shape *ret_wanted)
{
    int64_t sizes[SHAPE_RANK_MAX];
    size_t count = 0;
    Shape wanted = shape_of_rank(rank);
    TRY(infer_ints(call, context, RAGGED_SHAPE, sizes, SHAPE_RANK_MAX, &count));
    bool is_open = !infer_knows(context, RAGGED_SHAPE) || context->inputs[RAGGED_SHAPE].rank == 0;
    for (int dimension = 0; !is_open && count == (size_t)rank && dimension < rank; dimension++) {
        wanted.dims[dimension] = sizes[dimension];
        if (sizes[dimension] < -1) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d of the shape is %lld, below -1",
                dimension, (long long)sizes[dimension]);
        }
    }
    if (!is_open && count != (size_t)rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the shape has %zu dimensions, the ragged tensor has %d", count, rank);
    }
    *ret_wanted = wanted;
    return STATUS_OK;
}

/* The dimensions behind those that are ragged are the values' own. */
static Status
infer_rectangle(Call *call, InferContext *context)
{
    const Shape *values = &context->inputs[RAGGED_VALUES];
    Shape wanted;
    uint32_t ragged = 0;
    TRY(ragged_check(call, context->node, &ragged));
    if (values->rank < 0) {
        return STATUS_OK;
    }
    if (values->rank == 0 || (int)ragged + values->rank > SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "values of rank %d and %u ragged dimensions are no tensor", values->rank, ragged);
    }
    TRY(read_wanted(call, context, (int)ragged + values->rank, &wanted));
    for (int dimension = 1; dimension < values->rank; dimension++) {
        int64_t *size = &wanted.dims[(int)ragged + dimension];
        TRY(infer_equal(call, *size, values->dims[dimension], "a dimension of the values", size));
    }
    context->outputs[0] = wanted;
    return infer_check_size(call, &wanted);
}

static const OpDefinition ragged_ops[] = {
    OP("RaggedTensorToTensor(shape:Tshape, values:T, default_value:T, "
       "row_partition_tensors:num_row_partition_tensors*Tindex)->(result:T) {T:type, Tindex:type, "
       "Tshape:type, num_row_partition_tensors:int>=1, row_partition_types:list(string)}",
        0, infer_rectangle),
};

OP_FAMILY(ragged, ragged_ops);
