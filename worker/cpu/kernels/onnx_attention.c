/* ONNX's Attention of float32: keys and values are joined with those of the past, and computed in blocks
 * (onnx_attention.h). */
#include "worker/cpu/kernels/onnx_attention.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "worker/cpu/kernels/softmax.h"
#include "worker/cpu/product/product.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/finite.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/runtime/device_memory.h"

enum {
    BLOCK_ROWS_MIN = 64, /* a block of fewer rows would pack keys and values more often than is worth it */
    BLOCK_ROWS_MAX = 256,
    BLOCK_SCORES = 64 * 1024,        /* scores of a block, between these bounds, which a core's cache keeps */
    TASK_WORK_MIN = 2 * 1024 * 1024, /* multiplications of a task, which take some ten microseconds or more */
    READING_ROWS = 8, /* reading keys and values takes as long as so many rows' multiplications */
};

typedef struct AttentionRun {
    const AttentionBlocks *work;
    Device *device;
    const MemoryAccount *account;
    int64_t rows; /* of the query heads that share a head of the key */
    int64_t block_rows;
    int64_t blocks; /* of such a matrix */
    int64_t block_count;
    int64_t blocks_of_task;
    int64_t *weighed; /* for each matrix: the first keys that count though no row sees them */
    int is_full;      /* atomic: a block found no room */
} AttentionRun;

/* Some rows of the matrix of one head of the key. */
typedef struct Block {
    int64_t batch;
    int64_t key_head;
    int64_t first;
    int64_t count;
    int64_t keys; /* the first ones: no row sees those behind them */
    float *scores;
    float *packed; /* queries, and then results when they do not lie side by side */
} Block;

/* Replaces the scores by what softcap makes of them. */
VECTOR_FUNCTION void
cap_scores_body(float *scores, int64_t count, float softcap)
{
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        scores[n] = hyperbolic_tangent_of(scores[n] / softcap) * softcap;
    }
}
VECTOR_VARIANTS(cap_scores, (float *scores, int64_t count, float softcap), (scores, count, softcap))

VECTOR_FUNCTION void
hide_scores_body(float *scores, const uint8_t *mask, int64_t count)
{
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        scores[n] = mask[n] != 0 ? scores[n] : -INFINITY;
    }
}
VECTOR_VARIANTS(hide_scores, (float *scores, const uint8_t *mask, int64_t count), (scores, mask, count))

/* A score is hidden by -∞ whatever it is. */
VECTOR_FUNCTION void
bias_scores_body(float *scores, const float *mask, int64_t count)
{
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        scores[n] = mask[n] == -INFINITY ? mask[n] : scores[n] + mask[n];
    }
}
VECTOR_VARIANTS(bias_scores, (float *scores, const float *mask, int64_t count), (scores, mask, count))

static bool
shows_any(const Tensor *mask, int64_t offset, int64_t count)
{
    for (int64_t n = offset; n < offset + count; n++) {
        if (mask->dtype == DTYPE_BOOL ? ((const uint8_t *)mask->data)[n] != 0
                                      : ((const float *)mask->data)[n] != -INFINITY) {
            return true;
        }
    }
    return false;
}

/* Returns where the mask's numbers for a row of scores begin. */
static int64_t
mask_offset(const Shape *mask, int64_t batch, int64_t head, int64_t query)
{
    const int64_t place[] = {batch, head, query};
    int64_t offset = 0;
    for (int index = 0; index + 1 < mask->rank; index++) {
        int64_t dimension = mask->dims[index];
        offset = offset * dimension + (dimension == 1 ? 0 : place[4 - mask->rank + index]);
    }
    return offset * mask->dims[mask->rank - 1];
}

static void
fill_hidden(float *scores, int64_t first, int64_t end)
{
    for (int64_t n = first; n < end; n++) {
        scores[n] = -INFINITY;
    }
}

