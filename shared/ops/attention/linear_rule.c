#include "shared/ops/attention/linear_rule.h"

static const struct {
    const char *name;
    bool decays;
    bool corrects;
} update_rules[] = {
    {"linear", false, false},
    {"gated", true, false},
    {"delta", false, true},
    {"gated_delta", true, true},
};

/* A rule needs exactly the inputs that it uses. */
static Status
check_use(Call *call, const InferContext *context, uint32_t input, bool is_used, const char *name)
{
    if (infer_has_input(context, input) != is_used) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "update_rule '%.*s' %s %s",
            SLICE_PRINT(node_attr_string(context->node, "update_rule")), is_used ? "needs" : "has no", name);
    }
    return STATUS_OK;
}

static Status
read_update_rule(Call *call, const InferContext *context, LinearAttention *attention)
{
    Slice given = node_attr_string(context->node, "update_rule");
    for (size_t index = 0; index < COUNT_OF(update_rules); index++) {
        if (slice_equals_string(given, update_rules[index].name)) {
            attention->decays = update_rules[index].decays;
            attention->corrects = update_rules[index].corrects;
            TRY(check_use(call, context, LINEAR_DECAY, attention->decays, "decay"));
            return check_use(call, context, LINEAR_BETA, attention->corrects, "beta");
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "update_rule is '%.*s', not linear, gated, delta or gated_delta",
        SLICE_PRINT(slice_part(given, 0, 64)));
}

/* Reads an input of [batch, token, …]; returns its last dimension. */
static Status
read_tokens(
    Call *call, const InferContext *context, uint32_t input, LinearAttention *attention, int64_t *ret_last)
{
    Shape shape;
    TRY(infer_rank(call, context, input, 3, &shape));
    TRY(infer_equal(call, attention->batch, shape.dims[0], "the batch", &attention->batch));
    TRY(infer_equal(call, attention->length, shape.dims[1], "the number of tokens", &attention->length));
    *ret_last = shape.dims[2];
    return STATUS_OK;
}

/* Reads the heads of an input, which lie side by side; merges their size with what is known. */
static Status
read_heads(Call *call, const InferContext *context, uint32_t input, int64_t heads, LinearAttention *attention,
    int64_t *size)
{
    int64_t last = 0;
    TRY(read_tokens(call, context, input, attention, &last));
    if (last >= 0 && last % heads != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a dimension of %lld cannot be cut into %lld heads",
            (long long)last, (long long)heads);
    }
    return infer_equal(call, *size, last < 0 ? -1 : last / heads, "the size of a head", size);
}

static Status
read_gates(Call *call, const InferContext *context, LinearAttention *attention)
{
    int64_t last = 0;
    int64_t heads = attention->key_heads;
    if (attention->decays) {
        TRY(read_tokens(call, context, LINEAR_DECAY, attention, &last));
        attention->decays_by_key = last != heads;
        if (last >= 0 && last != heads && attention->key_size >= 0 && last != heads * attention->key_size) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "decay has %lld numbers a token, not %lld or %lld", (long long)last, (long long)heads,
                (long long)(heads * attention->key_size));
        }
    }
    if (attention->corrects) {
        TRY(read_tokens(call, context, LINEAR_BETA, attention, &last));
        attention->shares_beta = last == 1;
        if (last >= 0 && last != 1 && last != heads) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "beta has %lld numbers a token, not 1 or %lld",
                (long long)last, (long long)heads);
        }
    }
    return STATUS_OK;
}

static Status
read_state(Call *call, const InferContext *context, const LinearAttention *attention, Shape *ret_state)
{
    Shape state = {.rank = 4,
        .dims = {attention->batch, attention->key_heads, attention->key_size, attention->value_size}};
    Shape given = state;
    if (infer_has_input(context, LINEAR_STATE)) {
        TRY(infer_rank(call, context, LINEAR_STATE, 4, &given));
    }
    for (int index = 0; index < 4; index++) {
        TRY(infer_equal(
            call, state.dims[index], given.dims[index], "a dimension of the state", &state.dims[index]));
    }
    *ret_state = state;
    return infer_check_size(call, &state);
}

Status
linear_attention_read(Call *call, const InferContext *context, LinearAttention *ret_attention)
{
    LinearAttention attention = {.batch = -1,
        .length = -1,
        .key_size = -1,
        .value_size = -1,
        .query_heads = node_attr_int(context->node, "q_num_heads"),
        .key_heads = node_attr_int(context->node, "kv_num_heads")};
    if (attention.query_heads % attention.key_heads != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "%lld heads of the query cannot share %lld heads of the key", (long long)attention.query_heads,
            (long long)attention.key_heads);
    }
    TRY(read_update_rule(call, context, &attention));
    TRY(read_heads(call, context, LINEAR_QUERY, attention.query_heads, &attention, &attention.key_size));
    TRY(read_heads(call, context, LINEAR_KEY, attention.key_heads, &attention, &attention.key_size));
    TRY(read_heads(call, context, LINEAR_VALUE, attention.key_heads, &attention, &attention.value_size));
    TRY(read_gates(call, context, &attention));
    TRY(read_state(call, context, &attention, &attention.state));
    attention.output = (Shape){.rank = 3, .dims = {attention.batch, attention.length, -1}};
    TRY(infer_multiply(call, attention.query_heads, attention.value_size, &attention.output.dims[2]));
    *ret_attention = attention;
    return infer_check_size(call, &attention.output);
}
