/* ONNX's LinearAttention, by the rules of the reference kernel (shared/ops/attention). A state of 16 bits
 * would be rounded with every token: it is kept in float32 until all have written. */
#include "worker/cuda/kernels/linear_attention.h"

#include <math.h>

#include "shared/ops/attention/linear_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/given.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* The state is computed in the type of the tokens' sums, which must not be less than its own. */
static bool
supports_floats(const Node *node)
{
    Dtype dtype = node->input_dtypes[LINEAR_QUERY];
    Dtype state = node->output_dtypes[1];
    return dtype_is_floating(dtype) && dtype_is_floating(state) &&
           (dtype == DTYPE_FLOAT64) == (state == DTYPE_FLOAT64);
}

/* Makes `state`, of `dtype`, the one of the past, or zeros. */
static Status
begin_state(KernelContext *context, const Tensor *state)
{
    cudaStream_t stream = cuda_stream(context);
    int64_t count = tensor_element_count(state);
    const Tensor *past = given_input(context, LINEAR_STATE);
    int error = 0;
    if (count > 0) {
        error = past == NULL ? (int)cudaMemsetAsync(state->data, 0, tensor_byte_size(state), stream)
                             : cuda_convert(cuda_type(past->dtype), past->data, cuda_type(state->dtype),
                                   state->data, count, stream);
    }
    return cuda_check(context->call, error, "the first state of an attention");
}

static Status
run_tokens(KernelContext *context, const LinearAttention *read, const Tensor *state, const Tensor *output)
{
    float scale = node_attr_float(context->node, "scale");
    CudaLinearAttention attention = {
        .query = context->inputs[LINEAR_QUERY].data,
        .key = context->inputs[LINEAR_KEY].data,
        .value = context->inputs[LINEAR_VALUE].data,
        .decay = read->decays ? given_data(context, LINEAR_DECAY) : NULL,
        .beta = read->corrects ? given_data(context, LINEAR_BETA) : NULL,
        .state = state->data,
        .output = output->data,
        .batch = read->batch,
        .length = read->length,
        .query_heads = read->query_heads,
        .key_heads = read->key_heads,
        .key_size = read->key_size,
        .value_size = read->value_size,
        .decays_by_key = read->decays_by_key,
        .shares_beta = read->shares_beta,
        .scale = scale == 0 ? 1 / sqrt((double)read->key_size) : (double)scale,
    };
    int error = cuda_linear_attention(cuda_type(output->dtype), &attention, cuda_stream(context));
    return cuda_check(context->call, error, "a linear attention");
}

static Status
finish_state(KernelContext *context, const Tensor *state, const Tensor *present)
{
    int error = cuda_convert(cuda_type(state->dtype), state->data, cuda_type(present->dtype), present->data,
        tensor_element_count(present), cuda_stream(context));
    return cuda_check(context->call, error, "the last state of an attention");
}

static Status
compute_linear_attention(KernelContext *context)
{
    KernelInference inference;
    LinearAttention read;
    Tensor *output = NULL;
    Tensor *present = NULL;
    AUTO_TENSOR state = {0};
    kernel_inference(context, NULL, &inference);
    TRY(linear_attention_read(context->call, &inference.context, &read));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &read.output, &output));
    TRY(kernel_output(context, 1, context->node->output_dtypes[1], &read.state, &present));
    if (tensor_element_count(output) == 0 && tensor_element_count(present) == 0) {
        return STATUS_OK; /* the other dimensions may be of any size */
    }
    Dtype wide = output->dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    bool is_wide = present->dtype == wide;
    TRY(is_wide ? STATUS_OK : scratch_new(context, wide, &present->shape, &state));
    const Tensor *changed = is_wide ? present : &state;
    TRY(begin_state(context, changed));
    TRY(run_tokens(context, &read, changed, output));
    return is_wide || tensor_element_count(present) == 0 ? STATUS_OK
                                                         : finish_state(context, changed, present);
}

static const Kernel linear_attention_kernels[] = {
    {.op = "onnx::LinearAttention", .supports = supports_floats, .compute = compute_linear_attention},
};

KERNEL_FAMILY(cuda_kernels, linear_attention, linear_attention_kernels);
