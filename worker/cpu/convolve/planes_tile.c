#include "worker/cpu/convolve/planes_tile.h"

#include <string.h>

#include "worker/cpu/convolve/store.h"
#include "worker/cpu/sizes.h"

/* Some panels at one depth. */
typedef struct Panels {
    int64_t column;
    int64_t columns;
    TapWidth width;
    bool overlaps; /* the columns in front of them have some of theirs */
    int64_t k;
    int64_t depth;
} Panels;

/* The place of a tile's sums for a column, from its first row on. */
typedef struct Sums {
    float *first;
    int64_t step;
} Sums;

static Sums
tile_sums(const PlanesTile *tile, int64_t column)
{
    return (Sums){tile->sums_room + column - tile->first, tile->run->plan->columns};
}

/* Copies the columns of one panel, the last ones being zeros where the lattice ends. */
static void
pack_panel(const PlanesTile *tile, const Panels *panels)
{
    const PlanesPlan *plan = tile->run->plan;
    int64_t panel = plan->kernels->columns;
    int64_t count = smaller_of(panel, plan->lattice.columns - panels->column);
    const int64_t *taps = tile->run->taps + panels->k;
    float *to = tile->panel_room;
    for (int64_t k = 0; k < panels->depth; k++, to += panel) {
        memcpy(to, tile->lattice + taps[k] + panels->column, (size_t)count * sizeof *to);
        memset(to + count, 0, (size_t)(panel - count) * sizeof *to);
    }
}

/* Returns a micro-tile of some rows at a depth, but for its columns. */
static TapTile
micro_tile(const PlanesTile *tile, int64_t index, int64_t k, int64_t depth)
{
    const PlanesPlan *plan = tile->run->plan;
    int64_t row = filter_row(&plan->filter, index);
    int64_t end = filter_row(&plan->filter, index + 1);
    const float *a = tile->filter + k * plan->filter.rows + row * depth;
    bool is_last = index + 1 == tile->end_rows;
    return (TapTile){.a = a,
        .next_a = is_last ? a : a + (end - row) * depth,
        .taps = tile->run->taps + k,
        .depth = depth,
        .begins = k == 0};
}

static void
multiply_panel(const PlanesTile *tile, const Panels *panels)
{
    const PlanesRun *run = tile->run;
    const PlanesPlan *plan = run->plan;
    Sums sums = tile_sums(tile, panels->column);
    bool is_last = panels->column + plan->kernels->columns > plan->lattice.columns;
    bool is_packed = plan->lattice.is_input && is_last;
    if (is_packed) {
        pack_panel(tile, panels);
    }
    int64_t start = filter_row(&plan->filter, tile->first_rows);
    for (int64_t index = tile->first_rows; index < tile->end_rows; index++) {
        int64_t row = filter_row(&plan->filter, index);
        int64_t rows = filter_row(&plan->filter, index + 1) - row;
        TapTile micro = micro_tile(tile, index, panels->k, panels->depth);
        micro.b = is_packed ? tile->panel_room : tile->lattice + panels->column;
        micro.taps = is_packed ? run->taps + plan->filter.depth : micro.taps;
        micro.sums = sums.first + (row - start) * sums.step;
        micro.sums_step = sums.step;
        plan->kernels->taps[rows][panels->width](&micro);
    }
}

/* Returns how many panels from a column on meet the filter at once: several where it has few rows. */
static Panels
panels_from(const PlanesTile *tile, int64_t column, int64_t end)
{
    const PlanesPlan *plan = tile->run->plan;
    const MicroKernels *kernels = plan->kernels;
    int64_t rows = plan->filter.rows;
    bool are_few = plan->filter.tiles == 1 && kernels->taps[rows][TAP_WIDE] != NULL;
    int64_t wide = are_few ? kernels->several[rows].panels * kernels->columns : 0;
    bool is_wide = are_few && column + wide <= end;
    return (Panels){.column = column,
        .columns = is_wide ? wide : kernels->columns,
        .width = is_wide ? TAP_WIDE : TAP_WHOLE};
}

static void
multiply_depth(const PlanesTile *tile, int64_t k, int64_t depth)
{
    int64_t end = smaller_of(tile->end, tile->run->plan->lattice.columns);
    for (int64_t column = tile->first; column < tile->end;) {
        Panels panels = panels_from(tile, column, end);
        panels.k = k;
        panels.depth = depth;
        multiply_panel(tile, &panels);
        column += panels.columns;
    }
}

