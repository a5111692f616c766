#include "worker/cpu/convolve/depthwise.h"

#include <string.h>

#include "worker/cpu/convolve/depthwise_tile.h"
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

int64_t
depthwise_room(const Lattice *lattice)
{
    return is_short(lattice) ? lattice->columns + BLOCK : 0;
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

static int64_t
smaller_of(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

/* Returns the micro-kernels for a filter, of one vector and of two; NULL when there are none. */
static const DepthwiseKernel *
find_tiles(const DepthwiseKernels *kernels, const Lattice *lattice)
{
    const LatticeAxis *x = &lattice->axes[X];
    const LatticeAxis *y = &lattice->axes[Y];
    const LatticeAxis *z = &lattice->axes[Z];
    bool is_square = x->size == y->size && x->stride == y->stride && x->dilation == 1 && y->dilation == 1;
    int64_t size = (x->size - DEPTHWISE_SIZE_MIN) / 2;
    bool has_tiles = kernels != NULL && is_square && z->size == 1 && z->output == 1 &&
                     y->output >= DEPTHWISE_LINES && x->size % 2 == 1 && x->size >= DEPTHWISE_SIZE_MIN &&
                     size < DEPTHWISE_SIZES && x->stride <= DEPTHWISE_STRIDES;
    return has_tiles ? kernels->tiles[size][x->stride - 1] : NULL;
}

/* Computes some lines. The last columns are computed with those before them, when there are enough. */
static void
compute_tiles(const Lattice *lattice, const DepthwiseKernels *kernels, DepthwiseTile *tile)
{
    int64_t columns = lattice->axes[X].output;
    int64_t vectors = columns < 2 * kernels->lanes ? 1 : 2;
    int64_t width = smaller_of(vectors * kernels->lanes, columns);
    DepthwiseKernel compute = find_tiles(kernels, lattice)[vectors - 1];
    const float *from = tile->from;
    float *output = tile->output;
    tile->count = width;
    for (int64_t column = 0; column < columns; column += width) {
        int64_t first = smaller_of(column, columns - width);
        tile->from = from + first;
        tile->output = output + first;
        compute(tile);
    }
}

/* Computes a channel line by line; the last lines with those before them. */
static void
run_tiles(const Lattice *lattice, const DepthwiseKernels *kernels, const Stretch *stretch)
{
    const LatticeAxis *axes = lattice->axes;
    for (int64_t line = 0; line < axes[Y].output; line += DEPTHWISE_LINES) {
        int64_t first = smaller_of(line, axes[Y].output - DEPTHWISE_LINES);
        DepthwiseTile tile = {
            .from = stretch->from + first * axes[X].length,
            .taps = stretch->taps,
            .line_step = axes[X].length,
            .filter = stretch->filter,
            .bias = stretch->bias,
            .bounds = {stretch->limits.lowest, stretch->limits.highest},
            .output = stretch->output + first * axes[X].output,
            .output_step = axes[X].output,
        };
        compute_tiles(lattice, kernels, &tile);
    }
}

void
depthwise_run(const Depthwise *depthwise, const float *from, const float *filter, float bias, float *room,
    float *output)
{
    const Lattice *lattice = depthwise->lattice;
    Stretch stretch = {.from = from,
        .taps = depthwise->taps,
        .tap_count = depthwise->tap_count,
        .filter = filter,
        .bias = bias,
        .limits = depthwise->limits,
        .output = output};
    const DepthwiseKernels *kernels = depthwise_kernels_choose();
    if (find_tiles(kernels, lattice) != NULL) {
        run_tiles(lattice, kernels, &stretch);
    } else if (is_short(lattice)) {
        stretch.output = room;
        stretch.count = (lattice->columns + BLOCK - 1) / BLOCK * BLOCK;
        stretch.lines = 1;
        compute_stretch(&stretch);
        take_lines(lattice, room, output);
    } else {
        compute_lines(lattice, &stretch);
    }
}
