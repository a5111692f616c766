/* Conversions between float32 and the floats of 16 bits, many at a time. All others are left to the reference
 * kernel. */
#include "worker/cpu/kernels/cast.h"

#include <assert.h>

#include "worker/cpu/vector/halves.h"
#include "worker/reference/broadcast.h"

#define CONVERSION_LOOPS(name, dtype)                                                                        \
    static void widen_##name(const ElementRun *run)                                                          \
    {                                                                                                        \
        halves_widen((dtype), run->inputs[0], run->output, run->count);                                      \
    }                                                                                                        \
    static void narrow_to_##name(const ElementRun *run)                                                      \
    {                                                                                                        \
        halves_narrow((dtype), run->inputs[0], run->output, run->count);                                     \
    }

CONVERSION_LOOPS(halves, DTYPE_FLOAT16)
CONVERSION_LOOPS(bfloats, DTYPE_BFLOAT16)

static const ElementLoop loops[DTYPE_COUNT][DTYPE_COUNT] = {
    [DTYPE_FLOAT16] = {[DTYPE_FLOAT32] = widen_halves},
    [DTYPE_BFLOAT16] = {[DTYPE_FLOAT32] = widen_bfloats},
    [DTYPE_FLOAT32] = {[DTYPE_FLOAT16] = narrow_to_halves, [DTYPE_BFLOAT16] = narrow_to_bfloats},
};

void
cast_share(Device *device, const Tensor *input, Tensor *output)
{
    assert(loops[input->dtype][output->dtype] != NULL);
    broadcast_share(device, &input, 1, output, NULL, loops[input->dtype][output->dtype]);
}

static bool
supports_cast(const Node *node)
{
    return loops[node->input_dtypes[0]][node->output_dtypes[0]] != NULL;
}

static bool
describe_cast(const Node *node, ElementFunction *ret_function)
{
    *ret_function = (ElementFunction){.loop = loops[node->input_dtypes[0]][node->output_dtypes[0]]};
    return true;
}

static Status
compute_cast(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &input->shape, &output));
    cast_share(context->device, input, output);
    return STATUS_OK;
}

#define CAST_KERNEL(name)                                                                                    \
    {                                                                                                        \
        .op = (name), .supports = supports_cast, .compute = compute_cast, .element = describe_cast           \
    }

static const Kernel cast_kernels[] = {
    CAST_KERNEL("Cast"),
    CAST_KERNEL("onnx::Cast"),
    {.op = "onnx::CastLike", .supports = supports_cast, .compute = compute_cast},
};

KERNEL_FAMILY(cpu_kernels, cast, cast_kernels);
