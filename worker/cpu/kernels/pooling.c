/* float32 pools in one and two dimensions. With channels first, a plane at a time: its lines are folded
 * downwards into one, which has the padding around it, and that line is folded along the windows; a window
 * that is the whole plane, of any number of dimensions, is folded as one row. With
 * channels last, a window at a time, all channels side by side. Means are sums in double, rounded to float
 * once. Largest values of more dimensions, and of bytes, are those of max_lines.h. Other pools are left to
 * the reference kernel. */
#include "shared/ops/pooling/rule.h"
#include "worker/cpu/convolve/max_lines.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/folds.h"
#include "worker/reference/outputs.h"

enum {
    CHANNELS = 256,              /* that are folded at once; their sums stay in the nearest cache */
    LINE_MAX = 4096,             /* elements of a line with its padding */
    VECTOR = 8,                  /* elements of a vector, in which short lines are computed */
    LINE_SLACK = 2 * VECTOR,     /* elements behind a line that windows computed in vain may reach */
    SHARED_ELEMENTS = 16 * 1024, /* fewer are not worth handing to another thread */
    ROWS_KNOWN = 64,             /* rows of a plane that are described once for all planes */
    ROWS_MAX = 16, /* rows whose lines are folded before their windows are: windows that lie beside each other
                    * read other vectors than were stored, and wait until the stores have reached the cache */
};

/* One spatial dimension. */
typedef struct Extent {
    int64_t size;
    int64_t window;
    int64_t stride;
    int64_t dilation;
    int64_t before;
    int64_t after;
    int64_t output;
} Extent;

typedef struct Pool {
    const float *x;
    float *z;
    int64_t batch;
    int64_t channels;
    Extent rows;
    Extent columns;
    bool is_mean;
    bool is_whole; /* each window is a plane, which is one row here */
    bool counts_padding;
    int64_t part; /* planes, or rows of the output, that a thread takes at once */
} Pool;

/* The elements of a window that lie within the input, or within its padding too. */
typedef struct Span {
    int64_t first; /* element of the window */
    int64_t end;
    int64_t count; /* what the mean divides by */
} Span;

static Span
span_of(const Extent *extent, int64_t output, bool counts_padding)
{
    int64_t start = output * extent->stride - extent->before;
    Span span = {.first = 0, .end = extent->window, .count = 0};
    while (span.first < span.end && start + span.first * extent->dilation < 0) {
        span.first++;
    }
    while (span.end > span.first && start + (span.end - 1) * extent->dilation >= extent->size) {
        span.end--;
    }
    span.count = span.end - span.first;
    if (counts_padding) {
        span.count = 0;
        for (int64_t element = 0; element < extent->window; element++) {
            span.count += start + element * extent->dilation < extent->size + extent->after ? 1 : 0;
        }
    }
    return span;
}

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SUM(a, b) ((a) + (b))

/* Folds as many lines of a plane, `stride` apart, as are known when this is compiled. */
#define FOLD_KNOWN_LINES(type, neutral, combine, known)                                                      \
    VECTOR_LOOP for (int64_t n = 0; n < width; n++)                                                          \
    {                                                                                                        \
        type folded = (neutral);                                                                             \
        UNROLL for (int64_t row = 0; row < (known); row++)                                                   \
        {                                                                                                    \
            folded = combine((type)x[row * stride + n], folded);                                             \
        }                                                                                                    \
        line[n] = folded;                                                                                    \
    }

#define FOLD_LINES(name, type, neutral, combine)                                                             \
    VECTOR_FUNCTION void name(const float *x, int64_t count, int64_t stride, int64_t width, type *line)      \
    {                                                                                                        \
        if (count == 2) {                                                                                    \
            FOLD_KNOWN_LINES(type, neutral, combine, 2)                                                      \
            return;                                                                                          \
        }                                                                                                    \
        if (count == 3) {                                                                                    \
            FOLD_KNOWN_LINES(type, neutral, combine, 3)                                                      \
            return;                                                                                          \
        }                                                                                                    \
        if (count == 5) {                                                                                    \
            FOLD_KNOWN_LINES(type, neutral, combine, 5)                                                      \
            return;                                                                                          \
        }                                                                                                    \
        FOLD_KNOWN_LINES(type, neutral, combine, 0)                                                          \
        for (int64_t row = 0; row < count; row++) {                                                          \
            VECTOR_LOOP for (int64_t n = 0; n < width; n++)                                                  \
            {                                                                                                \
                line[n] = combine((type)x[row * stride + n], line[n]);                                       \
            }                                                                                                \
        }                                                                                                    \
    }

