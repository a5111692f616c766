/* com.microsoft::GroupQueryAttention, by the rules of the reference kernel (worker/reference/group_query.c):
 *
 *   1. what the inputs on the card say is looked at there, and refused there
 *   2. keys and values of the past are copied to the present, the new ones laid behind them, keys rotated
 *   3. queries are rotated, and the heads that share a key are rows of one matrix
 *   4. as ONNX's Attention: a product with the keys, the weights of its rows, a product with the values
 *
 * The whole matrix of scores is in the card's memory once. */
#include "worker/cuda/kernels/group_query.h"

#include <math.h>

#include "shared/ops/group_query.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/kernels/onnx_attention.h"
#include "worker/cuda/operands/given.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, OUTPUTS };

typedef struct GroupRun {
    KernelContext *context;
    CudaType type;
    Dtype dtype;
    GroupQuery query;
    CudaGroupQuery group;
    Tensor totals;
    Tensor queries; /* then, in the same order, the outputs of heads */
    Tensor scores;
    Tensor bias; /* in float32 */
} GroupRun;

static void
group_run_done(GroupRun *run)
{
    tensor_unref(&run->totals);
    tensor_unref(&run->queries);
    tensor_unref(&run->scores);
    tensor_unref(&run->bias);
}

static bool
supports_floats(const Node *node)
{
    Dtype dtype = node->input_dtypes[GROUP_QUERY];
    return (dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16) &&
           node->output_count == OUTPUTS && node_attr_int(node, "qk_output") == 0;
}

static Status
make_tensors(KernelContext *context, GroupRun *run)
{
    const GroupQuery *query = &run->query;
    Shape shapes[OUTPUTS];
    Shape totals = shape_vector(query->batch);
    Shape queries = {.rank = 4, .dims = {query->batch, query->heads, query->length, query->size}};
    Shape scores = {.rank = 4, .dims = {query->batch, query->heads, query->length, query->present}};
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < OUTPUTS; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, run->dtype, &shapes[index], &output));
    }
    TRY(scratch_new(context, DTYPE_INT64, &totals, &run->totals));
    TRY(scratch_new(context, run->dtype, &queries, &run->queries));
    return scratch_new(context, run->dtype, &scores, &run->scores);
}

static CudaGroupQuery
read_group(const GroupRun *run)
{
    const KernelContext *context = run->context;
    const GroupQuery *query = &run->query;
    const Tensor *cosines = given_input(context, GROUP_COSINES);
    const Tensor *bias = given_input(context, GROUP_BIAS);
    return (CudaGroupQuery){
        .query = context->inputs[GROUP_QUERY].data,
        .key = given_data(context, GROUP_KEY),
        .value = given_data(context, GROUP_VALUE),
        .past_key = given_data(context, GROUP_PAST_KEY),
        .past_value = given_data(context, GROUP_PAST_VALUE),
        .cosines = given_data(context, GROUP_COSINES),
        .sines = given_data(context, GROUP_SINES),
        .lengths = context->inputs[GROUP_LENGTHS].data,
        .positions = given_data(context, GROUP_POSITIONS),
        .queries = run->queries.data,
        .keys = context->outputs[PRESENT_KEY].data,
        .values = context->outputs[PRESENT_VALUE].data,
        .totals = run->totals.data,
        .batch = query->batch,
        .length = query->length,
        .heads = query->heads,
        .key_heads = query->key_heads,
        .size = query->size,
        .past = query->past,
        .present = query->present,
        .turned = query->turned,
        .angles = query->turned == 0 ? 0 : cosines->shape.dims[0],
        .bias_keys = bias == NULL ? -1 : bias->shape.dims[3],
        .is_prompt = query->total == query->length,
        .is_interleaved = node_attr_int(context->node, "rotary_interleaved") != 0,
    };
}

static Status
lay_heads(GroupRun *run)
{
    KernelContext *context = run->context;
    CudaGroupQuery *group = &run->group;
    cudaStream_t stream = cuda_stream(context);
    *group = read_group(run);
    TRY(cuda_blame(context, CUDA_REFUSES_TOKENS, &group->for_tokens));
    TRY(cuda_blame(context, CUDA_REFUSES_ANGLE, &group->for_angle));
    TRY(cuda_blame(context, CUDA_REFUSES_BIAS, &group->for_bias));
    TRY(cuda_check(context->call, cuda_group_check(group, stream), "a look at lengths of sequences"));
    TRY(cuda_check(context->call, cuda_group_lay(run->type, group, stream), "a move of keys and values"));
    return cuda_check(context->call, cuda_group_rotate(run->type, group, stream), "a rotation of queries");
}

/* Returns a product of `rows` for every head of the keys: of all tokens of all queries that share it. */
static CudaProduct
product_of_heads(const GroupQuery *query, const void *rows, int64_t depth)
{
    int64_t count = query->heads / query->key_heads * query->length;
    return (CudaProduct){
        .a = {.data = rows, .row_step = depth, .column_step = 1, .batch_steps = {count * depth}},
        .rows = count,
        .depth = depth,
        .batch_sizes = {query->batch * query->key_heads},
        .batch_rank = 1,
        .alpha = 1,
    };
}

