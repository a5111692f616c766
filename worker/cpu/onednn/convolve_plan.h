/* The plan of convolutions of one shape: tiles of output rows, a primitive for each form of tile, and the
 * layout of the filter that all of them read.
 *
 * Threads: immutable once made, except for the filter. */
#pragma once

#include "worker/cpu/convolve/shape.h"
#include "worker/cpu/onednn/primitive.h"

/* Rows of the output and the rows of the input that they read. */
typedef struct ConvolveTile {
    int64_t output_start;
    int64_t output_rows;
    int64_t input_start;
    int64_t input_rows;
    int64_t before;       /* rows of padding before the input's */
    Primitive *primitive; /* shared by the tiles of one form; the first of them owns it */
    bool is_owner;
} ConvolveTile;

typedef struct ConvolvePlan {
    struct ConvolvePlan *next;
    ConvolveShape shape;
    ConvolveTile *tiles;
    int64_t tile_count;
    const Packed *filter; /* NULL: the filter is not constant, or there was no run yet */
    bool is_kept;
} ConvolvePlan;

/* Makes the tiles and primitives for a shape. */
MUST_USE Status convolve_plan_new(Call *call, const ConvolveShape *shape, ConvolvePlan **ret_plan);
void convolve_plan_free(ConvolvePlan *plan);

/* Returns the layout in which the primitives read the filter. */
const dnnl_memory_desc_t *convolve_plan_filter(const ConvolvePlan *plan);

typedef Status (*PackNew)(Call *call, Device *device, const dnnl_memory_desc_t *from, const void *data,
    const dnnl_memory_desc_t *to, Packed **ret_packed);

/* Packs a filter into that layout, with packed_new() or packed_new_shared(). */
MUST_USE Status convolve_plan_pack(Call *call, Device *device, const ConvolvePlan *plan, const float *data,
    PackNew pack, Packed **ret_packed);

/* Returns the bytes of the scratch memory that a tile is computed into before it is transposed; 0: it is
 * not. */
size_t convolve_plan_transposed(const ConvolvePlan *plan, const ConvolveTile *tile);

/* Returns the most bytes that a tile takes from the device while it is computed. */
size_t convolve_plan_scratch(const ConvolvePlan *plan);
