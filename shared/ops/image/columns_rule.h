/* The attributes and sizes of onnx::Col2Im.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for sizes that do not fit. */
#pragma once

#include "shared/ops/infer.h"
#include "shared/ops/window.h"

enum { COLUMNS_INPUT, COLUMNS_IMAGE_SHAPE, COLUMNS_BLOCK_SHAPE };

typedef struct Columns {
    Window window;    /* a block that slides over the image */
    Shape image;      /* [batch, channel, space…] */
    int64_t elements; /* of a block */
    int64_t blocks;   /* of an image */
} Columns;

/* Reads a node both of whose shapes are known by value. The input may be partly known. */
MUST_USE Status columns_read(Call *call, const InferContext *context, Columns *ret_columns);
