#include "worker/cpu/convolve/planes.h"

#include <assert.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cpu/convolve/depthwise.h"
#include "worker/cpu/convolve/filter.h"
#include "worker/cpu/convolve/pixels.h"
#include "worker/cpu/convolve/store.h"
#include "worker/cpu/division.h"
#include "worker/cpu/product/microkernel.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

enum {
    TILE_WORK = 1024 * 1024,        /* multiplications of a tile, which take some twenty microseconds */
    TILE_SUMS = 16 * 1024,          /* the most sums of a tile, which stay in the L2 cache */
    DEPTHWISE_WORK = TILE_WORK / 8, /* of channels that are computed one by one, which is slower */
    DEPTHWISE_MIN = 16,             /* channels at once, since their first one makes the zeros of all */
    FINISH_MIN = 2048,              /* outputs that are finished together, which stay in the L1 cache */
    POSITIONS_MIN = 16, /* fewer are about a product of a matrix and a vector, which oneDNN computes faster */
    LINE_MIN = 5,       /* positions of a line: with fewer, micro-tiles wait for each other's sums */
    COLUMNS_MIN = 128,  /* as few outputs leave much of their panels empty */
    DEPTH_MAX = 640,    /* of the inner dimension: oneDNN is faster where there is more of it */
    COPY_MAX = 128 * 1024, /* the most floats that a tile copies, which stay in the L2 cache */
    PANELS_SIZE =
        64 * 1024,  /* the most floats of a block of input that stays in the L2 cache while rows pass */
    TILES_MIN = 16, /* of an entry that is large, so that many threads have some */
    TILE_WORK_MAX = 16 * 1024 * 1024,
    TURNING_DEPTH = 8,     /* turning a sum takes as long as so many steps of the inner dimension */
    TURNED_DEPTH_MIN = 64, /* of the inner dimension, where positions are rows */
    COPY_WORK = 16 * 1024, /* floats that a thread copies at once */
};

static const float NO_BIAS = -0.0F; /* changes no sum, whereas +0 would change -0 */

struct Planes {
    const float *filter; /* the constant filter; NULL: it differs between runs */
    Mutex lock;
    /* Guarded by `lock`: the filter packed for channels as rows, and for positions; NULL: there was no such
     * run yet. */
    TensorBuffer *packed[2];
};

/* How convolutions of one shape are computed. Tiles are those of all images and groups. */
typedef struct Plan {
    const MicroKernels *kernels;
    const ConvolveShape *shape;
    Lattice lattice;
    FilterCut filter;
    int64_t outputs;      /* positions of the output */
    int64_t entries;      /* images × groups */
    int64_t columns;      /* of a tile, whole panels */
    int64_t column_tiles; /* of an entry */
    int64_t row_tiles;    /* of an entry */
    int64_t group;        /* tiles that a thread takes at once */
    bool is_alone;        /* a tile computes an entry, and copies its input itself */
    bool is_depthwise;    /* a tile computes entries of one channel (depthwise.h) … */
    bool reads_input;     /* … from the input itself */
    bool is_turned;       /* positions are rows (pixels.h) */
    PixelCut pixels;
    bool is_direct;      /* sums are kept in the output meanwhile: its columns have no gaps */
    int64_t filter_size; /* floats of a group's packed filter */
    int64_t copy_size;   /* floats of one entry's lattice; 0: the input is the lattice */
    int64_t panel_size;  /* floats that a tile takes from the device: for a copied panel … */
    int64_t sums_size;   /* … and sums */
} Plan;

Status
planes_new(Call *call, Planes **ret_planes)
{
    Planes *planes = memory_new(1, sizeof *planes);
    if (planes == NULL) {
        return call_fail_memory(call, "a convolution");
    }
    mutex_init(&planes->lock);
    *ret_planes = planes;
    return STATUS_OK;
}

void
planes_free(Planes *planes)
{
    if (planes != NULL) {
        tensor_buffer_unref(planes->packed[false]);
        tensor_buffer_unref(planes->packed[true]);
        mutex_done(&planes->lock);
        memory_free(planes);
    }
}

void
planes_set_filter(Planes *planes, const float *filter)
{
    assert(planes->packed[false] == NULL && planes->packed[true] == NULL);
    planes->filter = filter;
}

