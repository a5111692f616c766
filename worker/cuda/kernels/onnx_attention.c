/* onnx::Attention, by the rules of the reference kernel (shared/ops/attention): in 16 bits by cuDNN where it
 * can. Else two products, by cuBLASLt where it can, and one kernel between them that makes weights of rows of
 * scores. These have the query's type; the whole matrix of them is in the card's memory once. */
#include "worker/cuda/kernels/onnx_attention.h"

#include "shared/ops/attention/onnx_rule.h"
#include "worker/cuda/dnn/attention.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/operands/given.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

_Static_assert((int)CUDA_ATTENTION_PRODUCTS == ONNX_ATTENTION_PRODUCTS &&
                   (int)CUDA_ATTENTION_CAPPED == ONNX_ATTENTION_CAPPED &&
                   (int)CUDA_ATTENTION_MASKED == ONNX_ATTENTION_MASKED &&
                   (int)CUDA_ATTENTION_WEIGHTS == ONNX_ATTENTION_WEIGHTS,
    "both sides count the stages alike");

enum { OUTPUTS_MAX = 4 };

static bool
is_mask(Dtype dtype)
{
    return dtype == DTYPE_INVALID || cuda_type(dtype) != CUDA_INVALID;
}

static bool
supports_attention(const Node *node)
{
    Dtype dtype = node->input_dtypes[ONNX_ATTENTION_QUERY];
    return dtype_is_floating(dtype) && node->input_dtypes[ONNX_ATTENTION_VALUE] == dtype &&
           (node->input_count <= ONNX_ATTENTION_MASK || is_mask(node->input_dtypes[ONNX_ATTENTION_MASK]));
}

/* The strides of a tensor of heads: [batch, position, head × size] or [batch, head, position, size]. */
typedef struct Layout {
    int64_t batch;
    int64_t head;
    int64_t position;
} Layout;

static Layout
layout_of(bool is_packed, int64_t heads, int64_t positions, int64_t size)
{
    return (Layout){.batch = heads * positions * size,
        .head = is_packed ? size : positions * size,
        .position = is_packed ? heads * size : size};
}

/* Vectors of `size` elements of all positions of all heads of all batches. */
typedef struct Heads {
    int64_t batch;
    int64_t heads;
    int64_t positions;
    int64_t size;
} Heads;

static Status
move_heads(
    KernelContext *context, const Heads *moved, const void *from, Layout source, void *to, Layout target)
{
    size_t size = dtype_size(context->inputs[ONNX_ATTENTION_QUERY].dtype);
    CudaMove move = {.from = from,
        .to = to,
        .count = moved->batch * moved->heads * moved->positions * moved->size,
        .rank = 4,
        .sizes = {moved->batch, moved->heads, moved->positions, moved->size},
        .strides = {{source.batch, source.head, source.position, 1},
            {target.batch, target.head, target.position, 1}}};
    int error = move.count == 0 ? 0 : cuda_move(size, &move, cuda_stream(context));
    return cuda_check(context->call, error, "a move of heads");
}

/* Makes the keys or values of the past and behind them those that are given, [batch, head, position, size].
 */
static Status
join_past(
    KernelContext *context, const OnnxAttention *a, uint32_t input, uint32_t past, const Tensor *present)
{
    int64_t size = present->shape.dims[3];
    size_t element = dtype_size(present->dtype);
    Heads given = {a->batch, a->key_heads, a->keys, size};
    Heads old = {a->batch, a->key_heads, a->past, size};
    Layout target = layout_of(false, a->key_heads, a->total, size);
    if (tensor_element_count(present) == 0) {
        return STATUS_OK;
    }
    if (a->past > 0) {
        TRY(move_heads(context, &old, context->inputs[past].data,
            layout_of(false, a->key_heads, a->past, size), present->data, target));
    }
    return move_heads(context, &given, context->inputs[input].data,
        layout_of(a->is_packed, a->key_heads, a->keys, size),
        (char *)present->data + (size_t)(a->past * size) * element, target);
}

/* Returns a product for every head of the query, of which `group` share a head of the keys. */
static CudaProduct
product_of_heads(const OnnxAttention *a, int64_t group)
{
    return (CudaProduct){
        .rows = a->queries, .batch_sizes = {a->batch, a->key_heads, group}, .batch_rank = 3, .alpha = 1};
}

static void
set_steps(CudaMatrix *matrix, const void *data, Layout layout, int64_t group)
{
    matrix->data = data;
    matrix->row_step = layout.position;
    matrix->column_step = 1;
    matrix->batch_steps[0] = layout.batch;
    matrix->batch_steps[1] = layout.head * (group == 0 ? 1 : group);
    matrix->batch_steps[2] = group == 0 ? 0 : layout.head;
}

