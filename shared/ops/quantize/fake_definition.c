/* TensorFlow's numbers rounded to what a quantised tensor can hold: models that were trained for quantisation
 * have these. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Checks that limits `first` and the next are scalars. */
static Status
infer_limits(Call *call, InferContext *context, uint32_t first)
{
    Shape scalar;
    TRY(infer_rank(call, context, first, 0, &scalar));
    TRY(infer_rank(call, context, first + 1, 0, &scalar));
    return infer_unchanged(call, context);
}

static Status
infer_fake(Call *call, InferContext *context)
{
    return infer_limits(call, context, 1);
}

static Status
infer_fake_gradient(Call *call, InferContext *context)
{
    return infer_broadcast(call, context);
}

/* Limits are vectors with an element for each index of the last dimension. */
static Status
infer_fake_channels(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    for (uint32_t limit = 1; limit < 3; limit++) {
        Shape vector;
        int64_t channels = input->rank > 0 ? input->dims[input->rank - 1] : -1;
        TRY(infer_rank(call, context, limit, 1, &vector));
        TRY(infer_equal(call, vector.dims[0], channels, "the number of channels", &channels));
    }
    if (input->rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a scalar has no channels");
    }
    return infer_unchanged(call, context);
}

#define BITS "num_bits:int=8, narrow_range:bool=false"

static const OpDefinition fake_ops[] = {
    OP("FakeQuantWithMinMaxArgs(inputs:float)->(outputs:float) {min:float=-6, max:float=6, " BITS "}", 0,
        infer_unchanged),
    OP("FakeQuantWithMinMaxArgsGradient(gradients:float, inputs:float)->(backprops:float) {min:float=-6, "
       "max:float=6, " BITS "}",
        0, infer_fake_gradient),
    OP("FakeQuantWithMinMaxVars(inputs:float, min:float, max:float)->(outputs:float) {" BITS "}", 0,
        infer_fake),
    OP("FakeQuantWithMinMaxVarsPerChannel(inputs:float, min:float, max:float)->(outputs:float) {" BITS "}", 0,
        infer_fake_channels),
};

OP_FAMILY(quantize_fake, fake_ops);
