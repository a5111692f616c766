/* Attributes and sizes of ONNX's GridSample and RoiAlign, and names that attributes of this family choose by.
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

/* No coordinate of a region is larger, in elements of the image: points of a bin must end. */
enum { ROI_COORDINATE_MAX = 1 << 13 };

typedef struct RoiAlign {
    int64_t ratio; /* points along a side of a bin; 0: as many as it has elements */
    double scale;
    bool is_half_pixel; /* half a pixel is subtracted, and regions may be smaller than one */
    bool is_largest;
} RoiAlign;

/* Reads a node whose input and output have these shapes. */
MUST_USE Status roi_align_read(
    Call *call, const Node *node, const Shape *input, const Shape *output, RoiAlign *ret_align);

/* Finds the attribute's text among `count` names. */
MUST_USE Status sampling_choice(Call *call, const Node *node, const char *attribute, const char *const *names,
    size_t count, size_t *ret_index);