/* float64 keeps its scale for the rows' kernel: that of a product is a float. */
static Status
multiply_keys(KernelContext *context, const OnnxAttention *a, const Tensor *keys, const Tensor *scores)
{
    int64_t group = a->query_heads / a->key_heads;
    bool is_wide = scores->dtype == DTYPE_FLOAT64;
    CudaProduct product = product_of_heads(a, group);
    if (tensor_element_count(scores) == 0) {
        return STATUS_OK;
    }
    set_steps(&product.a, context->inputs[ONNX_ATTENTION_QUERY].data,
        layout_of(a->is_packed, a->query_heads, a->queries, a->head_size), group);
    set_steps(&product.b, keys->data, layout_of(false, a->key_heads, a->total, a->head_size), 0);
    product.b.column_step = product.b.row_step;
    product.b.row_step = 1;
    product.columns = a->total;
    product.depth = a->head_size;
    product.alpha = is_wide ? 1 : (float)onnx_attention_scale(context->node, a);
    product.output = scores->data;
    return matmul_enqueue(context, cuda_type(scores->dtype), &product);
}

/* Products of heads are dense; packed heads are moved to where they belong. */
static Status
multiply_values(KernelContext *context, const OnnxAttention *a, const Tensor *weights, const Tensor *values)
{
    int64_t group = a->query_heads / a->key_heads;
    Tensor *output = &context->outputs[ONNX_ATTENTION_OUTPUT];
    Shape shape = {.rank = 4, .dims = {a->batch, a->query_heads, a->queries, a->value_size}};
    AUTO_TENSOR heads = {0};
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    CudaProduct product = product_of_heads(a, group);
    set_steps(&product.a, weights->data, layout_of(false, a->query_heads, a->queries, a->total), group);
    set_steps(&product.b, values->data, layout_of(false, a->key_heads, a->total, a->value_size), 0);
    product.columns = a->value_size;
    product.depth = a->total;
    if (a->is_packed) {
        TRY(scratch_new(context, output->dtype, &shape, &heads));
    }
    product.output = a->is_packed ? heads.data : output->data;
    TRY(matmul_enqueue(context, cuda_type(output->dtype), &product));
    if (!a->is_packed) {
        return STATUS_OK;
    }
    Heads all = {a->batch, a->query_heads, a->queries, a->value_size};
    return move_heads(context, &all, heads.data, layout_of(false, a->query_heads, a->queries, a->value_size),
        output->data, layout_of(true, a->query_heads, a->queries, a->value_size));
}

/* Enters the mask, of any number of the last dimensions, whose numbers are brought to the type in which rows
 * are computed; `ret_mask` holds them. */
static Status
read_mask(KernelContext *context, CudaAttentionRows *rows, Tensor *ret_mask)
{
    const Tensor *mask = given_input(context, ONNX_ATTENTION_MASK);
    if (mask == NULL) {
        return STATUS_OK;
    }
    bool is_wide = context->inputs[ONNX_ATTENTION_QUERY].dtype == DTYPE_FLOAT64;
    Dtype dtype = is_wide ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    *ret_mask = tensor_ref(mask);
    if (mask->dtype != DTYPE_BOOL && mask->dtype != dtype) {
        tensor_unref(ret_mask);
        TRY(scratch_new(context, dtype, &mask->shape, ret_mask));
        int64_t count = tensor_element_count(mask);
        int error = count == 0 ? 0
                               : cuda_convert(cuda_type(mask->dtype), mask->data, cuda_type(dtype),
                                     ret_mask->data, count, cuda_stream(context));
        TRY(cuda_check(context->call, error, "a conversion"));
    }
    int64_t stride = 1;
    int rank = mask->shape.rank;
    for (int dimension = rank - 1; dimension >= 0; dimension--) {
        int64_t size = mask->shape.dims[dimension];
        rows->mask_strides[CUDA_ATTENTION_RANK - rank + dimension] = size == 1 ? 0 : stride;
        stride *= size;
    }
    rows->mask = ret_mask->data;
    rows->mask_is_bool = mask->dtype == DTYPE_BOOL;
    rows->mask_keys = mask->shape.dims[rank - 1];
    return STATUS_OK;
}

static Status
weigh_rows(KernelContext *context, const OnnxAttention *a, const Tensor *scores)
{
    AUTO_TENSOR mask = {0};
    bool is_wide = scores->dtype == DTYPE_FLOAT64;
    CudaAttentionRows rows = {.scores = scores->data,
        .rows = a->batch * a->query_heads * a->queries,
        .heads = a->query_heads,
        .queries = a->queries,
        .keys = a->total,
        .past = a->past,
        .scale = is_wide ? onnx_attention_scale(context->node, a) : 1,
        .softcap = a->softcap,
        .is_causal = a->is_causal,
        .left = a->left,
        .right = a->right,
        .stage = (CudaAttentionStage)a->mode};
    if (context->output_count > ONNX_ATTENTION_SCORES) {
        rows.kept = context->outputs[ONNX_ATTENTION_SCORES].data;
    }
    if (given_input(context, ONNX_ATTENTION_LENGTHS) != NULL) {
        rows.lengths = context->inputs[ONNX_ATTENTION_LENGTHS].data;
        TRY(cuda_blame(context, CUDA_REFUSES_LENGTH, &rows.blame));
    }
    TRY(read_mask(context, &rows, &mask));
    int error = cuda_attention_rows(cuda_type(scores->dtype), &rows, cuda_stream(context));
    return cuda_check(context->call, error, "the weights of attention");
}

