/* Attributes and sizes of ONNX's GridSample, and names that attributes of this family choose by.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for a name that there is not, and for an image without elements that is sampled.
 */
#pragma once

#include "shared/ops/infer.h"

enum { SAMPLE_SPACE_MAX = 3 };

/* The numbers of neighbours along a dimension. */
typedef enum SampleMode { SAMPLE_NEAREST = 1, SAMPLE_LINEAR = 2, SAMPLE_CUBIC = 4 } SampleMode;
typedef enum SamplePadding { SAMPLE_ZEROS, SAMPLE_BORDER, SAMPLE_REFLECTION } SamplePadding;

typedef struct GridSample {
    SampleMode mode;
    SamplePadding padding;
    bool aligns_corners;
    int space;                        /* spatial dimensions */
    int64_t size[SAMPLE_SPACE_MAX];   /* of the image */
    int64_t stride[SAMPLE_SPACE_MAX]; /* elements between neighbours */
    int64_t plane;                    /* elements of one channel of the image */
    int64_t channels;
    int64_t positions; /* of one image */
} GridSample;

/* Reads a node whose input and output have these shapes, all sizes of which are known. */
MUST_USE Status grid_sample_read(
    Call *call, const Node *node, const Shape *input, const Shape *output, GridSample *ret_sample);

/* Finds the attribute's text among `count` names. */
MUST_USE Status sampling_choice(Call *call, const Node *node, const char *attribute, const char *const *names,
    size_t count, size_t *ret_index);
