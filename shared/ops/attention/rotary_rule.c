#include "shared/ops/attention/rotary_rule.h"

static Status
read_heads(Call *call, const InferContext *context, Rotary *rotary)
{
    const Shape *x = &context->inputs[ROTARY_INPUT];
    rotary->is_packed = x->rank == 3;
    if (x->rank != 3 && x->rank != 4) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the input has rank %d, not 3 or 4", x->rank);
    }
    rotary->batch = x->dims[0];
    if (!rotary->is_packed) {
        rotary->heads = x->dims[1];
        rotary->length = x->dims[2];
        rotary->size = x->dims[3];
        return STATUS_OK;
    }
    rotary->heads = node_attr_int(context->node, "num_heads");
    rotary->length = x->dims[1];
    if (rotary->heads < 1 || (x->dims[2] >= 0 && x->dims[2] % rotary->heads != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a dimension of %lld cannot be cut into %lld heads",
            (long long)x->dims[2], (long long)rotary->heads);
    }
    rotary->size = x->dims[2] < 0 ? -1 : x->dims[2] / rotary->heads;
    return STATUS_OK;
}

/* All of a head is rotated unless rotary_embedding_dim says how much. */
static Status
read_pairs(Call *call, const Node *node, Rotary *rotary)
{
    int64_t given = node_attr_int(node, "rotary_embedding_dim");
    int64_t rotated = given == 0 ? rotary->size : given;
    if (given < 0 || (rotary->size >= 0 && (rotated > rotary->size || rotated % 2 != 0))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "%lld numbers of a head of %lld cannot be rotated in pairs", (long long)rotated,
            (long long)rotary->size);
    }
    rotary->pairs = rotated < 0 ? -1 : rotated / 2;
    return STATUS_OK;
}

static Status
read_cache(Call *call, const InferContext *context, uint32_t input, Rotary *rotary)
{
    Shape cache;
    int last = rotary->has_positions ? 1 : 2;
    TRY(infer_rank(call, context, input, last + 1, &cache));
    TRY(infer_equal(call, rotary->pairs, cache.dims[last], "the number of angles", &rotary->pairs));
    if (rotary->has_positions) {
        return infer_equal(
            call, rotary->rows, cache.dims[0], "the number of cached positions", &rotary->rows);
    }
    TRY(infer_equal(call, rotary->batch, cache.dims[0], "the batch", &rotary->batch));
    return infer_equal(call, rotary->length, cache.dims[1], "the number of positions", &rotary->length);
}

Status
rotary_read(Call *call, const InferContext *context, Rotary *ret_rotary)
{
    Rotary rotary = {.rows = -1,
        .has_positions = infer_has_input(context, ROTARY_POSITIONS),
        .is_interleaved = node_attr_int(context->node, "interleaved") != 0};
    TRY(read_heads(call, context, &rotary));
    TRY(read_pairs(call, context->node, &rotary));
    for (uint32_t input = ROTARY_COSINES; input <= ROTARY_SINES; input++) {
        TRY(context->inputs[input].rank < 0 ? STATUS_OK : read_cache(call, context, input, &rotary));
    }
    if (rotary.has_positions) {
        Shape positions;
        TRY(infer_rank(call, context, ROTARY_POSITIONS, 2, &positions));
        TRY(infer_equal(call, rotary.batch, positions.dims[0], "the batch", &rotary.batch));
        TRY(infer_equal(call, rotary.length, positions.dims[1], "the number of positions", &rotary.length));
    }
    *ret_rotary = rotary;
    return STATUS_OK;
}

Status
rotary_check_positions(Call *call, const Rotary *rotary, const int64_t *positions)
{
    for (int64_t token = 0; token < rotary->batch * rotary->length; token++) {
        if (positions[token] < 0 || positions[token] >= rotary->rows) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "position_ids has %lld as its value %lld, not within 0 to %lld", (long long)positions[token],
                (long long)token, (long long)rotary->rows - 1);
        }
    }
    return STATUS_OK;
}
