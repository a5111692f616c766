/* Colours of images changed pixel by pixel; the last dimension holds the channels. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Images of at least `least` dimensions, of which the last has three channels. */
static Status
three_channels(Call *call, InferContext *context, int least)
{
    Shape images = context->inputs[0];
    int64_t three = 0;
    if (images.rank >= 0 && images.rank < least) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "images of rank %d have fewer than %d dimensions",
            images.rank, least);
    }
    if (images.rank > 0) {
        TRY(infer_equal(call, images.dims[images.rank - 1], 3, "the number of channels", &three));
    }
    context->outputs[0] = images;
    return STATUS_OK;
}

static Status
infer_colours(Call *call, InferContext *context)
{
    return three_channels(call, context, 1);
}

static Status
infer_adjusted(Call *call, InferContext *context)
{
    Shape scalar;
    TRY(infer_rank(call, context, 1, 0, &scalar));
    return three_channels(call, context, 3);
}

static Status
infer_contrast(Call *call, InferContext *context)
{
    Shape scalar;
    TRY(infer_rank(call, context, 1, 0, &scalar));
    context->outputs[0] = context->inputs[0];
    return context->inputs[0].rank < 0 || context->inputs[0].rank >= 3
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "images of rank %d have fewer than 3 dimensions",
                     context->inputs[0].rank);
}

static const OpDefinition colour_ops[] = {
    OP("RGBToHSV(images:T)->(output:T) {T:type=DT_FLOAT}", 0, infer_colours),
    OP("HSVToRGB(images:T)->(output:T) {T:type=DT_FLOAT}", 0, infer_colours),
    OP("AdjustContrastv2(images:T, contrast_factor:float)->(output:T) {T:type=DT_FLOAT}", 0, infer_contrast),
    OP("AdjustHue(images:T, delta:float)->(output:T) {T:type=DT_FLOAT}", 0, infer_adjusted),
    OP("AdjustSaturation(images:T, scale:float)->(output:T) {T:type=DT_FLOAT}", 0, infer_adjusted),
};

OP_FAMILY(image_colour, colour_ops);
