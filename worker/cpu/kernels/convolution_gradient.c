/* float32 gradients of two-dimensional convolutions with the channels last, as matrix products
 * (worker/cpu/product/product.h) of the output's gradient and of the image laid out in patches:
 *
 *     filter's gradient = patchesᵀ × output's gradient
 *     image's gradient  = (output's gradient × filterᵀ), every patch added back to its pixels
 *
 * A few images are done at a time, as many as keep the patches small. That number follows from shapes
 * only, and one thread adds up all patches of an image. */
#include "shared/base/memory.h"
#include "shared/ops/convolution.h"
#include "worker/cpu/product/product.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { PATCHES_MAX = 1 << 20 }; /* elements of patches at a time, when one image has fewer */

static bool
supports_gradient(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_FLOAT32 &&
           slice_equal(node_attr_string(node, "data_format"), SLICE("NHWC"));
}

static Status
create_gradient(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    Product *product = NULL;
    TRY(product_new(call, &product));
    *ret_state = product;
    return STATUS_OK;
}

static void
destroy_gradient(void *state)
{
    product_free(state);
}

/* One group of channels of a convolution; sizes are in elements. */
typedef struct Patches {
    const Window *window;
    int64_t size[2];  /* of an image */
    int64_t channels; /* of an image */
    int64_t inputs;   /* channels of the group */
    int64_t outputs;  /* channels of the group */
    int64_t group;
    int64_t patch;     /* elements of one patch */
    int64_t positions; /* patches of one image, one for each position of the window */
    int64_t images;    /* images done at a time */
    float *image;      /* the first of them */
    float *laid_out;   /* [images × positions, patch] */
} Patches;

/* Returns the pixel that element (row, column) of the patch at `position` covers, or NULL outside of the
 * image. */
static float *
pixel_of(const Patches *patches, float *image, int64_t position, int64_t row, int64_t column)
{
    const Window *window = patches->window;
    int64_t y =
        position / window->output[1] * window->stride[0] - window->before[0] + row * window->dilation[0];
    int64_t x =
        position % window->output[1] * window->stride[1] - window->before[1] + column * window->dilation[1];
    if (y < 0 || x < 0 || y >= patches->size[0] || x >= patches->size[1]) {
        return NULL;
    }
    return image + (y * patches->size[1] + x) * patches->channels + patches->group * patches->inputs;
}

static void
lay_out_image(void *context, int64_t index)
{
    const Patches *patches = context;
    float *image = patches->image + index * patches->size[0] * patches->size[1] * patches->channels;
    float *to = patches->laid_out + index * patches->positions * patches->patch;
    for (int64_t position = 0; position < patches->positions; position++) {
        for (int64_t row = 0; row < patches->window->size[0]; row++) {
            for (int64_t column = 0; column < patches->window->size[1]; column++) {
                const float *pixel = pixel_of(patches, image, position, row, column);
                size_t bytes = (size_t)patches->inputs * sizeof *to;
                if (pixel == NULL) {
                    memset(to, 0, bytes);
                } else {
                    memcpy(to, pixel, bytes);
                }
                to += patches->inputs;
            }
        }
    }
}

static void
add_back_image(void *context, int64_t index)
{
    const Patches *patches = context;
    float *image = patches->image + index * patches->size[0] * patches->size[1] * patches->channels;
    const float *from = patches->laid_out + index * patches->positions * patches->patch;
    for (int64_t position = 0; position < patches->positions; position++) {
        for (int64_t row = 0; row < patches->window->size[0]; row++) {
            for (int64_t column = 0; column < patches->window->size[1]; column++) {
                float *pixel = pixel_of(patches, image, position, row, column);
                for (int64_t k = 0; k < patches->inputs && pixel != NULL; k++) {
                    pixel[k] += from[k];
                }
                from += patches->inputs;
            }
        }
    }
}

/* Copies columns out of a matrix, or back: those of a group's filters and output gradients. */
static void
copy_columns(
    const float *from, int64_t from_width, float *to, int64_t to_width, int64_t rows, int64_t columns)
{
    for (int64_t row = 0; row < rows; row++) {
        memcpy(to + row * to_width, from + row * from_width, (size_t)columns * sizeof *to);
    }
}

typedef struct Work {
    KernelContext *context;
    const Convolution *convolution;
    Patches patches;
    int64_t batch;
    const float *gradients; /* of the output */
    const float *filter;    /* NULL when it is what is computed */
    Tensor laid_out;
    Tensor group_gradients; /* of one group, when there are several */
    Tensor group_filter;
} Work;

