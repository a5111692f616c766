/* ONNX's Attention, one row of scores at a time, in double. A row all of whose keys are masked gives zeros.
 */
#include <math.h>

#include "shared/ops/attention/onnx_rule.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/softmax.h"

typedef struct AttentionRun {
    OnnxAttention attention;
    double scale;
    const int64_t *lengths; /* of each batch; NULL: none is given */
    const Doubles *doubles;
    Tensor mask; /* of float64 or bool; DTYPE_INVALID: none */
    double *scores;
} AttentionRun;

typedef struct AttentionRow {
    int64_t batch;
    int64_t head; /* of the query */
    int64_t query;
} AttentionRow;

static bool
is_mask(Dtype dtype)
{
    return dtype == DTYPE_INVALID || dtype == DTYPE_BOOL || dtype_is_floating(dtype) ||
           dtype_is_integer(dtype);
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[ONNX_ATTENTION_QUERY]) &&
           dtype_is_floating(node->input_dtypes[ONNX_ATTENTION_VALUE]) &&
           (node->input_count <= ONNX_ATTENTION_MASK || is_mask(node->input_dtypes[ONNX_ATTENTION_MASK]));
}

/* Returns the offset of a head's vector in a tensor of either layout. */
static int64_t
offset_of(bool is_packed, const Shape *whole, int64_t heads, const AttentionRow *place)
{
    int64_t size = is_packed ? whole->dims[2] / heads : whole->dims[3];
    int64_t positions = whole->dims[is_packed ? 1 : 2];
    int64_t row = is_packed ? (place->batch * positions + place->query) * heads + place->head
                            : (place->batch * heads + place->head) * positions + place->query;
    return row * size;
}

/* Writes the keys or values of the past and behind them those that are given, [batch, head, position, size].
 */
static void
join_past(AttentionRun *run, int input, int past, int output, int64_t size)
{
    const OnnxAttention *a = &run->attention;
    const Tensor *given = &run->doubles->inputs[input];
    double *present = doubles_out(run->doubles, output);
    if (tensor_element_count(&run->doubles->outputs[output]) == 0) {
        return; /* the other dimensions may be of any size */
    }
    for (int64_t row = 0; row < a->batch * a->key_heads * a->total; row++) {
        int64_t position = row % a->total;
        int64_t matrix = row / a->total;
        AttentionRow place = {matrix / a->key_heads, matrix % a->key_heads, position - a->past};
        const double *from =
            position < a->past
                ? doubles_in(run->doubles, past) + (matrix * a->past + position) * size
                : (const double *)given->data + offset_of(a->is_packed, &given->shape, a->key_heads, &place);
        memcpy(present + row * size, from, (size_t)size * sizeof *from);
    }
}

/* Returns what the mask adds to a score. */
static double
bias_of(const AttentionRun *run, const AttentionRow *row, int64_t key)
{
    const Tensor *mask = &run->mask;
    const int64_t place[] = {row->batch, row->head, row->query, key};
    int64_t offset = 0;
    if (mask->dtype == DTYPE_INVALID) {
        return 0;
    }
    int rank = mask->shape.rank;
    if (key >= mask->shape.dims[rank - 1]) {
        return -(double)INFINITY;
    }
    for (int index = 0; index < rank; index++) {
        int64_t dimension = mask->shape.dims[index];
        offset = offset * dimension + (dimension == 1 ? 0 : place[4 - rank + index]);
    }
    if (mask->dtype == DTYPE_BOOL) {
        return ((const uint8_t *)mask->data)[offset] != 0 ? 0 : -(double)INFINITY;
    }
    return ((const double *)mask->data)[offset];
}

static double
score_of(const AttentionRun *run, const double *query, const double *key)
{
    double sum = 0;
    for (int64_t n = 0; n < run->attention.head_size; n++) {
        sum += query[n] * key[n];
    }
    return sum * run->scale;
}

static void
keep_scores(const AttentionRun *run, OnnxAttentionMode mode, double *kept)
{
    if (kept != NULL && run->attention.mode == mode) {
        memcpy(kept, run->scores, (size_t)run->attention.total * sizeof *kept);
    }
}

/* Makes the weights of a row of keys, and keeps what the output of scores is to hold. */
static void
weigh_keys(
    const AttentionRun *run, const AttentionRow *row, const double *query, const double *keys, double *kept)
{
    const OnnxAttention *a = &run->attention;
    OnnxAttentionSpan span = onnx_attention_span(a, run->lengths, row->batch, row->query);
    bool sees_any = false;
    for (int64_t key = 0; key < a->total; key++) {
        run->scores[key] = score_of(run, query, keys + key * a->head_size);
    }
    keep_scores(run, ONNX_ATTENTION_PRODUCTS, kept);
    for (int64_t key = 0; a->softcap > 0 && key < a->total; key++) {
        run->scores[key] = tanh(run->scores[key] / a->softcap) * a->softcap;
    }
    keep_scores(run, ONNX_ATTENTION_CAPPED, kept);
    for (int64_t key = 0; key < a->total; key++) {
        double bias = key >= span.first && key < span.end ? bias_of(run, row, key) : -(double)INFINITY;
        run->scores[key] = bias == -(double)INFINITY ? bias : run->scores[key] + bias;
        sees_any = sees_any || bias != -(double)INFINITY;
    }
    keep_scores(run, ONNX_ATTENTION_MASKED, kept);
    if (sees_any) {
        softmax_line(run->scores, a->total, 1);
    } else {
        memset(run->scores, 0, (size_t)a->total * sizeof *run->scores);
    }
    keep_scores(run, ONNX_ATTENTION_WEIGHTS, kept);
}

