/* Shapes: known ones for tensors, partly known ones for inference (dimension -1, rank -1).
 *
 * Errors: shape_element_count() and shape_byte_size() refuse products that pass int64 before anything is
 *         allocated, zero dimensions notwithstanding (a 0 must not hide 2^62 siblings). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared/base/buffer.h"
#include "shared/tensor/dtype.h"

/* The text of every shape fits: 19 digits and a comma a dimension. */
enum { SHAPE_RANK_MAX = 16, SHAPE_TEXT_SIZE = SHAPE_RANK_MAX * 20 + 3 };

typedef struct Shape {
    int rank;                     /* -1: unknown (inference only) */
    int64_t dims[SHAPE_RANK_MAX]; /* -1: unknown (inference only) */
} Shape;

/* Most shapes are small: the dimensions that are hardly ever there are not copied. */
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
Shape shape_of_rank(int rank); /* all dimensions unknown */

bool shape_is_known(const Shape *shape);
bool shape_equal(const Shape *left, const Shape *right);

/* Two partly known shapes that must describe one tensor: false when they cannot. */
bool shape_merge(const Shape *left, const Shape *right, Shape *ret_merged);

/* NumPy's broadcasting, also of partly known shapes: an unknown dimension against 1 stays unknown, against
 * any other takes that; an unknown rank gives an unknown rank. False when they do not fit. */
bool shape_broadcast(const Shape *left, const Shape *right, Shape *ret_result);

/* The product of the dimensions; false when the shape is not fully known, or when the product of the non-zero
 * dimensions overflows. */
bool shape_element_count(const Shape *shape, int64_t *ret_count);

/* Bytes of a tensor of a copyable dtype, at most PTRDIFF_MAX; false otherwise. */
bool shape_byte_size(const Shape *shape, Dtype dtype, size_t *ret_size);

/* "[2,3]", "[?,3]", "?" for an unknown rank; returns ret_text. */
const char *shape_text(const Shape *shape, char ret_text[SHAPE_TEXT_SIZE]);
