#include "worker/cpu/convolve/pixels.h"

#include <assert.h>

#include "worker/cpu/convolve/store.h"
#include "worker/cpu/product/panels.h"
#include "worker/cpu/sizes.h"

enum {
    POSITIONS_MAX = 256, /* of a tile, whose sums stay in the L2 cache */
    LINE = 16,           /* floats of a cache line */
    X = CONVOLVE_RANK_MAX - 1,
    Y = X - 1,
    Z = X - 2,
};

PixelCut
pixel_cut(const MicroKernels *kernels, const Lattice *lattice, int64_t channels)
{
    const LatticeAxis *axes = lattice->axes;
    int64_t lines = lattice->is_dense ? 1 : axes[Z].output * axes[Y].output;
    PixelCut cut = {
        .line = lattice->is_dense ? lattice->columns : axes[X].output,
        .panels = divide_up(channels, kernels->columns),
    };
    cut.parts = divide_up(cut.line, kernels->rows);
    cut.tiles = lines * cut.parts;
    int64_t blocks = divide_up(lines * cut.line, POSITIONS_MAX);
    cut.most = divide_up(cut.tiles, smaller_of(blocks, cut.tiles));
    return cut;
}

/* Returns the number of the first position of a micro-tile; that of `tiles` is their count. */
static int64_t
first_position(const PixelCut *cut, int64_t tile)
{
    return tile / cut->parts * cut->line + cut->line * (tile % cut->parts) / cut->parts;
}

/* Returns where a position lies in the lattice. */
static int64_t
lattice_place(const PixelTile *tile, int64_t position)
{
    int64_t line = tile->lattice->axes[X].output;
    if (tile->lattice->is_dense) {
        return position;
    }
    return lattice_line(tile->lattice, position / line) + position % line;
}

/* Returns the positions of a tile at most: lines have equal micro-tiles but for one position. */
static int64_t
positions_max(const MicroKernels *kernels, const PixelCut *cut)
{
    return smaller_of(cut->most * kernels->rows, cut->tiles / cut->parts * cut->line);
}

/* The distance of turned rows is no multiple of many cache lines. */
static int64_t
turned_step(const MicroKernels *kernels, const PixelCut *cut)
{
    return (divide_up(positions_max(kernels, cut), LINE) | 1) * LINE;
}

int64_t
pixel_room(const MicroKernels *kernels, const PixelCut *cut)
{
    return (positions_max(kernels, cut) + turned_step(kernels, cut)) * kernels->columns;
}

/* Returns how many channels a panel has. */
static int64_t
panel_channels(const PixelTile *tile, int64_t panel)
{
    int64_t columns = tile->kernels->columns;
    return smaller_of(columns, tile->filter->rows - panel * columns);
}

static TapWidth
panel_width(const PixelTile *tile, int64_t panel)
{
    return panel_channels(tile, panel) <= tile->kernels->columns / 2 ? TAP_HALF : TAP_WHOLE;
}

/* Multiplies all positions of the tile by a panel, for some of the inner dimension from k on. */
static void
multiply_panel(const PixelTile *tile, int64_t panel, int64_t k, int64_t depth)
{
    int64_t columns = tile->kernels->columns;
    TapWidth width = panel_width(tile, panel);
    int64_t panel_step = width == TAP_HALF ? columns / 2 : columns;
    const float *b = tile->panels + panel * columns * tile->filter->depth + k * panel_step;
    bool is_last = panel + 1 == tile->end_panel && k + depth == tile->filter->depth;
    int64_t start = first_position(tile->cut, tile->first);
    int64_t count = tile->end - tile->first;
    int64_t end = start;
    for (int64_t index = tile->first; index < tile->end; index++) {
        int64_t position = end;
        end = first_position(tile->cut, index + 1);
        PositionTile micro = {
            .a = tile->input + lattice_place(tile, position),
            .taps = tile->taps + k,
            .b = b,
            .next = is_last ? b : b + depth * panel_step + (index - tile->first) * depth * panel_step / count,
            .depth = depth,
            .sums = tile->room + (position - start) * columns,
            .sums_step = columns,
            .begins = k == 0,
        };
        tile->kernels->positions[end - position][width](&micro);
    }
}

/* Turns the sums of a panel, so that those of a channel lie side by side, and stores them. */
static void
store_panel(const PixelTile *tile, int64_t panel)
{
    int64_t columns = tile->kernels->columns;
    int64_t channel = panel * columns;
    int64_t step = turned_step(tile->kernels, tile->cut);
    int64_t first = first_position(tile->cut, tile->first);
    int64_t count = first_position(tile->cut, tile->end) - first;
    int64_t outputs = tile->cut->tiles / tile->cut->parts * tile->cut->line;
    int64_t offset = channel * outputs + first;
    float *turned = tile->room + positions_max(tile->kernels, tile->cut) * columns;
    MatrixPart sums = {.first = tile->room,
        .row_step = 1,
        .column_step = columns,
        .rows = panel_channels(tile, panel),
        .columns = count};
    matrix_copy(&sums, turned, step);
    Store store = {
        .sums = turned,
        .sums_step = step,
        .bias = tile->bias == NULL ? NULL : tile->bias + channel,
        .addend = tile->addend == NULL ? NULL : tile->addend + offset,
        .output = tile->output + offset,
        .output_step = outputs,
        .rows = sums.rows,
        .count = count,
        .finish = &tile->shape->finish,
    };
    store_rows(&store);
}

void
pixel_run(const PixelTile *tile)
{
    const FilterCut *filter = tile->filter;
    assert(tile->end - tile->first <= tile->cut->most);
    for (int64_t panel = tile->first_panel; panel < tile->end_panel; panel++) {
        for (int64_t k = 0; k < filter->depth; k += filter->block) {
            multiply_panel(tile, panel, k, smaller_of(filter->block, filter->depth - k));
        }
        store_panel(tile, panel);
    }
}
