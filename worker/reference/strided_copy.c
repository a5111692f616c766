#include "worker/reference/strided_copy.h"

#include <assert.h>
#include <complex.h>

#include "shared/base/compiler.h"

void
strides_dense(const Shape *shape, int64_t *ret_strides)
{
    int64_t stride = 1;
    for (int dimension = shape->rank - 1; dimension >= 0; dimension--) {
        ret_strides[dimension] = stride;
        stride *= shape->dims[dimension];
    }
}

/* Copies one line of elements; steps count elements. */
typedef void (*LineLoop)(const void *from, int64_t from_step, void *to, int64_t to_step, int64_t count);

#define LINE_LOOP(size, storage)                                                                             \
    static void line_##size(const void *from, int64_t from_step, void *to, int64_t to_step, int64_t count)   \
    {                                                                                                        \
        const storage *x = from;                                                                             \
        storage *z = to;                                                                                     \
        if (from_step == 1 && to_step == 1) {                                                                \
            memcpy(z, x, (size_t)count * sizeof *z);                                                         \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t n = 0; n < count; n++) {                                                                \
            z[n * to_step] = x[n * from_step];                                                               \
        }                                                                                                    \
    }

LINE_LOOP(1, uint8_t)
LINE_LOOP(2, uint16_t)
LINE_LOOP(4, uint32_t)
LINE_LOOP(8, uint64_t)
LINE_LOOP(16, double complex)

static const LineLoop line_loops[] = {[1] = line_1, [2] = line_2, [4] = line_4, [8] = line_8, [16] = line_16};

/* The dimensions that are copied at once: in both tensors neighbours lie side by side along one of them. */
typedef struct Plane {
    int64_t rows; /* neighbours in the target */
    int64_t from_row;
    int64_t columns; /* neighbours in the source */
    int64_t to_column;
} Plane;

/* Copies a plane, transposed. */
typedef void (*PlaneLoop)(const void *from, void *to, const Plane *plane);

/* Elements along each side of a tile, so small that its lines in both tensors stay in the nearest cache. */
enum { TILE = 16 };