static int64_t
smaller_of(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static int64_t
larger_of(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

/* Cuts the output of one entry into tiles, where the sums are kept in the output: their input stays in the L2
 * cache while rows pass. The columns behind the last whole panel belong to the last tile. */
static void
plan_cut_direct(Plan *plan)
{
    int64_t panel = plan->kernels->columns;
    int64_t panels = plan->lattice.columns / panel;
    int64_t most = larger_of(1, PANELS_SIZE / (plan->filter.block * panel));
    plan->column_tiles = divide_up(panels, most);
    plan->columns = divide_up(panels, plan->column_tiles) * panel;
    plan->column_tiles = divide_up(panels * panel, plan->columns);
    int64_t work = plan->filter.rows * plan->filter.depth * plan->lattice.columns;
    int64_t tile_work = larger_of(TILE_WORK, smaller_of(work / TILES_MIN, TILE_WORK_MAX));
    work /= plan->column_tiles;
    plan->row_tiles = smaller_of(divide_up(work, tile_work), plan->filter.tiles);
    plan->group = divide_up(TILE_WORK, divide_up(work, plan->row_tiles));
}

/* Cuts the output of one entry into tiles where positions are rows: column tiles are those of positions, and
 * row tiles of panels of channels. */
static void
plan_cut_turned(Plan *plan)
{
    plan->pixels = pixel_cut(plan->kernels, &plan->lattice, plan->filter.rows);
    plan->column_tiles = divide_up(plan->pixels.tiles, plan->pixels.most);
    int64_t work = plan->filter.rows * plan->filter.depth * plan->outputs;
    int64_t tile_work = larger_of(TILE_WORK, smaller_of(work / TILES_MIN, TILE_WORK_MAX));
    work /= plan->column_tiles;
    plan->row_tiles = smaller_of(divide_up(work, tile_work), plan->pixels.panels);
    plan->group = divide_up(TILE_WORK, divide_up(work, plan->row_tiles));
}

/* Returns whether positions should be rows: where that computes less that is thrown away. */
static bool
turns(const Plan *plan)
{
    int64_t half = plan->kernels->columns / 2;
    int64_t unit = plan->is_direct ? half : plan->kernels->columns;
    int64_t rows = plan->filter.rows;
    int64_t depth = plan->filter.depth;
    int64_t columns = divide_up(plan->lattice.columns, unit) * unit;
    int64_t turned_rows = divide_up(rows, half) * half;
    return !plan->is_depthwise && rows >= half && depth >= TURNED_DEPTH_MIN &&
           turned_rows * plan->outputs * (depth + TURNING_DEPTH) < rows * columns * depth;
}

/* Cuts the output of one entry into tiles, by its shape alone: of some columns and all rows, or of a panel
 * and some rows. */
static void
plan_cut(Plan *plan)
{
    if (plan->is_turned) {
        plan_cut_turned(plan);
        return;
    }
    if (plan->is_direct) {
        plan_cut_direct(plan);
        return;
    }
    int64_t panel = plan->kernels->columns;
    int64_t rows = plan->filter.rows;
    int64_t most =
        larger_of(1, smaller_of(TILE_WORK / (rows * plan->filter.depth), TILE_SUMS / rows) / panel);
    int64_t panels = divide_up(plan->lattice.columns, panel);
    plan->column_tiles = divide_up(panels, most);
    plan->columns = divide_up(panels, plan->column_tiles) * panel;
    plan->column_tiles = divide_up(plan->lattice.columns, plan->columns);
    int64_t work = plan->columns * rows * plan->filter.depth;
    plan->row_tiles = smaller_of(divide_up(work, 2 * (int64_t)TILE_WORK), plan->filter.tiles);
    work /= plan->row_tiles;
    plan->group = divide_up(TILE_WORK, work);
}

/* A group of few channels copies its own input, which then stays in the cache. */
static bool
copies_alone(const Plan *plan)
{
    return !plan->lattice.is_input && plan->entries > 1 && plan->row_tiles == 1 &&
           plan->copy_size <= COPY_MAX;
}

static void
plan_sizes(Plan *plan)
{
    int64_t panel = plan->kernels->columns;
    bool is_ragged = plan->lattice.is_input && plan->lattice.columns % panel != 0 && !plan->is_direct;
    plan->panel_size = is_ragged ? plan->filter.block * panel : 0;
    int64_t columns = plan->is_direct ? plan->filter.depth > plan->filter.block ? panel : 0 : plan->columns;
    if (plan->is_turned) {
        plan->panel_size = 0;
        plan->sums_size = pixel_room(plan->kernels, &plan->pixels);
        return;
    }
    if (plan->is_depthwise) {
        plan->panel_size = 0;
        plan->sums_size = depthwise_room(&plan->lattice);
        return;
    }
    plan->sums_size = divide_up(plan->filter.tiles, plan->row_tiles) * plan->kernels->rows * columns;
}

static Plan
plan_of(const ConvolveShape *shape)
{
    Plan plan = {
        .kernels = microkernels_choose(),
        .shape = shape,
        .lattice = lattice_of(shape),
        .outputs = convolve_product(shape->output, 0, shape->rank),
        .entries = shape->batch * shape->groups,
    };
    int64_t depth = shape->inputs * convolve_product(shape->size, 0, shape->rank);
    plan.filter = filter_cut(shape->outputs, depth, plan.kernels->rows);
    plan.is_depthwise = shape->inputs == 1 && shape->outputs == 1;
    plan.reads_input = plan.is_depthwise ? depthwise_is_direct(&plan.lattice) : plan.lattice.is_input;
    plan.is_direct = plan.lattice.is_dense && plan.lattice.columns >= plan.kernels->columns;
    plan.is_turned = turns(&plan);
    plan_cut(&plan);
    plan.copy_size = plan.reads_input ? 0 : shape->inputs * plan.lattice.channel_step + LATTICE_SLACK;
    plan.is_alone = plan.is_depthwise || copies_alone(&plan);
    if (plan.is_alone) {
        int64_t work = shape->outputs * plan.filter.depth * plan.lattice.columns;
        plan.group = plan.is_depthwise ? larger_of(DEPTHWISE_MIN, divide_up(DEPTHWISE_WORK, work))
                                       : divide_up(TILE_WORK, work);
    }
    plan.filter_size = plan.is_turned ? filter_panels_size(&plan.filter, plan.kernels->columns)
                                      : plan.filter.rows * plan.filter.depth;
    plan_sizes(&plan);
    return plan;
}

static int64_t
plan_tiles(const Plan *plan)
{
    return plan->is_alone ? plan->entries : plan->entries * plan->column_tiles * plan->row_tiles;
}

/* Returns the bytes that a thread takes while it computes. */
static size_t
plan_room(const Plan *plan)
{
    int64_t copy = plan->is_alone ? plan->copy_size : 0;
    return (size_t)(copy + plan->panel_size + plan->sums_size) * sizeof(float);
}

static size_t
plan_copy(const Plan *plan)
{
    return plan->is_alone ? 0 : (size_t)(plan->entries * plan->copy_size) * sizeof(float);
}

static size_t
plan_filter(const Plan *plan)
{
    return (size_t)(plan->shape->groups * plan->filter_size) * sizeof(float);
}

/* The offsets of taps: those of the lattice, then those of a packed panel. */
static size_t
plan_taps(const Plan *plan)
{
    return (size_t)(plan->filter.depth + plan->filter.block) * sizeof(int64_t);
}

typedef struct PlanesRun {
    const Plan *plan;
    const ConvolveOperands *operands;
    const float *filter; /* packed */
    const int64_t *taps;
    FinishLimits limits; /* of sums that are kept in the output */
    float *copies;       /* lattices of all entries; NULL: there are none, or each tile makes its own */
    Device *device;
    int32_t has_failed; /* atomic: the device had no memory for a tile */
} PlanesRun;

/* A tile of one entry on its way. */
typedef struct Tile {
    const PlanesRun *run;
    const float *lattice;
    const float *filter; /* of the entry's group */
    const float *bias;   /* of the group's channels; NULL: none */
    float *output;       /* of the entry */
    int64_t first;       /* columns */
    int64_t end;
    int64_t first_rows; /* micro-tiles of the filter */
    int64_t end_rows;
    float *panel_room;
    float *sums_room;
} Tile;

/* Some panels at one depth. */
typedef struct Panels {
    int64_t column;
    int64_t columns;
    TapWidth width;
    bool overlaps; /* the columns in front of them have some of theirs */
    int64_t k;
    int64_t depth;
} Panels;

/* Where the sums of a tile lie for a column, from its first row on. */
typedef struct Sums {
    float *first;
    int64_t step;
} Sums;

static Sums
tile_sums(const Tile *tile, int64_t column)
{
    return (Sums){tile->sums_room + column - tile->first, tile->run->plan->columns};
}

/* Copies the columns of one panel, the last ones being zeros where the lattice ends. */
static void
pack_panel(const Tile *tile, const Panels *panels)
{
    const Plan *plan = tile->run->plan;
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
micro_tile(const Tile *tile, int64_t index, int64_t k, int64_t depth)
{
    const Plan *plan = tile->run->plan;
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
multiply_panel(const Tile *tile, const Panels *panels)
{
    const PlanesRun *run = tile->run;
    const Plan *plan = run->plan;
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
panels_from(const Tile *tile, int64_t column, int64_t end)
{
    const Plan *plan = tile->run->plan;
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
multiply_depth(const Tile *tile, int64_t k, int64_t depth)
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
store_tile(const Tile *tile)
{
    const Plan *plan = tile->run->plan;
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

static const float NO_BIASES[MICROKERNEL_ROWS_MAX] = {
    -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F};

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
rows_at(const Tile *tile, const Depth *depth, int64_t index)
{
    const PlanesRun *run = tile->run;
    const Plan *plan = run->plan;
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
multiply_direct(const Tile *tile, Rows *rows, const Panels *panels)
{
    const Plan *plan = tile->run->plan;
    rows->micro.b = tile->lattice + panels->column;
    rows->micro.sums = panels->overlaps ? rows->sums_room : rows->output + panels->column;
    rows->micro.sums_step = panels->overlaps ? plan->kernels->columns : plan->outputs;
    rows->micro.end = rows->ends ? &rows->end : NULL;
    rows->end.output = rows->output + panels->column;
    rows->end.addend = rows->addend == NULL ? NULL : rows->addend + panels->column;
    rows->kernels[panels->width](&rows->micro);
}

/* Returns the panels from a column on; the last ones of an entry that do not fill a panel are the end of one.
 */
static Panels
next_panels(const Tile *tile, int64_t column)
{
    int64_t panel = tile->run->plan->kernels->columns;
    int64_t rest = tile->end - column;
    if (rest >= panel) {
        return panels_from(tile, column, tile->end);
    }
    int64_t columns = rest <= panel / 2 ? panel / 2 : panel;
    return (Panels){.column = tile->end - columns,
        .columns = columns,
        .width = columns < panel ? TAP_HALF : TAP_WHOLE,
        .overlaps = true};
}

/* Rows pass by each panel, which stays in the L1 cache. */
static void
multiply_by_panels(const Tile *tile, const Depth *depth)
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

/* Panels pass by each micro-tile of rows. */
static void
multiply_by_rows(const Tile *tile, const Depth *depth)
{
    for (int64_t index = tile->first_rows; index < tile->end_rows; index++) {
        Rows rows = rows_at(tile, depth, index);
        for (int64_t column = tile->first; column < tile->end;) {
            Panels panels = next_panels(tile, column);
            multiply_direct(tile, &rows, &panels);
            column = panels.column + panels.columns;
        }
    }
}

/* Finishes what limits have not finished. */
static void
finish_direct(const Tile *tile)
{
    const Plan *plan = tile->run->plan;
    int64_t end = filter_row(&plan->filter, tile->end_rows);
    for (int64_t row = filter_row(&plan->filter, tile->first_rows); row < end; row++) {
        finish_run(&plan->shape->finish, NULL, tile->output + row * plan->outputs + tile->first,
            tile->end - tile->first);
    }
}

static void
run_tile_direct(const Tile *tile)
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
    if (!tile->run->limits.is_finished) {
        finish_direct(tile);
    }
}

static void
run_tile_turned(const Tile *tile)
{
    const PlanesRun *run = tile->run;
    const Plan *plan = run->plan;
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

static void
run_tile(const Tile *tile)
{
    const Plan *plan = tile->run->plan;
    if (plan->is_turned) {
        run_tile_turned(tile);
        return;
    }
    if (plan->is_direct) {
        run_tile_direct(tile);
        return;
    }
    for (int64_t k = 0; k < plan->filter.depth; k += plan->filter.block) {
        multiply_depth(tile, k, smaller_of(plan->filter.block, plan->filter.depth - k));
    }
    store_tile(tile);
}

static const float *
entry_input(const PlanesRun *run, int64_t entry)
{
    return run->operands->input + entry * run->plan->shape->inputs * run->plan->lattice.input_step;
}

/* Returns how many micro-tiles of the filter, or panels of it, row tiles are made of. */
static int64_t
row_count(const Plan *plan)
{
    return plan->is_turned ? plan->pixels.panels : plan->filter.tiles;
}

/* Prepares a tile of an entry whose rows and columns are all. */
static Tile
tile_of(const PlanesRun *run, int64_t entry, float *room)
{
    const Plan *plan = run->plan;
    const ConvolveShape *shape = plan->shape;
    const float *bias = run->operands->bias;
    int64_t group = entry % shape->groups;
    return (Tile){
        .run = run,
        .lattice = run->copies == NULL ? entry_input(run, entry) : run->copies + entry * plan->copy_size,
        .filter = run->filter + group * plan->filter_size,
        .bias = bias == NULL ? NULL : bias + group * shape->outputs,
        .output = run->operands->output + entry * shape->outputs * plan->outputs,
        .end = plan->lattice.columns,
        .end_rows = row_count(plan),
        .panel_room = room,
        .sums_room = room + plan->panel_size,
    };
}

static void
take_columns(Tile *tile, int64_t index)
{
    const Plan *plan = tile->run->plan;
    tile->first = index * plan->columns;
    if (plan->is_turned) {
        tile->first = plan->pixels.tiles * index / plan->column_tiles;
        tile->end = plan->pixels.tiles * (index + 1) / plan->column_tiles;
        return;
    }
    bool is_last = index == plan->column_tiles - 1;
    tile->end = is_last ? plan->lattice.columns : tile->first + plan->columns;
}

static void
copy_channels(const PlanesRun *run, int64_t entry, float *to)
{
    const Plan *plan = run->plan;
    const float *input = entry_input(run, entry);
    for (int64_t channel = 0; channel < plan->shape->inputs; channel++) {
        lattice_copy(&plan->lattice, input + channel * plan->lattice.input_step,
            to + channel * plan->lattice.channel_step);
    }
    memset(to + plan->shape->inputs * plan->lattice.channel_step, 0, LATTICE_SLACK * sizeof *to);
}

/* Brings one channel to where depthwise_run() reads it. The zeros of a lattice are those of the first one. */
static const float *
take_channel(const PlanesRun *run, int64_t entry, bool is_first, float *room)
{
    if (run->plan->reads_input) {
        return entry_input(run, entry);
    }
    if (is_first) {
        copy_channels(run, entry, room);
    } else {
        lattice_copy_over(&run->plan->lattice, entry_input(run, entry), room);
    }
    return room;
}

/* Finishes the outputs of some entries of one channel, which lie side by side. */
static void
finish_channels(const PlanesRun *run, int64_t first, int64_t end)
{
    const float *addend = run->operands->addend;
    int64_t offset = first * run->plan->outputs;
    finish_run(&run->plan->shape->finish, addend == NULL ? NULL : addend + offset,
        run->operands->output + offset, (end - first) * run->plan->outputs);
}

/* Computes entries of one channel. */
static void
run_channels(const PlanesRun *run, int64_t first, int64_t end, float *room)
{
    const Plan *plan = run->plan;
    const ConvolveOperands *operands = run->operands;
    FinishLimits limits = finish_limits(operands->addend == NULL ? &plan->shape->finish : NULL);
    Depthwise depthwise = {
        .lattice = &plan->lattice, .taps = run->taps, .tap_count = plan->filter.depth, .limits = limits};
    DepthwiseChannel channel = {.room = room + plan->copy_size};
    memset(channel.room, 0, (size_t)plan->sums_size * sizeof *room);
    int64_t finished = first;
    for (int64_t entry = first; entry < end; entry++) {
        int64_t group = entry % plan->shape->groups;
        channel.from = take_channel(run, entry, entry == first, room);
        channel.filter = run->filter + group * plan->filter.depth;
        channel.bias = operands->bias == NULL ? NO_BIAS : operands->bias[group];
        channel.output = operands->output + entry * plan->outputs;
        depthwise_run(&depthwise, &channel);
        bool is_due = entry + 1 == end || (entry + 1 - finished) * plan->outputs >= FINISH_MIN;
        if (!limits.is_finished && is_due) {
            finish_channels(run, finished, entry + 1);
            finished = entry + 1;
        }
    }
}

/* Computes an entry with a lattice of its own, which lies in front of the room. */
static void
run_entry(const PlanesRun *run, int64_t entry, float *room)
{
    const Plan *plan = run->plan;
    copy_channels(run, entry, room);
    Tile tile = tile_of(run, entry, room + plan->copy_size);
    tile.lattice = room;
    for (int64_t index = 0; index < plan->column_tiles; index++) {
        take_columns(&tile, index);
        run_tile(&tile);
    }
}

static void
run_index(const PlanesRun *run, int64_t index, float *room)
{
    const Plan *plan = run->plan;
    if (plan->is_alone) {
        run_entry(run, index, room);
        return;
    }
    int64_t row_tile = index % plan->row_tiles;
    int64_t column_tile = index / plan->row_tiles % plan->column_tiles;
    Tile tile = tile_of(run, index / plan->row_tiles / plan->column_tiles, room);
    int64_t rows = row_count(plan);
    tile.first_rows = rows * row_tile / plan->row_tiles;
    tile.end_rows = rows * (row_tile + 1) / plan->row_tiles;
    take_columns(&tile, column_tile);
    run_tile(&tile);
}

static void
run_group(void *context, int64_t index)
{
    PlanesRun *run = context;
    const Plan *plan = run->plan;
    TensorBuffer *room = run->device->allocate(run->device, plan_room(plan));
    if (room == NULL) {
        atomic_store_relaxed(&run->has_failed, 1);
        return;
    }
    int64_t first = index * plan->group;
    int64_t end = smaller_of(first + plan->group, plan_tiles(plan));
    if (plan->is_depthwise) {
        run_channels(run, first, end, room->data);
    }
    for (int64_t tile = first; tile < end && !plan->is_depthwise; tile++) {
        run_index(run, tile, room->data);
    }
    tensor_buffer_unref(room);
}

/* Channels of all entries are copied some at a time. */
static int64_t
channels_at_once(const Plan *plan)
{
    return divide_up(COPY_WORK, plan->lattice.channel_step);
}

static void
copy_group(void *context, int64_t index)
{
    const PlanesRun *run = context;
    const Plan *plan = run->plan;
    int64_t inputs = plan->shape->inputs;
    int64_t first = index * channels_at_once(plan);
    int64_t end = smaller_of(first + channels_at_once(plan), plan->entries * inputs);
    for (int64_t channel = first; channel < end; channel++) {
        float *to =
            run->copies + channel / inputs * plan->copy_size + channel % inputs * plan->lattice.channel_step;
        lattice_copy(&plan->lattice, run->operands->input + channel * plan->lattice.input_step, to);
        if (channel % inputs == inputs - 1) {
            memset(to + plan->lattice.channel_step, 0, LATTICE_SLACK * sizeof *to);
        }
    }
}

static void
pack_filter(const Plan *plan, const float *filter, float *to)
{
    if (plan->is_turned) {
        filter_pack_panels(&plan->filter, plan->shape, &plan->lattice, filter, plan->kernels->columns, to);
    } else {
        filter_pack(&plan->filter, plan->shape, &plan->lattice, filter, to);
    }
}

/* Packs the constant filter, for all runs: its bytes are counted to none of them (memory_account.h). */
static Status
pack_constant(Call *call, const Planes *planes, Device *device, const Plan *plan, TensorBuffer **ret_packed)
{
    MemoryAccount *before = device->charge(device, NULL);
    *ret_packed = device->allocate(device, plan_filter(plan));
    (void)device->charge(device, before);
    if (*ret_packed == NULL) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "a packed filter needs %zu bytes", plan_filter(plan));
    }
    pack_filter(plan, planes->filter, (*ret_packed)->data);
    return STATUS_OK;
}

static Status
take_constant(Call *call, Planes *planes, Device *device, const Plan *plan, const float **ret_filter)
{
    TensorBuffer **packed = &planes->packed[plan->is_turned];
    mutex_lock(&planes->lock);
    Status status = *packed == NULL ? pack_constant(call, planes, device, plan, packed) : STATUS_OK;
    *ret_filter = status == STATUS_OK ? (*packed)->data : NULL;
    mutex_unlock(&planes->lock);
    return status;
}

/* What one run takes from the device beside the rooms of tiles: taps, then copies, then a filter that is not
 * constant. */
static size_t
run_size(const Planes *planes, const Plan *plan)
{
    return plan_taps(plan) + plan_copy(plan) + (planes->filter == NULL ? plan_filter(plan) : 0);
}

static void
write_taps(const Plan *plan, int64_t *taps)
{
    lattice_taps(&plan->lattice, plan->shape->inputs, taps);
    for (int64_t k = 0; k < plan->filter.block; k++) {
        taps[plan->filter.depth + k] = k * plan->kernels->columns;
    }
}

static void
run_all(PlanesRun *run)
{
    const Plan *plan = run->plan;
    if (run->copies != NULL) {
        int64_t channels = plan->entries * plan->shape->inputs;
        run->device->parallel_for(run->device, divide_up(channels, channels_at_once(plan)), copy_group, run);
    }
    run->device->parallel_for(run->device, divide_up(plan_tiles(plan), plan->group), run_group, run);
}

Status
planes_run(
    Call *call, Planes *planes, Device *device, const ConvolveShape *shape, const ConvolveOperands *operands)
{
    assert(planes != NULL && device != NULL);
    Plan plan = plan_of(shape);
    PlanesRun run = {
        .plan = &plan, .operands = operands, .device = device, .limits = finish_limits(&shape->finish)};
    if (planes->filter != NULL) {
        TRY(take_constant(call, planes, device, &plan, &run.filter));
    }
    TensorBuffer *room = device->allocate(device, run_size(planes, &plan));
    if (room == NULL) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "a convolution needs %zu bytes", run_size(planes, &plan));
    }
    char *rest = (char *)room->data + plan_taps(&plan);
    run.taps = room->data;
    write_taps(&plan, room->data);
    run.copies = plan_copy(&plan) == 0 ? NULL : (float *)rest;
    if (planes->filter == NULL) {
        float *filter = (float *)(rest + plan_copy(&plan));
        pack_filter(&plan, operands->filter, filter);
        run.filter = filter;
    }
    run_all(&run);
    tensor_buffer_unref(room);
    return run.has_failed == 0 ? STATUS_OK
                               : call_fail(call, STATUS_RESOURCE_EXHAUSTED,
                                     "a tile of a convolution needs %zu bytes", plan_room(&plan));
}

uint64_t
planes_scratch(const Planes *planes, const Device *device, const ConvolveShape *shape)
{
    Plan plan = plan_of(shape);
    int64_t at_once = smaller_of(divide_up(plan_tiles(&plan), plan.group), device->thread_count);
    return run_size(planes, &plan) + (uint64_t)at_once * plan_room(&plan);
}

/* Returns whether oneDNN is faster than micro-tiles whose rows are positions. */
static bool
has_few_positions(const ConvolveShape *shape)
{
    bool is_single = convolve_product(shape->size, 0, shape->rank) == 1;
    return convolve_product(shape->output, 0, shape->rank) < POSITIONS_MIN ||
           (!is_single && shape->output[shape->rank - 1] < LINE_MIN);
}

/* Returns whether oneDNN is faster than micro-tiles whose rows are channels. */
static bool
is_deep_or_small(const ConvolveShape *shape)
{
    int64_t depth = shape->inputs * convolve_product(shape->size, 0, shape->rank);
    return convolve_product(shape->output, 0, shape->rank) < COLUMNS_MIN ||
           (depth > DEPTH_MAX && depth > shape->inputs);
}

bool
planes_can(const ConvolveShape *shape)
{
    bool is_slow =
        microkernels_choose()->has_wide_positions ? has_few_positions(shape) : is_deep_or_small(shape);
    return shape->is_channels_last == 0 && lattice_can(shape) && (shape->groups > 1 || !is_slow);
}