FOLD_LINES(largest_of_lines, float, -INFINITY, LARGER)
FOLD_LINES(sums_of_lines, double, 0, SUM)

/* Folds a padded line along the windows, `count` of them. The sizes and strides that models have are
 * constants here, so that the loops are vectorised. */
#define FOLD_KNOWN_WINDOWS(type, combine, size, step)                                                        \
    if (columns->window == (size) && columns->stride == (step) && columns->dilation == 1) {                  \
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                      \
        {                                                                                                    \
            type sum = line[n * (step)];                                                                     \
            UNROLL for (int64_t element = 1; element < (size); element++)                                    \
            {                                                                                                \
                sum = combine(line[n * (step) + element], sum);                                              \
            }                                                                                                \
            folded[n] = sum;                                                                                 \
        }                                                                                                    \
        return;                                                                                              \
    }

#define FOLD_WINDOWS(name, type, combine)                                                                    \
    VECTOR_FUNCTION void name(const Extent *columns, const type *line, int64_t count, type *folded)          \
    {                                                                                                        \
        FOLD_KNOWN_WINDOWS(type, combine, 2, 1)                                                              \
        FOLD_KNOWN_WINDOWS(type, combine, 2, 2)                                                              \
        FOLD_KNOWN_WINDOWS(type, combine, 3, 1)                                                              \
        FOLD_KNOWN_WINDOWS(type, combine, 3, 2)                                                              \
        FOLD_KNOWN_WINDOWS(type, combine, 5, 1)                                                              \
        for (int64_t n = 0; n < count; n++) {                                                                \
            folded[n] = line[n * columns->stride];                                                           \
        }                                                                                                    \
        for (int64_t element = 1; element < columns->window; element++) {                                    \
            VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                  \
            {                                                                                                \
                folded[n] = combine(line[n * columns->stride + element * columns->dilation], folded[n]);     \
            }                                                                                                \
        }                                                                                                    \
    }

/* NOLINTBEGIN(clang-analyzer-core.uninitialized.Assign): a line is filled as far as windows reach */
FOLD_WINDOWS(largest_of_windows, float, LARGER)
FOLD_WINDOWS(sums_of_windows, double, SUM)
/* NOLINTEND(clang-analyzer-core.uninitialized.Assign) */

/* Returns how far the windows of a line reach, and at least its own elements. */
static int64_t
line_length(const Extent *columns)
{
    int64_t reach = (columns->output - 1) * columns->stride + (columns->window - 1) * columns->dilation + 1;
    int64_t own = columns->before + columns->size;
    return reach > own ? reach : own;
}

/* Returns the elements of whole vectors for so many, unless there is no room for them: those beyond are
 * computed in vain. */
static int64_t
whole_vectors(int64_t count, int64_t room)
{
    int64_t whole = (count + VECTOR - 1) / VECTOR * VECTOR;
    return whole <= room ? whole : count;
}

/* The lines of a plane under a row of the output. */
typedef struct RowLines {
    int64_t first; /* element where the first one begins */
    int64_t last;  /* … and the last one */
    int64_t count;
    double part; /* 1 / the lines that a mean counts */
} RowLines;

static RowLines
lines_under(const Pool *pool, int64_t row)
{
    const Extent *rows = &pool->rows;
    Span span = span_of(rows, row, pool->counts_padding);
    int64_t first = (row * rows->stride - rows->before + span.first * rows->dilation) * pool->columns.size;
    int64_t more = span.end > span.first ? span.end - span.first - 1 : 0;
    return (RowLines){.first = first,
        .last = first + more * rows->dilation * pool->columns.size,
        .count = span.end - span.first,
        .part = 1 / (double)span.count};
}

/* A row of the output whose lines are folded. */
typedef struct FoldedRow {
    float *output;
    int64_t count; /* of windows, with those that fill up a vector */
    double part;   /* RowLines' */
} FoldedRow;

/* The rows of the output of some planes from one on. */
typedef struct RowWalk {
    const float *x; /* the plane of the next row */
    float *output;  /* of the next row */
    int64_t row;
    int64_t x_left;             /* elements from there on, of all planes */
    int64_t output_left;        /* of these planes: 0 at the end */
    int64_t line_step;          /* elements of a folded line with its padding */
    int64_t most;               /* rows that are folded at once */
    RowLines known[ROWS_KNOWN]; /* of the first rows of each plane */
} RowWalk;