#define PLANE_LOOP(size, storage)                                                                            \
    static void tile_##size(const storage *x, storage *z, const Plane *plane, int64_t rows, int64_t columns) \
    {                                                                                                        \
        for (int64_t column = 0; column < columns; column++) {                                               \
            for (int64_t row = 0; row < rows; row++) {                                                       \
                z[column * plane->to_column + row] = x[row * plane->from_row + column];                      \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void plane_##size(const void *from, void *to, const Plane *plane)                                 \
    {                                                                                                        \
        for (int64_t row = 0; row < plane->rows; row += TILE) {                                              \
            int64_t rows = plane->rows - row < TILE ? plane->rows - row : TILE;                              \
            for (int64_t column = 0; column < plane->columns; column += TILE) {                              \
                int64_t columns = plane->columns - column < TILE ? plane->columns - column : TILE;           \
                tile_##size((const storage *)from + row * plane->from_row + column,                          \
                    (storage *)to + column * plane->to_column + row, plane, rows, columns);                  \
            }                                                                                                \
        }                                                                                                    \
    }

PLANE_LOOP(1, uint8_t)
PLANE_LOOP(2, uint16_t)
PLANE_LOOP(4, uint32_t)
PLANE_LOOP(8, uint64_t)
PLANE_LOOP(16, double complex)

static const PlaneLoop plane_loops[] = {
    [1] = plane_1, [2] = plane_2, [4] = plane_4, [8] = plane_8, [16] = plane_16};

static bool
is_empty(const StridedCopy *copy)
{
    for (int dimension = 0; dimension < copy->rank; dimension++) {
        if (copy->dims[dimension] == 0) {
            return true;
        }
    }
    return false;
}

StridedCopy
strided_reverse(const StridedCopy *copy)
{
    StridedCopy turned = *copy;
    memcpy(turned.from, copy->to, sizeof copy->to);
    memcpy(turned.to, copy->from, sizeof copy->from);
    turned.from_offset = copy->to_offset;
    turned.to_offset = copy->from_offset;
    return turned;
}

bool
strided_simplify(const StridedCopy *copy, StridedCopy *ret_copy)
{
    assert(copy->rank >= 0 && copy->rank <= STRIDED_RANK_MAX);
    if (is_empty(copy)) {
        return false;
    }
    StridedCopy simple = {.from_offset = copy->from_offset, .to_offset = copy->to_offset};
    for (int dimension = 0; dimension < copy->rank; dimension++) {
        int64_t size = copy->dims[dimension];
        int last = simple.rank - 1;
        if (size == 1) {
            continue;
        }
        bool goes_on = last >= 0 && simple.from[last] == copy->from[dimension] * size &&
                       simple.to[last] == copy->to[dimension] * size;
        int position = goes_on ? last : simple.rank++;
        simple.dims[position] = goes_on ? simple.dims[last] * size : size;
        simple.from[position] = copy->from[dimension];
        simple.to[position] = copy->to[dimension];
    }
    if (simple.rank == 0) {
        simple.rank = 1;
        simple.dims[0] = 1;
    }
    *ret_copy = simple;
    return true;
}

static void
swap_dimensions(StridedCopy *copy, int left, int right)
{
    int64_t *const lists[] = {copy->dims, copy->from, copy->to};
    for (size_t list = 0; list < COUNT_OF(lists); list++) {
        int64_t kept = lists[list][left];
        lists[list][left] = lists[list][right];
        lists[list][right] = kept;
    }
}

/* Brings a dimension along which the source's elements are neighbours beside the last one, along which the
 * target's are. False: there is none, or one dimension is both. */
static bool
find_plane(StridedCopy *copy)
{
    int last = copy->rank - 1;
    if (copy->to[last] != 1 || copy->from[last] == 1) {
        return false;
    }
    for (int dimension = 0; dimension < last; dimension++) {
        if (copy->from[dimension] == 1) {
            swap_dimensions(copy, dimension, last - 1);
            return true;
        }
    }
    return false;
}

/* Copies the last dimension, or the last two. */
static void
copy_inner(const StridedCopy *copy, bool has_plane, size_t size, const void *from, void *to)
{
    int last = copy->rank - 1;
    if (has_plane) {
        Plane plane = {.rows = copy->dims[last],
            .from_row = copy->from[last],
            .columns = copy->dims[last - 1],
            .to_column = copy->to[last - 1]};
        plane_loops[size](from, to, &plane);
    } else {
        line_loops[size](from, copy->from[last], to, copy->to[last], copy->dims[last]);
    }
}

void
strided_copy(const StridedCopy *copy, const Tensor *from, Tensor *to)
{
    StridedCopy simple;
    if (!strided_simplify(copy, &simple)) {
        return;
    }
    int64_t size = (int64_t)dtype_size(to->dtype);
    bool has_plane = find_plane(&simple);
    int outer = simple.rank - (has_plane ? 2 : 1);
    int64_t position[STRIDED_RANK_MAX] = {0};
    int64_t source = simple.from_offset;
    int64_t target = simple.to_offset;
    int dimension = outer;
    while (dimension >= 0) {
        copy_inner(&simple, has_plane, (size_t)size, (const char *)from->data + source * size,
            (char *)to->data + target * size);
        for (dimension = outer - 1; dimension >= 0; dimension--) {
            source += simple.from[dimension];
            target += simple.to[dimension];
            if (++position[dimension] < simple.dims[dimension]) {
                break;
            }
            source -= simple.from[dimension] * simple.dims[dimension];
            target -= simple.to[dimension] * simple.dims[dimension];
            position[dimension] = 0;
        }
    }
}

/* A copy that threads share: each takes `part` of the first dimension. */
typedef struct SharedCopy {
    const StridedCopy *copy;
    const Tensor *from;
    Tensor *to;
    int64_t part;
} SharedCopy;

static void
copy_part(void *context, int64_t index)
{
    const SharedCopy *shared = context;
    int64_t first = index * shared->part;
    int64_t left = shared->copy->dims[0] - first;
    StridedCopy copy = *shared->copy;
    copy.dims[0] = left < shared->part ? left : shared->part;
    copy.from_offset += first * copy.from[0];
    copy.to_offset += first * copy.to[0];
    strided_copy(&copy, shared->from, shared->to);
}

/* Fewer elements are not worth handing to another thread. */
enum { SHARED_ELEMENTS = 64 * 1024 };

void
strided_copy_share(Device *device, const StridedCopy *copy, const Tensor *from, Tensor *to)
{
    StridedCopy simple;
    if (!strided_simplify(copy, &simple)) {
        return;
    }
    int64_t step = 1; /* elements of one step along the first dimension */
    for (int dimension = 1; dimension < simple.rank; dimension++) {
        step *= simple.dims[dimension];
    }
    SharedCopy shared = {.copy = &simple, .from = from, .to = to};
    shared.part = step >= SHARED_ELEMENTS ? 1 : (SHARED_ELEMENTS + step - 1) / step;
    device->parallel_for(device, (simple.dims[0] + shared.part - 1) / shared.part, copy_part, &shared);
}
