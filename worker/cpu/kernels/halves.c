/* Nodes of float16 and bfloat16 by the fast kernels of float32: inputs are widened, constant ones once, and
 * outputs rounded once. What lies between is computed and summed as float32 kernels do. */
#include "worker/cpu/vector/halves.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cpu/kernels/cast.h"
#include "worker/reference/outputs.h"
#include "worker/reference/retyped.h"
#include "worker/reference/scratch.h"

/* As many as any op of the table below has; a node of more is the reference kernel's, which refuses it. */
enum { INPUTS_MAX = 12, OUTPUTS_MAX = 8 };

typedef struct Halves {
    Node *wide; /* the node as it would be of float32 */
    const Kernel *kernel;
    void *state;                  /* the kernel's */
    Tensor constants[INPUTS_MAX]; /* widened; without data: the input is not constant */
} Halves;

static Dtype
wide_dtype(Dtype dtype)
{
    return halves_has(dtype) ? DTYPE_FLOAT32 : dtype;
}

/* The table's ops have floats in input 0; a kernel of float32 must be faster than the reference kernel. */
static bool
supports_halves(const Node *node)
{
    if (node->input_count == 0 || node->input_count > INPUTS_MAX || node->output_count > OUTPUTS_MAX ||
        !halves_has(node->input_dtypes[0])) {
        return false;
    }
    AUTO_MEMORY Node *wide = retyped_node(node, wide_dtype);
    return wide != NULL && kernel_find_fast(wide) != NULL;
}

static void
destroy_halves(void *state)
{
    Halves *halves = state;
    if (halves->state != NULL && halves->kernel->destroy != NULL) {
        halves->kernel->destroy(halves->state);
    }
    for (size_t i = 0; i < COUNT_OF(halves->constants); i++) {
        tensor_unref(&halves->constants[i]);
    }
    memory_free(halves->wide);
    memory_free(halves);
}

static Status
create_halves(Call *call, const Node *node, void **ret_state)
{
    assert(node->input_count <= INPUTS_MAX && node->output_count <= OUTPUTS_MAX);
    Halves *halves = memory_new(1, sizeof *halves);
    if (halves == NULL || (halves->wide = retyped_node(node, wide_dtype)) == NULL) {
        memory_free(halves);
        return call_fail_memory(call, "a kernel of 16 bits");
    }
    halves->kernel = kernel_find_fast(halves->wide);
    Status status = halves->kernel->create == NULL
                        ? STATUS_OK
                        : halves->kernel->create(call, halves->wide, &halves->state);
    if (status != STATUS_OK) {
        destroy_halves(halves);
        return status;
    }
    *ret_state = halves;
    return STATUS_OK;
}

/* Widens a constant for all runs: its bytes are counted to none of them (memory_account.h). */
static Status
widen_constant(Call *call, Device *device, const Tensor *constant, Tensor *wide)
{
    size_t size = (size_t)tensor_element_count(constant) * sizeof(float);
    MemoryAccount *before = device->charge(device, NULL);
    wide->buffer = device->allocate(device, size);
    (void)device->charge(device, before);
    if (wide->buffer == NULL) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "widened weights need %zu bytes", size);
    }
    wide->dtype = DTYPE_FLOAT32;
    shape_copy(&wide->shape, &constant->shape);
    wide->data = wide->buffer->data;
    cast_share(device, constant, wide);
    return STATUS_OK;
}

static Status
prepare_halves(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    Halves *halves = state;
    const Tensor *wide[INPUTS_MAX];
    for (uint32_t i = 0; i < node->input_count; i++) {
        wide[i] = constants[i];
        if (constants[i] != NULL && constants[i]->data != NULL && halves_has(constants[i]->dtype)) {
            TRY(widen_constant(call, device, constants[i], &halves->constants[i]));
            wide[i] = &halves->constants[i];
        }
    }
    return halves->kernel->prepare == NULL
               ? STATUS_OK
               : halves->kernel->prepare(call, device, halves->wide, wide, halves->state);
}

/* The arguments of the float32 kernel. */
typedef struct WideArguments {
    Tensor inputs[INPUTS_MAX];
    Tensor outputs[OUTPUTS_MAX];
} WideArguments;

static void
arguments_done(WideArguments *arguments)
{
    for (size_t i = 0; i < COUNT_OF(arguments->inputs); i++) {
        tensor_unref(&arguments->inputs[i]);
    }
    for (size_t i = 0; i < COUNT_OF(arguments->outputs); i++) {
        tensor_unref(&arguments->outputs[i]);
    }
}

