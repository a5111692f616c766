/* Images seen through a projective transform. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The transforms are [1 or batch, 8]; the output has the images' batch and channels. */
static Status
infer_projection(Call *call, InferContext *context)
{
    Shape images;
    Shape transforms;
    Shape vector;
    int64_t two = 0;
    int64_t eight = 0;
    int64_t sizes[2] = {-1, -1};
    size_t count = 0;
    TRY(infer_rank(call, context, 0, 4, &images));
    TRY(infer_rank(call, context, 1, 2, &transforms));
    TRY(infer_rank(call, context, 2, 1, &vector));
    TRY(infer_equal(call, transforms.dims[1], 8, "the size of a transform", &eight));
    TRY(infer_equal(call, vector.dims[0], 2, "the number of sizes", &two));
    if (transforms.dims[0] != 1) {
        TRY(infer_equal(call, transforms.dims[0], transforms.dims[0] < 0 ? -1 : images.dims[0],
            "the number of transforms", &transforms.dims[0]));
    }
    TRY(infer_ints(call, context, 2, sizes, 2, &count));
    if (infer_knows(context, 2) && (sizes[0] <= 0 || sizes[1] <= 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "images of %lld by %lld have no elements",
            (long long)sizes[0], (long long)sizes[1]);
    }
    images.dims[1] = sizes[0];
    images.dims[2] = sizes[1];
    context->outputs[0] = images;
    return infer_check_size(call, &images);
}

static Status
infer_filled_projection(Call *call, InferContext *context)
{
    Shape scalar;
    TRY(infer_rank(call, context, 3, 0, &scalar));
    return infer_projection(call, context);
}

static const OpDefinition projection_ops[] = {
    OP("ImageProjectiveTransformV2(images:dtype, transforms:float, "
       "output_shape:int32)->(transformed_images:dtype) "
       "{dtype:type, interpolation:string, fill_mode:string=CONSTANT}",
        0, infer_projection),
    OP("ImageProjectiveTransformV3(images:dtype, transforms:float, output_shape:int32, fill_value:float)->"
       "(transformed_images:dtype) {dtype:type, interpolation:string, fill_mode:string=CONSTANT}",
        0, infer_filled_projection),
};

OP_FAMILY(image_projection, projection_ops);