/* `most`: a constant, so that the loops over single rows are those of one row. */
VECTOR_FUNCTION void
begin_walk(const Pool *pool, int64_t first, int64_t end, int64_t most, RowWalk *walk)
{
    int64_t size = pool->rows.size * pool->columns.size;
    int64_t outputs = pool->rows.output * pool->columns.output;
    int64_t step = line_length(&pool->columns) + LINE_SLACK;
    walk->x = pool->x + first * size;
    walk->output = pool->z + first * outputs;
    walk->row = 0;
    walk->x_left = (pool->batch * pool->channels - first) * size;
    walk->output_left = (end - first) * outputs;
    walk->line_step = step;
    walk->most = most == 1 ? 1 : smaller_of(most, (LINE_MAX + LINE_SLACK) / step);
    for (int64_t row = 0; row < smaller_of(ROWS_KNOWN, pool->rows.output); row++) {
        walk->known[row] = lines_under(pool, row);
    }
}

/* Steps to the next row. */
static void
walk_on(const Pool *pool, RowWalk *walk)
{
    walk->output += pool->columns.output;
    walk->output_left -= pool->columns.output;
    walk->row++;
    if (walk->row == pool->rows.output) {
        int64_t size = pool->rows.size * pool->columns.size;
        walk->row = 0;
        walk->x += size;
        walk->x_left -= size;
    }
}

/* Folds the lines of the next rows of the output, each into a line of its own, whose padding it restores, and
 * returns how many there were. */
#define FOLD_ROWS(name, type, fold_lines, neutral)                                                           \
    VECTOR_FUNCTION int64_t name(const Pool *pool, RowWalk *walk, type *lines, FoldedRow *folded)            \
    {                                                                                                        \
        const Extent *columns = &pool->columns;                                                              \
        int64_t done = 0;                                                                                    \
        for (; done < walk->most && walk->output_left > 0; done++) {                                         \
            type *line = lines + done * walk->line_step + columns->before;                                   \
            RowLines under = walk->row < ROWS_KNOWN ? walk->known[walk->row] : lines_under(pool, walk->row); \
            fold_lines(walk->x + under.first, under.count, pool->rows.dilation * columns->size,              \
                whole_vectors(columns->size, walk->x_left - under.last), line);                              \
            for (int64_t n = 0; n < VECTOR; n++) {                                                           \
                line[columns->size + n] = (neutral);                                                         \
            }                                                                                                \
            folded[done] = (FoldedRow){.output = walk->output,                                               \
                .count = columns->stride <= 2 ? whole_vectors(columns->output, walk->output_left)            \
                                              : columns->output,                                             \
                .part = under.part};                                                                         \
            walk_on(pool, walk);                                                                             \
        }                                                                                                    \
        return done;                                                                                         \
    }

FOLD_ROWS(fold_largest_rows, float, largest_of_lines, -INFINITY)
FOLD_ROWS(fold_row_sums, double, sums_of_lines, 0)

VECTOR_FUNCTION void
largest_of_rows(const Pool *pool, int64_t first, int64_t end, int64_t most)
{
    float lines[LINE_MAX + LINE_SLACK];
    FoldedRow folded[ROWS_MAX];
    RowWalk walk;
    begin_walk(pool, first, end, most, &walk);
    for (int64_t n = 0; n < walk.most * walk.line_step; n++) {
        lines[n] = -INFINITY;
    }
    while (walk.output_left > 0) {
        int64_t count = fold_largest_rows(pool, &walk, lines, folded);
        for (int64_t row = 0; row < count; row++) {
            largest_of_windows(
                &pool->columns, lines + row * walk.line_step, folded[row].count, folded[row].output);
        }
    }
}

VECTOR_FUNCTION void
largest_of_some_body(const Pool *pool, int64_t first, int64_t end)
{
    if (pool->columns.stride == 1) {
        largest_of_rows(pool, first, end, ROWS_MAX);
    } else {
        largest_of_rows(pool, first, end, 1);
    }
}
VECTOR_VARIANTS(largest_of_some, (const Pool *pool, int64_t first, int64_t end), (pool, first, end))

