#include "shared/ops/attention/onnx_rule.h"

#include <assert.h>
#include <math.h>

static Shape
shape_of_four(int64_t batch, int64_t heads, int64_t positions, int64_t size)
{
    return (Shape){.rank = 4, .dims = {batch, heads, positions, size}};
}

static Status
fail_number(Call *call, const char *attribute, int64_t number, const char *expected)
{
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "%s is %lld, not %s", attribute, (long long)number, expected);
}

/* Softmax is computed in no lower precision than is asked for: the precision is checked, and needs nothing
 * else. */
static Status
check_precision(Call *call, int64_t precision)
{
    static const int64_t floats[] = {1, 10, 11, 16}; /* ONNX's float32, float16, float64 and bfloat16 */
    for (size_t index = 0; index < COUNT_OF(floats); index++) {
        if (precision == floats[index]) {
            return STATUS_OK;
        }
    }
    return fail_number(call, "softmax_precision", precision, "the element type of a float");
}

Status
onnx_attention_read_attributes(Call *call, const Node *node, OnnxAttention *attention)
{
    int64_t mode = node_attr_int(node, "qk_matmul_output_mode");
    int64_t score_outputs = node_attr_int(node, "score_outputs");
    attention->is_causal = node_attr_int(node, "is_causal") != 0;
    attention->softcap = (double)node_attr_float(node, "softcap");
    attention->left = node_attr_int(node, "left_window_size");
    attention->right = node_attr_int(node, "right_window_size");
    if (score_outputs > 1) {
        return fail_number(call, "score_outputs", score_outputs, "0 or 1");
    }
    if (mode < 0 || mode >= ONNX_ATTENTION_MODES) {
        return fail_number(call, "qk_matmul_output_mode", mode, "within 0 to 3");
    }
    if (attention->left < -1) {
        return fail_number(call, "left_window_size", attention->left, "at least -1");
    }
    if (attention->right < -1) {
        return fail_number(call, "right_window_size", attention->right, "at least -1");
    }
    attention->mode = (OnnxAttentionMode)mode;
    return check_precision(call, node_attr_int(node, "softmax_precision"));
}

/* Finds the size of one of `heads` heads that share a dimension. */
static Status
cut_heads(Call *call, int64_t dimension, int64_t heads, int64_t *ret_size)
{
    if (dimension >= 0 && dimension % heads != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a dimension of %lld cannot be cut into %lld heads",
            (long long)dimension, (long long)heads);
    }
    *ret_size = dimension < 0 ? -1 : dimension / heads;
    return STATUS_OK;
}

static Status
read_packed(Call *call, const Node *node, const Shape *inputs, OnnxAttention *attention)
{
    int64_t value_positions = inputs[ONNX_ATTENTION_VALUE].dims[1];
    int64_t key_size = 0;
    attention->query_heads = node_attr_int(node, "q_num_heads");
    attention->key_heads = node_attr_int(node, "kv_num_heads");
    if (attention->query_heads < 1 || attention->key_heads < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "inputs of rank 3 need q_num_heads and kv_num_heads of at least 1, not %lld and %lld",
            (long long)attention->query_heads, (long long)attention->key_heads);
    }
    attention->queries = inputs[ONNX_ATTENTION_QUERY].dims[1];
    TRY(infer_equal(
        call, inputs[ONNX_ATTENTION_KEY].dims[1], value_positions, "the number of keys", &attention->keys));
    TRY(cut_heads(call, inputs[ONNX_ATTENTION_QUERY].dims[2], attention->query_heads, &attention->head_size));
    TRY(cut_heads(call, inputs[ONNX_ATTENTION_KEY].dims[2], attention->key_heads, &key_size));
    TRY(cut_heads(call, inputs[ONNX_ATTENTION_VALUE].dims[2], attention->key_heads, &attention->value_size));
    return infer_equal(call, attention->head_size, key_size, "the size of a head", &attention->head_size);
}

