/* onnx::RotaryEmbedding, by the rule of the reference kernel (shared/ops/attention). */
#include "worker/cuda/kernels/rotary.h"

#include "shared/ops/attention/rotary_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"

static bool
supports_rotary(const Node *node)
{
    Dtype dtype = node->input_dtypes[ROTARY_INPUT];
    return dtype_is_floating(dtype) && node->input_dtypes[ROTARY_COSINES] == dtype &&
           node->input_dtypes[ROTARY_SINES] == dtype;
}

static Status
compute_rotary(KernelContext *context)
{
    Rotary read;
    KernelInference inference;
    Shape shape;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(rotary_read(context->call, &inference.context, &read));
    TRY(output_shapes(context, &shape));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shape, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaRotary rotary = {.input = context->inputs[ROTARY_INPUT].data,
        .cosines = context->inputs[ROTARY_COSINES].data,
        .sines = context->inputs[ROTARY_SINES].data,
        .positions = read.has_positions ? context->inputs[ROTARY_POSITIONS].data : NULL,
        .output = output->data,
        .is_packed = read.is_packed,
        .is_interleaved = read.is_interleaved,
        .tokens = read.batch * read.length,
        .heads = read.heads,
        .length = read.length,
        .size = read.size,
        .pairs = read.pairs,
        .rows = read.has_positions ? read.rows : read.batch * read.length};
    if (read.has_positions) {
        TRY(cuda_blame(context, CUDA_REFUSES_POSITION, &rotary.blame));
    }
    int error = cuda_rotate(cuda_type(output->dtype), &rotary, cuda_stream(context));
    return cuda_check(context->call, error, "a RotaryEmbedding kernel");
}

static const Kernel rotary_kernels[] = {
    {.op = "onnx::RotaryEmbedding", .supports = supports_rotary, .compute = compute_rotary},
};

KERNEL_FAMILY(cuda_kernels, rotary, rotary_kernels);
