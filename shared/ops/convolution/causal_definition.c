/* ONNX's CausalConvWithState: a depthwise convolution over the positions up to each one. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
check_activation(Call *call, Slice activation)
{
    static const char *const known[] = {"none", "silu", "swish"};
    for (size_t index = 0; index < COUNT_OF(known); index++) {
        if (slice_equals_string(activation, known[index])) {
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "activation is '%.*s', not none, silu or swish",
        SLICE_PRINT(slice_part(activation, 0, 64)));
}

/* The weight is [channel, 1, size]; the state has the last size - 1 positions. */
static Status
infer_causal_convolution(Call *call, InferContext *context)
{
    Shape x;
    Shape weight;
    Shape given;
    int64_t ignored = 0;
    TRY(check_activation(call, node_attr_string(context->node, "activation")));
    TRY(infer_rank(call, context, 0, 3, &x));
    TRY(infer_rank(call, context, 1, 3, &weight));
    TRY(infer_equal(call, x.dims[1], weight.dims[0], "the number of channels", &x.dims[1]));
    TRY(infer_equal(call, weight.dims[1], 1, "the channels of a group", &ignored));
    if (weight.dims[2] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a window of no positions");
    }
    Shape state = {.rank = 3, .dims = {x.dims[0], x.dims[1], weight.dims[2] < 0 ? -1 : weight.dims[2] - 1}};
    if (infer_has_input(context, 2)) {
        TRY(infer_rank(call, context, 2, 1, &given));
        TRY(infer_equal(call, x.dims[1], given.dims[0], "the number of channels", &x.dims[1]));
    }
    if (infer_has_input(context, 3)) {
        TRY(infer_rank(call, context, 3, 3, &given));
        for (int index = 0; index < 3; index++) {
            TRY(infer_equal(
                call, state.dims[index], given.dims[index], "a dimension of the state", &state.dims[index]));
        }
    }
    context->outputs[0] = x;
    context->outputs[1] = state;
    return infer_check_size(call, &state);
}

static const OpDefinition convolution_causal_ops[] = {
    OP("onnx::CausalConvWithState(input:T, weight:T, bias?:T, past_state?:T)->(output:T, present_state:T) "
       "{activation:string=none, T:type}",
        0, infer_causal_convolution),
};

OP_FAMILY(convolution_causal, convolution_causal_ops);
