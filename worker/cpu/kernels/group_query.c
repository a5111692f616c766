/* com.microsoft::GroupQueryAttention, computed in blocks (onnx_attention.h) as ONNX's Attention is: the
 * queries are rotated beside the input, and each head of the present is laid down by the thread that reads it
 * next. */
#include "worker/reference/group_query.h"
#include "worker/cpu/kernels/onnx_attention.h"
#include "worker/cpu/vector/finite.h"
#include "worker/reference/scratch.h"

typedef struct GroupRun {
    const GroupWork *work;
    float *queries; /* rotated: [batch, token, head, size] */
    int64_t *lengths;
} GroupRun;

static void
rotate_token(void *context, int64_t row)
{
    const GroupRun *run = context;
    const GroupQuery *query = &run->work->query;
    for (int64_t head = 0; head < query->heads; head++) {
        group_query_rotate(run->work, row / query->length, head, row % query->length,
            run->queries + (row * query->heads + head) * query->size);
    }
}

/* Returns whether all numbers of some input are finite. */
static bool
is_finite(const KernelContext *context, const GroupWork *work, int input)
{
    return work->inputs[input] == NULL ||
           are_finite(work->inputs[input], tensor_element_count(&context->inputs[input]));
}

/* Returns whether a value that is not finite may be hidden from a token. Blocks weigh it by 0, which is NaN
 * for a token that must not notice it. */
static bool
hides_infinity(const KernelContext *context, const GroupWork *work)
{
    int new = work->inputs[GROUP_VALUE] != NULL ? GROUP_VALUE : GROUP_QUERY;
    bool hides_new = work->query.length > 1;
    bool hides_past = work->window > 0 && work->window < work->query.total;
    return (hides_new && !is_finite(context, work, new)) ||
           (hides_past && !is_finite(context, work, GROUP_PAST_VALUE));
}

static OnnxAttention
attention_of(const GroupQuery *query)
{
    return (OnnxAttention){.is_packed = true,
        .is_causal = true,
        .left = -1,
        .right = -1,
        .batch = query->batch,
        .query_heads = query->heads,
        .key_heads = query->key_heads,
        .queries = query->length,
        .keys = query->length,
        .total = query->present,
        .head_size = query->size,
        .value_size = query->size};
}

/* Says how many tokens each example has. In a prompt they begin at the first one of the present, however many
 * of them are padding. */
static const int64_t *
read_lengths(const GroupWork *work, int64_t *lengths)
{
    for (int64_t example = 0; example < work->query.batch; example++) {
        lengths[example] = (int64_t)work->lengths[example] + 1;
    }
    return work->is_prompt ? NULL : lengths;
}

static Status
attend_in_blocks(KernelContext *context, GroupWork *work)
{
    const GroupQuery *query = &work->query;
    GroupRun run = {.work = work};
    AttentionBlocks blocks = {.attention = attention_of(query),
        .scale = (float)work->scale,
        .keys = work->keys,
        .values = work->values,
        .output = work->output,
        .lay = group_query_lay,
        .context = work};
    AUTO_TENSOR queries = {0};
    AUTO_TENSOR lengths = {0};
    if (!attention_has_elements(&blocks.attention) || hides_infinity(context, work)) {
        return group_query_attend(context, work);
    }
    TRY(scratch_bytes(context, query->batch * query->length, (size_t)query->width * sizeof(float), &queries));
    TRY(scratch_bytes(context, query->batch, sizeof *run.lengths, &lengths));
    run.queries = queries.data;
    context->device->parallel_for(context->device, query->batch * query->length, rotate_token, &run);
    blocks.attention.softcap = work->softcap;
    blocks.attention.left = work->window > 0 ? work->window - 1 : -1;
    blocks.query = run.queries;
    blocks.lengths = read_lengths(work, lengths.data);
    return attention_blocks_run(context, &blocks);
}

static Status
group_query_compute(KernelContext *context)
{
    return group_query_run(context, attend_in_blocks);
}

static uint64_t
group_query_scratch(const KernelForecast *told)
{
    GroupQuery query;
    if (group_query_read(told->call, &told->shapes, &query) != STATUS_OK || query.present < 0) {
        return 0;
    }
    OnnxAttention attention = attention_of(&query);
    uint64_t rows = (uint64_t)(query.batch * query.length);
    return !attention_has_elements(&attention)
               ? 0
               : rows * (uint64_t)query.width * sizeof(float) + (uint64_t)query.batch * sizeof(int64_t) +
                     attention_blocks_scratch(told->device, &attention);
}

static bool
is_given(const Node *node, uint32_t input)
{
    return input < node->input_count && node->inputs[input].node != NODE_NONE;
}

/* A bias, and a score that no key has, are rare, and left to the reference kernel. */
static bool
supports_scores_of_keys(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && node_attr_int(node, "qk_output") == 0 &&
           node_attr_int(node, "smooth_softmax") == 0 && !is_given(node, GROUP_BIAS) &&
           !is_given(node, GROUP_SINK);
}

static const Kernel group_query_kernels[] = {
    {.op = "com.microsoft::GroupQueryAttention",
        .supports = supports_scores_of_keys,
        .compute = group_query_compute,
        .scratch = group_query_scratch},
};

KERNEL_FAMILY(cpu_kernels, group_query, group_query_kernels);