static void
compute_row(const AttentionRun *run, const AttentionRow *row, double *kept)
{
    const OnnxAttention *a = &run->attention;
    const Doubles *doubles = run->doubles;
    int64_t head = row->batch * a->key_heads + row->head / (a->query_heads / a->key_heads);
    const double *query =
        doubles_in(doubles, ONNX_ATTENTION_QUERY) +
        offset_of(a->is_packed, &doubles->inputs[ONNX_ATTENTION_QUERY].shape, a->query_heads, row);
    const double *keys = doubles_out(doubles, ONNX_ATTENTION_PRESENT_KEY) + head * a->total * a->head_size;
    const double *values =
        doubles_out(doubles, ONNX_ATTENTION_PRESENT_VALUE) + head * a->total * a->value_size;
    double *output =
        doubles_out(doubles, ONNX_ATTENTION_OUTPUT) +
        offset_of(a->is_packed, &doubles->outputs[ONNX_ATTENTION_OUTPUT].shape, a->query_heads, row);
    weigh_keys(run, row, query, keys, kept);
    for (int64_t key = 0; key < a->total; key++) {
        for (int64_t n = 0; n < a->value_size; n++) {
            output[n] += run->scores[key] * values[key * a->value_size + n];
        }
    }
}

static void
compute_rows(const AttentionRun *run, double *kept)
{
    const OnnxAttention *a = &run->attention;
    if (tensor_element_count(&run->doubles->outputs[ONNX_ATTENTION_OUTPUT]) == 0 &&
        (kept == NULL || tensor_element_count(&run->doubles->outputs[ONNX_ATTENTION_SCORES]) == 0)) {
        return; /* the other dimensions may be of any size */
    }
    int64_t rows = a->batch * a->query_heads * a->queries;
    for (int64_t index = 0; index < rows; index++) {
        AttentionRow row = {.batch = index / (a->query_heads * a->queries),
            .head = index / a->queries % a->query_heads,
            .query = index % a->queries};
        compute_row(run, &row, kept == NULL ? NULL : kept + index * a->total);
    }
}

static bool
has_input(const KernelContext *context, uint32_t input)
{
    return context->input_count > input && context->inputs[input].dtype != DTYPE_INVALID;
}

static Status
read_mask(KernelContext *context, Tensor *ret_mask)
{
    if (!has_input(context, ONNX_ATTENTION_MASK)) {
        return STATUS_OK;
    }
    const Tensor *mask = &context->inputs[ONNX_ATTENTION_MASK];
    return scratch_cast(context, mask, mask->dtype == DTYPE_BOOL ? DTYPE_BOOL : DTYPE_FLOAT64, ret_mask);
}

static Status
onnx_attention_compute(KernelContext *context)
{
    KernelInference inference;
    AUTO_DOUBLES doubles = {0};
    AUTO_TENSOR mask = {0};
    AUTO_TENSOR scores = {0};
    AttentionRun run = {.doubles = &doubles};
    kernel_inference(context, NULL, &inference);
    TRY(onnx_attention_read(context->call, &inference.context, &run.attention));
    TRY(doubles_begin(context, &doubles));
    TRY(read_mask(context, &mask));
    TRY(scratch_array(context, run.attention.total, sizeof(double), &scores));
    if (has_input(context, ONNX_ATTENTION_LENGTHS)) {
        run.lengths = context->inputs[ONNX_ATTENTION_LENGTHS].data;
        TRY(onnx_attention_check_lengths(context->call, &run.attention, run.lengths));
    }
    run.mask = mask;
    run.scores = scores.data;
    run.scale = onnx_attention_scale(context->node, &run.attention);
    join_past(&run, ONNX_ATTENTION_KEY, ONNX_ATTENTION_PAST_KEY, ONNX_ATTENTION_PRESENT_KEY,
        run.attention.head_size);
    join_past(&run, ONNX_ATTENTION_VALUE, ONNX_ATTENTION_PAST_VALUE, ONNX_ATTENTION_PRESENT_VALUE,
        run.attention.value_size);
    compute_rows(&run,
        context->output_count > ONNX_ATTENTION_SCORES ? doubles_out(&doubles, ONNX_ATTENTION_SCORES) : NULL);
    return doubles_finish(context, &doubles);
}

/* The mask may be widened, and so may be one row of scores. */
static uint64_t
onnx_attention_scratch(const KernelForecast *told)
{
    OnnxAttention attention;
    bool is_read = onnx_attention_read(told->call, &told->shapes, &attention) == STATUS_OK;
    return is_read ? (uint64_t)attention.total * sizeof(double) : 0;
}

static const Kernel attention_onnx_kernels[] = {
    {.op = "onnx::Attention",
        .supports = supports_floats,
        .compute = onnx_attention_compute,
        .scratch = onnx_attention_scratch,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, attention_onnx, attention_onnx_kernels);
