/* One spatial dimension of a convolution of bytes. Threads: any. */
#pragma once

#include <stdint.h>

typedef struct ByteExtent {
    int64_t input;
    int64_t output;
    int64_t size; /* of the filter */
    int64_t stride;
    int64_t dilation;
    int64_t before; /* padding */
} ByteExtent;

/* Returns how much of a padded dimension the windows see. */
static inline int64_t
byte_extent_seen(const ByteExtent *extent)
{
    return (extent->output - 1) * extent->stride + (extent->size - 1) * extent->dilation + 1;
}