/* `parts`: 1 / the elements of a window in its row, for each column. What a product with it lacks to the
 * quotient, two bits of a double at most, is far below a float's last bit. */
VECTOR_FUNCTION void
means_of_rows(const Pool *pool, const double *parts, int64_t first, int64_t end, int64_t most)
{
    double lines[LINE_MAX + LINE_SLACK];
    double sums[LINE_MAX + LINE_SLACK];
    FoldedRow folded[ROWS_MAX];
    RowWalk walk;
    begin_walk(pool, first, end, most, &walk);
    for (int64_t n = 0; n < walk.most * walk.line_step; n++) {
        lines[n] = 0;
    }
    while (walk.output_left > 0) {
        int64_t count = fold_row_sums(pool, &walk, lines, folded);
        for (int64_t row = 0; row < count; row++) {
            const FoldedRow *to = &folded[row];
            sums_of_windows(&pool->columns, lines + row * walk.line_step, to->count, sums);
            VECTOR_LOOP for (int64_t n = 0; n < to->count; n++)
            {
                /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): `parts` has as many */
                to->output[n] = (float)(sums[n] * (to->part * parts[n]));
            }
        }
    }
}

VECTOR_FUNCTION void
means_of_some_body(const Pool *pool, const double *parts, int64_t first, int64_t end)
{
    if (pool->columns.stride == 1) {
        means_of_rows(pool, parts, first, end, ROWS_MAX);
    } else {
        means_of_rows(pool, parts, first, end, 1);
    }
}
VECTOR_VARIANTS(means_of_some, (const Pool *pool, const double *parts, int64_t first, int64_t end),
    (pool, parts, first, end))

VECTOR_FOLD(double, sum_of, 0, sum + a, sum + a)
VECTOR_FOLD(float, largest_of, -INFINITY, VECTOR_LARGER, VECTOR_LARGER)

VECTOR_FUNCTION void
fold_whole_planes_body(const Pool *pool, int64_t first, int64_t end)
{
    int64_t size = pool->columns.size;
    int64_t all = pool->batch * pool->channels * size;
    for (int64_t plane = first; plane < end; plane++) {
        const float *x = pool->x + plane * size;
        int64_t readable = all - plane * size;
        pool->z[plane] = pool->is_mean ? (float)(sum_of_within(x, size, readable) / (double)size)
                                       : largest_of_within(x, size, readable);
    }
}
VECTOR_VARIANTS(fold_whole_planes, (const Pool *pool, int64_t first, int64_t end), (pool, first, end))

static void
pool_whole_planes(void *context, int64_t index)
{
    const Pool *pool = context;
    int64_t end = smaller_of((index + 1) * pool->part, pool->batch * pool->channels);
    fold_whole_planes(pool, index * pool->part, end);
}

static void
largest_of_planes(void *context, int64_t index)
{
    const Pool *pool = context;
    int64_t end = smaller_of((index + 1) * pool->part, pool->batch * pool->channels);
    largest_of_some(pool, index * pool->part, end);
}

static void
means_of_planes(void *context, int64_t index)
{
    const Pool *pool = context;
    double parts[LINE_MAX + LINE_SLACK];
    int64_t end = smaller_of((index + 1) * pool->part, pool->batch * pool->channels);
    for (int64_t n = pool->columns.output; n < pool->columns.output + VECTOR; n++) {
        parts[n] = 1;
    }
    for (int64_t n = 0; n < pool->columns.output; n++) {
        parts[n] = 1 / (double)span_of(&pool->columns, n, pool->counts_padding).count;
    }
    means_of_some(pool, parts, index * pool->part, end);
}

/* Folds the channels of one element of the input into those of a window. */
VECTOR_FUNCTION void
fold_largest_channels_body(const float *x, int64_t count, float *z)
{
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        z[n] = LARGER(x[n], z[n]);
    }
}
VECTOR_VARIANTS(fold_largest_channels, (const float *x, int64_t count, float *z), (x, count, z))

VECTOR_FUNCTION void
add_channels_body(const float *x, int64_t count, double *sums)
{
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        sums[n] += (double)x[n];
    }
}
VECTOR_VARIANTS(add_channels, (const float *x, int64_t count, double *sums), (x, count, sums))

/* A window over an image with channels last, and the channels that are folded. */
typedef struct WindowAt {
    Span rows;
    Span columns;
    const float *first; /* what lies under the window's first element, which may be outside */
    int64_t channels;
} WindowAt;