static Status
read_apart(Call *call, const Shape *inputs, OnnxAttention *attention)
{
    const int64_t *query = inputs[ONNX_ATTENTION_QUERY].dims;
    const int64_t *key = inputs[ONNX_ATTENTION_KEY].dims;
    const int64_t *value = inputs[ONNX_ATTENTION_VALUE].dims;
    attention->query_heads = query[1];
    attention->queries = query[2];
    attention->value_size = value[3];
    TRY(infer_equal(call, key[1], value[1], "the number of heads of keys", &attention->key_heads));
    TRY(infer_equal(call, key[2], value[2], "the number of keys", &attention->keys));
    return infer_equal(call, query[3], key[3], "the size of a head", &attention->head_size);
}

static Status
check_heads(Call *call, const OnnxAttention *attention)
{
    bool is_known = attention->query_heads >= 0 && attention->key_heads >= 0;
    if (is_known && (attention->key_heads == 0 || attention->query_heads % attention->key_heads != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "%lld heads of the query cannot share %lld heads of the key", (long long)attention->query_heads,
            (long long)attention->key_heads);
    }
    return STATUS_OK;
}

static Status
read_tensors(Call *call, const InferContext *context, OnnxAttention *attention)
{
    Shape inputs[3];
    int rank = context->inputs[ONNX_ATTENTION_QUERY].rank;
    if (rank != 3 && rank != 4) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the query has rank %d, not 3 or 4", rank);
    }
    attention->batch = -1;
    for (uint32_t index = 0; index < COUNT_OF(inputs); index++) {
        TRY(infer_rank(call, context, index, rank, &inputs[index]));
        TRY(infer_equal(call, attention->batch, inputs[index].dims[0], "the batch", &attention->batch));
    }
    attention->is_packed = rank == 3;
    TRY(attention->is_packed ? read_packed(call, context->node, inputs, attention)
                             : read_apart(call, inputs, attention));
    return check_heads(call, attention);
}

/* Merges the shape of keys or values of the past, [batch, head, position, size], with what is known. */
static Status
read_past_of(Call *call, const InferContext *context, uint32_t input, OnnxAttention *attention, int64_t *size)
{
    Shape shape;
    TRY(infer_rank(call, context, input, 4, &shape));
    TRY(infer_equal(call, attention->batch, shape.dims[0], "the batch", &attention->batch));
    TRY(infer_equal(
        call, attention->key_heads, shape.dims[1], "the number of heads of keys", &attention->key_heads));
    TRY(infer_equal(call, attention->past, shape.dims[2], "the length of the past", &attention->past));
    return infer_equal(call, *size, shape.dims[3], "the size of a head", size);
}

static Status
read_past(Call *call, const InferContext *context, OnnxAttention *attention)
{
    bool has_key = infer_has_input(context, ONNX_ATTENTION_PAST_KEY);
    bool has_value = infer_has_input(context, ONNX_ATTENTION_PAST_VALUE);
    if (has_key != has_value) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "past_key and past_value are not there together");
    }
    if (has_key && infer_has_input(context, ONNX_ATTENTION_LENGTHS)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "nonpad_kv_seqlen and past_key are not there together");
    }
    attention->past = has_key ? -1 : 0;
    if (has_key) {
        TRY(read_past_of(call, context, ONNX_ATTENTION_PAST_KEY, attention, &attention->head_size));
        TRY(read_past_of(call, context, ONNX_ATTENTION_PAST_VALUE, attention, &attention->value_size));
    }
    return infer_add(call, attention->past, attention->keys, &attention->total);
}

static Status
check_lengths(Call *call, const InferContext *context, OnnxAttention *attention)
{
    Shape shape;
    if (!infer_has_input(context, ONNX_ATTENTION_LENGTHS)) {
        return STATUS_OK;
    }
    TRY(infer_rank(call, context, ONNX_ATTENTION_LENGTHS, 1, &shape));
    return infer_equal(call, attention->batch, shape.dims[0], "the batch", &attention->batch);
}