static Status
widen_inputs(KernelContext *context, WideArguments *arguments)
{
    const Halves *halves = context->state;
    for (uint32_t i = 0; i < context->input_count; i++) {
        const Tensor *input = &context->inputs[i];
        if (halves->constants[i].data != NULL) {
            arguments->inputs[i] = tensor_ref(&halves->constants[i]);
        } else if (halves_has(input->dtype)) {
            TRY(scratch_new(context, DTYPE_FLOAT32, &input->shape, &arguments->inputs[i]));
            cast_share(context->device, input, &arguments->inputs[i]);
        } else {
            arguments->inputs[i] = tensor_ref(input);
        }
    }
    return STATUS_OK;
}

static Status
narrow_outputs(KernelContext *context, WideArguments *arguments)
{
    for (uint32_t i = 0; i < context->output_count; i++) {
        Tensor *wide = &arguments->outputs[i];
        Dtype dtype = context->node->output_dtypes[i];
        if (wide->dtype == DTYPE_INVALID || dtype == wide->dtype) {
            context->outputs[i] = *wide;
            *wide = (Tensor){0};
            continue;
        }
        Tensor *output = NULL;
        TRY(kernel_output(context, i, dtype, &wide->shape, &output));
        cast_share(context->device, wide, output);
    }
    return STATUS_OK;
}

static Status
compute_halves(KernelContext *context)
{
    const Halves *halves = context->state;
    CLEANUP(arguments_done) WideArguments arguments = {0};
    TRY(widen_inputs(context, &arguments));
    KernelContext wide = *context;
    wide.node = halves->wide;
    wide.state = halves->state;
    wide.inputs = arguments.inputs;
    wide.outputs = arguments.outputs;
    wide.memory = NULL; /* planned for the outputs of 16 bits */
    TRY(halves->kernel->compute(&wide));
    return narrow_outputs(context, &arguments);
}

#define HALVES_KERNEL(name)                                                                                  \
    {                                                                                                        \
        .op = (name), .supports = supports_halves, .create = create_halves, .destroy = destroy_halves,       \
        .prepare = prepare_halves, .compute = compute_halves, .wide_inputs = KERNEL_WIDENS_ALL,              \
        .wide_outputs = KERNEL_WIDENS_ALL                                                                    \
    }

static const Kernel halves_kernels[] = {
    HALVES_KERNEL("AvgPool"),
    HALVES_KERNEL("BatchMatMul"),
    HALVES_KERNEL("BatchMatMulV2"),
    HALVES_KERNEL("Conv2D"),
    HALVES_KERNEL("DepthwiseConv2dNative"),
    HALVES_KERNEL("LogSoftmax"),
    HALVES_KERNEL("MatMul"),
    HALVES_KERNEL("Max"),
    HALVES_KERNEL("MaxPool"),
    HALVES_KERNEL("Mean"),
    HALVES_KERNEL("Min"),
    HALVES_KERNEL("Pow"),
    HALVES_KERNEL("Softmax"),
    HALVES_KERNEL("Sum"),
    HALVES_KERNEL("com.microsoft::SkipLayerNormalization"),
    HALVES_KERNEL("com.microsoft::SkipSimplifiedLayerNormalization"),
    HALVES_KERNEL("onnx::Attention"),
    HALVES_KERNEL("onnx::AveragePool"),
    HALVES_KERNEL("onnx::Clip"),
    HALVES_KERNEL("onnx::Conv"),
    HALVES_KERNEL("onnx::ConvTranspose"),
    HALVES_KERNEL("onnx::GRU"),
    HALVES_KERNEL("onnx::Gemm"),
    HALVES_KERNEL("onnx::GlobalAveragePool"),
    HALVES_KERNEL("onnx::GlobalMaxPool"),
    HALVES_KERNEL("onnx::GroupNormalization"),
    HALVES_KERNEL("onnx::InstanceNormalization"),
    HALVES_KERNEL("onnx::LSTM"),
    HALVES_KERNEL("onnx::LayerNormalization"),
    HALVES_KERNEL("onnx::LogSoftmax"),
    HALVES_KERNEL("onnx::MatMul"),
    HALVES_KERNEL("onnx::MaxPool"),
    HALVES_KERNEL("onnx::Pow"),
    HALVES_KERNEL("onnx::RMSNormalization"),
    HALVES_KERNEL("onnx::ReduceL1"),
    HALVES_KERNEL("onnx::ReduceL2"),
    HALVES_KERNEL("onnx::ReduceMax"),
    HALVES_KERNEL("onnx::ReduceMean"),
    HALVES_KERNEL("onnx::ReduceMin"),
    HALVES_KERNEL("onnx::ReduceSum"),
    HALVES_KERNEL("onnx::ReduceSumSquare"),
    HALVES_KERNEL("onnx::RotaryEmbedding"),
    HALVES_KERNEL("onnx::Softmax"),
};

KERNEL_FAMILY(cpu_kernels, halves, halves_kernels);
