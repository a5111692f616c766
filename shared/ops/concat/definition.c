/* Tensors joined and cut along one dimension, and repeated. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Joins the shapes of inputs first…first + count - 1 along `axis`: all other dimensions agree. */
static Status
join_shapes(Call *call, InferContext *context, uint32_t first, uint32_t count, int64_t axis)
{
    Shape result = shape_unknown();
    int64_t total = 0;
    for (uint32_t index = first; index < first + count; index++) {
        Shape shape = context->inputs[index];
        if (shape.rank < 0) {
            total = -1;
            continue;
        }
        int position = 0;
        TRY(infer_axis(call, axis, shape.rank, &position));
        TRY(infer_add(call, total, shape.dims[position], &total));
        shape.dims[position] = -1;
        if (!shape_merge(&result, &shape, &result)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "input %u of shape %s does not join %s along axis %d", index,
                shape_text(&context->inputs[index], left), shape_text(&context->inputs[first], right),
                position);
        }
    }
    if (result.rank >= 0) {
        int position = 0;
        TRY(infer_axis(call, axis, result.rank, &position));
        result.dims[position] = total;
    }
    context->outputs[0] = result;
    return infer_check_size(call, &result);
}

/* Tells the rank alone, while the axis is not known. */
static Status
join_somewhere(Call *call, InferContext *context, uint32_t axis_input, uint32_t first)
{
    int64_t axis = 0;
    bool is_known = false;
    TRY(infer_int(call, context, axis_input, &axis, &is_known));
    if (is_known) {
        return join_shapes(call, context, first, context->node->input_count - 1, axis);
    }
    int rank = context->inputs[first].rank;
    context->outputs[0] = rank < 0 ? shape_unknown() : shape_of_rank(rank);
    return STATUS_OK;
}

static Status
infer_concat_v2(Call *call, InferContext *context)
{
    return join_somewhere(call, context, context->node->input_count - 1, 0);
}

static Status
infer_concat(Call *call, InferContext *context)
{
    return join_somewhere(call, context, 0, 1);
}

/* The inputs are pieces of one row each; the attribute gives the shape that they make. */
static Status
infer_parallel_concat(Call *call, InferContext *context)
{
    const Shape *declared = &node_attr(context->node, "shape")->value.shape;
    Shape merged;
    TRY(join_shapes(call, context, 0, context->node->input_count, 0));
    if (!shape_merge(&context->outputs[0], declared, &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the values make shape %s, not %s",
            shape_text(&context->outputs[0], left), shape_text(declared, right));
    }
    context->outputs[0] = merged;
    return STATUS_OK;
}

static Status
infer_onnx_concat(Call *call, InferContext *context)
{
    return join_shapes(call, context, 0, context->node->input_count, node_attr_int(context->node, "axis"));
}

/* All inputs have one shape and are stacked along a new dimension. */
static Status
infer_pack(Call *call, InferContext *context)
{
    Shape each = context->inputs[0];
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        if (!shape_merge(&each, &context->inputs[index], &each)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not %s", index,
                shape_text(&context->inputs[index], left), shape_text(&context->inputs[0], right));
        }
    }
    if (each.rank < 0) {
        return STATUS_OK;
    }
    if (each.rank == SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
    }
    int axis = 0;
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), each.rank + 1, &axis));
    Shape result = shape_of_rank(each.rank + 1);
    for (int index = 0; index < result.rank; index++) {
        result.dims[index] = index == axis ? context->node->input_count : each.dims[index - (index > axis)];
    }
    context->outputs[0] = result;
    return infer_check_size(call, &result);
}

static Status
infer_unpack(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    int axis = 0;
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), input->rank, &axis));
    int64_t count = 0;
    TRY(infer_equal(call, input->dims[axis], context->node->output_count, "the number of parts", &count));
    Shape part = shape_of_rank(input->rank - 1);
    for (int index = 0; index < part.rank; index++) {
        part.dims[index] = input->dims[index + (index >= axis)];
    }
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = part;
    }
    return STATUS_OK;
}

static void
fill_parts(InferContext *context, const Shape *part)
{
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = *part;
    }
}

static Status
infer_split(Call *call, InferContext *context)
{
    Shape part = context->inputs[1];
    if (part.rank < 0) {
        return STATUS_OK;
    }
    int64_t axis = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 0, &axis, &is_known));
    if (!is_known) {
        part = shape_of_rank(part.rank);
        fill_parts(context, &part);
        return STATUS_OK;
    }
    int position = 0;
    TRY(infer_axis(call, axis, part.rank, &position));
    int64_t count = context->node->output_count;
    if (part.dims[position] >= 0 && part.dims[position] % count != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d of %lld is not a multiple of %lld",
            position, (long long)part.dims[position], (long long)count);
    }
    part.dims[position] = part.dims[position] < 0 ? -1 : part.dims[position] / count;
    fill_parts(context, &part);
    return STATUS_OK;
}

/* Adds up the given sizes, and finds the one -1, which gets the rest (NULL: there is none). */
static Status
add_sizes(Call *call, int64_t *sizes, uint32_t count, int64_t *ret_total, int64_t **ret_rest)
{
    *ret_total = 0;
    *ret_rest = NULL;
    for (uint32_t index = 0; index < count; index++) {
        if (sizes[index] < -1 || (sizes[index] == -1 && *ret_rest != NULL)) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "part %u has size %lld", index, (long long)sizes[index]);
        }
        if (sizes[index] == -1) {
            *ret_rest = &sizes[index];
        } else if (__builtin_add_overflow(*ret_total, sizes[index], ret_total)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "the parts are too large");
        }
    }
    return STATUS_OK;
}