/* Brings the sums to the output, where lines have gaps between them. */
static void
store_tile(const PlanesTile *tile)
{
    const PlanesPlan *plan = tile->run->plan;
    const ConvolveOperands *operands = tile->run->operands;
    int64_t first = filter_row(&plan->filter, tile->first_rows);
    LatticeRun part = lattice_run(&plan->lattice, tile->first, tile->end);
    while (part.count > 0) {
        Sums sums = tile_sums(tile, part.column);
        float *output = tile->output + first * plan->outputs + part.output;
        Store store = {
            .sums = sums.first,
            .sums_step = sums.step,
            .bias = tile->bias == NULL ? NULL : tile->bias + first,
            .addend = operands->addend == NULL ? NULL : operands->addend + (output - operands->output),
            .output = output,
            .output_step = plan->outputs,
            .rows = filter_row(&plan->filter, tile->end_rows) - first,
            .count = part.count,
            .finish = &plan->shape->finish,
        };
        store_rows(&store);
        part = lattice_run(&plan->lattice, part.column + part.count, tile->end);
    }
}

static const float NO_BIASES[MICROKERNEL_ROWS_MAX] = {NO_BIAS, NO_BIAS, NO_BIAS, NO_BIAS, NO_BIAS, NO_BIAS,
    NO_BIAS, NO_BIAS, NO_BIAS, NO_BIAS, NO_BIAS, NO_BIAS};

/* Some of the inner dimension. */
typedef struct Depth {
    int64_t first;
    int64_t size;
    bool ends;
} Depth;

/* A micro-tile of rows whose sums are kept in the output, ready to meet panels. */
typedef struct Rows {
    const TapKernel *kernels; /* by width */
    TapTile micro;
    TapEnd end;
    bool ends;
    float *output;       /* of the first row */
    const float *addend; /* of the first row; NULL: none */
    float *sums_room;
} Rows;

static Rows
rows_at(const PlanesTile *tile, const Depth *depth, int64_t index)
{
    const PlanesRun *run = tile->run;
    const PlanesPlan *plan = run->plan;
    int64_t row = filter_row(&plan->filter, index);
    int64_t start = filter_row(&plan->filter, tile->first_rows);
    int64_t offset = tile->output - run->operands->output + row * plan->outputs;
    return (Rows){
        .kernels = plan->kernels->taps[filter_row(&plan->filter, index + 1) - row],
        .micro = micro_tile(tile, index, depth->first, depth->size),
        .end = {.bias = tile->bias == NULL ? NO_BIASES : tile->bias + row,
            .lowest = run->limits.lowest,
            .highest = run->limits.highest,
            .output_step = plan->outputs},
        .ends = depth->ends,
        .output = run->operands->output + offset,
        .addend = run->operands->addend == NULL ? NULL : run->operands->addend + offset,
        .sums_room = tile->sums_room + (row - start) * plan->kernels->columns,
    };
}

/* Multiplies rows by panels. The last panel of the entry may overlap the one in front of it, so that its sums
 * are kept apart until they are finished; finishing twice gives the same. */
static void
multiply_direct(const PlanesTile *tile, Rows *rows, const Panels *panels)
{
    const PlanesPlan *plan = tile->run->plan;
    rows->micro.b = tile->lattice + panels->column;
    rows->micro.sums = panels->overlaps ? rows->sums_room : rows->output + panels->column;
    rows->micro.sums_step = panels->overlaps ? plan->kernels->columns : plan->outputs;
    rows->micro.end = rows->ends ? &rows->end : NULL;
    rows->end.output = rows->output + panels->column;
    rows->end.addend = rows->addend == NULL ? NULL : rows->addend + panels->column;
    rows->kernels[panels->width](&rows->micro);
}

/* Returns the panels from a column on; the last columns that do not fill a panel, or half of one, are the end
 * of one. */
static Panels
next_panels(const PlanesTile *tile, int64_t column)
{
    int64_t panel = tile->run->plan->kernels->columns;
    int64_t rest = tile->end - column;
    if (rest >= panel) {
        return panels_from(tile, column, tile->end);
    }
    bool is_half = rest <= panel / 2 || tile->end - tile->first < panel;
    int64_t columns = is_half ? panel / 2 : panel;
    return (Panels){.column = smaller_of(column, tile->end - columns),
        .columns = columns,
        .width = is_half ? TAP_HALF : TAP_WHOLE,
        .overlaps = true};
}

/* Rows pass by each panel, which stays in the L1 cache. */
static void
multiply_by_panels(const PlanesTile *tile, const Depth *depth)
{
    for (int64_t column = tile->first; column < tile->end;) {
        Panels panels = next_panels(tile, column);
        for (int64_t index = tile->first_rows; index < tile->end_rows; index++) {
            Rows rows = rows_at(tile, depth, index);
            multiply_direct(tile, &rows, &panels);
        }
        column = panels.column + panels.columns;
    }
}

