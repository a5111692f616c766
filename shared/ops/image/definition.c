/* Images resized, cropped and cut into patches. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/window.h"

/* Reads the new height and width of images [batch, height, width, channels] from input `input`. */
static Status
resize_to(Call *call, InferContext *context, uint32_t input)
{
    int64_t sizes[2] = {-1, -1};
    size_t count = 0;
    Shape images;
    Shape vector;
    int64_t two = 0;
    TRY(infer_rank(call, context, 0, 4, &images));
    TRY(infer_rank(call, context, input, 1, &vector));
    TRY(infer_equal(call, vector.dims[0], 2, "the number of sizes", &two));
    TRY(infer_ints(call, context, input, sizes, 2, &count));
    if (infer_knows(context, input) && (sizes[0] <= 0 || sizes[1] <= 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "images of %lld by %lld have no elements",
            (long long)sizes[0], (long long)sizes[1]);
    }
    if (images.dims[1] == 0 || images.dims[2] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "images without elements cannot be resized");
    }
    images.dims[1] = sizes[0];
    images.dims[2] = sizes[1];
    context->outputs[0] = images;
    return infer_check_size(call, &images);
}

static Status
infer_resize(Call *call, InferContext *context)
{
    return resize_to(call, context, 1);
}

/* Scales and translations are those of height and width. */
static Status
infer_scale_and_translate(Call *call, InferContext *context)
{
    int64_t two = 0;
    for (uint32_t input = 2; input < 4; input++) {
        Shape vector;
        TRY(infer_rank(call, context, input, 1, &vector));
        TRY(infer_equal(call, vector.dims[0], 2,
            input == 2 ? "the number of scales" : "the number of translations", &two));
    }
    return resize_to(call, context, 1);
}

/* Gradients are [batch, height, width, channels], with the batch and the channels of the original image. */
static Status
infer_resize_gradient(Call *call, InferContext *context)
{
    Shape gradients;
    Shape original;
    TRY(infer_rank(call, context, 0, 4, &gradients));
    TRY(infer_rank(call, context, 1, 4, &original));
    TRY(infer_equal(call, original.dims[0], gradients.dims[0], "the batch", &original.dims[0]));
    TRY(infer_equal(call, original.dims[3], gradients.dims[3], "the number of channels", &original.dims[3]));
    context->outputs[0] = original;
    return STATUS_OK;
}

static Status
infer_crop_and_resize(Call *call, InferContext *context)
{
    Shape image;
    Shape boxes;
    Shape indices;
    int64_t four = 0;
    int64_t sizes[2] = {-1, -1};
    size_t count = 0;
    TRY(infer_rank(call, context, 0, 4, &image));
    TRY(infer_rank(call, context, 1, 2, &boxes));
    TRY(infer_rank(call, context, 2, 1, &indices));
    TRY(infer_equal(call, boxes.dims[1], 4, "the number of a box's sides", &four));
    TRY(infer_equal(call, boxes.dims[0], indices.dims[0], "the number of boxes", &boxes.dims[0]));
    TRY(infer_ints(call, context, 3, sizes, 2, &count));
    if (infer_knows(context, 3) && (count != 2 || sizes[0] <= 0 || sizes[1] <= 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "crops of %lld by %lld have no elements",
            (long long)sizes[0], (long long)sizes[1]);
    }
    context->outputs[0] = (Shape){.rank = 4, .dims = {boxes.dims[0], sizes[0], sizes[1], image.dims[3]}};
    return infer_check_size(call, &context->outputs[0]);
}

/* The last dimension holds the pixels of a patch. */
static Status
infer_patches(Call *call, InferContext *context)
{
    Shape images;
    Window window;
    int64_t sizes[4];
    int64_t pixels = 0;
    TRY(infer_rank(call, context, 0, 4, &images));
    if (node_attr_ints(context->node, "ksizes", sizes, COUNT_OF(sizes)) != 4 || sizes[0] != 1 ||
        sizes[3] != 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "ksizes are not [1,height,width,1]");
    }
    TRY(window_tensorflow(call, context->node, &images, &sizes[1], 2, &window));
    TRY(infer_multiply(call, sizes[1], sizes[2], &pixels));
    TRY(infer_multiply(call, pixels, images.dims[3], &pixels));
    context->outputs[0] = window_output(&window, &images, pixels);
    return infer_check_size(call, &context->outputs[0]);
}

/* The filter is [height, width, channels]. */
static Status
infer_dilation(Call *call, InferContext *context)
{
    Shape images;
    Shape filter;
    Window window;
    TRY(infer_rank(call, context, 0, 4, &images));
    TRY(infer_rank(call, context, 1, 3, &filter));
    TRY(infer_equal(call, images.dims[3], filter.dims[2], "the number of channels", &images.dims[3]));
    TRY(window_tensorflow(call, context->node, &images, filter.dims, 2, &window));
    context->outputs[0] = window_output(&window, &images, images.dims[3]);
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition image_ops[] = {
    OP("ExtractImagePatches(images:T)->(patches:T) {ksizes:list(int), strides:list(int), rates:list(int), "
       "T:type, padding:string}",
        0, infer_patches),
    OP("Dilation2D(input:T, filter:T)->(output:T) {T:type, strides:list(int), rates:list(int), "
       "padding:string}",
        0, infer_dilation),
    OP("ResizeBilinear(images:T, size:int32)->(resized_images:float) {T:type, align_corners:bool=false, "
       "half_pixel_centers:bool=false}",
        0, infer_resize),
    OP("ResizeNearestNeighbor(images:T, size:int32)->(resized_images:T) {T:type, align_corners:bool=false, "
       "half_pixel_centers:bool=false}",
        0, infer_resize),
    OP("ResizeBicubic(images:T, size:int32)->(resized_images:float) {T:type, align_corners:bool=false, "
       "half_pixel_centers:bool=false}",
        0, infer_resize),
    OP("ResizeArea(images:T, size:int32)->(resized_images:float) {T:type, align_corners:bool=false}", 0,
        infer_resize),
    OP("ScaleAndTranslate(images:T, size:int32, scale:float, translation:float)->(resized_images:float) "
       "{T:type, kernel_type:string=lanczos3, antialias:bool=true}",
        0, infer_scale_and_translate),
    OP("ResizeBilinearGrad(grads:float, original_image:T)->(output:T) {T:type, align_corners:bool=false, "
       "half_pixel_centers:bool=false}",
        0, infer_resize_gradient),
    OP("ResizeNearestNeighborGrad(grads:T, size:int32)->(output:T) {T:type, align_corners:bool=false, "
       "half_pixel_centers:bool=false}",
        0, infer_resize),
    OP("CropAndResize(image:T, boxes:float, box_ind:int32, crop_size:int32)->(crops:float) {T:type, "
       "method:string=bilinear, extrapolation_value:float=0}",
        0, infer_crop_and_resize),
};

OP_FAMILY(image, image_ops);
