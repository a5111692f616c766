/* Attributes and inputs for ops whose inputs must agree with one another (attention, mixtures of experts,
 * tables, vocabularies): dimensions are taken from a few sizes, most types are one type, most numbers are
 * small and some texts are words that ops know, so that many nodes pass their rules and reach a kernel.
 * Threads: one. */
#pragma once

#include <math.h>

#include "shared/graph/op.h"
#include "shared/tensor/shape.h"
#include "tests/fuzz/choices.h"

typedef struct FittingChoices {
    int64_t sizes[4];
    Dtype type;
    bool is_tame; /* no number is hostile */
} FittingChoices;

static inline void
fitting_begin(Choices *choices, FittingChoices *ret_fitting)
{
    static const int64_t sizes[] = {1, 2, 4, 3, 8, 6, 16, 0};
    static const Dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT32, DTYPE_INT64, DTYPE_STRING, DTYPE_FLOAT16,
        DTYPE_INT32, DTYPE_FLOAT64, DTYPE_UINT8, DTYPE_BFLOAT16, DTYPE_INT8, DTYPE_BOOL, DTYPE_COMPLEX64};
    for (size_t index = 0; index < COUNT_OF(ret_fitting->sizes); index++) {
        ret_fitting->sizes[index] = CHOOSE(choices, sizes);
    }
    ret_fitting->type = CHOOSE(choices, types);
    ret_fitting->is_tame = choose(choices, 3) > 0;
}

static inline Dtype
fitting_dtype(Choices *choices, const FittingChoices *fitting)
{
    return choose(choices, 6) > 0 ? fitting->type : (Dtype)(1 + choose(choices, DTYPE_COUNT - 1));
}

/* Makes a dimension of an empty shape huge, before or behind the empty one: no kernel may count it out. */
static inline void
stretch_empty(Choices *choices, Shape *shape)
{
    int64_t count = -1;
    int dimension = (int)choose(choices, (size_t)shape->rank);
    if (shape_element_count(shape, &count) && count == 0 && shape->dims[dimension] > 0) {
        shape->dims[dimension] = (int64_t)1 << 40;
    }
}

/* Chooses a rank and a dimension by one byte each; a dimension may be the product of two sizes. */
static inline Shape
fitting_shape(Choices *choices, const FittingChoices *fitting)
{
    static const int ranks[] = {1, 2, 3, 4, 0, 1, 2, 3, 5};
    Shape shape = {.rank = CHOOSE(choices, ranks)};
    for (int dimension = 0; dimension < shape.rank; dimension++) {
        size_t choice = choose(choices, 16);
        int64_t size = fitting->sizes[choice % 4];
        shape.dims[dimension] = choice < 8    ? size
                                : choice < 12 ? size * fitting->sizes[(choice + 1) % 4]
                                              : (int64_t)choice - 12;
    }
    if (shape.rank > 1 && choose(choices, 8) == 0) {
        stretch_empty(choices, &shape);
    }
    return shape;
}

static inline int64_t
fitting_int(Choices *choices, const FittingChoices *fitting)
{
    static const int64_t hostile[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, (int64_t)1 << 32,
        (int64_t)1 << 40, (int64_t)1 << 61, 255, -128, 65536, 1000000, -1000000};
    size_t choice = choose(choices, 32);
    return choice < 8         ? (int64_t)choice
           : choice < 12      ? -(int64_t)(choice - 7)
           : choice < 24      ? fitting->sizes[choice % 4]
           : fitting->is_tame ? (int64_t)choice - 20
                              : CHOOSE(choices, hostile);
}

static inline double
fitting_real(Choices *choices, const FittingChoices *fitting)
{
    static const double tame[] = {0, 1, 0.5, -1, 2, 3, -0.25, 0.125};
    static const double hostile[] = {
        1e30, -1e30, 1e-30, (double)INFINITY, -(double)INFINITY, (double)NAN, -0.0, 1e-40};
    return fitting->is_tame || choose(choices, 4) > 0 ? CHOOSE(choices, tame) : CHOOSE(choices, hostile);
}

static inline Slice
fitting_text(Choices *choices)
{
    static const char *const texts[] = {"", "a", "b c", "[a-z]+", "(a|b)*c", "(a+)+$", "a\\1", "(", "[^,]*",
        "\\b", " ", ",", "%s", "a,b;c", "TF", "IDF", "TFIDF", "NFC", "NFD", "UTF-8", "UTF-16-BE", "replace",
        "ignore", "strict", "LOWER", "UPPER", "NONE", "LINEAR", "POLY", "RBF", "SIGMOID", "SOFTMAX",
        "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", "SUM", "AVERAGE", "MIN", "MAX", "BRANCH_LEQ", "BRANCH_LT",
        "BRANCH_EQ", "LEAF", "gelu", "silu", "relu", "swiglu", "identity", "linear", "gated", "delta",
        "gated_delta", "bilinear", "nearest", "bicubic", "cubic", "zeros", "border", "reflection", "avg",
        "max", "sum", "mean", "none", "add", "mul", "min", "NHWC", "NCHW", "NCDHW", "NDHWC", "SAME", "VALID",
        "RGB", "BGR", "Grayscale", "float", "12", "-0x7", "1e400", "\xff\xfe", "\xe2\x82\xac\xc3\xa9",
        "MODE_A", "MIN_COMBINED", "SCALED", "i,i->i", "ij,jk->ik", "...ij->...ji", "forward", "bidirectional",
        "reverse", "Tanh", "Relu", "constant", "reflect", "edge", "wrap", "REFLECT", "two words and more"};
    return slice_from_string(CHOOSE(choices, texts));
}