static void
work_close(Work *work)
{
    tensor_unref(&work->laid_out);
    tensor_unref(&work->group_gradients);
    tensor_unref(&work->group_filter);
}
#define AUTO_WORK CLEANUP(work_close) Work

static Patches
patches_of(const Convolution *convolution, const Shape *image)
{
    const Window *window = &convolution->window;
    Patches patches = {.window = window,
        .size = {image->dims[1], image->dims[2]},
        .channels = image->dims[3],
        .inputs = convolution->inputs,
        .outputs = convolution->outputs,
        .patch = window->size[0] * window->size[1] * convolution->inputs,
        .positions = window->output[0] * window->output[1]};
    int64_t batch = image->dims[0];
    int64_t fitting = PATCHES_MAX / (patches.patch * patches.positions);
    patches.images = fitting < 1 ? 1 : fitting > batch ? batch : fitting;
    return patches;
}

static Shape
matrix_shape(int64_t rows, int64_t columns)
{
    return (Shape){.rank = 2, .dims = {rows, columns}};
}

static Status
work_open(Work *work, const Shape *image)
{
    Patches *patches = &work->patches;
    *patches = patches_of(work->convolution, image);
    work->batch = image->dims[0];
    int64_t rows = patches->images * patches->positions;
    Shape laid_out = matrix_shape(rows, patches->patch);
    TRY(scratch_new(work->context, DTYPE_FLOAT32, &laid_out, &work->laid_out));
    patches->laid_out = work->laid_out.data;
    if (work->convolution->groups == 1) {
        return STATUS_OK;
    }
    Shape gradients = matrix_shape(rows, patches->outputs);
    Shape filter = matrix_shape(patches->patch, patches->outputs);
    TRY(scratch_new(work->context, DTYPE_FLOAT32, &gradients, &work->group_gradients));
    return scratch_new(work->context, DTYPE_FLOAT32, &filter, &work->group_filter);
}

/* Returns the output's gradient of this group for `images` images from `first` on. */
static const float *
group_gradients(Work *work, int64_t first, int64_t images)
{
    const Patches *patches = &work->patches;
    int64_t width = work->convolution->groups * patches->outputs;
    const float *from =
        work->gradients + first * patches->positions * width + patches->group * patches->outputs;
    if (work->convolution->groups == 1) {
        return from;
    }
    copy_columns(from, width, work->group_gradients.data, patches->outputs, images * patches->positions,
        patches->outputs);
    return work->group_gradients.data;
}

static ProductShape
filter_product(const Patches *patches, int64_t images, bool accumulates)
{
    return (ProductShape){.m = patches->patch,
        .n = patches->outputs,
        .k = images * patches->positions,
        .transposes_a = true,
        .accumulates = accumulates,
        .alpha = 1};
}

static Status
filter_of_images(Work *work, int64_t first, int64_t images, float *filter)
{
    Patches *patches = &work->patches;
    Device *device = work->context->device;
    device->parallel_for(device, images, lay_out_image, patches);
    ProductShape shape = filter_product(patches, images, first > 0);
    ProductOperands operands = {.a = patches->laid_out, .b = group_gradients(work, first, images)};
    operands.output = filter;
    return product_run(work->context->call, without_const(work->context->state), device, &shape, &operands);
}

static Status
filter_groups(Work *work, float *image, float *filter)
{
    Patches *patches = &work->patches;
    int64_t groups = work->convolution->groups;
    int64_t area = patches->size[0] * patches->size[1] * patches->channels;
    for (patches->group = 0; patches->group < groups; patches->group++) {
        float *own = groups == 1 ? filter : work->group_filter.data;
        for (int64_t first = 0; first < work->batch; first += patches->images) {
            int64_t left = work->batch - first;
            patches->image = image + first * area;
            TRY(filter_of_images(work, first, left < patches->images ? left : patches->images, own));
        }
        if (groups > 1) {
            copy_columns(own, patches->outputs, filter + patches->group * patches->outputs,
                groups * patches->outputs, patches->patch, patches->outputs);
        }
    }
    return STATUS_OK;
}

static bool
is_empty(const Tensor *output, const Tensor *first, const Tensor *second)
{
    return output->data == NULL || tensor_element_count(first) == 0 || tensor_element_count(second) == 0;
}

static Status
filter_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    Shape shape;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_backprop_filter(context->call, &inference.context, 2, &convolution, &shape));
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &shape, &output));
    if (is_empty(output, &context->inputs[0], &context->inputs[2])) {
        fill_zero(output);
        return STATUS_OK;
    }
    AUTO_WORK work = {.context = context, .convolution = &convolution, .gradients = context->inputs[2].data};
    TRY(work_open(&work, &context->inputs[0].shape));
    return filter_groups(&work, context->inputs[0].data, output->data);
}

