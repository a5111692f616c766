/* onnx::GridSample in one to three dimensions, on all threads: where a position lies and how its neighbours
 * count is computed once for all channels. Sums are in double. */
#include <math.h>

#include "shared/ops/sampling/rule.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    TAPS_MAX = 4,           /* neighbours along a dimension */
    NEIGHBOURS_MAX = 64,    /* TAPS_MAX to the power of SAMPLE_SPACE_MAX */
    POSITIONS_A_PART = 256, /* of the output, which one thread samples at a time */
};

typedef struct Sampling {
    GridSample rule;
    const double *input;
    const double *grid;
    double *output;
} Sampling;

/* The neighbours of a position: their offsets in a channel, and their weights. */
typedef struct Neighbours {
    int count;
    int64_t offsets[NEIGHBOURS_MAX];
    double weights[NEIGHBOURS_MAX];
} Neighbours;

/* Reflects a coordinate at both borders until it is between them. */
static double
reflect(double x, double least, double most)
{
    double range = most - least;
    if (range <= 0) {
        return least;
    }
    if (x >= least && x <= most) {
        return x;
    }
    bool is_below = x < least;
    double beyond = is_below ? least - x : x - most;
    double turns = floor(beyond / range);
    double rest = beyond - turns * range;
    bool is_even = fmod(turns, 2) == 0;
    return is_even == is_below ? least + rest : most - rest;
}

static double
within(double x, double least, double most)
{
    return !(x > least) ? least : x > most ? most : x;
}

/* Moves a position along one dimension into the image, as the padding has it. */
static double
pad_position(const GridSample *sample, double x, int dimension)
{
    double size = (double)sample->size[dimension];
    double least = sample->aligns_corners ? 0 : -0.5;
    double most = sample->aligns_corners ? size - 1 : size - 0.5;
    bool is_outside = x < least || x > most;
    switch (sample->padding) {
    case SAMPLE_BORDER:
        return is_outside ? within(x, 0, size - 1) : x;
    case SAMPLE_REFLECTION:
        return reflect(x, least, most);
    case SAMPLE_ZEROS:
        break;
    }
    return x;
}

/* Returns the element at a whole position along one dimension; -1: there is none, it counts as 0. */
static int64_t
element_at(const GridSample *sample, double x, int dimension)
{
    double last = (double)sample->size[dimension] - 1;
    double moved = sample->padding == SAMPLE_REFLECTION ? trunc(pad_position(sample, x, dimension))
                                                        : pad_position(sample, x, dimension);
    if (sample->padding != SAMPLE_ZEROS) {
        moved = within(moved, 0, last);
    }
    return moved >= 0 && moved <= last ? (int64_t)moved : -1;
}

/* The weights of Keys' cubic convolution with a = -0.75. */
static void
cubic_weights(double x, double *ret_weights)
{
    static const double A = -0.75;
    double y = 1 - x;
    ret_weights[0] = ((A * (x + 1) - 5 * A) * (x + 1) + 8 * A) * (x + 1) - 4 * A;
    ret_weights[1] = ((A + 2) * x - (A + 3)) * x * x + 1;
    ret_weights[2] = ((A + 2) * y - (A + 3)) * y * y + 1;
    ret_weights[3] = ((A * (y + 1) - 5 * A) * (y + 1) + 8 * A) * (y + 1) - 4 * A;
}

/* Finds the neighbours along one dimension of a coordinate, which is from -1 to 1 within the image. */
static void
find_taps(const GridSample *sample, double given, int dimension, int64_t *ret_elements, double *ret_weights)
{
    double size = (double)sample->size[dimension];
    float placed =
        (float)(sample->aligns_corners ? (given + 1) / 2 * (size - 1) : ((given + 1) * size - 1) / 2);
    double x = (double)placed;
    if (sample->mode == SAMPLE_NEAREST) {
        ret_elements[0] = element_at(sample, nearbyint(x), dimension);
        ret_weights[0] = 1;
        return;
    }
    x = pad_position(sample, x, dimension);
    double first = floor(x);
    double part = x - first;
    if (sample->mode == SAMPLE_LINEAR) {
        ret_weights[0] = 1 - part;
        ret_weights[1] = part;
    } else {
        cubic_weights(part, ret_weights);
        first -= 1;
    }
    for (int tap = 0; tap < (int)sample->mode; tap++) {
        ret_elements[tap] = element_at(sample, first + tap, dimension);
    }
}