static Status
multiply_keys(GroupRun *run)
{
    const GroupQuery *query = &run->query;
    float scale = node_attr_float(run->context->node, "scale");
    CudaProduct product = product_of_heads(query, run->queries.data, query->size);
    product.b = (CudaMatrix){.data = run->group.keys,
        .row_step = 1,
        .column_step = query->size,
        .batch_steps = {query->present * query->size}};
    product.output = run->scores.data;
    product.columns = query->present;
    product.alpha = scale == 0 ? (float)(1 / sqrt((double)query->size)) : scale;
    return matmul_enqueue(run->context, run->type, &product);
}

/* Brings the biases to float32, in which rows are computed. */
static Status
read_bias(GroupRun *run, CudaAttentionRows *rows)
{
    KernelContext *context = run->context;
    const Tensor *bias = given_input(context, GROUP_BIAS);
    if (bias == NULL) {
        return STATUS_OK;
    }
    const int64_t *dims = bias->shape.dims;
    int64_t count = tensor_element_count(bias);
    TRY(scratch_new(context, DTYPE_FLOAT32, &bias->shape, &run->bias));
    int error = count == 0 ? 0
                           : cuda_convert(cuda_type(bias->dtype), bias->data, CUDA_FLOAT32, run->bias.data,
                                 count, cuda_stream(context));
    rows->mask = run->bias.data;
    rows->mask_keys = dims[3];
    rows->mask_strides[0] = dims[0] == 1 ? 0 : dims[1] * dims[2] * dims[3];
    rows->mask_strides[1] = dims[1] == 1 ? 0 : dims[2] * dims[3];
    rows->mask_strides[2] = dims[3];
    rows->mask_strides[3] = 1;
    return cuda_check(context->call, error, "a conversion");
}

static Status
weigh_rows(GroupRun *run)
{
    KernelContext *context = run->context;
    const GroupQuery *query = &run->query;
    int64_t window = node_attr_int(context->node, "local_window_size");
    CudaAttentionRows rows = {
        .scores = run->scores.data,
        .rows = query->batch * query->heads * query->length,
        .heads = query->heads,
        .queries = query->length,
        .keys = query->present,
        .scale = 1,
        .softcap = (double)node_attr_float(context->node, "softcap"),
        .is_causal = true,
        .left = window > 0 ? window - 1 : -1,
        .right = -1,
        .lengths = run->totals.data,
        .sinks = given_data(context, GROUP_SINK),
        .is_smooth = node_attr_int(context->node, "smooth_softmax") != 0,
    };
    TRY(read_bias(run, &rows));
    int error = cuda_attention_rows(run->type, &rows, cuda_stream(context));
    return cuda_check(context->call, error, "the weights of attention");
}

/* Moves outputs [batch, head, token, size] to where they belong, [batch, token, head, size]. */
static Status
move_outputs(const GroupRun *run, const void *heads)
{
    KernelContext *context = run->context;
    const GroupQuery *query = &run->query;
    int64_t all = query->length * query->width;
    CudaMove move = {.from = heads,
        .to = context->outputs[OUTPUT].data,
        .count = query->batch * all,
        .rank = 4,
        .sizes = {query->batch, query->heads, query->length, query->size},
        .strides = {{all, query->length * query->size, query->size, 1}, {all, query->size, query->width, 1}}};
    return cuda_check(
        context->call, cuda_move(dtype_size(run->dtype), &move, cuda_stream(context)), "a move of heads");
}

/* The queries are not needed any more: their memory takes the outputs of heads. Of one token these are in
 * their place at once. */
static Status
multiply_values(GroupRun *run)
{
    const GroupQuery *query = &run->query;
    CudaProduct product = product_of_heads(query, run->scores.data, query->present);
    void *heads = query->length == 1 ? run->context->outputs[OUTPUT].data : run->queries.data;
    product.b = (CudaMatrix){.data = run->group.values,
        .row_step = query->size,
        .column_step = 1,
        .batch_steps = {query->present * query->size}};
    product.output = heads;
    product.columns = query->size;
    TRY(matmul_enqueue(run->context, run->type, &product));
    return query->length == 1 ? STATUS_OK : move_outputs(run, heads);
}

static Status
compute_group_query(KernelContext *context)
{
    KernelInference inference;
    CLEANUP(group_run_done) GroupRun run = {.context = context, .dtype = context->inputs[GROUP_QUERY].dtype};
    run.type = cuda_type(run.dtype);
    kernel_inference(context, NULL, &inference);
    TRY(group_query_read(context->call, &inference.context, &run.query));
    TRY(make_tensors(context, &run));
    TRY(lay_heads(&run));
    if (tensor_element_count(&context->outputs[OUTPUT]) == 0) {
        return STATUS_OK;
    }
    TRY(multiply_keys(&run));
    TRY(weigh_rows(&run));
    return multiply_values(&run);
}

static const Kernel group_query_kernels[] = {
    {.op = "com.microsoft::GroupQueryAttention",
        .supports = supports_floats,
        .compute = compute_group_query,
        .host_inputs = 1 << GROUP_TOTAL},
};

KERNEL_FAMILY(cuda_kernels, group_query, group_query_kernels);
