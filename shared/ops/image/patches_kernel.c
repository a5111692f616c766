/* Patches cut out of images, and the largest sums of patches and a filter (grey dilation). */
#include <math.h>

#include "worker/reference/doubles.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"
#include "worker/reference/sliding.h"

static bool
patches_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

/* Returns the first of the output's positions along a side at which element `element` of the window lies
 * within the image, and behind the last one in `ret_end`. */
static int64_t
positions_within(const Window *window, int side, int64_t element, int64_t size, int64_t *ret_end)
{
    int64_t stride = window->stride[side];
    int64_t offset = element * window->dilation[side] - window->before[side];
    int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    int64_t end = offset >= size ? 0 : (size - 1 - offset) / stride + 1;
    *ret_end = end < window->output[side] ? end : window->output[side];
    return first;
}

/* Copies one pixel of every patch, from those that lie within the image. */
static Status
copy_pixels(KernelContext *context, const Window *window, int64_t row, int64_t column, Tensor *output)
{
    const Tensor *images = &context->inputs[0];
    const Shape *shape = &images->shape;
    const int64_t element[2] = {row, column};
    int64_t from[SHAPE_RANK_MAX];
    int64_t to[SHAPE_RANK_MAX];
    StridedCopy copy = {.rank = shape->rank};
    strides_dense(shape, from);
    strides_dense(&output->shape, to);
    copy.to_offset = (row * window->size[1] + column) * shape->dims[3];
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        copy.dims[dimension] = shape->dims[dimension];
        copy.from[dimension] = from[dimension];
        copy.to[dimension] = to[dimension];
    }
    for (int side = 0; side < 2; side++) {
        int64_t end = 0;
        int64_t first = positions_within(window, side, element[side], shape->dims[1 + side], &end);
        int64_t start =
            first * window->stride[side] + element[side] * window->dilation[side] - window->before[side];
        copy.dims[1 + side] = end > first ? end - first : 0;
        copy.from[1 + side] = from[1 + side] * window->stride[side];
        copy.from_offset += start * from[1 + side];
        copy.to_offset += first * to[1 + side];
    }
    return move_elements(context, &copy, images, output);
}

/* The pixels of a patch are in row-major order; those outside the image are zeros. */
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
    TRY(move_zeros_into(context, output));
    for (int64_t pixel = 0; pixel < window.size[0] * window.size[1]; pixel++) {
        TRY(copy_pixels(context, &window, pixel / window.size[1], pixel % window.size[1], output));
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
