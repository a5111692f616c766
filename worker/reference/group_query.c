/* In float32, sums of group_query_attend() in double: heads are independent of each other and shared out to
 * threads.
 *
 *   1. keys and values of the past are copied to the present, the new ones laid behind them, keys rotated
 *   2. each head of a query is rotated, and weighs the values by the softmax of its products with the keys
 *      that it sees: those up to its own token, within the window */
#include "worker/reference/group_query.h"

#include <math.h>

#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* The work of all heads in double. */
typedef struct GroupHeads {
    const GroupWork *work;
    float *room; /* for each head of each example: its scores and a rotated query */
    int64_t room_step;
} GroupHeads;

static int64_t
past_of(const GroupWork *work, int64_t example)
{
    return work->is_prompt ? 0 : (int64_t)work->lengths[example] + 1 - work->query.length;
}

/* The positions of padding, which nobody reads, are 1. */
static int64_t
position_of(const GroupWork *work, int64_t example, int64_t token)
{
    if (work->positions != NULL) {
        return work->positions[example * work->query.length + token];
    }
    int64_t position = past_of(work, example) + token;
    return position <= work->lengths[example] ? position : 1;
}

static void
rotate(const GroupWork *work, int64_t position, const float *head, float *ret_rotated)
{
    int64_t half = work->query.turned / 2;
    for (int64_t n = 0; n < half; n++) {
        float cosine = work->inputs[GROUP_COSINES][position * half + n];
        float sine = work->inputs[GROUP_SINES][position * half + n];
        int64_t real = work->is_interleaved ? 2 * n : n;
        int64_t other = work->is_interleaved ? 2 * n + 1 : n + half;
        ret_rotated[real] = head[real] * cosine - head[other] * sine;
        ret_rotated[other] = head[real] * sine + head[other] * cosine;
    }
    for (int64_t n = work->query.turned; n < work->query.size; n++) {
        ret_rotated[n] = head[n];
    }
}

/* Returns a head of a token: of the query, or of new keys or values, which may lie behind the query's. */
static const float *
head_of(const GroupWork *work, int input, int64_t row, int64_t head)
{
    const GroupQuery *query = &work->query;
    if (work->inputs[GROUP_KEY] != NULL) {
        int64_t heads = input == GROUP_QUERY ? query->heads : query->key_heads;
        return work->inputs[input] + (row * heads + head) * query->size;
    }
    int64_t first = input == GROUP_QUERY ? 0 : query->heads + (input - GROUP_KEY) * query->key_heads;
    int64_t all = query->heads + 2 * query->key_heads;
    return work->inputs[GROUP_QUERY] + (row * all + first + head) * query->size;
}

static void
lay_new(const GroupWork *work, int64_t example, int64_t head, int64_t token, int64_t offset)
{
    int64_t size = work->query.size;
    int64_t row = example * work->query.length + token;
    int64_t place = offset + (past_of(work, example) + token) * size;
    const float *key = head_of(work, GROUP_KEY, row, head);
    rotate(work, position_of(work, example, token), key, work->keys + place);
    memcpy(work->values + place, head_of(work, GROUP_VALUE, row, head), (size_t)size * sizeof(float));
}

void
group_query_lay(void *context, int64_t index)
{
    const GroupWork *work = context;
    const GroupQuery *query = &work->query;
    int64_t example = index / query->key_heads;
    int64_t offset = index * query->present * query->size;
    int64_t kept = past_of(work, example) * query->size;
    int64_t used = kept + query->length * query->size;
    size_t rest = (size_t)(query->present * query->size - used) * sizeof(float);
    if (kept > 0) {
        int64_t past = index * query->past * query->size;
        memcpy(work->keys + offset, work->inputs[GROUP_PAST_KEY] + past, (size_t)kept * sizeof(float));
        memcpy(work->values + offset, work->inputs[GROUP_PAST_VALUE] + past, (size_t)kept * sizeof(float));
    }
    for (int64_t token = 0; token < query->length; token++) {
        lay_new(work, example, index % query->key_heads, token, offset);
    }
    memset(work->keys + offset + used, 0, rest);
    memset(work->values + offset + used, 0, rest);
}

void
group_query_rotate(const GroupWork *work, int64_t example, int64_t head, int64_t token, float *ret_head)
{
    int64_t row = example * work->query.length + token;
    rotate(work, position_of(work, example, token), head_of(work, GROUP_QUERY, row, head), ret_head);
}