/* All panels pass by some rows. */
static void
multiply_rows(const PlanesTile *tile, Rows *rows)
{
    for (int64_t column = tile->first; column < tile->end;) {
        Panels panels = next_panels(tile, column);
        multiply_direct(tile, rows, &panels);
        column = panels.column + panels.columns;
    }
}

/* Panels pass by each micro-tile of rows. */
static void
multiply_by_rows(const PlanesTile *tile, const Depth *depth)
{
    for (int64_t index = tile->first_rows; index < tile->end_rows; index++) {
        Rows rows = rows_at(tile, depth, index);
        multiply_rows(tile, &rows);
    }
}

/* Lines pass by each micro-tile of rows. */
static void
multiply_lines(const PlanesTile *tile, const Depth *depth)
{
    const PlanesPlan *plan = tile->run->plan;
    int64_t count = plan->outputs / plan->lines;
    for (int64_t index = tile->first_rows; index < tile->end_rows; index++) {
        Rows rows = rows_at(tile, depth, index);
        rows.output += tile->first * count;
        rows.addend = rows.addend == NULL ? NULL : rows.addend + tile->first * count;
        PlanesTile line = *tile;
        line.first = 0;
        line.end = count;
        for (int64_t i = tile->first; i < tile->end; i++) {
            line.lattice = tile->lattice + lattice_line(&plan->lattice, i);
            multiply_rows(&line, &rows);
            rows.output += count;
            rows.addend = rows.addend == NULL ? NULL : rows.addend + count;
        }
    }
}

/* Finishes what limits have not finished, of so many outputs of each row. */
static void
finish_direct(const PlanesTile *tile, int64_t first, int64_t count)
{
    const PlanesPlan *plan = tile->run->plan;
    int64_t end = filter_row(&plan->filter, tile->end_rows);
    for (int64_t row = filter_row(&plan->filter, tile->first_rows);
         row < end && !tile->run->limits.is_finished; row++) {
        finish_run(&plan->shape->finish, NULL, tile->output + row * plan->outputs + first, count);
    }
}

static void
run_tile_lined(const PlanesTile *tile)
{
    const PlanesPlan *plan = tile->run->plan;
    int64_t count = plan->outputs / plan->lines;
    multiply_lines(tile, &(Depth){.size = plan->filter.depth, .ends = true});
    finish_direct(tile, tile->first * count, (tile->end - tile->first) * count);
}

static void
run_tile_direct(const PlanesTile *tile)
{
    const MicroKernels *kernels = tile->run->plan->kernels;
    const FilterCut *filter = &tile->run->plan->filter;
    bool keeps_panels = kernels->panel_depth > 0 && filter->block >= kernels->panel_depth;
    for (int64_t k = 0; k < filter->depth; k += filter->block) {
        Depth depth = {.first = k, .size = smaller_of(filter->block, filter->depth - k)};
        depth.ends = k + depth.size == filter->depth;
        if (keeps_panels) {
            multiply_by_panels(tile, &depth);
        } else {
            multiply_by_rows(tile, &depth);
        }
    }
    finish_direct(tile, tile->first, tile->end - tile->first);
}

static void
run_tile_turned(const PlanesTile *tile)
{
    const PlanesRun *run = tile->run;
    const PlanesPlan *plan = run->plan;
    const ConvolveOperands *operands = run->operands;
    PixelTile pixels = {
        .kernels = plan->kernels,
        .cut = &plan->pixels,
        .lattice = &plan->lattice,
        .filter = &plan->filter,
        .shape = plan->shape,
        .taps = run->taps,
        .input = tile->lattice,
        .panels = tile->filter,
        .bias = tile->bias,
        .addend = operands->addend == NULL ? NULL : operands->addend + (tile->output - operands->output),
        .output = tile->output,
        .first = tile->first,
        .end = tile->end,
        .first_panel = tile->first_rows,
        .end_panel = tile->end_rows,
        .room = tile->sums_room,
    };
    pixel_run(&pixels);
}

void
planes_tile_run(const PlanesTile *tile)
{
    const PlanesPlan *plan = tile->run->plan;
    if (plan->is_turned) {
        run_tile_turned(tile);
        return;
    }
    if (plan->is_direct) {
        run_tile_direct(tile);
        return;
    }
    if (plan->is_lined) {
        run_tile_lined(tile);
        return;
    }
    for (int64_t k = 0; k < plan->filter.depth; k += plan->filter.block) {
        multiply_depth(tile, k, smaller_of(plan->filter.block, plan->filter.depth - k));
    }
    store_tile(tile);
}
