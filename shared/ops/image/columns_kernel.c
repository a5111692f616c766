/* onnx::Col2Im, in double: each pixel is the sum of the elements that blocks have there, in the order of the
 * elements of a block. Planes are shared among the device's threads. */
#include "shared/ops/image/columns_rule.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/sliding.h"

typedef struct Work {
    Columns columns;
    Sliding sliding;
    const double *input;
    double *output;
    int64_t pixels; /* of a plane */
} Work;

static void
add_plane(void *context, int64_t plane)
{
    const Work *work = context;
    const double *from = work->input + plane * work->columns.elements * work->columns.blocks;
    double *to = work->output + plane * work->pixels;
    Walk element = sliding_window(&work->sliding, NULL);
    Walk position = sliding_outputs(&work->sliding);
    do {
        do {
            int64_t offset = sliding_offset(&work->sliding, &position, &element);
            if (offset >= 0) {
                to[offset] += *from;
            }
            from++;
        } while (walk_next(&position));
    } while (walk_next(&element));
}

static Status
columns_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    KernelInference inference;
    Work work = {.pixels = 1};
    kernel_inference(context, NULL, &inference);
    TRY(columns_read(context->call, &inference.context, &work.columns));
    TRY(doubles_begin(context, &doubles));
    const Shape *image = &work.columns.image;
    Shape places = window_output(&work.columns.window, image, image->dims[1]);
    work.sliding = sliding_over(&work.columns.window, image, &places);
    work.input = doubles_in(&doubles, COLUMNS_INPUT);
    work.output = doubles_out(&doubles, 0);
    for (int dimension = 2; dimension < image->rank; dimension++) {
        work.pixels *= image->dims[dimension];
    }
    if (tensor_element_count(&context->inputs[COLUMNS_INPUT]) > 0) {
        context->device->parallel_for(context->device, image->dims[0] * image->dims[1], add_plane, &work);
    }
    return doubles_finish(context, &doubles);
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[COLUMNS_INPUT]);
}

static const Kernel image_columns_kernels[] = {
    {.op = "onnx::Col2Im",
        .supports = supports_floats,
        .compute = columns_compute,
        .host_inputs = 1 << COLUMNS_IMAGE_SHAPE | 1 << COLUMNS_BLOCK_SHAPE,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, image_columns, image_columns_kernels);