/* The mask broadcasts to the scores, but for its last dimension: keys behind its end are not seen. */
static Status
check_mask(Call *call, const InferContext *context, const OnnxAttention *attention)
{
    const Shape *mask = &context->inputs[ONNX_ATTENTION_MASK];
    Shape scores = onnx_attention_shape(attention, ONNX_ATTENTION_SCORES);
    bool fits = mask->rank >= 1 && mask->rank <= scores.rank;
    if (!infer_has_input(context, ONNX_ATTENTION_MASK) || mask->rank < 0) {
        return STATUS_OK;
    }
    for (int back = 1; fits && back <= mask->rank; back++) {
        int64_t found = mask->dims[mask->rank - back];
        int64_t expected = scores.dims[scores.rank - back];
        bool is_known = found >= 0 && expected >= 0;
        fits = !is_known || (back == 1 ? found <= expected : found == expected || found == 1);
    }
    if (!fits) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a mask of shape %s is none of scores of shape %s",
            shape_text(mask, left), shape_text(&scores, right));
    }
    return STATUS_OK;
}

/* Checks that the numbers of scores and of packed outputs can be counted: heads of size 0 may be of any
 * number. */
static Status
check_counts(Call *call, const OnnxAttention *attention)
{
    const OnnxAttention *a = attention;
    Shape scores = shape_of_four(a->batch, a->query_heads, a->queries, a->total);
    Shape values = shape_of_four(a->batch, a->query_heads, a->queries, a->value_size);
    TRY(infer_check_size(call, &scores));
    return infer_check_size(call, &values);
}

Status
onnx_attention_read(Call *call, const InferContext *context, OnnxAttention *ret_attention)
{
    OnnxAttention attention = {.is_packed = false};
    TRY(onnx_attention_read_attributes(call, context->node, &attention));
    TRY(read_tensors(call, context, &attention));
    TRY(read_past(call, context, &attention));
    TRY(check_heads(call, &attention));
    TRY(check_counts(call, &attention));
    TRY(check_lengths(call, context, &attention));
    TRY(check_mask(call, context, &attention));
    *ret_attention = attention;
    return STATUS_OK;
}

double
onnx_attention_scale(const Node *node, const OnnxAttention *attention)
{
    float scale = node_attr_float(node, "scale");
    return isnan(scale) ? 1 / sqrt((double)attention->head_size) : (double)scale;
}

Status
onnx_attention_check_lengths(Call *call, const OnnxAttention *attention, const int64_t *lengths)
{
    for (int64_t batch = 0; batch < attention->batch; batch++) {
        if (lengths[batch] < 0 || lengths[batch] > attention->total) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "nonpad_kv_seqlen of batch %lld is %lld, not within 0 to %lld", (long long)batch,
                (long long)lengths[batch], (long long)attention->total);
        }
    }
    return STATUS_OK;
}

OnnxAttentionSpan
onnx_attention_span(const OnnxAttention *attention, const int64_t *lengths, int64_t batch, int64_t query)
{
    int64_t length = lengths == NULL ? attention->total : lengths[batch];
    int64_t position = query + (lengths == NULL ? attention->past : length - attention->queries);
    OnnxAttentionSpan span = {.first = 0, .end = length};
    if (attention->is_causal && position < span.end) {
        span.end = position + 1;
    }
    if (attention->left >= 0 && position > attention->left) {
        span.first = position - attention->left;
    }
    if (attention->right >= 0 && attention->right < span.end && position + attention->right < span.end) {
        span.end = position + attention->right + 1;
    }
    return span;
}

Shape
onnx_attention_shape(const OnnxAttention *attention, uint32_t output)
{
    const OnnxAttention *a = attention;
    switch (output) {
    case ONNX_ATTENTION_PRESENT_KEY:
        return shape_of_four(a->batch, a->key_heads, a->total, a->head_size);
    case ONNX_ATTENTION_PRESENT_VALUE:
        return shape_of_four(a->batch, a->key_heads, a->total, a->value_size);
    case ONNX_ATTENTION_SCORES:
        return shape_of_four(a->batch, a->query_heads, a->queries, a->total);
    default:
        assert(output == ONNX_ATTENTION_OUTPUT);
    }
    if (!a->is_packed) {
        return shape_of_four(a->batch, a->query_heads, a->queries, a->value_size);
    }
    bool is_known = a->value_size >= 0;
    return (Shape){.rank = 3, .dims = {a->batch, a->queries, is_known ? a->query_heads * a->value_size : -1}};
}