static double
score_of(const GroupWork *work, const float *head, const float *key)
{
    double sum = 0;
    for (int64_t n = 0; n < work->query.size; n++) {
        sum += (double)head[n] * (double)key[n];
    }
    sum *= work->scale;
    return work->softcap > 0 ? work->softcap * tanh(sum / work->softcap) : sum;
}

/* Turns scores first…end - 1 into weights. A sink is one more score, of nothing. */
static void
weigh(const GroupWork *work, float *scores, int64_t first, int64_t end, int64_t head)
{
    bool has_sink = work->inputs[GROUP_SINK] != NULL || work->is_smooth;
    double sink = work->inputs[GROUP_SINK] != NULL ? (double)work->inputs[GROUP_SINK][head] : 0;
    double most = has_sink ? sink : -(double)INFINITY;
    double total = 0;
    for (int64_t key = first; key < end; key++) {
        most = (double)scores[key] > most ? (double)scores[key] : most;
    }
    for (int64_t key = first; key < end; key++) {
        scores[key] = (float)exp((double)scores[key] - most);
        total += (double)scores[key];
    }
    total += has_sink ? exp(sink - most) : 0;
    for (int64_t key = first; key < end; key++) {
        scores[key] = (float)((double)scores[key] / total);
    }
}

static void
attend_token(const GroupWork *work, int64_t example, int64_t head, int64_t token, float *room)
{
    const GroupQuery *query = &work->query;
    int64_t shared = query->heads / query->key_heads;
    int64_t offset = (example * query->key_heads + head / shared) * query->present * query->size;
    int64_t row = example * query->length + token;
    int64_t end = past_of(work, example) + token + 1;
    int64_t first = work->window > 0 && end > work->window ? end - work->window : 0;
    float *scores = room + query->size;
    group_query_rotate(work, example, head, token, room);
    for (int64_t key = first; key < end; key++) {
        double bias =
            work->inputs[GROUP_BIAS] == NULL
                ? 0
                : (double)work->inputs[GROUP_BIAS][example * work->bias_batch + head * work->bias_head +
                                                   token * work->bias_keys + key];
        scores[key] = (float)(score_of(work, room, work->keys + offset + key * query->size) + bias);
    }
    weigh(work, scores, first, end, head);
    float *output = work->output + row * query->width + head * query->size;
    for (int64_t n = 0; n < query->size; n++) {
        double sum = 0;
        for (int64_t key = first; key < end; key++) {
            sum += (double)scores[key] * (double)work->values[offset + key * query->size + n];
        }
        output[n] = (float)sum;
    }
}

static void
attend_head(void *context, int64_t index)
{
    const GroupHeads *heads = context;
    const GroupWork *work = heads->work;
    int64_t example = index / work->query.heads;
    for (int64_t token = 0; token < work->query.length; token++) {
        attend_token(work, example, index % work->query.heads, token, heads->room + index * heads->room_step);
    }
}

static Status
check_lengths(Call *call, const GroupWork *work)
{
    const GroupQuery *query = &work->query;
    for (int64_t example = 0; example < query->batch; example++) {
        int64_t past = past_of(work, example);
        int64_t length = (int64_t)work->lengths[example] + 1;
        if (past < 0 || past > query->past || past + query->length > query->present || length < 1) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "seqlens_k[%lld] is %d: so many tokens do not fit behind those of the past, of which there "
                "are "
                "%lld",
                (long long)example, work->lengths[example], (long long)query->past);
        }
    }
    return STATUS_OK;
}

static Status
check_positions(const KernelContext *context, const GroupWork *work)
{
    const GroupQuery *query = &work->query;
    int64_t known = query->turned == 0 ? 0 : context->inputs[GROUP_COSINES].shape.dims[0];
    for (int64_t row = 0; query->turned > 0 && row < query->batch * query->length; row++) {
        int64_t position = position_of(work, row / query->length, row % query->length);
        if (position < 0 || position >= known) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "position %lld is outside of cos_cache, which has %lld", (long long)position,
                (long long)known);
        }
    }
    return STATUS_OK;
}

static Status
read_bias(const KernelContext *context, GroupWork *work)
{
    if (context->input_count <= GROUP_BIAS || context->inputs[GROUP_BIAS].dtype == DTYPE_INVALID) {
        return STATUS_OK;
    }
    const Shape *shape = &context->inputs[GROUP_BIAS].shape;
    work->bias_keys = shape->dims[3];
    work->bias_head = shape->dims[1] == 1 ? 0 : work->query.length * work->bias_keys;
    work->bias_batch = shape->dims[0] == 1 ? 0 : shape->dims[1] * work->query.length * work->bias_keys;
    for (int64_t example = 0; example < work->query.batch; example++) {
        int64_t keys = past_of(work, example) + work->query.length;
        if (keys > work->bias_keys) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "attention_bias is for %lld keys, not %lld", (long long)work->bias_keys, (long long)keys);
        }
    }
    return STATUS_OK;
}

