#include "worker/cpu/convolve/lattice.h"

#include <assert.h>
#include <string.h>

#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

enum { LINE = 16, X = CONVOLVE_RANK_MAX - 1, Y = X - 1, Z = X - 2 }; /* LINE: floats of a cache line */

/* Returns the place of a tap's phase among those that the taps of an axis have: their remainders repeat. */
static int64_t
phase_of(const LatticeAxis *axis, int64_t tap)
{
    return tap % axis->phases;
}

static int64_t
greatest_divisor(int64_t left, int64_t right)
{
    return right == 0 ? left : greatest_divisor(right, left % right);
}

/* Returns how many different remainders taps have. */
static int64_t
phases_of(const ConvolveShape *shape, int64_t i)
{
    return smaller_of(
        shape->stride[i] / greatest_divisor(shape->stride[i], shape->dilation[i]), shape->size[i]);
}

bool
lattice_can(const ConvolveShape *shape)
{
    for (int64_t i = 0; i < shape->rank; i++) {
        if (phases_of(shape, i) > LATTICE_PHASES_MAX) {
            return false;
        }
    }
    return true;
}

static LatticeSpan
span_of(const LatticeAxis *axis, int64_t phase)
{
    int64_t start = phase * axis->dilation % axis->stride - axis->before;
    int64_t first = start >= 0 ? 0 : divide_up(-start, axis->stride);
    int64_t end = axis->input > start ? divide_up(axis->input - start, axis->stride) : 0;
    first = smaller_of(first, axis->length);
    return (LatticeSpan){start, first, larger_of(first, smaller_of(end, axis->length))};
}

static LatticeAxis
axis_of(const ConvolveShape *shape, int64_t i)
{
    LatticeAxis axis = {
        .input = shape->input[i],
        .output = shape->output[i],
        .size = shape->size[i],
        .stride = shape->stride[i],
        .dilation = shape->dilation[i],
        .before = shape->before[i],
        .filter_step = shape->filter_space[i],
    };
    axis.phases = phases_of(shape, i);
    axis.length = (axis.size - 1) * axis.dilation / axis.stride + axis.output;
    assert(axis.phases <= LATTICE_PHASES_MAX);
    for (int64_t phase = 0; phase < axis.phases; phase++) {
        axis.spans[phase] = span_of(&axis, phase);
    }
    return axis;
}

/* The distance of channels is no multiple of many cache lines, so that they do not fall into one set. */
static int64_t
padded_channel(int64_t size)
{
    int64_t lines = divide_up(size, LINE);
    return (lines % 2 == 0 ? lines + 1 : lines) * LINE;
}

Lattice
lattice_of(const ConvolveShape *shape)
{
    Lattice lattice = {.is_input = true, .input_step = 1, .phase_step = 1, .channel_step = 1};
    for (int64_t i = 0; i < CONVOLVE_RANK_MAX; i++) {
        int64_t own = i - (CONVOLVE_RANK_MAX - shape->rank);
        LatticeAxis axis = {1, 1, 1, 1, 1, 0, 1, 1, 0, {{0, 0, 1}}};
        lattice.axes[i] = own < 0 ? axis : axis_of(shape, own);
        axis = lattice.axes[i];
        lattice.is_input =
            lattice.is_input && axis.stride == 1 && axis.before == 0 && axis.length == axis.input;
        lattice.input_step *= axis.input;
        lattice.phase_step *= axis.length;
        lattice.channel_step *= axis.phases * axis.length;
    }
    const LatticeAxis *axes = lattice.axes;
    lattice.columns =
        ((axes[Z].output - 1) * axes[Y].length + axes[Y].output - 1) * axes[X].length + axes[X].output;
    lattice.is_dense = (axes[X].length == axes[X].output || axes[Y].output * axes[Z].output == 1) &&
                       (axes[Y].length == axes[Y].output || axes[Z].output == 1);
    lattice.channel_step = lattice.is_input ? lattice.input_step : padded_channel(lattice.channel_step);
    return lattice;
}

static int64_t
tap_offset(const LatticeAxis *axis, int64_t tap, int64_t step, int64_t phase_step)
{
    return phase_of(axis, tap) * phase_step + tap * axis->dilation / axis->stride * step;
}

/* Writes the offsets of all taps of one channel, and returns what is behind them. */
static int64_t *
write_taps(const Lattice *lattice, int64_t *taps)
{
    const LatticeAxis *axes = lattice->axes;
    int64_t phase_y = axes[X].phases * lattice->phase_step;
    int64_t phase_z = axes[Y].phases * phase_y;
    for (int64_t z = 0; z < axes[Z].size; z++) {
        for (int64_t y = 0; y < axes[Y].size; y++) {
            for (int64_t x = 0; x < axes[X].size; x++) {
                *taps++ = tap_offset(&axes[Z], z, axes[Y].length * axes[X].length, phase_z) +
                          tap_offset(&axes[Y], y, axes[X].length, phase_y) +
                          tap_offset(&axes[X], x, 1, lattice->phase_step);
            }
        }
    }
    return taps;
}