static const float *
element_at(const Pool *pool, const WindowAt *window, int64_t row, int64_t column)
{
    int64_t position = row * pool->rows.dilation * pool->columns.size + column * pool->columns.dilation;
    return window->first + position * pool->channels;
}

static void
largest_of_channels(const Pool *pool, const WindowAt *window, float *z)
{
    for (int64_t n = 0; n < window->channels; n++) {
        z[n] = -INFINITY;
    }
    for (int64_t row = window->rows.first; row < window->rows.end; row++) {
        for (int64_t column = window->columns.first; column < window->columns.end; column++) {
            fold_largest_channels(element_at(pool, window, row, column), window->channels, z);
        }
    }
}

static void
means_of_channels(const Pool *pool, const WindowAt *window, float *z)
{
    double sums[CHANNELS] = {0};
    for (int64_t row = window->rows.first; row < window->rows.end; row++) {
        for (int64_t column = window->columns.first; column < window->columns.end; column++) {
            add_channels(element_at(pool, window, row, column), window->channels, sums);
        }
    }
    double count = (double)(window->rows.count * window->columns.count);
    for (int64_t n = 0; n < window->channels; n++) {
        z[n] = (float)(sums[n] / count);
    }
}

/* Computes one row of the output of one image. */
static void
pool_row(const Pool *pool, int64_t batch, int64_t row)
{
    const Extent *rows = &pool->rows;
    const Extent *columns = &pool->columns;
    Span row_span = span_of(rows, row, pool->counts_padding);
    float *z = pool->z + (batch * rows->output + row) * columns->output * pool->channels;
    for (int64_t column = 0; column < columns->output; column++) {
        int64_t x_row = batch * rows->size + row * rows->stride - rows->before;
        int64_t x_column = column * columns->stride - columns->before;
        Span column_span = span_of(columns, column, pool->counts_padding);
        for (int64_t first = 0; first < pool->channels; first += CHANNELS) {
            WindowAt window = {
                .rows = row_span,
                .columns = column_span,
                .first = pool->x + (x_row * columns->size + x_column) * pool->channels + first,
                .channels = smaller_of(CHANNELS, pool->channels - first),
            };
            (pool->is_mean ? means_of_channels : largest_of_channels)(
                pool, &window, z + column * pool->channels + first);
        }
    }
}

static void
pool_rows(void *context, int64_t index)
{
    const Pool *pool = context;
    int64_t end = smaller_of((index + 1) * pool->part, pool->batch * pool->rows.output);
    for (int64_t row = index * pool->part; row < end; row++) {
        pool_row(pool, row / pool->rows.output, row % pool->rows.output);
    }
}

static Extent
extent_of(const Window *window, const Shape *input, int dimension)
{
    return (Extent){
        .size = input->dims[window->space + dimension],
        .window = window->size[dimension],
        .stride = window->stride[dimension],
        .dilation = window->dilation[dimension],
        .before = window->before[dimension],
        .after = window->after[dimension],
        .output = window->output[dimension],
    };
}

static const Extent ONE_ROW = {.size = 1, .window = 1, .stride = 1, .dilation = 1, .output = 1};

static bool
is_set(const Node *node, const char *name)
{
    return node_attr(node, name) != NULL && node_attr_int(node, name) != 0;
}

static void
run_pool(Device *device, const Window *window, Pool *pool)
{
    bool is_channels_last = window->channel > window->space;
    int64_t count = is_channels_last ? pool->batch * pool->rows.output : pool->batch * pool->channels;
    int64_t size = pool->columns.size * (is_channels_last ? pool->channels : pool->rows.size);
    pool->part = size >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / (size + 1) + 1;
    void (*planes)(void *context, int64_t index) = pool->is_mean ? means_of_planes : largest_of_planes;
    void (*fold)(void *context, int64_t index) = is_channels_last ? pool_rows : planes;
    device->parallel_for(
        device, (count + pool->part - 1) / pool->part, pool->is_whole ? pool_whole_planes : fold, pool);
}

/* Returns whether all elements of a plane are under one window, and lie side by side. */
static bool
is_whole_plane(const Window *window, const Shape *input)
{
    bool is_whole = window->channel < window->space;
    for (int dimension = 0; dimension < window->rank; dimension++) {
        is_whole = is_whole && window->output[dimension] == 1 && window->before[dimension] == 0 &&
                   window->after[dimension] == 0 && window->dilation[dimension] == 1 &&
                   window->size[dimension] == input->dims[window->space + dimension];
    }
    return is_whole;
}