/* The coordinates of the grid are in the opposite order of the dimensions. */
static void
find_neighbours(const GridSample *sample, const double *coordinates, Neighbours *ret_neighbours)
{
    int64_t elements[SAMPLE_SPACE_MAX][TAPS_MAX];
    double weights[SAMPLE_SPACE_MAX][TAPS_MAX];
    int total = 1;
    for (int dimension = 0; dimension < sample->space; dimension++) {
        double given = coordinates[sample->space - 1 - dimension];
        find_taps(sample, given, dimension, elements[dimension], weights[dimension]);
        total *= (int)sample->mode;
    }
    ret_neighbours->count = 0;
    for (int number = 0; number < total; number++) {
        int rest = number;
        int64_t offset = 0;
        double weight = 1;
        for (int dimension = sample->space - 1; dimension >= 0; dimension--) {
            int tap = rest % (int)sample->mode;
            rest /= (int)sample->mode;
            int64_t element = elements[dimension][tap];
            weight = element < 0 ? 0 : weight * weights[dimension][tap];
            offset += element < 0 ? 0 : element * sample->stride[dimension];
        }
        ret_neighbours->offsets[ret_neighbours->count] = offset;
        ret_neighbours->weights[ret_neighbours->count] = weight;
        ret_neighbours->count += weight != 0 ? 1 : 0;
    }
}

static int64_t
parts_of_image(const GridSample *sample)
{
    return (sample->positions + POSITIONS_A_PART - 1) / POSITIONS_A_PART;
}

static void
sample_part(void *context, int64_t part)
{
    const Sampling *sampling = context;
    const GridSample *sample = &sampling->rule;
    int64_t batch = part / parts_of_image(sample);
    int64_t first = part % parts_of_image(sample) * POSITIONS_A_PART;
    const double *image = sampling->input + batch * sample->channels * sample->plane;
    double *output = sampling->output + batch * sample->channels * sample->positions;
    for (int64_t n = first; n < sample->positions && n < first + POSITIONS_A_PART; n++) {
        Neighbours neighbours;
        find_neighbours(
            sample, sampling->grid + (batch * sample->positions + n) * sample->space, &neighbours);
        for (int64_t channel = 0; channel < sample->channels; channel++) {
            const double *plane = image + channel * sample->plane;
            double sum = 0;
            for (int tap = 0; tap < neighbours.count; tap++) {
                sum += plane[neighbours.offsets[tap]] * neighbours.weights[tap];
            }
            output[channel * sample->positions + n] = sum;
        }
    }
}

static Status
grid_sample_compute(KernelContext *context)
{
    Shape shape;
    Sampling sampling = {0};
    AUTO_TENSOR input = {0};
    AUTO_TENSOR grid = {0};
    AUTO_TENSOR output = {0};
    TRY(output_shapes(context, &shape));
    TRY(grid_sample_read(context->call, context->node, &context->inputs[0].shape, &shape, &sampling.rule));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &input));
    TRY(scratch_cast(context, &context->inputs[1], DTYPE_FLOAT64, &grid));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &output));
    if (tensor_element_count(&output) > 0) {
        sampling.input = input.data;
        sampling.grid = grid.data;
        sampling.output = output.data;
        context->device->parallel_for(
            context->device, shape.dims[0] * parts_of_image(&sampling.rule), sample_part, &sampling);
    }
    return scratch_finish(context, 0, &output);
}

static bool
grid_sample_supports(const Node *node)
{
    return (dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0])) &&
           dtype_is_floating(node->input_dtypes[1]);
}

static const Kernel sampling_kernels[] = {
    {.op = "onnx::GridSample",
        .supports = grid_sample_supports,
        .compute = grid_sample_compute,
        .wide_inputs = 3,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, sampling, sampling_kernels);
