#include "worker/reference/strided_copy.h"

#include <assert.h>
#include <complex.h>

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

void
strided_copy(const StridedCopy *copy, const Tensor *from, Tensor *to)
{
    StridedCopy simple;
    if (!strided_simplify(copy, &simple)) {
        return;
    }
    int64_t size = (int64_t)dtype_size(to->dtype);
    LineLoop loop = line_loops[size];
    int line = simple.rank - 1;
    int64_t position[STRIDED_RANK_MAX] = {0};
    int64_t source = simple.from_offset;
    int64_t target = simple.to_offset;
    int dimension = line;
    while (dimension >= 0) {
        loop((const char *)from->data + source * size, simple.from[line], (char *)to->data + target * size,
            simple.to[line], simple.dims[line]);
        for (dimension = line - 1; dimension >= 0; dimension--) {
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