static void
set_extents(Pool *pool, const Window *window, const Shape *input)
{
    int last = window->rank - 1;
    pool->is_whole = is_whole_plane(window, input);
    pool->rows = ONE_ROW;
    pool->columns = ONE_ROW;
    if (pool->is_whole) {
        for (int dimension = 0; dimension < window->rank; dimension++) {
            pool->columns.size *= input->dims[window->space + dimension];
        }
        return;
    }
    pool->rows = window->rank == 2 ? extent_of(window, input, 0) : ONE_ROW;
    pool->columns = window->rank > 0 ? extent_of(window, input, last) : ONE_ROW;
}

/* Returns whether the fast loops have what this pool needs. */
static bool
is_fast(const KernelContext *context, const Window *window, const Pool *pool)
{
    bool is_folded =
        pool->is_whole || ((window->rank == 1 || window->rank == 2) &&
                              line_length(&pool->columns) <= LINE_MAX && pool->columns.before >= 0);
    return is_folded && context->inputs[0].dtype == DTYPE_FLOAT32 &&
           tensor_element_count(&context->inputs[0]) > 0;
}

typedef Status (*ReadPooling)(Call *call, const InferContext *context, Pooling *ret_pooling);

/* The indices of ONNX's MaxPool are left to the reference kernel when somebody reads them, and are not
 * written when nobody does. */
static Status
compute_pool(KernelContext *context, bool is_mean, ReadPooling read)
{
    const Tensor *input = &context->inputs[0];
    KernelInference inference;
    Pooling pooling;
    kernel_inference(context, NULL, &inference);
    TRY(read(context->call, &inference.context, &pooling));
    const Window *window = &pooling.window;
    Pool pool = {
        .x = input->data,
        .batch = input->shape.dims[window->batch],
        .channels = input->shape.dims[window->channel],
        .is_mean = is_mean,
        .counts_padding = is_set(context->node, "count_include_pad"),
    };
    set_extents(&pool, window, &input->shape);
    bool is_float = is_fast(context, window, &pool);
    bool is_other = !is_float && !is_mean && max_lines_can(window, input);
    if (kernel_bit(context->node->read_outputs, 1) || !(is_float || is_other)) {
        return kernel_find_reference(context->node)->compute(context);
    }
    Tensor *output = NULL;
    Tensor *indices = NULL;
    TRY(kernel_output(context, 0, input->dtype, &pooling.output, &output));
    if (context->output_count > 1) {
        TRY(kernel_output(context, 1, DTYPE_INT64, &pooling.output, &indices));
    }
    if (is_other) {
        max_lines_run(context->device, window, input, output->data);
        return STATUS_OK;
    }
    pool.z = output->data;
    run_pool(context->device, window, &pool);
    return STATUS_OK;
}

static bool
supports_float(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static bool
supports_max(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_UINT8 || dtype == DTYPE_INT8;
}

#define POOL(name, is_mean, read)                                                                            \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute_pool(context, (is_mean), (read));                                                     \
    }

POOL(max_pool, false, pooling_tensorflow)
POOL(mean_pool, true, pooling_tensorflow)
POOL(onnx_max_pool, false, pooling_onnx)
POOL(onnx_mean_pool, true, pooling_onnx)
POOL(global_max_pool, false, pooling_global)
POOL(global_mean_pool, true, pooling_global)

#define POOL_KERNEL(name, can, function)                                                                     \
    {                                                                                                        \
        .op = (name), .supports = (can), .compute = function##_compute                                       \
    }

static const Kernel pooling_kernels[] = {
    POOL_KERNEL("MaxPool", supports_float, max_pool),
    POOL_KERNEL("AvgPool", supports_float, mean_pool),
    POOL_KERNEL("onnx::MaxPool", supports_max, onnx_max_pool),
    POOL_KERNEL("onnx::AveragePool", supports_float, onnx_mean_pool),
    POOL_KERNEL("onnx::GlobalMaxPool", supports_float, global_max_pool),
    POOL_KERNEL("onnx::GlobalAveragePool", supports_float, global_mean_pool),
};

KERNEL_FAMILY(cpu_kernels, pooling, pooling_kernels);