/* Masks a row of scores. Returns whether it sees any key. */
static bool
mask_row(const AttentionRun *run, const Block *block, int64_t head, int64_t query, float *scores)
{
    OnnxAttentionSpan span =
        onnx_attention_span(&run->work->attention, run->work->lengths, block->batch, query);
    int64_t offset = 0;
    if (run->work->mask != NULL) {
        int64_t length = run->work->mask->shape.dims[run->work->mask->shape.rank - 1];
        span.end = length < span.end ? length : span.end;
        offset = mask_offset(&run->work->mask->shape, block->batch, head, query) + span.first;
    }
    if (span.first >= span.end) {
        fill_hidden(scores, 0, block->keys);
        return false;
    }
    fill_hidden(scores, 0, span.first);
    fill_hidden(scores, span.end, block->keys);
    if (run->work->mask == NULL) {
        return true;
    }
    int64_t count = span.end - span.first;
    if (run->work->mask->dtype == DTYPE_BOOL) {
        hide_scores(scores + span.first, (const uint8_t *)run->work->mask->data + offset, count);
    } else {
        bias_scores(scores + span.first, (const float *)run->work->mask->data + offset, count);
    }
    return shows_any(run->work->mask, offset, count);
}

static int64_t
group_of(const OnnxAttention *a)
{
    return a->query_heads / a->key_heads;
}

/* Returns the offset, in vectors, of the block's row in a tensor of either layout. */
static int64_t
vector_of(const AttentionRun *run, const Block *block, int64_t row)
{
    const OnnxAttention *a = &run->work->attention;
    int64_t head = block->key_head * group_of(a) + (block->first + row) / a->queries;
    int64_t query = (block->first + row) % a->queries;
    return a->is_packed ? (block->batch * a->queries + query) * a->query_heads + head
                        : (block->batch * a->query_heads + head) * a->queries + query;
}

VECTOR_FUNCTION void
scale_vector_body(const float *x, float scale, int64_t size, float *z)
{
    VECTOR_LOOP for (int64_t n = 0; n < size; n++)
    {
        z[n] = x[n] * scale;
    }
}
VECTOR_VARIANTS(scale_vector, (const float *x, float scale, int64_t size, float *z), (x, scale, size, z))

/* Packs the block's queries, scaled: there are fewer of them than of scores. */
static void
pack_queries(const AttentionRun *run, const Block *block)
{
    int64_t size = run->work->attention.head_size;
    for (int64_t row = 0; row < block->count; row++) {
        scale_vector(run->work->query + vector_of(run, block, row) * size, run->work->scale, size,
            block->packed + row * size);
    }
}

static void
keep_row(const AttentionRun *run, const Block *block, int64_t row, OnnxAttentionMode mode)
{
    const OnnxAttention *a = &run->work->attention;
    if (run->work->kept != NULL && a->mode == mode) {
        int64_t matrix = block->batch * a->key_heads + block->key_head;
        int64_t line = matrix * run->rows + block->first + row;
        memcpy(run->work->kept + line * a->total, block->scores + row * a->total,
            (size_t)a->total * sizeof(float));
    }
}

/* Makes the weights of a row of its products. */
static void
weigh_row(const AttentionRun *run, const Block *block, int64_t row)
{
    const OnnxAttention *a = &run->work->attention;
    float *scores = block->scores + row * block->keys;
    int64_t head = block->key_head * group_of(a) + (block->first + row) / a->queries;
    keep_row(run, block, row, ONNX_ATTENTION_PRODUCTS);
    if (a->softcap > 0) {
        cap_scores(scores, block->keys, (float)a->softcap);
    }
    keep_row(run, block, row, ONNX_ATTENTION_CAPPED);
    bool sees_any = mask_row(run, block, head, (block->first + row) % a->queries, scores);
    keep_row(run, block, row, ONNX_ATTENTION_MASKED);
    if (sees_any) {
        softmax_rows(scores, scores, 1, block->keys);
    } else {
        memset(scores, 0, (size_t)block->keys * sizeof *scores);
    }
    keep_row(run, block, row, ONNX_ATTENTION_WEIGHTS);
}

static ProductShape
scores_shape(const OnnxAttention *a, int64_t rows, int64_t keys)
{
    return (ProductShape){.m = rows, .n = keys, .k = a->head_size, .transposes_b = true, .alpha = 1};
}

static ProductShape
weighing_shape(const OnnxAttention *a, int64_t rows, int64_t keys)
{
    return (ProductShape){.m = rows, .n = a->value_size, .k = keys, .alpha = 1};
}

/* Returns how many of the first keys count for the block's rows: those that a row sees, and those whose
 * values are not finite, since ONNX weighs what is masked by 0, and 0 × ∞ is NaN. The others change no sum;
 * their scores are computed only to be given out. */
