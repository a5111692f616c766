/* Patches cut out of images, and the largest sums of patches and a filter (grey dilation). */
#include <math.h>

#include "worker/reference/doubles.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/sliding.h"

static bool
patches_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

/* Copies one patch, its pixels in row-major order; those outside the image are zeros already. */
static void
copy_patch(
    const Sliding *sliding, const Walk *output, Walk *element, const char *image, char *patch, size_t bytes)
{
    do {
        int64_t offset = sliding_offset(sliding, output, element);
        if (offset >= 0) {
            memcpy(patch, image + (size_t)(offset / sliding->input.space[1]) * bytes, bytes);
        }
        patch += bytes;
    } while (walk_next(element));
}

static Status
patches_compute(KernelContext *context)
{
    const Tensor *images = &context->inputs[0];
    int64_t sizes[4];
    Window window;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    (void)node_attr_ints(context->node, "ksizes", sizes, COUNT_OF(sizes));
    TRY(window_tensorflow(context->call, context->node, &images->shape, &sizes[1], 2, &window));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    fill_zero(output);
    Sliding sliding = sliding_over(&window, &images->shape, &output->shape);
    Walk walk = sliding_outputs(&sliding);
    Walk element = sliding_window(&sliding, NULL);
    size_t size = dtype_size(images->dtype);
    size_t bytes = (size_t)images->shape.dims[3] * size;
    for (int64_t batch = 0; batch < sliding.batch; batch++) {
        do {
            copy_patch(&sliding, &walk, &element,
                (const char *)images->data + (size_t)(batch * sliding.input.batch) * size,
                (char *)output->data + (size_t)(batch * sliding.output.batch + walk.offset) * size, bytes);
        } while (walk_next(&walk));
    }
    return STATUS_OK;
}

static bool
dilation_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* Returns the largest sum of a pixel and the filter's element over it; `image` and `filter` begin at one
 * channel. */
static double
largest_sum(
    const Sliding *sliding, const Walk *output, Walk *element, const double *image, const double *filter)
{
    double largest = -(double)INFINITY;
    do {
        int64_t offset = sliding_offset(sliding, output, element);
        double sum = offset < 0 ? (double)-INFINITY : image[offset] + filter[element->offset];
        largest = sum > largest ? sum : largest;
    } while (walk_next(element));
    return largest;
}

static Status
dilation_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    Window window;
    TRY(doubles_begin(context, &doubles));
    const Shape *filter = &context->inputs[1].shape;
    TRY(window_tensorflow(context->call, context->node, &context->inputs[0].shape, filter->dims, 2, &window));
    const Shape *shape = &doubles.outputs[0].shape;
    Sliding sliding = sliding_over(&window, &context->inputs[0].shape, shape);
    const int64_t steps[2] = {filter->dims[1] * filter->dims[2], filter->dims[2]};
    Walk walk = sliding_outputs(&sliding);
    Walk element = sliding_window(&sliding, steps);
    int64_t count = tensor_element_count(&doubles.outputs[0]);
    for (int64_t n = 0; n < count; n++) {
        int64_t batch = n / sliding.output.batch;
        int64_t channel = n % shape->dims[3];
        doubles_out(&doubles, 0)[n] = largest_sum(&sliding, &walk, &element,
            doubles_in(&doubles, 0) + batch * sliding.input.batch + channel,
            doubles_in(&doubles, 1) + channel);
        if (channel == shape->dims[3] - 1) {
            (void)walk_next(&walk);
        }
    }
    return doubles_finish(context, &doubles);
}

static const Kernel patches_kernels[] = {
    {.op = "ExtractImagePatches", .supports = patches_supports, .compute = patches_compute},
    {.op = "Dilation2D", .supports = dilation_supports, .compute = dilation_compute, DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, image_patches, patches_kernels);