static ProductShape
image_product(const Patches *patches, int64_t images)
{
    return (ProductShape){.m = images * patches->positions,
        .n = patches->patch,
        .k = patches->outputs,
        .transposes_b = true,
        .alpha = 1};
}

static Status
image_of_images(Work *work, int64_t first, int64_t images, const float *filter)
{
    Patches *patches = &work->patches;
    Device *device = work->context->device;
    ProductShape shape = image_product(patches, images);
    ProductOperands operands = {
        .a = group_gradients(work, first, images), .b = filter, .output = patches->laid_out};
    TRY(product_run(work->context->call, without_const(work->context->state), device, &shape, &operands));
    device->parallel_for(device, images, add_back_image, patches);
    return STATUS_OK;
}

static Status
image_groups(Work *work, float *image)
{
    Patches *patches = &work->patches;
    int64_t groups = work->convolution->groups;
    int64_t area = patches->size[0] * patches->size[1] * patches->channels;
    for (patches->group = 0; patches->group < groups; patches->group++) {
        const float *own = work->filter;
        if (groups > 1) {
            copy_columns(work->filter + patches->group * patches->outputs, groups * patches->outputs,
                work->group_filter.data, patches->outputs, patches->patch, patches->outputs);
            own = work->group_filter.data;
        }
        for (int64_t first = 0; first < work->batch; first += patches->images) {
            int64_t left = work->batch - first;
            patches->image = image + first * area;
            TRY(image_of_images(work, first, left < patches->images ? left : patches->images, own));
        }
    }
    return STATUS_OK;
}

static Status
image_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    Shape shape;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_backprop_input(context->call, &inference.context, 2, &convolution, &shape));
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &shape, &output));
    fill_zero(output);
    if (is_empty(output, &context->inputs[1], &context->inputs[2])) {
        return STATUS_OK;
    }
    AUTO_WORK work = {.context = context,
        .convolution = &convolution,
        .gradients = context->inputs[2].data,
        .filter = context->inputs[1].data};
    TRY(work_open(&work, &shape));
    return image_groups(&work, output->data);
}

/* Returns the bytes that work_open() and one product take. */
static uint64_t
forecast_scratch(const KernelForecast *told, const Convolution *convolution, const Patches *patches,
    const ProductShape *product)
{
    int64_t rows = patches->images * patches->positions;
    int64_t of_group = convolution->groups == 1 ? 0 : (rows + patches->patch) * patches->outputs;
    return (uint64_t)(rows * patches->patch + of_group) * sizeof(float) +
           product_scratch(told->state, told->device, product, 1);
}

static bool
is_empty_shape(const Shape *shape)
{
    int64_t count = 0;
    return !shape_element_count(shape, &count) || count == 0;
}

static uint64_t
filter_scratch(const KernelForecast *told)
{
    Convolution convolution;
    Shape filter;
    const Shape *image = &told->shapes.inputs[0];
    if (convolution_backprop_filter(told->call, &told->shapes, 2, &convolution, &filter) != STATUS_OK ||
        is_empty_shape(image) || is_empty_shape(&filter) || is_empty_shape(&told->shapes.inputs[2])) {
        return 0;
    }
    Patches patches = patches_of(&convolution, image);
    ProductShape product = filter_product(&patches, patches.images, false);
    return forecast_scratch(told, &convolution, &patches, &product);
}

static uint64_t
image_scratch(const KernelForecast *told)
{
    Convolution convolution;
    Shape image;
    if (convolution_backprop_input(told->call, &told->shapes, 2, &convolution, &image) != STATUS_OK ||
        is_empty_shape(&image) || is_empty_shape(&told->shapes.inputs[1]) ||
        is_empty_shape(&told->shapes.inputs[2])) {
        return 0;
    }
    Patches patches = patches_of(&convolution, &image);
    ProductShape product = image_product(&patches, patches.images);
    return forecast_scratch(told, &convolution, &patches, &product);
}

static const Kernel convolution_gradient_kernels[] = {
    {.op = "Conv2DBackpropFilter",
        .supports = supports_gradient,
        .create = create_gradient,
        .destroy = destroy_gradient,
        .compute = filter_compute,
        .scratch = filter_scratch,
        .host_inputs = 1 << 1},
    {.op = "Conv2DBackpropInput",
        .supports = supports_gradient,
        .create = create_gradient,
        .destroy = destroy_gradient,
        .compute = image_compute,
        .scratch = image_scratch,
        .host_inputs = 1},
};

KERNEL_FAMILY(cpu_kernels, convolution_gradient, convolution_gradient_kernels);
