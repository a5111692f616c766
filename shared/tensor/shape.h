/* Shapes: fully known ones of tensors, partly known ones for inference (dimension -1, rank -1).
 *
 * Errors: shape_element_count() and shape_byte_size() refuse products that pass int64 before anything is
 *         allocated, whether or not another dimension is 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared/base/buffer.h"
#include "shared/tensor/dtype.h"

/* SHAPE_TEXT_SIZE is enough for every shape: 19 digits and a comma for each dimension. */
enum { SHAPE_RANK_MAX = 16, SHAPE_TEXT_SIZE = SHAPE_RANK_MAX * 20 + 3 };

typedef struct Shape {
    int rank;                     /* -1: unknown (inference only) */
    int64_t dims[SHAPE_RANK_MAX]; /* -1: unknown (inference only) */
} Shape;

/* Copies the small shapes that most are; dimensions that are hardly ever there are not copied. */
static inline void
shape_copy(Shape *to, const Shape *from)
{
    enum { USUAL_RANK_MAX = 4 };
    to->rank = from->rank;
    if (from->rank <= USUAL_RANK_MAX) {
        memcpy(to->dims, from->dims, USUAL_RANK_MAX * sizeof to->dims[0]);
    } else {
        memcpy(to->dims, from->dims, sizeof to->dims);
    }
}

Shape shape_scalar(void);
Shape shape_vector(int64_t size);
Shape shape_unknown(void);
Shape shape_of_rank(int rank); /* of this rank, all dimensions unknown */

bool shape_is_known(const Shape *shape);
bool shape_equal(const Shape *left, const Shape *right);

/* Joins two partly known shapes that describe one tensor; returns false when they cannot. */
bool shape_merge(const Shape *left, const Shape *right, Shape *ret_merged);

/* Broadcasts as NumPy does, also partly known shapes: an unknown dimension against 1 stays unknown,
 * against any other takes that; an unknown rank gives an unknown rank. Returns false when the shapes do
 * not fit. */
bool shape_broadcast(const Shape *left, const Shape *right, Shape *ret_result);

/* Multiplies the dimensions. Returns false when the shape is not fully known, or when the product of the
 * dimensions that are not 0 overflows. */
bool shape_element_count(const Shape *shape, int64_t *ret_count);

/* Finds the bytes of a tensor of a copyable dtype. Returns false when the shape is not fully known or they
 * are more than PTRDIFF_MAX. */
bool shape_byte_size(const Shape *shape, Dtype dtype, size_t *ret_size);

/* Writes "[2,3]", "[?,3]", or "?" for an unknown rank; returns ret_text. */
const char *shape_text(const Shape *shape, char ret_text[SHAPE_TEXT_SIZE]);