static DnnHeads
read_heads(const void *data, int64_t heads, int64_t size, Layout layout)
{
    return (DnnHeads){.data = data,
        .heads = heads,
        .size = size,
        .batch_step = layout.batch,
        .head_step = layout.head,
        .position_step = layout.position};
}

/* Returns whether the library may compute it: it keeps no scores, and of what hides keys it knows the order
 * of positions. */
static bool
is_for_library(const KernelContext *context, const OnnxAttention *a)
{
    bool is_whole = context->output_count <= ONNX_ATTENTION_SCORES && a->softcap == 0 && a->left < 0 &&
                    a->right < 0 && (!a->is_causal || a->past == 0);
    return is_whole && given_input(context, ONNX_ATTENTION_MASK) == NULL &&
           given_input(context, ONNX_ATTENTION_LENGTHS) == NULL && a->total > 0 &&
           tensor_element_count(&context->outputs[ONNX_ATTENTION_OUTPUT]) > 0;
}

static Status
try_library(KernelContext *context, const OnnxAttention *a, const Tensor *keys, const Tensor *values,
    bool *ret_is_done)
{
    DnnRefusal refusal = DNN_NO_LAYOUT;
    *ret_is_done = false;
    if (!is_for_library(context, a)) {
        return STATUS_OK;
    }
    DnnAttention attention = {.batch = a->batch,
        .queries = a->queries,
        .keys = a->total,
        .query = read_heads(context->inputs[ONNX_ATTENTION_QUERY].data, a->query_heads, a->head_size,
            layout_of(a->is_packed, a->query_heads, a->queries, a->head_size)),
        .key = read_heads(
            keys->data, a->key_heads, a->head_size, layout_of(false, a->key_heads, a->total, a->head_size)),
        .value = read_heads(values->data, a->key_heads, a->value_size,
            layout_of(false, a->key_heads, a->total, a->value_size)),
        .output = read_heads(context->outputs[ONNX_ATTENTION_OUTPUT].data, a->query_heads, a->value_size,
            layout_of(a->is_packed, a->query_heads, a->queries, a->value_size)),
        .factor = (float)onnx_attention_scale(context->node, a),
        .is_causal = a->is_causal};
    TRY(dnn_attend(context, cuda_type(keys->dtype), &attention, &refusal));
    *ret_is_done = refusal == DNN_ACCEPTED;
    return STATUS_OK;
}

static Status
make_outputs(KernelContext *context)
{
    Shape shapes[OUTPUTS_MAX];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < context->output_count; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, context->node->output_dtypes[index], &shapes[index], &output));
    }
    return STATUS_OK;
}

static Status
compute_attention(KernelContext *context)
{
    KernelInference inference;
    OnnxAttention attention;
    AUTO_TENSOR scores = {0};
    bool is_done = false;
    kernel_inference(context, NULL, &inference);
    TRY(onnx_attention_read(context->call, &inference.context, &attention));
    TRY(make_outputs(context));
    const Tensor *keys = &context->outputs[ONNX_ATTENTION_PRESENT_KEY];
    const Tensor *values = &context->outputs[ONNX_ATTENTION_PRESENT_VALUE];
    Shape shape = onnx_attention_shape(&attention, ONNX_ATTENTION_SCORES);
    TRY(join_past(context, &attention, ONNX_ATTENTION_KEY, ONNX_ATTENTION_PAST_KEY, keys));
    TRY(join_past(context, &attention, ONNX_ATTENTION_VALUE, ONNX_ATTENTION_PAST_VALUE, values));
    TRY(try_library(context, &attention, keys, values, &is_done));
    if (is_done) {
        return STATUS_OK;
    }
    TRY(scratch_new(context, keys->dtype, &shape, &scores));
    TRY(multiply_keys(context, &attention, keys, &scores));
    TRY(weigh_rows(context, &attention, &scores));
    return multiply_values(context, &attention, &scores, values);
}

static const Kernel onnx_attention_kernels[] = {
    {.op = "onnx::Attention", .supports = supports_attention, .compute = compute_attention},
};

KERNEL_FAMILY(cuda_kernels, onnx_attention, onnx_attention_kernels);
