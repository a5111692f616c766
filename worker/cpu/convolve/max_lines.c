#include "worker/cpu/convolve/max_lines.h"

#include <math.h>

#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

enum {
    LINE_MAX = 4096,             /* elements of a line with its padding */
    SHARED_ELEMENTS = 16 * 1024, /* fewer are not worth handing to another thread */
};

typedef struct MaxLines {
    const void *input;
    void *output;
    int64_t planes;
    int64_t plane;        /* elements of a plane of the input */
    int64_t output_lines; /* of a plane */
    int64_t part;         /* planes that a thread takes at once */
    const Window *window;
    int64_t input_size[WINDOW_RANK_MAX];
} MaxLines;

/* Taps of a dimension that lie within the input at a position of the output. */
typedef struct Inside {
    int64_t first; /* position in the input */
    int64_t count;
} Inside;

static Inside
inside_of(const MaxLines *lines, int axis, int64_t position)
{
    const Window *window = lines->window;
    int64_t dilation = window->dilation[axis];
    int64_t start = position * window->stride[axis] - window->before[axis];
    int64_t first = start < 0 ? divide_up(-start, dilation) : 0;
    int64_t end = smaller_of(window->size[axis], divide_up(lines->input_size[axis] - start, dilation));
    return (Inside){start + first * dilation, larger_of(end - first, 0)};
}

/* The lines of a plane that are under a line of the output. */
typedef struct Under {
    Inside inside[WINDOW_RANK_MAX];
    int64_t count;
} Under;

static Under
lines_under(const MaxLines *lines, int64_t line)
{
    Under under = {.count = 1};
    for (int axis = lines->window->rank - 2; axis >= 0; axis--) {
        under.inside[axis] = inside_of(lines, axis, line % lines->window->output[axis]);
        under.count *= under.inside[axis].count;
        line /= lines->window->output[axis];
    }
    return under;
}

/* Returns the offset in the plane of one of the lines. */
static int64_t
line_offset(const MaxLines *lines, const Under *under, int64_t number)
{
    int64_t offset = 0;
    int64_t step = lines->input_size[lines->window->rank - 1];
    for (int axis = lines->window->rank - 2; axis >= 0; axis--) {
        const Inside *inside = &under->inside[axis];
        int64_t tap = number % inside->count;
        offset += (inside->first + tap * lines->window->dilation[axis]) * step;
        number /= inside->count;
        step *= lines->input_size[axis];
    }
    return offset;
}

/* NaN wins over numbers. */
#define LARGER_FLOAT(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define LARGER_BYTE(a, b) ((a) > (b) ? (a) : (b))

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Folds along windows whose sizes are constants here, so that the loop is vectorised. */
#define FOLD_KNOWN_WINDOWS(type, larger, known, step)                                                        \
    if (window == (known) && stride == (step) && dilation == 1) {                                            \
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                      \
        {                                                                                                    \
            type folded = line[n * (step)];                                                                  \
            UNROLL for (int64_t tap = 1; tap < (known); tap++)                                               \
            {                                                                                                \
                folded = larger(line[n * (step) + tap], folded);                                             \
            }                                                                                                \
            output[n] = folded;                                                                              \
        }                                                                                                    \
        return;                                                                                              \
    }