void
lattice_taps(const Lattice *lattice, int64_t channels, int64_t *taps)
{
    int64_t *end = write_taps(lattice, taps);
    int64_t count = end - taps;
    for (int64_t n = 0; n < (channels - 1) * count; n++) {
        end[n] = taps[n] + lattice->channel_step;
    }
}

/* Copies the positions that have an input. */
VECTOR_FUNCTION void
copy_span(const float *line, int64_t step, float *to, int64_t count)
{
    if (step == 1) {
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            to[n] = line[n];
        }
    } else if (step == 2) {
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            to[n] = line[2 * n];
        }
    } else {
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            to[n] = line[step * n];
        }
    }
}

/* A phase of all axes. */
typedef struct Phase {
    const LatticeAxis *axes;
    const LatticeSpan *spans[CONVOLVE_RANK_MAX];
    bool has_zeros; /* positions without an input become 0; otherwise they are left as they are */
} Phase;

static void
fill_zeros(const Phase *phase, float *to, const float *end)
{
    while (phase->has_zeros && to < end) {
        *to++ = 0;
    }
}

VECTOR_FUNCTION void
copy_phase_body(const Phase *phase, const float *input, float *to, const float *end)
{
    const LatticeAxis *x = &phase->axes[X];
    const LatticeAxis *y = &phase->axes[Y];
    const LatticeAxis *z = &phase->axes[Z];
    const LatticeSpan *span = phase->spans[X];
    int64_t count = span->end - span->first;
    float *written = to;
    for (int64_t k = phase->spans[Z]->first; k < phase->spans[Z]->end; k++) {
        for (int64_t j = phase->spans[Y]->first; j < phase->spans[Y]->end; j++) {
            int64_t line =
                (phase->spans[Z]->start + k * z->stride) * y->input + phase->spans[Y]->start + j * y->stride;
            float *start = to + (k * y->length + j) * x->length + span->first;
            fill_zeros(phase, written, start);
            copy_span(
                input + line * x->input + span->start + span->first * x->stride, x->stride, start, count);
            written = start + count;
        }
    }
    fill_zeros(phase, written, end);
}

VECTOR_VARIANTS(copy_phase, (const Phase *phase, const float *input, float *to, const float *end),
    (phase, input, to, end))

/* Copies the positions that have an input, and zeros to the others if they are wanted. */
static float *
copy_phases(const Lattice *lattice, const float *input, bool has_zeros, float *to)
{
    const LatticeAxis *axes = lattice->axes;
    for (int64_t z = 0; z < axes[Z].phases; z++) {
        for (int64_t y = 0; y < axes[Y].phases; y++) {
            for (int64_t x = 0; x < axes[X].phases; x++, to += lattice->phase_step) {
                Phase phase = {axes, {&axes[Z].spans[z], &axes[Y].spans[y], &axes[X].spans[x]}, has_zeros};
                copy_phase(&phase, input, to, to + lattice->phase_step);
            }
        }
    }
    return to;
}

void
lattice_copy(const Lattice *lattice, const float *input, float *to)
{
    float *end = copy_phases(lattice, input, true, to);
    memset(end, 0, (size_t)(to + lattice->channel_step - end) * sizeof *to);
}

void
lattice_copy_over(const Lattice *lattice, const float *input, float *to)
{
    (void)copy_phases(lattice, input, false, to);
}

LatticeTaps
lattice_line_taps(const Lattice *lattice, int64_t line)
{
    const LatticeAxis *axes = lattice->axes;
    const LatticeAxis *y = &axes[Y];
    int64_t across = axes[X].size;
    LatticeTaps taps = {.count = axes[Z].size * y->size * across, .all = axes[Z].size * y->size * across};
    if (axes[Z].size > 1) {
        return taps;
    }
    int64_t start = line % y->output * y->stride - y->before;
    int64_t first = start >= 0 ? 0 : smaller_of(divide_up(-start, y->dilation), y->size);
    int64_t end = y->input > start ? smaller_of(divide_up(y->input - start, y->dilation), y->size) : 0;
    taps.first = first * across;
    taps.count = larger_of(end - first, 0) * across;
    return taps;
}

int64_t
lattice_line(const Lattice *lattice, int64_t line)
{
    const LatticeAxis *axes = lattice->axes;
    int64_t z = line / axes[Y].output;
    int64_t y = line % axes[Y].output;
    return (z * axes[Y].length + y) * axes[X].length;
}

LatticeRun
lattice_run(const Lattice *lattice, int64_t first, int64_t end)
{
    const LatticeAxis *axes = lattice->axes;
    if (lattice->is_dense) {
        return (LatticeRun){first, first, end - first};
    }
    while (first < end) {
        int64_t line = first / axes[X].length;
        int64_t x = first % axes[X].length;
        int64_t z = line / axes[Y].length;
        int64_t y = line % axes[Y].length;
        if (x < axes[X].output && y < axes[Y].output) {
            return (LatticeRun){first, (z * axes[Y].output + y) * axes[X].output + x,
                smaller_of(axes[X].output - x, end - first)};
        }
        first += axes[X].length - x;
    }
    return (LatticeRun){0};
}
