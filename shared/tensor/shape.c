#include "shared/tensor/shape.h"

#include <assert.h>
#include <stdio.h>

Shape
shape_scalar(void)
{
    return (Shape){.rank = 0};
}

Shape
shape_vector(int64_t size)
{
    return (Shape){.rank = 1, .dims = {size}};
}

Shape
shape_unknown(void)
{
    return (Shape){.rank = -1};
}

Shape
shape_of_rank(int rank)
{
    assert(rank >= 0 && rank <= SHAPE_RANK_MAX);

    Shape shape = {.rank = rank};
    for (int index = 0; index < rank; index++) {
        shape.dims[index] = -1;
    }
    return shape;
}

bool
shape_is_known(const Shape *shape)
{
    for (int index = 0; index < shape->rank; index++) {
        if (shape->dims[index] < 0) {
            return false;
        }
    }
    return shape->rank >= 0;
}

bool
shape_equal(const Shape *left, const Shape *right)
{
    if (left->rank != right->rank) {
        return false;
    }
    for (int index = 0; index < left->rank; index++) {
        if (left->dims[index] != right->dims[index]) {
            return false;
        }
    }
    return true;
}

bool
shape_merge(const Shape *left, const Shape *right, Shape *ret_merged)
{
    assert(left != NULL && right != NULL && ret_merged != NULL);
    if (left->rank < 0 || right->rank < 0) {
        *ret_merged = left->rank < 0 ? *right : *left;
        return true;
    }
    if (left->rank != right->rank) {
        return false;
    }
    Shape merged = *left;
    for (int index = 0; index < left->rank; index++) {
        int64_t other = right->dims[index];
        if (merged.dims[index] < 0) {
            merged.dims[index] = other;
        } else if (other >= 0 && other != merged.dims[index]) {
            return false;
        }
    }
    *ret_merged = merged;
    return true;
}

static bool
dim_broadcast(int64_t left, int64_t right, int64_t *ret_dim)
{
    if (left == 1 || right == 1) {
        *ret_dim = left == 1 ? right : left;
        return true;
    }
    if (left < 0 || right < 0) {
        *ret_dim = left < 0 ? right : left;
        return true;
    }
    *ret_dim = left;
    return left == right;
}

/* Returns the dimension that is `from_last` before the last one; dimensions that a shorter shape lacks in
 * front count as 1. */
static int64_t
dim_from_last(const Shape *shape, int from_last)
{
    return from_last < shape->rank ? shape->dims[shape->rank - 1 - from_last] : 1;
}

bool
shape_broadcast(const Shape *left, const Shape *right, Shape *ret_result)
{
    assert(left != NULL && right != NULL && ret_result != NULL);
    if (left->rank < 0 || right->rank < 0) {
        *ret_result = shape_unknown();
        return true;
    }
    Shape result = {.rank = left->rank > right->rank ? left->rank : right->rank};
    for (int from_last = 0; from_last < result.rank; from_last++) {
        if (!dim_broadcast(dim_from_last(left, from_last), dim_from_last(right, from_last),
                &result.dims[result.rank - 1 - from_last])) {
            return false;
        }
    }
    *ret_result = result;
    return true;
}

/* Multiplies the dimensions that are not 0: a 0 must not hide that the others overflow. */
static bool
count_nonzero(const Shape *shape, int64_t *ret_product, bool *ret_is_empty)
{
    int64_t product = 1;
    bool is_empty = false;
    for (int index = 0; index < shape->rank; index++) {
        int64_t dim = shape->dims[index];
        is_empty = is_empty || dim == 0;
        if (dim < 0 || __builtin_mul_overflow(product, dim == 0 ? 1 : dim, &product)) {
            return false;
        }
    }
    *ret_product = product;
    *ret_is_empty = is_empty;
    return shape->rank >= 0;
}

bool
shape_element_count(const Shape *shape, int64_t *ret_count)
{
    int64_t product = 0;
    bool is_empty = false;
    if (!count_nonzero(shape, &product, &is_empty)) {
        return false;
    }
    *ret_count = is_empty ? 0 : product;
    return true;
}

bool
shape_byte_size(const Shape *shape, Dtype dtype, size_t *ret_size)
{
    int64_t product = 0;
    bool is_empty = false;
    ptrdiff_t size = 0;
    if (!dtype_is_copyable(dtype) || !count_nonzero(shape, &product, &is_empty) ||
        __builtin_mul_overflow(product, dtype_size(dtype), &size)) {
        return false;
    }
    *ret_size = is_empty ? 0 : (size_t)size;
    return true;
}

const char *
shape_text(const Shape *shape, char ret_text[SHAPE_TEXT_SIZE])
{
    assert(shape->rank <= SHAPE_RANK_MAX);
    if (shape->rank < 0) {
        (void)snprintf(ret_text, SHAPE_TEXT_SIZE, "?");
        return ret_text;
    }
    size_t used = 0;
    ret_text[used++] = '[';
    for (int index = 0; index < shape->rank; index++) {
        int64_t dim = shape->dims[index];
        const char *comma = index == 0 ? "" : ",";
        size_t room = SHAPE_TEXT_SIZE - used;
        int written = dim < 0 ? snprintf(ret_text + used, room, "%s?", comma)
                              : snprintf(ret_text + used, room, "%s%ld", comma, (long)dim);
        used += (size_t)written;
    }
    ret_text[used++] = ']';
    ret_text[used] = '\0';
    return ret_text;
}
