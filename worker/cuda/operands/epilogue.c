#include "worker/cuda/operands/epilogue.h"

#include <assert.h>

#define SAME(name)                                                                                           \
    static_assert((int)EPILOGUE_##name == (int)CUDA_ACTIVATION_##name, "activations have one number")
SAME(NONE);
SAME(ELU);
SAME(GELU);
SAME(GELU_TANH);
SAME(HARD_SWISH);
SAME(LEAKY_RELU);
SAME(RELU);
SAME(RELU6);
SAME(SIGMOID);
SAME(SWISH);
SAME(TANH);

static const void *
operand(const KernelContext *context, uint32_t input)
{
    assert(input < context->input_count);
    return input == 0 ? NULL : context->inputs[input].data;
}

CudaEpilogue
operands_epilogue(const KernelContext *context, const Epilogue *epilogue)
{
    uint32_t norm = epilogue->norm;
    return (CudaEpilogue){
        .bias = operand(context, epilogue->bias),
        .scale = operand(context, norm),
        .offset = operand(context, norm == 0 ? 0 : norm + 1),
        .mean = operand(context, norm == 0 ? 0 : norm + 2),
        .variance = operand(context, norm == 0 ? 0 : norm + 3),
        .addend = operand(context, epilogue->addend),
        .epsilon = epilogue->epsilon,
        .alpha = epilogue->alpha,
        .activation = (CudaActivation)epilogue->activation,
    };
}
