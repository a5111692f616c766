#include "worker/cpu/convolve/depthwise.h"

#include <string.h>

#include "worker/cpu/convolve/depthwise_tile.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

enum { BLOCK = 16, LINE_MIN = 48, TAPS_MAX = 25, X = CONVOLVE_RANK_MAX - 1, Y = X - 1, Z = X - 2 };

/* Lines of outputs in a lattice, which follow each other in the output. */
typedef struct Stretch {
    const float *from;
    const int64_t *taps;
    int64_t tap_count;
    const float *filter;
    float bias;
    FinishLimits limits;
    float *output;
    int64_t count; /* of a line */
    int64_t lines;
    int64_t line_step; /* from a line of the lattice to the next */
} Stretch;

/* Computes a stretch for so many taps: compilers unroll them, and keep the filter in registers. */
VECTOR_FUNCTION void
compute_known(const Stretch *stretch, int64_t tap_count)
{
    const float *from[TAPS_MAX];
    float filter[TAPS_MAX];
    float bias = stretch->bias;
    Bounds bounds = {stretch->limits.lowest, stretch->limits.highest};
    float *output = stretch->output;
    UNROLL for (int64_t tap = 0; tap < tap_count; tap++)
    {
        from[tap] = stretch->from + stretch->taps[tap];
        filter[tap] = stretch->filter[tap];
    }
    for (int64_t line = 0; line < stretch->lines; line++, output += stretch->count) {
        int64_t start = line * stretch->line_step;
        VECTOR_LOOP for (int64_t n = 0; n < stretch->count; n++)
        {
            float sum = 0;
            UNROLL for (int64_t tap = 0; tap < tap_count; tap++)
            {
                sum = multiply_add(filter[tap], from[tap][start + n], sum);
            }
            output[n] = clamp(sum + bias, bounds);
        }
    }
}

VECTOR_FUNCTION void
compute_any_line(const Stretch *stretch, int64_t start, float *output)
{
    memset(output, 0, (size_t)stretch->count * sizeof *output);
    for (int64_t tap = 0; tap < stretch->tap_count; tap++) {
        const float *from = stretch->from + stretch->taps[tap] + start;
        float weight = stretch->filter[tap];
        VECTOR_LOOP for (int64_t n = 0; n < stretch->count; n++)
        {
            output[n] = multiply_add(weight, from[n], output[n]);
        }
    }
    Bounds bounds = {stretch->limits.lowest, stretch->limits.highest};
    VECTOR_LOOP for (int64_t n = 0; n < stretch->count; n++)
    {
        output[n] = clamp(output[n] + stretch->bias, bounds);
    }
}

VECTOR_FUNCTION void
compute_any(const Stretch *stretch)
{
    for (int64_t line = 0; line < stretch->lines; line++) {
        compute_any_line(stretch, line * stretch->line_step, stretch->output + line * stretch->count);
    }
}

/* The usual filters have loops of their own. */
VECTOR_FUNCTION void
compute_stretch_body(const Stretch *stretch)
{
    enum { THREE = 3, FIVE = 5, THREE_BY_THREE = 9, FIVE_BY_FIVE = 25 };
    switch (stretch->tap_count) {
    case THREE:
        compute_known(stretch, THREE);
        break;
    case FIVE:
        compute_known(stretch, FIVE);
        break;
    case THREE_BY_THREE:
        compute_known(stretch, THREE_BY_THREE);
        break;
    case FIVE_BY_FIVE:
        compute_known(stretch, FIVE_BY_FIVE);
        break;
    default:
        compute_any(stretch);
    }
}

VECTOR_VARIANTS(compute_stretch, (const Stretch *stretch), (stretch))

/* Short lines are computed together, with the gaps between them. */
static bool
is_short(const Lattice *lattice)
{
    return lattice->axes[X].output < LINE_MIN;
}

static void
compute_lines(const Lattice *lattice, Stretch *stretch)
{
    const LatticeAxis *axes = lattice->axes;
    stretch->count = axes[X].output;
    stretch->lines = axes[Y].output;
    stretch->line_step = axes[X].length;
    for (int64_t z = 0; z < axes[Z].output; z++) {
        compute_stretch(stretch);
        stretch->from += axes[Y].length * axes[X].length;
        stretch->output += axes[Y].output * axes[X].output;
    }
}

VECTOR_FUNCTION void
take_lines_body(const Lattice *lattice, const float *sums, float *output)
{
    const LatticeAxis *axes = lattice->axes;
    for (int64_t z = 0; z < axes[Z].output; z++) {
        const float *line = sums + z * axes[Y].length * axes[X].length;
        for (int64_t y = 0; y < axes[Y].output; y++) {
            VECTOR_LOOP for (int64_t x = 0; x < axes[X].output; x++)
            {
                output[x] = line[x];
            }
            output += axes[X].output;
            line += axes[X].length;
        }
    }
}

VECTOR_VARIANTS(
    take_lines, (const Lattice *lattice, const float *sums, float *output), (lattice, sums, output))

/* Returns whether columns of the input, and those of padding beside them, are small enough for int32_t. */
static bool
has_small_places(const LatticeAxis *axis)
{
    enum { PLACE_MAX = INT32_MAX / 8 };
    return axis->input < PLACE_MAX && axis->output < PLACE_MAX && axis->before < PLACE_MAX;
}