static Status
position_sizes(Call *call, InferContext *context, const Shape *input, int axis, int64_t *sizes)
{
    int64_t total = 0;
    int64_t *rest = NULL;
    uint32_t count = context->node->output_count;
    TRY(add_sizes(call, sizes, count, &total, &rest));
    int64_t available = input->dims[axis];
    if (available >= 0 && (rest == NULL ? total != available : total > available)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the parts sum up to %lld, not %lld",
            (long long)total, (long long)available);
    }
    if (rest != NULL) {
        *rest = available < 0 ? -1 : available - total;
    }
    for (uint32_t index = 0; index < count; index++) {
        context->outputs[index] = *input;
        context->outputs[index].dims[axis] = sizes[index];
    }
    return STATUS_OK;
}

enum { PARTS_MAX = 256 };

static Status
split_by_values(Call *call, InferContext *context, const Shape *input, uint32_t sizes_input, int axis)
{
    int64_t sizes[PARTS_MAX];
    size_t count = 0;
    bool is_known = false;
    Shape unknown = shape_of_rank(input->rank);
    fill_parts(context, &unknown);
    TRY(infer_ints(call, context, sizes_input, sizes, PARTS_MAX, &count));
    is_known = infer_knows(context, sizes_input);
    if (!is_known) {
        return STATUS_OK;
    }
    if (count != context->node->output_count) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "%zu sizes for %u parts", count, context->node->output_count);
    }
    return position_sizes(call, context, input, axis, sizes);
}

static Status
infer_split_v(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    int64_t axis = 0;
    int position = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 2, &axis, &is_known));
    if (!is_known || input->rank < 0) {
        return STATUS_OK;
    }
    TRY(infer_axis(call, axis, input->rank, &position));
    return split_by_values(call, context, input, 1, position);
}

/* Equal parts, of which the last may be smaller, when no sizes are given. */
static Status
infer_onnx_split(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    int axis = 0;
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), input->rank, &axis));
    if (infer_has_input(context, 1)) {
        return split_by_values(call, context, input, 1, axis);
    }
    int64_t count = context->node->output_count;
    int64_t left = input->dims[axis];
    int64_t size = left / count + (left % count > 0);
    Shape part = *input;
    for (int64_t index = 0; index < count; index++) {
        part.dims[axis] = left < 0 ? -1 : left < size ? left : size;
        context->outputs[index] = part;
        left -= left < 0 ? 0 : part.dims[axis];
    }
    return STATUS_OK;
}

static Status
infer_tile(Call *call, InferContext *context)
{
    int64_t repeats[SHAPE_RANK_MAX];
    size_t count = 0;
    bool is_known = false;
    TRY(infer_ints(call, context, 1, repeats, SHAPE_RANK_MAX, &count));
    is_known = infer_knows(context, 1);
    Shape result = context->inputs[0];
    if (result.rank < 0 || !is_known) {
        context->outputs[0] = result.rank < 0 ? shape_unknown() : shape_of_rank(result.rank);
        return STATUS_OK;
    }
    if (count != (size_t)result.rank) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "%zu multiples do not repeat rank %d", count, result.rank);
    }
    for (int index = 0; index < result.rank; index++) {
        if (repeats[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "multiple %d is %lld, not at least 0", index,
                (long long)repeats[index]);
        }
        TRY(infer_multiply(call, result.dims[index], repeats[index], &result.dims[index]));
    }
    context->outputs[0] = result;
    return infer_check_size(call, &result);
}

static const OpDefinition concat_ops[] = {
    OP("Concat(concat_dim:int32, values:N*T)->(output:T) {N:int>=1, T:type}", 0, infer_concat),
    OP("ConcatV2(values:N*T, axis:Tidx)->(output:T) {N:int>=1, T:type, Tidx:type=DT_INT32}", 0,
        infer_concat_v2),
    OP("ParallelConcat(values:N*T)->(output:T) {N:int>=1, T:type, shape:shape}", 0, infer_parallel_concat),
    OP("Pack(values:N*T)->(output:T) {N:int>=1, T:type, axis:int=0}", 0, infer_pack),
    OP("Unpack(value:T)->(output:num*T) {num:int, T:type, axis:int=0}", 0, infer_unpack),
    OP("Split(split_dim:int32, value:T)->(output:num_split*T) {num_split:int>=1, T:type}", 0, infer_split),
    OP("SplitV(value:T, size_splits:Tlen, split_dim:int32)->(output:num_split*T) {num_split:int>=1, T:type, "
       "Tlen:type=DT_INT64}",
        0, infer_split_v),
    OP("Tile(input:T, multiples:Tmultiples)->(output:T) {T:type, Tmultiples:type=DT_INT32}", 0, infer_tile),
    OP("onnx::Concat(inputs:N*T)->(concat_result:T) {axis:int, N:int>=1, T:type}", 0, infer_onnx_concat),
    OP("onnx::Split(input:T, split?:int64)->(outputs:num_outputs*T) {axis:int=0, num_outputs:int>=1, T:type}",
        0, infer_onnx_split),
    OP("onnx::Tile(input:T, repeats:int64)->(output:T) {T:type}", 0, infer_tile),
};

OP_FAMILY(concat, concat_ops);