static int64_t
keys_of_block(const AttentionRun *run, const Block *block)
{
    const OnnxAttention *a = &run->work->attention;
    int64_t keys = run->work->kept != NULL ? a->total : 1;
    int64_t weighed = run->weighed[block->batch * a->key_heads + block->key_head];
    keys = weighed > keys ? weighed : keys;
    for (int64_t row = 0; row < block->count && keys < a->total; row++) {
        int64_t query = (block->first + row) % a->queries;
        OnnxAttentionSpan span = onnx_attention_span(a, run->work->lengths, block->batch, query);
        keys = span.end > keys ? span.end : keys;
    }
    return keys;
}

static void
compute_block(AttentionRun *run, const Block *block)
{
    const OnnxAttention *a = &run->work->attention;
    int64_t matrix = block->batch * a->key_heads + block->key_head;
    ProductShape scores = scores_shape(a, block->count, block->keys);
    ProductShape weighing = weighing_shape(a, block->count, block->keys);
    float *result =
        a->is_packed ? block->packed : run->work->output + vector_of(run, block, 0) * a->value_size;
    ProductOperands first = {
        .a = block->packed, .b = run->work->keys + matrix * a->total * a->head_size, .output = block->scores};
    ProductOperands second = {
        .a = block->scores, .b = run->work->values + matrix * a->total * a->value_size, .output = result};
    pack_queries(run, block);
    bool has_room = product_alone(run->device, &scores, &first);
    for (int64_t row = 0; has_room && row < block->count; row++) {
        weigh_row(run, block, row);
    }
    if (!has_room || !product_alone(run->device, &weighing, &second)) {
        atomic_store_relaxed(&run->is_full, 1);
        return;
    }
    for (int64_t row = 0; a->is_packed && row < block->count; row++) {
        memcpy(run->work->output + vector_of(run, block, row) * a->value_size, result + row * a->value_size,
            (size_t)a->value_size * sizeof(float));
    }
}

/* Looks for the last value that is not finite, behind the keys that the first block's rows see. */
static void
find_weighed(AttentionRun *run, int64_t matrix)
{
    const OnnxAttention *a = &run->work->attention;
    Block block = {.batch = matrix / a->key_heads, .key_head = matrix % a->key_heads};
    block.count = run->rows < run->block_rows ? run->rows : run->block_rows;
    int64_t seen = keys_of_block(run, &block);
    const float *values = run->work->values + matrix * a->total * a->value_size;
    if (are_finite(values + seen * a->value_size, (a->total - seen) * a->value_size)) {
        return;
    }
    int64_t keys = a->total;
    while (are_finite(values + (keys - 1) * a->value_size, a->value_size)) {
        keys--;
    }
    run->weighed[matrix] = keys;
}

/* Does what comes before the first block of a matrix. */
static void
begin_matrix(void *context, int64_t matrix)
{
    AttentionRun *run = context;
    run->weighed[matrix] = 0;
    if (run->work->lay != NULL) {
        run->work->lay(run->work->context, matrix);
    }
    if (run->work->weighs_hidden) {
        find_weighed(run, matrix);
    }
}

/* Returns how many numbers a block works in: its scores, and behind them its queries or results. */
static int64_t
room_of(const OnnxAttention *a, int64_t rows)
{
    int64_t vector = a->head_size > a->value_size ? a->head_size : a->value_size;
    return rows * (a->total + vector);
}

static void
run_task(void *context, int64_t task)
{
    AttentionRun *run = context;
    const OnnxAttention *a = &run->work->attention;
    TensorBuffer *room =
        device_allocate(run->device, (size_t)room_of(a, run->block_rows) * sizeof(float), run->account);
    if (room == NULL) {
        atomic_store_relaxed(&run->is_full, 1);
        return;
    }
    int64_t end = (task + 1) * run->blocks_of_task;
    for (int64_t index = task * run->blocks_of_task; index < end && index < run->block_count; index++) {
        int64_t matrix = index / run->blocks;
        if (run->blocks == 1) {
            begin_matrix(run, matrix);
        }
        Block block = {.batch = matrix / a->key_heads,
            .key_head = matrix % a->key_heads,
            .first = index % run->blocks * run->block_rows,
            .scores = room->data};
        int64_t left = run->rows - block.first;
        block.count = left < run->block_rows ? left : run->block_rows;
        block.keys = keys_of_block(run, &block);
        block.packed = block.scores + block.count * block.keys;
        compute_block(run, &block);
    }
    tensor_buffer_unref(room);
}