#define MAX_LINES(type, lowest, larger)                                                                      \
    VECTOR_FUNCTION void fold_windows_##type(const Window *shape, const type *line, type *output)            \
    {                                                                                                        \
        int64_t count = shape->output[shape->rank - 1];                                                      \
        int64_t window = shape->size[shape->rank - 1];                                                       \
        int64_t stride = shape->stride[shape->rank - 1];                                                     \
        int64_t dilation = shape->dilation[shape->rank - 1];                                                 \
        FOLD_KNOWN_WINDOWS(type, larger, 2, 1)                                                               \
        FOLD_KNOWN_WINDOWS(type, larger, 2, 2)                                                               \
        FOLD_KNOWN_WINDOWS(type, larger, 3, 1)                                                               \
        FOLD_KNOWN_WINDOWS(type, larger, 3, 2)                                                               \
        FOLD_KNOWN_WINDOWS(type, larger, 5, 1)                                                               \
        for (int64_t n = 0; n < count; n++) {                                                                \
            output[n] = line[n * stride];                                                                    \
        }                                                                                                    \
        for (int64_t tap = 1; tap < window; tap++) {                                                         \
            VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                  \
            {                                                                                                \
                output[n] = larger(line[n * stride + tap * dilation], output[n]);                            \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_FUNCTION void fold_lines_##type(                                                                  \
        const MaxLines *lines, const type *plane, const Under *under, type *line)                            \
    {                                                                                                        \
        int64_t width = lines->input_size[lines->window->rank - 1];                                          \
        for (int64_t n = 0; n < width && under->count == 0; n++) {                                           \
            line[n] = (lowest);                                                                              \
        }                                                                                                    \
        for (int64_t number = 0; number < under->count; number++) {                                          \
            const type *x = plane + line_offset(lines, under, number);                                       \
            if (number == 0) {                                                                               \
                memcpy(line, x, (size_t)width * sizeof *x);                                                  \
                continue;                                                                                    \
            }                                                                                                \
            VECTOR_LOOP for (int64_t n = 0; n < width; n++)                                                  \
            {                                                                                                \
                line[n] = larger(x[n], line[n]);                                                             \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_FUNCTION void max_planes_##type##_body(const MaxLines *lines, int64_t first, int64_t end)         \
    {                                                                                                        \
        type line[LINE_MAX];                                                                                 \
        const Window *window = lines->window;                                                                \
        int last = window->rank - 1;                                                                         \
        for (int n = 0; n < LINE_MAX; n++) {                                                                 \
            line[n] = (lowest);                                                                              \
        }                                                                                                    \
        for (int64_t row = 0; row < lines->output_lines; row++) {                                            \
            Under under = lines_under(lines, row);                                                           \
            for (int64_t plane = first; plane < end; plane++) {                                              \
                const type *x = (const type *)lines->input + plane * lines->plane;                           \
                int64_t to = (plane * lines->output_lines + row) * window->output[last];                     \
                fold_lines_##type(lines, x, &under, line + window->before[last]);                            \
                fold_windows_##type(window, line, (type *)lines->output + to);                               \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(                                                                                         \
        max_planes_##type, (const MaxLines *lines, int64_t first, int64_t end), (lines, first, end))         \
    static void max_part_##type(void *context, int64_t part)                                                 \
    {                                                                                                        \
        const MaxLines *lines = context;                                                                     \
        int64_t first = part * lines->part;                                                                  \
        max_planes_##type(lines, first, smaller_of(first + lines->part, lines->planes));                     \
    }

MAX_LINES(float, -INFINITY, LARGER_FLOAT)
MAX_LINES(uint8_t, 0, LARGER_BYTE)
MAX_LINES(int8_t, INT8_MIN, LARGER_BYTE)

static void (*const loops[DTYPE_COUNT])(void *context, int64_t part) = {
    [DTYPE_FLOAT32] = max_part_float,
    [DTYPE_UINT8] = max_part_uint8_t,
    [DTYPE_INT8] = max_part_int8_t,
};

bool
max_lines_can(const Window *window, const Tensor *input)
{
    int last = window->rank - 1;
    if (window->rank < 1 || loops[input->dtype] == NULL || window->channel > window->space ||
        tensor_element_count(input) == 0) {
        return false;
    }
    int64_t reach = (window->output[last] - 1) * window->stride[last] +
                    (window->size[last] - 1) * window->dilation[last] + 1;
    int64_t own = window->before[last] + input->shape.dims[window->space + last];
    return larger_of(reach, own) <= LINE_MAX;
}

void
max_lines_run(Device *device, const Window *window, const Tensor *input, void *output)
{
    MaxLines lines = {.input = input->data,
        .output = output,
        .planes = input->shape.dims[window->batch] * input->shape.dims[window->channel],
        .plane = 1,
        .output_lines = 1,
        .window = window};
    for (int axis = 0; axis < window->rank; axis++) {
        lines.input_size[axis] = input->shape.dims[window->space + axis];
        lines.plane *= lines.input_size[axis];
        lines.output_lines *= axis + 1 < window->rank ? window->output[axis] : 1;
    }
    lines.part = lines.plane >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / (lines.plane + 1) + 1;
    device->parallel_for(device, divide_up(lines.planes, lines.part), loops[input->dtype], &lines);
}
