/* ResizeBilinear of float32 images, whose channels are last: every pixel is a sum of four, weighted. The sums
 * are taken in double and in the order of the reference kernel, whose bits they have. It converts no image as
 * a whole, and computes the columns' positions once. */
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/resize.h"
#include "worker/reference/scratch.h"

enum { SHARED_ELEMENTS = 16 * 1024 }; /* fewer are not worth handing to another thread */

typedef struct Bilinear {
    const float *images;
    float *resized;
    ResizedSide rows;
    ResizedSide columns;
    const Between *betweens; /* of each column of the output */
    int64_t channels;
    int64_t row_count; /* of all images of the output */
    int64_t part;      /* rows that a thread takes at once */
} Bilinear;

/* Returns the sum of one channel of four pixels. */
VECTOR_FUNCTION float
mixed_corners(const float *const corners[4], const double *weights, int64_t channel)
{
    double sum = 0;
    for (int n = 0; n < 4; n++) {
        sum += weights[n] * (double)corners[n][channel];
    }
    return (float)sum;
}

/* Computes a row of an image from two rows of the input. */
VECTOR_FUNCTION void
mix_rows_of_pixels_body(
    const Bilinear *resize, const float *lower, const float *upper, double part, float *row)
{
    int64_t channels = resize->channels;
    for (int64_t column = 0; column < resize->columns.output; column++) {
        Between between = resize->betweens[column];
        const float *corners[] = {lower + between.lower * channels, lower + between.upper * channels,
            upper + between.lower * channels, upper + between.upper * channels};
        const double weights[] = {(1 - part) * (1 - between.part), (1 - part) * between.part,
            part * (1 - between.part), part * between.part};
        float *pixel = row + column * channels;
        VECTOR_LOOP for (int64_t channel = 0; channel < channels; channel++)
        {
            pixel[channel] = mixed_corners(corners, weights, channel);
        }
    }
}
VECTOR_VARIANTS(mix_rows_of_pixels,
    (const Bilinear *resize, const float *lower, const float *upper, double part, float *row),
    (resize, lower, upper, part, row))

static void
resize_pixels(void *context, int64_t index)
{
    const Bilinear *resize = context;
    int64_t input_row = resize->columns.input * resize->channels;
    int64_t output_row = resize->columns.output * resize->channels;
    int64_t end = (index + 1) * resize->part;
    for (int64_t row = index * resize->part; row < end && row < resize->row_count; row++) {
        Between between = resized_between(&resize->rows, row % resize->rows.output);
        const float *image = resize->images + row / resize->rows.output * resize->rows.input * input_row;
        mix_rows_of_pixels(resize, image + between.lower * input_row, image + between.upper * input_row,
            between.part, resize->resized + row * output_row);
    }
}

static Status
resize_bilinear(KernelContext *context, Bilinear *resize)
{
    AUTO_TENSOR room = {0};
    int64_t columns = resize->columns.output;
    TRY(scratch_bytes(context, columns, sizeof(Between), &room));
    Between *betweens = room.data;
    for (int64_t column = 0; column < columns; column++) {
        betweens[column] = resized_between(&resize->columns, column);
    }
    resize->betweens = betweens;
    resize->part = 1 + SHARED_ELEMENTS / (columns * resize->channels);
    int64_t parts = (resize->row_count + resize->part - 1) / resize->part;
    context->device->parallel_for(context->device, parts, resize_pixels, resize);
    return STATUS_OK;
}

static Status
bilinear_compute(KernelContext *context)
{
    const Shape *input = &context->inputs[0].shape;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const int64_t *dims = output->shape.dims;
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    Bilinear resize = {.images = context->inputs[0].data,
        .resized = output->data,
        .rows = resized_side(context->node, input->dims[1], dims[1]),
        .columns = resized_side(context->node, input->dims[2], dims[2]),
        .channels = dims[3],
        .row_count = dims[0] * dims[1]};
    return resize_bilinear(context, &resize);
}

static bool
bilinear_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static const Kernel bilinear_kernels[] = {
    {.op = "ResizeBilinear",
        .supports = bilinear_supports,
        .compute = bilinear_compute,
        .host_inputs = 1 << 1},
};

KERNEL_FAMILY(cpu_kernels, resize_bilinear, bilinear_kernels);
