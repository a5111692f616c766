/* Positions of the largest or smallest float32 numbers along a dimension: columns side by side are compared
 * together, and threads share them. The smallest is the largest of the negated numbers. A row is read twice:
 * for its largest number, and to find where that stands. */
#include <float.h>

#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    COLUMNS = 256, /* that are compared at once; what is found of them stays in the nearest cache */
    SHARED_ELEMENTS = 32 * 1024, /* fewer are not worth handing to another thread */
};

typedef enum Choice {
    FIRST,        /* ONNX: NaN is beyond all numbers; of equal ones the first */
    LAST,         /* ONNX's select_last_index */
    FINITE_FIRST, /* TensorFlow: begins with the lowest finite number, which neither NaN nor -infinity exceeds
                   */
} Choice;

typedef struct Extremes {
    const float *x;
    Tensor *output; /* int32 or int64 */
    Lines lines;
    float sign; /* of a factor: -1 for the smallest */
    Choice choice;
    int64_t across; /* pieces of a line's columns */
    int64_t part;   /* pieces that a thread takes at once */
} Extremes;

/* Compares the numbers of each row, `a`, with the best ones so far, `b`. */
#define COMPARE_ROWS(is_better)                                                                              \
    for (int64_t n = 1; n < extremes->lines.size; n++) {                                                     \
        const float *row = x + n * extremes->lines.inner;                                                    \
        VECTOR_LOOP for (int64_t column = 0; column < columns; column++)                                     \
        {                                                                                                    \
            float a = sign * row[column];                                                                    \
            float b = best[column];                                                                          \
            bool takes = (is_better);                                                                        \
            best[column] = takes ? a : b;                                                                    \
            found[column] = takes ? (int32_t)n : found[column];                                              \
        }                                                                                                    \
    }

VECTOR_FUNCTION void
find_extremes_body(const Extremes *extremes, const float *x, int64_t columns, int32_t *found)
{
    float best[COLUMNS];
    float sign = extremes->sign;
    for (int64_t column = 0; column < columns; column++) {
        float a = sign * x[column];
        best[column] = extremes->choice != FINITE_FIRST || a > -FLT_MAX ? a : -FLT_MAX;
        found[column] = 0;
    }
    switch (extremes->choice) {
    case FIRST:
        COMPARE_ROWS((a > b) | ((a != a) & (b == b)))
        break;
    case LAST:
        COMPARE_ROWS(!((b > a) | ((b != b) & (a == a))))
        break;
    case FINITE_FIRST:
        COMPARE_ROWS(a > b)
        break;
    }
}
VECTOR_VARIANTS(find_extremes, (const Extremes *extremes, const float *x, int64_t columns, int32_t *found),
    (extremes, x, columns, found))

enum { LANES = 64 }; /* numbers of a row that are compared together */

/* Takes as many numbers into the lanes: the larger ones, and whether any was NaN. */
#define TAKE_LANES(width, numbers, nans)                                                                     \
    VECTOR_LOOP for (int lane = 0; lane < (width); lane++)                                                   \
    {                                                                                                        \
        float a = (numbers);                                                                                 \
        largest[lane] = a > largest[lane] ? a : largest[lane];                                               \
        nan[lane] |= (nans);                                                                                 \
    }

/* Finds what a row's largest number times the sign is; -infinity when all are NaN. Numbers may be compared
 * twice. */
VECTOR_FUNCTION float
largest_of_row(const float *x, int64_t count, float sign, bool *ret_has_nan)
{
    float largest[LANES];
    int32_t nan[LANES] = {0};
    for (int lane = 0; lane < LANES; lane++) {
        largest[lane] = -INFINITY;
    }
    int64_t n = 0;
    for (; n + LANES <= count; n += LANES) {
        TAKE_LANES(LANES, sign * x[n + lane], a != a ? 1 : 0)
    }
    if (n > 0 && n < count) {
        TAKE_LANES(LANES, sign * x[count - LANES + lane], a != a ? 1 : 0)
    } else if (n < count) {
        TAKE_LANES((int)count, sign * x[lane], a != a ? 1 : 0)
    }
    TAKE_LANES(32, largest[lane + 32], nan[lane + 32])
    TAKE_LANES(16, largest[lane + 16], nan[lane + 16])
    TAKE_LANES(8, largest[lane + 8], nan[lane + 8])
    TAKE_LANES(4, largest[lane + 4], nan[lane + 4])
    TAKE_LANES(2, largest[lane + 2], nan[lane + 2])
    TAKE_LANES(1, largest[lane + 1], nan[lane + 1])
    *ret_has_nan = nan[0] != 0;
    return largest[0];
}

/* Returns whether the number is the one that is sought; NaN is found by NaN. */
VECTOR_FUNCTION bool
is_sought(float a, float sought)
{
    return (a == sought) | ((a != a) & (sought != sought));
}

VECTOR_FUNCTION bool
has_sought(const float *x, int64_t count, float sought)
{
    int32_t found = 0;
    _Pragma("omp simd reduction(|:found)") for (int64_t n = 0; n < count; n++)
    {
        found |= is_sought(x[n], sought) ? 1 : 0;
    }
    return found != 0;
}