/* Returns the micro-kernels for a filter, at an edge and within; NULL when there are none. */
static const DepthwiseKernel *
find_tiles(const DepthwiseKernels *kernels, const Lattice *lattice)
{
    const LatticeAxis *x = &lattice->axes[X];
    const LatticeAxis *y = &lattice->axes[Y];
    const LatticeAxis *z = &lattice->axes[Z];
    bool is_square = x->size == y->size && x->stride == y->stride && x->dilation == 1 && y->dilation == 1;
    int64_t size = (x->size - DEPTHWISE_SIZE_MIN) / 2;
    bool is_plane = z->size == 1 && z->output == 1 && z->input == 1;
    bool has_tiles = kernels != NULL && is_square && is_plane && has_small_places(x) && x->size % 2 == 1 &&
                     x->size >= DEPTHWISE_SIZE_MIN && size < DEPTHWISE_SIZES &&
                     x->stride <= DEPTHWISE_STRIDES;
    return has_tiles ? kernels->tiles[size][x->stride - 1] : NULL;
}

bool
depthwise_is_direct(const Lattice *lattice)
{
    return find_tiles(depthwise_kernels_choose(lattice->axes[X].output), lattice) != NULL;
}

int64_t
depthwise_room(const Lattice *lattice)
{
    if (depthwise_is_direct(lattice)) {
        return lattice->axes[X].input;
    }
    return is_short(lattice) ? lattice->columns + BLOCK : 0;
}

/* Returns whether so many outputs from a column on need nothing but columns of the input. Vectors of a
 * strided row are loaded whole. */
static bool
is_inner(const LatticeAxis *x, int64_t column, int64_t width)
{
    int64_t first = column * x->stride - x->before;
    return column + width <= x->output && first >= 0 && first + x->size + width * x->stride <= x->input;
}

/* Computes some lines. The last columns are computed with those before them, when there are enough. */
static void
compute_tiles(const Depthwise *depthwise, DepthwiseTile *tile)
{
    const LatticeAxis *x = &depthwise->lattice->axes[X];
    const DepthwiseKernels *kernels = depthwise->kernels;
    float *output = tile->output;
    int64_t width = 0;
    for (int64_t column = 0; column < x->output; column += width) {
        bool are_inner = is_inner(x, column, kernels->inner);
        width = are_inner ? kernels->inner : smaller_of(kernels->edge, x->output);
        int64_t first = smaller_of(column, x->output - width);
        tile->first = (int32_t)(first * x->stride - x->before);
        tile->output = output + first;
        tile->count = width;
        depthwise->tiles[are_inner ? 1 : 0](tile);
    }
}

/* Finds the lines of the input that some lines of the output need. */
static void
find_rows(const Lattice *lattice, const float *input, const float *zeros, int64_t line, DepthwiseTile *tile)
{
    const LatticeAxis *y = &lattice->axes[Y];
    int64_t first = line * y->stride - y->before;
    tile->lines = smaller_of(DEPTHWISE_LINES, y->output - line);
    tile->row_count = (int32_t)((tile->lines - 1) * y->stride + y->size);
    for (int64_t row = 0; row < tile->row_count; row++) {
        bool is_inside = first + row >= 0 && first + row < y->input;
        tile->rows[row] = is_inside ? input + (first + row) * lattice->axes[X].input : zeros;
    }
}

/* Computes a channel line by line. */
static void
run_tiles(const Depthwise *depthwise, const DepthwiseChannel *channel)
{
    const Lattice *lattice = depthwise->lattice;
    const LatticeAxis *axes = lattice->axes;
    DepthwiseTile tile; /* find_rows() and compute_tiles() fill in the rest: zeros for it would take longer */
    tile.width = (int32_t)axes[X].input;
    tile.filter = channel->filter;
    tile.bias = channel->bias;
    tile.bounds = (Bounds){depthwise->limits.lowest, depthwise->limits.highest};
    tile.output_step = axes[X].output;
    for (int64_t line = 0; line < axes[Y].output; line += DEPTHWISE_LINES) {
        find_rows(lattice, channel->from, channel->room, line, &tile);
        tile.output = channel->output + line * axes[X].output;
        compute_tiles(depthwise, &tile);
    }
}

Depthwise
depthwise_of(const Lattice *lattice, const int64_t *taps, int64_t tap_count, FinishLimits limits)
{
    const DepthwiseKernels *kernels = depthwise_kernels_choose(lattice->axes[X].output);
    return (Depthwise){
        .lattice = lattice,
        .taps = taps,
        .tap_count = tap_count,
        .limits = limits,
        .kernels = kernels,
        .tiles = find_tiles(kernels, lattice),
    };
}

void
depthwise_run(const Depthwise *depthwise, const DepthwiseChannel *channel)
{
    const Lattice *lattice = depthwise->lattice;
    if (depthwise->tiles != NULL) {
        run_tiles(depthwise, channel);
        return;
    }
    Stretch stretch = {.from = channel->from,
        .taps = depthwise->taps,
        .tap_count = depthwise->tap_count,
        .filter = channel->filter,
        .bias = channel->bias,
        .limits = depthwise->limits,
        .output = channel->output};
    if (is_short(lattice)) {
        stretch.output = channel->room;
        stretch.count = (lattice->columns + BLOCK - 1) / BLOCK * BLOCK;
        stretch.lines = 1;
        compute_stretch(&stretch);
        take_lines(lattice, channel->room, channel->output);
    } else {
        compute_lines(lattice, &stretch);
    }
}