typedef struct GroupTensors {
    Tensor inputs[GROUP_INPUTS];
    Tensor outputs[3]; /* in float32 */
} GroupTensors;

static void
group_tensors_done(GroupTensors *tensors)
{
    for (size_t index = 0; index < COUNT_OF(tensors->inputs); index++) {
        tensor_unref(&tensors->inputs[index]);
    }
    for (size_t index = 0; index < COUNT_OF(tensors->outputs); index++) {
        tensor_unref(&tensors->outputs[index]);
    }
}

static Status
read_floats(KernelContext *context, GroupTensors *tensors, GroupWork *work)
{
    for (uint32_t index = 0; index < context->input_count; index++) {
        const Tensor *input = &context->inputs[index];
        if (dtype_is_floating(input->dtype)) {
            TRY(scratch_floats(context, input, &tensors->inputs[index]));
            work->inputs[index] = tensors->inputs[index].data;
        }
    }
    return STATUS_OK;
}

static void
read_attributes(const KernelContext *context, GroupWork *work)
{
    const Node *node = context->node;
    double scale = (double)node_attr_float(node, "scale");
    work->scale = scale == 0 ? 1 / sqrt((double)work->query.size) : scale;
    work->softcap = (double)node_attr_float(node, "softcap");
    work->window = node_attr_int(node, "local_window_size");
    work->is_smooth = node_attr_int(node, "smooth_softmax") != 0;
    work->is_interleaved = node_attr_int(node, "rotary_interleaved") != 0;
    work->is_prompt = work->query.total == work->query.length;
    work->lengths = context->inputs[GROUP_LENGTHS].data;
    if (context->input_count > GROUP_POSITIONS && context->inputs[GROUP_POSITIONS].dtype == DTYPE_INT64) {
        work->positions = context->inputs[GROUP_POSITIONS].data;
    }
}

/* Makes the outputs in float32. */
static Status
make_outputs(KernelContext *context, const Shape *shapes, GroupTensors *tensors, GroupWork *work)
{
    float **places[] = {&work->output, &work->keys, &work->values};
    for (size_t index = 0; index < COUNT_OF(places); index++) {
        TRY(scratch_new(context, DTYPE_FLOAT32, &shapes[index], &tensors->outputs[index]));
        *places[index] = tensors->outputs[index].data;
    }
    return STATUS_OK;
}

static Status
give_outputs(KernelContext *context, GroupTensors *tensors)
{
    for (uint32_t index = 0; index < COUNT_OF(tensors->outputs); index++) {
        if (context->node->output_dtypes[index] == DTYPE_FLOAT32) {
            context->outputs[index] = tensor_ref(&tensors->outputs[index]);
        } else {
            TRY(scratch_finish(context, index, &tensors->outputs[index]));
        }
    }
    return STATUS_OK;
}

Status
group_query_attend(KernelContext *context, GroupWork *work)
{
    const GroupQuery *query = &work->query;
    Device *device = context->device;
    GroupHeads heads = {.work = work, .room_step = query->size + query->present};
    AUTO_TENSOR room = {0};
    TRY(scratch_bytes(context, query->batch * query->heads, (size_t)heads.room_step * sizeof(float), &room));
    heads.room = room.data;
    device->parallel_for(device, query->batch * query->key_heads, group_query_lay, work);
    device->parallel_for(device, query->batch * query->heads, attend_head, &heads);
    return STATUS_OK;
}

Status
group_query_run(KernelContext *context, GroupAttend attend)
{
    Shape shapes[3];
    KernelInference inference;
    CLEANUP(group_tensors_done) GroupTensors tensors = {0};
    GroupWork work = {.positions = NULL};
    TRY(output_shapes(context, shapes));
    kernel_inference(context, NULL, &inference);
    TRY(group_query_read(context->call, &inference.context, &work.query));
    TRY(read_floats(context, &tensors, &work));
    read_attributes(context, &work);
    TRY(check_lengths(context->call, &work));
    TRY(check_positions(context, &work));
    TRY(read_bias(context, &work));
    TRY(make_outputs(context, shapes, &tensors, &work));
    TRY(attend(context, &work));
    return give_outputs(context, &tensors);
}