/* Returns the first or last position of a number that the row has. */
VECTOR_FUNCTION int64_t
position_in_row(const float *x, int64_t count, float sought, bool is_last)
{
    int64_t first = is_last ? (count - 1) / LANES * LANES : 0;
    int64_t step = is_last ? -1 : 1;
    while (!has_sought(x + first, smaller_of(LANES, count - first), sought)) {
        first += step * LANES;
    }
    int64_t position = is_last ? smaller_of(first + LANES, count) - 1 : first;
    while (!is_sought(x[position], sought)) {
        position += step;
    }
    return position;
}

VECTOR_FUNCTION void
find_in_row_body(const Extremes *extremes, const float *x, int32_t *found)
{
    int64_t count = extremes->lines.size;
    bool has_nan = false;
    float largest = largest_of_row(x, count, extremes->sign, &has_nan);
    if (extremes->choice == FINITE_FIRST && !(largest > -FLT_MAX)) {
        *found = 0;
        return;
    }
    bool is_nan = has_nan && extremes->choice != FINITE_FIRST;
    float sought = is_nan ? NAN : extremes->sign * largest;
    *found = (int32_t)position_in_row(x, count, sought, extremes->choice == LAST);
}
VECTOR_VARIANTS(find_in_row, (const Extremes *extremes, const float *x, int32_t *found), (extremes, x, found))

static void
write_positions(Tensor *output, int64_t first, int64_t count, const int32_t *found)
{
    for (int64_t n = 0; n < count; n++) {
        if (output->dtype == DTYPE_INT64) {
            ((int64_t *)output->data)[first + n] = found[n];
        } else {
            ((int32_t *)output->data)[first + n] = found[n];
        }
    }
}

static void
find_pieces(void *context, int64_t index)
{
    const Extremes *extremes = context;
    const Lines *lines = &extremes->lines;
    int64_t end = smaller_of((index + 1) * extremes->part, lines->outer * extremes->across);
    for (int64_t piece = index * extremes->part; piece < end; piece++) {
        int32_t found[COLUMNS];
        int64_t outer = piece / extremes->across;
        int64_t column = piece % extremes->across * COLUMNS;
        int64_t columns = smaller_of(COLUMNS, lines->inner - column);
        const float *x = extremes->x + outer * lines->size * lines->inner + column;
        if (lines->inner == 1) {
            find_in_row(extremes, x, found);
        } else {
            find_extremes(extremes, x, columns, found);
        }
        write_positions(extremes->output, outer * lines->inner + column, columns, found);
    }
}

static Status
compute_extremes(KernelContext *context, int64_t axis, bool is_largest, Choice choice)
{
    const Tensor *input = &context->inputs[0];
    Lines lines = lines_along(&input->shape, (int)(axis < 0 ? axis + input->shape.rank : axis));
    if (tensor_element_count(input) == 0 || lines.size > INT32_MAX) {
        return kernel_find_reference(context->node)->compute(context);
    }
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Extremes extremes = {
        .x = input->data,
        .output = output,
        .lines = lines,
        .sign = is_largest ? 1.0F : -1.0F,
        .choice = choice,
        .across = divide_up(lines.inner, COLUMNS),
    };
    extremes.part = divide_up(SHARED_ELEMENTS, lines.size * smaller_of(lines.inner, COLUMNS));
    context->device->parallel_for(
        context->device, divide_up(lines.outer * extremes.across, extremes.part), find_pieces, &extremes);
    return STATUS_OK;
}

/* The rule is asked before the axis is used, which may be any number. */
static Status
arg_compute(KernelContext *context)
{
    Shape shape;
    int64_t axis = 0;
    size_t count = 0;
    TRY(output_shapes(context, &shape));
    TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    bool is_largest = slice_equal(context->node->op->name, SLICE("ArgMax"));
    return compute_extremes(context, axis, is_largest, FINITE_FIRST);
}

static Status
onnx_arg_compute(KernelContext *context)
{
    Shape shape;
    const Node *node = context->node;
    TRY(output_shapes(context, &shape));
    bool is_largest = slice_equal(node->op->name, SLICE("onnx::ArgMax"));
    return compute_extremes(context, node_attr_int(node, "axis"), is_largest,
        node_attr_int(node, "select_last_index") != 0 ? LAST : FIRST);
}

static bool
supports_float(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 &&
           (node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64);
}

static const Kernel extreme_positions_kernels[] = {
    {.op = "ArgMax", .supports = supports_float, .compute = arg_compute, .host_inputs = 1 << 1},
    {.op = "ArgMin", .supports = supports_float, .compute = arg_compute, .host_inputs = 1 << 1},
    {.op = "onnx::ArgMax", .supports = supports_float, .compute = onnx_arg_compute},
    {.op = "onnx::ArgMin", .supports = supports_float, .compute = onnx_arg_compute},
};

KERNEL_FAMILY(cpu_kernels, extreme_positions, extreme_positions_kernels);