static int64_t
rows_of_block(const OnnxAttention *a)
{
    int64_t rows = group_of(a) * a->queries;
    int64_t most = BLOCK_SCORES / a->total;
    most = most < BLOCK_ROWS_MIN ? BLOCK_ROWS_MIN : most > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : most;
    return rows < most ? rows : most;
}

static void
plan_blocks(AttentionRun *run)
{
    const OnnxAttention *a = &run->work->attention;
    run->rows = group_of(a) * a->queries;
    run->block_rows = rows_of_block(a);
    run->blocks = (run->rows + run->block_rows - 1) / run->block_rows;
    run->block_count = a->batch * a->key_heads * run->blocks;
    int64_t work = (run->block_rows + READING_ROWS) * a->total * (a->head_size + a->value_size);
    run->blocks_of_task = work >= TASK_WORK_MIN ? 1 : TASK_WORK_MIN / work;
}

bool
attention_has_elements(const OnnxAttention *attention)
{
    const OnnxAttention *a = attention;
    return a->batch > 0 && a->query_heads > 0 && a->queries > 0 && a->total > 0 && a->head_size > 0 &&
           a->value_size > 0;
}

Status
attention_blocks_run(KernelContext *context, const AttentionBlocks *blocks)
{
    const OnnxAttention *a = &blocks->attention;
    Device *device = context->device;
    AttentionRun run = {.work = blocks, .device = device, .account = context->account};
    AUTO_TENSOR weighed = {0};
    assert(attention_has_elements(a));
    plan_blocks(&run);
    TRY(scratch_bytes(context, a->batch * a->key_heads, sizeof *run.weighed, &weighed));
    run.weighed = weighed.data;
    if (run.blocks > 1) {
        device->parallel_for(device, a->batch * a->key_heads, begin_matrix, &run);
    }
    device->parallel_for(device, divide_up(run.block_count, run.blocks_of_task), run_task, &run);
    return run.is_full == 0 ? STATUS_OK
                            : call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
                                  "no memory for the scores of %lld rows and %lld keys",
                                  (long long)run.block_rows, (long long)a->total);
}

uint64_t
attention_blocks_scratch(const Device *device, const OnnxAttention *attention)
{
    int64_t rows = rows_of_block(attention);
    ProductShape scores = scores_shape(attention, rows, attention->total);
    ProductShape weighing = weighing_shape(attention, rows, attention->total);
    uint64_t first = product_alone_scratch(&scores);
    uint64_t second = product_alone_scratch(&weighing);
    return (uint64_t)device->thread_count *
           ((uint64_t)room_of(attention, rows) * sizeof(float) + (first > second ? first : second));
}

/* Keys or values of the past, joined with those that are given. */
typedef struct Join {
    const float *past;
    const float *given;
    float *present; /* NULL: there is nothing to join */
    int64_t size;   /* of a vector */
} Join;

typedef struct Joins {
    const OnnxAttention *attention;
    Join keys;
    Join values;
} Joins;

static void
join_matrix(const OnnxAttention *a, const Join *join, int64_t matrix)
{
    size_t vector = (size_t)join->size * sizeof(float);
    float *to = join->present + matrix * a->total * join->size;
    if (a->past > 0) {
        memcpy(to, join->past + matrix * a->past * join->size, (size_t)a->past * vector);
    }
    to += a->past * join->size;
    if (!a->is_packed) {
        memcpy(to, join->given + matrix * a->keys * join->size, (size_t)a->keys * vector);
        return;
    }
    const float *from =
        join->given + (matrix / a->key_heads * a->keys * a->key_heads + matrix % a->key_heads) * join->size;
    for (int64_t key = 0; key < a->keys; key++) {
        memcpy(to + key * join->size, from + key * a->key_heads * join->size, vector);
    }
}

static void
lay_joined(void *context, int64_t matrix)
{
    const Joins *joins = context;
    if (joins->keys.present != NULL) {
        join_matrix(joins->attention, &joins->keys, matrix);
        join_matrix(joins->attention, &joins->values, matrix);
    }
}

