#include "shared/ops/group_query.h"

static Status
read_heads(Call *call, const InferContext *context, GroupQuery *query)
{
    Shape shape;
    bool is_packed = !infer_has_input(context, GROUP_KEY);
    query->heads = node_attr_int(context->node, "num_heads");
    query->key_heads = node_attr_int(context->node, "kv_num_heads");
    TRY(infer_rank(call, context, GROUP_QUERY, 3, &shape));
    query->batch = shape.dims[0];
    query->length = shape.dims[1];
    enum { HEADS_MAX = 1 << 20 };
    if (query->heads > HEADS_MAX || query->key_heads > query->heads || query->heads % query->key_heads != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld heads cannot share %lld keys",
            (long long)query->heads, (long long)query->key_heads);
    }
    int64_t heads = query->heads + (is_packed ? 2 * query->key_heads : 0);
    if (shape.dims[2] >= 0 && (shape.dims[2] % heads != 0 || shape.dims[2] == 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a query of %lld numbers cannot be cut into %lld heads", (long long)shape.dims[2],
            (long long)heads);
    }
    query->size = shape.dims[2] < 0 ? -1 : shape.dims[2] / heads;
    return infer_multiply(call, query->size, query->heads, &query->width);
}

static Status
check_new(Call *call, const InferContext *context, uint32_t input, const GroupQuery *query)
{
    Shape shape;
    int64_t width = 0;
    int64_t same = 0;
    TRY(infer_rank(call, context, input, 3, &shape));
    TRY(infer_multiply(call, query->size, query->key_heads, &width));
    TRY(infer_equal(call, shape.dims[0], query->batch, "the batch", &same));
    TRY(infer_equal(call, shape.dims[1], query->length, "the number of tokens", &same));
    return infer_equal(call, shape.dims[2], width, "the width of keys and values", &same);
}

static Status
check_past(Call *call, const InferContext *context, uint32_t input, GroupQuery *query)
{
    Shape shape;
    int64_t same = 0;
    TRY(infer_rank(call, context, input, 4, &shape));
    TRY(infer_equal(call, shape.dims[0], query->batch, "the batch", &same));
    TRY(infer_equal(call, shape.dims[1], query->key_heads, "the number of heads of the past", &same));
    TRY(infer_equal(call, shape.dims[3], query->size, "the size of a head of the past", &same));
    return infer_equal(call, shape.dims[2], query->past, "the room of the past", &query->past);
}

static Status
read_past(Call *call, const InferContext *context, GroupQuery *query)
{
    bool has_past = infer_has_input(context, GROUP_PAST_KEY);
    int64_t total = -1;
    bool is_known = false;
    if (has_past != infer_has_input(context, GROUP_PAST_VALUE) ||
        infer_has_input(context, GROUP_KEY) != infer_has_input(context, GROUP_VALUE)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "keys and values must be given together, of the past too");
    }
    query->past = has_past ? -1 : 0;
    if (has_past) {
        TRY(check_past(call, context, GROUP_PAST_KEY, query));
        TRY(check_past(call, context, GROUP_PAST_VALUE, query));
    }
    TRY(infer_int(call, context, GROUP_TOTAL, &total, &is_known));
    if (is_known && query->length >= 0 && total < query->length) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "total_sequence_length is %lld, less than the %lld tokens of the query", (long long)total,
            (long long)query->length);
    }
    query->total = is_known ? total : -1;
    query->present = !is_known || query->past < 0 ? -1 : total > query->past ? total : query->past;
    return STATUS_OK;
}

static Status
read_rotation(Call *call, const InferContext *context, GroupQuery *query)
{
    Shape cosines;
    Shape sines;
    int64_t half = 0;
    query->turned = 0;
    if (node_attr_int(context->node, "do_rotary") == 0) {
        return STATUS_OK;
    }
    if (!infer_has_input(context, GROUP_COSINES) || !infer_has_input(context, GROUP_SINES)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "do_rotary needs cos_cache and sin_cache");
    }
    TRY(infer_rank(call, context, GROUP_COSINES, 2, &cosines));
    TRY(infer_rank(call, context, GROUP_SINES, 2, &sines));
    TRY(infer_equal(call, cosines.dims[0], sines.dims[0], "the number of positions", &half));
    TRY(infer_equal(call, cosines.dims[1], sines.dims[1], "the number of angles", &half));
    TRY(infer_multiply(call, half, 2, &query->turned));
    if (query->size >= 0 && query->turned > query->size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld angles are too many for heads of size %lld",
            (long long)half, (long long)query->size);
    }
    return STATUS_OK;
}

static Status
check_others(Call *call, const InferContext *context, const GroupQuery *query)
{
    int64_t same = 0;
    Shape shape;
    const Shape *lengths = &context->inputs[GROUP_LENGTHS];
    int64_t count = 0;
    if (shape_is_known(lengths) && query->batch >= 0 &&
        (!shape_element_count(lengths, &count) || count != query->batch)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "seqlens_k has %lld numbers, not %lld",
            (long long)count, (long long)query->batch);
    }
    if (infer_has_input(context, GROUP_SINK)) {
        TRY(infer_rank(call, context, GROUP_SINK, 1, &shape));
        TRY(infer_equal(call, shape.dims[0], query->heads, "the number of heads of head_sink", &same));
    }
    if (infer_has_input(context, GROUP_POSITIONS)) {
        TRY(infer_rank(call, context, GROUP_POSITIONS, 2, &shape));
        TRY(infer_equal(call, shape.dims[0], query->batch, "the batch", &same));
        TRY(infer_equal(call, shape.dims[1], query->length, "the number of positions", &same));
    }
    return STATUS_OK;
}

static Status
check_bias(Call *call, const InferContext *context, const GroupQuery *query)
{
    Shape shape;
    int64_t same = 0;
    if (!infer_has_input(context, GROUP_BIAS)) {
        return STATUS_OK;
    }
    TRY(infer_rank(call, context, GROUP_BIAS, 4, &shape));
    if (shape.dims[0] != 1) {
        TRY(infer_equal(call, shape.dims[0], query->batch, "the batch", &same));
    }
    if (shape.dims[1] != 1) {
        TRY(infer_equal(call, shape.dims[1], query->heads, "the number of heads", &same));
    }
    return infer_equal(call, shape.dims[2], query->length, "the number of tokens", &same);
}

Status
group_query_read(Call *call, const InferContext *context, GroupQuery *ret_query)
{
    GroupQuery query;
    TRY(read_heads(call, context, &query));
    if (infer_has_input(context, GROUP_KEY) && infer_has_input(context, GROUP_VALUE)) {
        TRY(check_new(call, context, GROUP_KEY, &query));
        TRY(check_new(call, context, GROUP_VALUE, &query));
    }
    TRY(read_past(call, context, &query));
    TRY(read_rotation(call, context, &query));
    TRY(check_others(call, context, &query));
    TRY(check_bias(call, context, &query));
    *ret_query = query;
    return STATUS_OK;
}
