/* How convolutions of one shape are computed: tiles of output rows, a primitive for each form of tile, and
 * the layout of the filter that all of them read. Threads: immutable once made, but for the filter. */
#pragma once

#include "worker/cpu/onednn/convolve.h"

/* Rows of the output and the rows of the input they need. */
typedef struct ConvolveTile {
    int64_t output_start;
    int64_t output_rows;
    int64_t input_start;
    int64_t input_rows;
    int64_t before;       /* rows of padding in front */
    Primitive *primitive; /* of the first tile of this form */
    bool is_owner;
} ConvolveTile;

typedef struct ConvolvePlan {
    struct ConvolvePlan *next;
    ConvolveShape shape;
    ConvolveTile *tiles;
    int64_t tile_count;
    const Packed *filter; /* NULL: it is any, packed in each run, or no run has been */
    bool is_kept;
} ConvolvePlan;

/* Tiles and primitives for `shape`. */
MUST_USE Status convolve_plan_new(Call *call, const ConvolveShape *shape, ConvolvePlan **ret_plan);
void convolve_plan_free(ConvolvePlan *plan);

/* The layout the primitives want the filter in. */
const dnnl_memory_desc_t *convolve_plan_filter(const ConvolvePlan *plan);

typedef Status (*PackNew)(Call *call, Device *device, const dnnl_memory_desc_t *from, const void *data,
    const dnnl_memory_desc_t *to, Packed **ret_packed);

/* `data` in that layout, by packed_new() or packed_new_shared(). */
MUST_USE Status convolve_plan_pack(Call *call, Device *device, const ConvolvePlan *plan, const float *data,
    PackNew pack, Packed **ret_packed);

/* Bytes that a tile is computed into before it is turned; 0: it is not. */
size_t convolve_plan_turned(const ConvolvePlan *plan, const ConvolveTile *tile);

/* Bytes that one tile takes from the device while it is computed, at most. */
size_t convolve_plan_scratch(const ConvolvePlan *plan);

/* The product of values[first…count-1]. */
int64_t convolve_product(const int64_t *values, int64_t first, int64_t count);
