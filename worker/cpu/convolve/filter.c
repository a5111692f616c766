#include "worker/cpu/convolve/filter.h"

#include <assert.h>

#include "worker/cpu/product/microkernel.h"
#include "worker/cpu/sizes.h"

/* Returns how much of the inner dimension a block has. */
static int64_t
block_of(int64_t channels, int64_t taps)
{
    int64_t blocks = divide_up(channels * taps, MICROKERNEL_DEPTH);
    if (taps > MICROKERNEL_DEPTH) {
        return divide_up(channels * taps, blocks);
    }
    return smaller_of(divide_up(channels, blocks), MICROKERNEL_DEPTH / taps) * taps;
}

FilterCut
filter_cut(int64_t rows, int64_t channels, int64_t taps, int64_t rows_max)
{
    int64_t tiles = divide_up(rows, rows_max);
    return (FilterCut){
        .rows = rows,
        .tiles = tiles,
        .small = rows / tiles,
        .larger = rows % tiles,
        .depth = channels * taps,
        .block = block_of(channels, taps),
    };
}

int64_t
filter_row(const FilterCut *cut, int64_t tile)
{
    return cut->small * tile + (tile < cut->larger ? tile : cut->larger);
}

/* Packs some rows for some of the inner dimension. */
static void
pack_tile(
    const float *filter, int64_t rows, int64_t row_step, const int64_t *places, int64_t depth, float *to)
{
    for (int64_t k = 0; k < depth; k++, to += rows) {
        for (int64_t row = 0; row < rows; row++) {
            to[row] = filter[row * row_step + places[k]];
        }
    }
}

/* Writes where the numbers of the filter lie, for the inner dimension from `first` on. */
static void
find_places(const ConvolveShape *shape, const Lattice *lattice, int64_t first, int64_t count, int64_t *places)
{
    const LatticeAxis *axes = lattice->axes;
    for (int64_t k = first; k < first + count; k++) {
        int64_t rest = k;
        int64_t place = 0;
        for (int i = CONVOLVE_RANK_MAX - 1; i >= 0; i--) {
            place += rest % axes[i].size * axes[i].filter_step;
            rest /= axes[i].size;
        }
        *places++ = place + rest * shape->filter_input;
    }
}

void
filter_pack(
    const FilterCut *cut, const ConvolveShape *shape, const Lattice *lattice, const float *filter, float *to)
{
    int64_t places[MICROKERNEL_DEPTH];
    assert(cut->block <= MICROKERNEL_DEPTH);
    for (int64_t k = 0; k < cut->depth; k += cut->block) {
        int64_t depth = cut->depth - k < cut->block ? cut->depth - k : cut->block;
        find_places(shape, lattice, k, depth, places);
        for (int64_t group = 0; group < shape->groups; group++) {
            for (int64_t tile = 0; tile < cut->tiles; tile++) {
                int64_t row = filter_row(cut, tile);
                pack_tile(filter + group * shape->filter_group + row * shape->filter_output,
                    filter_row(cut, tile + 1) - row, shape->filter_output, places, depth,
                    to + group * cut->rows * cut->depth + k * cut->rows + row * depth);
            }
        }
    }
}

int64_t
filter_panels_size(const FilterCut *cut, int64_t panel)
{
    return divide_up(cut->rows, panel / 2) * (panel / 2) * cut->depth;
}

/* Some rows of a filter as columns of a panel, for some of the inner dimension. */
typedef struct PanelPart {
    const float *filter; /* of the first row */
    int64_t row_step;
    int64_t rows;
    int64_t width; /* of the panel, which is zeros behind the rows */
    const int64_t *places;
    int64_t depth;
} PanelPart;

static void
pack_part(const PanelPart *part, float *to)
{
    for (int64_t k = 0; k < part->depth; k++, to += part->width) {
        for (int64_t n = 0; n < part->width; n++) {
            to[n] = n < part->rows ? part->filter[n * part->row_step + part->places[k]] : 0;
        }
    }
}

/* Packs all rows of a group for the steps of the inner dimension from k on, whose places `part` has. */
static void
pack_group(const FilterCut *cut, int64_t panel, int64_t k, PanelPart *part, float *to)
{
    for (int64_t row = 0; row < cut->rows; row += panel) {
        int64_t rest = cut->rows - row;
        part->rows = rest < panel ? rest : panel;
        part->width = rest <= panel / 2 ? panel / 2 : panel;
        pack_part(part, to + row * cut->depth + k * part->width);
        part->filter += panel * part->row_step;
    }
}

void
filter_pack_panels(const FilterCut *cut, const ConvolveShape *shape, const Lattice *lattice,
    const float *filter, int64_t panel, float *to)
{
    int64_t places[MICROKERNEL_DEPTH];
    assert(cut->block <= MICROKERNEL_DEPTH);
    for (int64_t k = 0; k < cut->depth; k += cut->block) {
        int64_t depth = cut->depth - k < cut->block ? cut->depth - k : cut->block;
        find_places(shape, lattice, k, depth, places);
        for (int64_t group = 0; group < shape->groups; group++) {
            PanelPart part = {.filter = filter + group * shape->filter_group,
                .row_step = shape->filter_output,
                .places = places,
                .depth = depth};
            pack_group(cut, panel, k, &part, to + group * filter_panels_size(cut, panel));
        }
    }
}