/* Makes the output of all keys or values: the input itself when it has them all, head by head. */
static Status
make_present(KernelContext *context, const OnnxAttention *a, uint32_t input, uint32_t past, uint32_t output,
    Join *ret_join)
{
    Shape shape = onnx_attention_shape(a, output);
    Tensor *present = NULL;
    if (!a->is_packed && a->past == 0) {
        kernel_alias(context, input, output, &shape);
        return STATUS_OK;
    }
    TRY(kernel_output(context, output, DTYPE_FLOAT32, &shape, &present));
    *ret_join = (Join){.past = a->past == 0 ? NULL : context->inputs[past].data,
        .given = context->inputs[input].data,
        .present = present->data,
        .size = shape.dims[3]};
    return STATUS_OK;
}

static bool
has_input(const KernelContext *context, uint32_t input)
{
    return input < context->input_count && context->inputs[input].dtype != DTYPE_INVALID;
}

static Status
run_blocks(KernelContext *context, AttentionBlocks *blocks, Joins *joins)
{
    const OnnxAttention *a = &blocks->attention;
    Tensor *outputs = context->outputs;
    Tensor *made = NULL;
    for (uint32_t output = 0; output < context->output_count; output++) {
        Shape shape = onnx_attention_shape(a, output);
        if (output == ONNX_ATTENTION_OUTPUT || output == ONNX_ATTENTION_SCORES) {
            TRY(kernel_output(context, output, DTYPE_FLOAT32, &shape, &made));
        }
    }
    TRY(make_present(
        context, a, ONNX_ATTENTION_KEY, ONNX_ATTENTION_PAST_KEY, ONNX_ATTENTION_PRESENT_KEY, &joins->keys));
    TRY(make_present(context, a, ONNX_ATTENTION_VALUE, ONNX_ATTENTION_PAST_VALUE,
        ONNX_ATTENTION_PRESENT_VALUE, &joins->values));
    blocks->query = context->inputs[ONNX_ATTENTION_QUERY].data;
    blocks->mask = has_input(context, ONNX_ATTENTION_MASK) ? &context->inputs[ONNX_ATTENTION_MASK] : NULL;
    blocks->keys = outputs[ONNX_ATTENTION_PRESENT_KEY].data;
    blocks->values = outputs[ONNX_ATTENTION_PRESENT_VALUE].data;
    blocks->output = outputs[ONNX_ATTENTION_OUTPUT].data;
    blocks->kept = context->output_count > ONNX_ATTENTION_SCORES ? outputs[ONNX_ATTENTION_SCORES].data : NULL;
    return attention_blocks_run(context, blocks);
}

static Status
onnx_attention_compute(KernelContext *context)
{
    KernelInference inference;
    Joins joins = {0};
    AttentionBlocks blocks = {.weighs_hidden = true, .lay = lay_joined, .context = &joins};
    joins.attention = &blocks.attention;
    kernel_inference(context, NULL, &inference);
    TRY(onnx_attention_read(context->call, &inference.context, &blocks.attention));
    if (!attention_has_elements(&blocks.attention)) {
        return kernel_find_reference(context->node)->compute(context);
    }
    if (has_input(context, ONNX_ATTENTION_LENGTHS)) {
        blocks.lengths = context->inputs[ONNX_ATTENTION_LENGTHS].data;
        TRY(onnx_attention_check_lengths(context->call, &blocks.attention, blocks.lengths));
    }
    blocks.scale = (float)onnx_attention_scale(context->node, &blocks.attention);
    return run_blocks(context, &blocks, &joins);
}

static uint64_t
onnx_attention_scratch(const KernelForecast *told)
{
    OnnxAttention a;
    bool is_known =
        onnx_attention_read(told->call, &told->shapes, &a) == STATUS_OK && attention_has_elements(&a);
    return is_known ? attention_blocks_scratch(told->device, &a) : 0;
}

static bool
supports_float32(const Node *node)
{
    Dtype mask =
        node->input_count > ONNX_ATTENTION_MASK ? node->input_dtypes[ONNX_ATTENTION_MASK] : DTYPE_INVALID;
    return node->input_dtypes[ONNX_ATTENTION_QUERY] == DTYPE_FLOAT32 &&
           node->input_dtypes[ONNX_ATTENTION_VALUE] == DTYPE_FLOAT32 &&
           (mask == DTYPE_INVALID || mask == DTYPE_BOOL || mask == DTYPE_FLOAT32);
}

static const Kernel onnx_attention_kernels[] = {
    {.op = "onnx::Attention",
        .supports = supports_float32,
        .compute = onnx_attention_compute,
        .scratch = onnx_attention_scratch},
};

KERNEL_FAMILY(cpu_kernels, onnx_attention, onnx_attention_kernels);
