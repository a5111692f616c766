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
    cut.small = cut.line / cut.parts;
    cut.larger = cut.line % cut.parts;
    cut.tiles = lines * cut.parts;
    int64_t blocks = divide_up(lines * cut.line, POSITIONS_MAX);
    cut.most = divide_up(cut.tiles, smaller_of(blocks, cut.tiles));
    return cut;
}

/* Returns where a micro-tile of a line begins; that of `parts` is the end of the line. */
static int64_t
part_start(const PixelCut *cut, int64_t part)
{
    return cut->small * part + smaller_of(part, cut->larger);
}

/* Returns the number of the first position of a micro-tile; that of `tiles` is their count. */
static int64_t
first_position(const PixelCut *cut, int64_t tile)
{
    return tile / cut->parts * cut->line + part_start(cut, tile % cut->parts);
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

/* A panel of channels, for some of the inner dimension. */
typedef struct PixelPanel {
    TapWidth width;
    int64_t row;   /* floats of a step of the inner dimension */
    int64_t first; /* step of the inner dimension … */
    int64_t depth; /* … and how many there are */
    const float *b;
    const float *next; /* what is fetched while a micro-tile is computed … */
    int64_t next_step; /* … which is so much further on for the one behind it */
} PixelPanel;

static PixelPanel
panel_of(const PixelTile *tile, int64_t index, int64_t first, int64_t depth)
{
    int64_t columns = tile->kernels->columns;
    TapWidth width = panel_channels(tile, index) <= columns / 2 ? TAP_HALF : TAP_WHOLE;
    int64_t row = width == TAP_HALF ? columns / 2 : columns;
    const float *b = tile->panels + index * columns * tile->filter->depth + first * row;
    bool is_last = index + 1 == tile->end_panel && first + depth == tile->filter->depth;
    return (PixelPanel){.width = width,
        .row = row,
        .first = first,
        .depth = depth,
        .b = b,
        .next = is_last ? b : b + depth * row,
        .next_step = is_last ? 0 : depth * row / (tile->end - tile->first)};
}

/* Returns the micro-tile of the first positions of a line, without its place of sums. Taps that read nothing
 * but padding are left out, where the steps of the inner dimension are those of whole channels. */
static PositionTile
line_tile(const PixelTile *tile, const PixelPanel *panel, int64_t line)
{
    PositionTile micro = {
        .a = tile->input,
        .taps = tile->taps + panel->first,
        .b = panel->b,
        .rounds = 1,
        .steps = panel->depth,
        .sums_step = tile->kernels->columns,
        .begins = panel->first == 0,
    };
    if (tile->lattice->is_dense) {
        return micro;
    }
    LatticeTaps taps = lattice_line_taps(tile->lattice, line);
    micro.a += lattice_line(tile->lattice, line);
    if (taps.count < taps.all && tile->filter->block % taps.all == 0) {
        micro.taps += taps.first;
        micro.b += taps.first * panel->row;
        micro.rounds = panel->depth / taps.all;
        micro.steps = taps.count;
        micro.gap = taps.all - taps.count;
    }
    return micro;
}

/* Multiplies all positions of the tile by a panel. */
static void
multiply_panel(const PixelTile *tile, const PixelPanel *panel)
{
    const PixelCut *cut = tile->cut;
    int64_t line = tile->first / cut->parts;
    int64_t part = tile->first % cut->parts;
    float *sums = tile->room;
    const float *next = panel->next;
    for (int64_t index = tile->first; index < tile->end; line++, part = 0) {
        PositionTile micro = line_tile(tile, panel, line);
        const float *a = micro.a;
        for (; part < cut->parts && index < tile->end; part++, index++) {
            int64_t start = part_start(cut, part);
            int64_t rows = part_start(cut, part + 1) - start;
            micro.a = a + start;
            micro.sums = sums;
            micro.next = next;
            tile->kernels->positions[rows][panel->width](&micro);
            sums += rows * micro.sums_step;
            next += panel->next_step;
        }
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
            PixelPanel part = panel_of(tile, panel, k, smaller_of(filter->block, filter->depth - k));
            multiply_panel(tile, &part);
        }
        store_panel(tile, panel);
    }
}
