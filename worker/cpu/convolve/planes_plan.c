#include "worker/cpu/convolve/planes_plan.h"

#include "worker/cpu/convolve/depthwise.h"
#include "worker/cpu/sizes.h"

enum {
    TILES = 16, /* of an entry that is neither small nor large, so that many threads have some */
    TILE_WORK_MIN = 256 * 1024, /* multiplications of a tile, which take some five microseconds: handing over
                                 * less is not worth it */
    TILE_WORK = 1024 * 1024,    /* the most of a tile that copies its input or its sums … */
    TILE_WORK_MAX = 16 * TILE_WORK, /* … and of one that does not */
    TILE_SUMS = 16 * 1024,          /* the most sums of a tile, which stay in the L2 cache */
    DEPTHWISE_SLOWNESS = 8,         /* channels that are computed one by one take as many times as long */
    DEPTHWISE_MIN = 16,             /* channels at once, since their first one makes the zeros of all */
    COPY_MAX = 128 * 1024,          /* the most floats that a tile copies, which stay in the L2 cache */
    PANELS_SIZE =
        64 * 1024,     /* the most floats of a block of input that stays in the L2 cache while rows pass */
    TURNING_DEPTH = 8, /* turning a sum takes as long as so many steps of the inner dimension */
    TURNED_DEPTH_MIN = 64, /* of the inner dimension, where positions are rows */
    STORING_DEPTH = 4,     /* storing sums that lie beside the output takes as long as so many steps */
};

/* Returns how many multiplications a tile should have. A small convolution is cut too, since threads that are
 * looking for work take part at once. */
static int64_t
tile_work(const PlanesPlan *plan, int64_t most)
{
    int64_t work = plan->filter.rows * plan->filter.depth * plan->outputs;
    return larger_of(TILE_WORK_MIN, smaller_of(work / TILES, most));
}

/* Cuts the output of one entry into tiles, where the sums are kept in the output: their input stays in the L2
 * cache while rows pass. The columns behind the last whole panel belong to the last tile. */
static void
plan_cut_direct(PlanesPlan *plan)
{
    int64_t panel = plan->kernels->columns;
    int64_t panels = plan->lattice.columns / panel;
    int64_t most = larger_of(1, PANELS_SIZE / (plan->filter.block * panel));
    plan->column_tiles = divide_up(panels, most);
    plan->columns = divide_up(panels, plan->column_tiles) * panel;
    plan->column_tiles = divide_up(panels * panel, plan->columns);
    int64_t wanted = tile_work(plan, TILE_WORK_MAX);
    int64_t work = plan->filter.rows * plan->filter.depth * plan->lattice.columns / plan->column_tiles;
    plan->row_tiles = smaller_of(divide_up(work, wanted), plan->filter.tiles);
    plan->group = divide_up(smaller_of(wanted, TILE_WORK), divide_up(work, plan->row_tiles));
}

/* Cuts the output of one entry into tiles where positions are rows: column tiles are those of positions, and
 * row tiles of panels of channels. */
static void
plan_cut_turned(PlanesPlan *plan)
{
    plan->pixels = pixel_cut(plan->kernels, &plan->lattice, plan->filter.rows);
    plan->column_tiles = divide_up(plan->pixels.tiles, plan->pixels.most);
    int64_t wanted = tile_work(plan, TILE_WORK_MAX);
    int64_t work = plan->filter.rows * plan->filter.depth * plan->outputs / plan->column_tiles;
    plan->row_tiles = smaller_of(divide_up(work, wanted), plan->pixels.panels);
    plan->group = divide_up(smaller_of(wanted, TILE_WORK), divide_up(work, plan->row_tiles));
}

/* Cuts the lines of the output of one entry into tiles, whose sums are stored at once. */
static void
plan_cut_lined(PlanesPlan *plan)
{
    int64_t line = plan->outputs / plan->lines;
    int64_t rows = plan->filter.rows;
    int64_t most = larger_of(1, smaller_of(TILE_WORK / (rows * plan->filter.depth), TILE_SUMS / rows) / line);
    plan->column_tiles = divide_up(plan->lines, most);
    int64_t work = plan->outputs * rows * plan->filter.depth / plan->column_tiles;
    plan->row_tiles = smaller_of(divide_up(work, 2 * (int64_t)TILE_WORK), plan->filter.tiles);
    plan->group = divide_up(TILE_WORK, divide_up(work, plan->row_tiles));
}

/* Returns about how long it takes to compute an entry panel by panel, in products. */
static int64_t
work_of_panels(const PlanesPlan *plan)
{
    int64_t panel = plan->kernels->columns;
    int64_t unit = plan->is_direct ? panel / 2 : panel;
    int64_t depth = plan->filter.depth + (plan->is_direct ? 0 : STORING_DEPTH);
    return plan->filter.rows * divide_up(plan->lattice.columns, unit) * unit * depth;
}

/* Returns how long it takes line by line. */
static int64_t
work_of_lines(const PlanesPlan *plan)
{
    int64_t half = plan->kernels->columns / 2;
    int64_t line = plan->outputs / plan->lines;
    bool can = !plan->is_direct && line >= half && plan->filter.depth == plan->filter.block;
    return can ? plan->filter.rows * plan->lines * divide_up(line, half) * half * plan->filter.depth
               : INT64_MAX;
}

/* Returns how long it takes with positions as rows. */
static int64_t
work_of_pixels(const PlanesPlan *plan)
{
    int64_t half = plan->kernels->columns / 2;
    int64_t rows = plan->filter.rows;
    int64_t depth = plan->filter.depth;
    bool can = rows >= half && depth >= TURNED_DEPTH_MIN;
    return can ? divide_up(rows, half) * half * plan->outputs * (depth + TURNING_DEPTH) : INT64_MAX;
}

/* Chooses the way that computes the least that is thrown away. */
static void
plan_way(PlanesPlan *plan)
{
    if (!plan->is_depthwise) {
        int64_t panels = work_of_panels(plan);
        int64_t lines = work_of_lines(plan);
        plan->is_turned = work_of_pixels(plan) < smaller_of(panels, lines);
        plan->is_lined = !plan->is_turned && lines < panels;
    }
}

/* Cuts the output of one entry into tiles, by its shape alone: of some columns and all rows, or of a panel
 * and some rows. */
static void
plan_cut(PlanesPlan *plan)
{
    if (plan->is_turned) {
        plan_cut_turned(plan);
        return;
    }
    if (plan->is_direct) {
        plan_cut_direct(plan);
        return;
    }
    if (plan->is_lined) {
        plan_cut_lined(plan);
        return;
    }
    int64_t panel = plan->kernels->columns;
    int64_t rows = plan->filter.rows;
    int64_t wanted = tile_work(plan, TILE_WORK);
    int64_t most = larger_of(1, smaller_of(wanted / (rows * plan->filter.depth), TILE_SUMS / rows) / panel);
    int64_t panels = divide_up(plan->lattice.columns, panel);
    plan->column_tiles = divide_up(panels, most);
    plan->columns = divide_up(panels, plan->column_tiles) * panel;
    plan->column_tiles = divide_up(plan->lattice.columns, plan->columns);
    int64_t work = plan->columns * rows * plan->filter.depth;
    plan->row_tiles = smaller_of(divide_up(work, 2 * wanted), plan->filter.tiles);
    work /= plan->row_tiles;
    plan->group = divide_up(wanted, work);
}

/* Returns how many multiplications of whole entries a thread takes at once. `work`: those of one. */
static int64_t
entries_work(const PlanesPlan *plan, int64_t work)
{
    return larger_of(TILE_WORK_MIN, smaller_of(plan->entries * work / TILES, TILE_WORK));
}

/* A group of few channels copies its own input, which then stays in the cache. */
static bool
copies_alone(const PlanesPlan *plan)
{
    return !plan->lattice.is_input && plan->entries > 1 && plan->row_tiles == 1 &&
           plan->copy_size <= COPY_MAX;
}

static void
plan_sizes(PlanesPlan *plan)
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
    if (plan->is_lined) {
        plan->panel_size = 0;
        return;
    }
    if (plan->is_depthwise) {
        plan->panel_size = 0;
        plan->sums_size = depthwise_room(&plan->lattice);
        return;
    }
    plan->sums_size = divide_up(plan->filter.tiles, plan->row_tiles) * plan->kernels->rows * columns;
}

PlanesPlan
planes_plan(const ConvolveShape *shape)
{
    PlanesPlan plan = {
        .kernels = microkernels_choose(),
        .shape = shape,
        .lattice = lattice_of(shape),
        .outputs = convolve_product(shape->output, 0, shape->rank),
        .entries = shape->batch * shape->groups,
    };
    int64_t taps = convolve_product(shape->size, 0, shape->rank);
    plan.filter = filter_cut(shape->outputs, shape->inputs, taps, plan.kernels->rows);
    plan.is_depthwise = shape->inputs == 1 && shape->outputs == 1;
    plan.reads_input = plan.is_depthwise ? depthwise_is_direct(&plan.lattice) : plan.lattice.is_input;
    plan.is_direct = plan.lattice.is_dense && plan.lattice.columns >= plan.kernels->columns;
    plan.lines = convolve_product(shape->output, 0, shape->rank - 1);
    plan_way(&plan);
    plan_cut(&plan);
    plan.copy_size = plan.reads_input ? 0 : shape->inputs * plan.lattice.channel_step + LATTICE_SLACK;
    plan.is_alone = plan.is_depthwise || copies_alone(&plan);
    if (plan.is_alone) {
        int64_t work = shape->outputs * plan.filter.depth * plan.lattice.columns;
        int64_t slowness = plan.is_depthwise ? DEPTHWISE_SLOWNESS : 1;
        plan.group = divide_up(entries_work(&plan, work) / slowness, work);
        plan.group = plan.is_depthwise ? larger_of(DEPTHWISE_MIN, plan.group) : plan.group;
    }
    plan.filter_size = plan.is_turned ? filter_panels_size(&plan.filter, plan.kernels->columns)
                                      : plan.filter.rows * plan.filter.depth;
    plan_sizes(&plan);
    return plan;
}

int64_t
planes_plan_tiles(const PlanesPlan *plan)
{
    return plan->is_alone ? plan->entries : plan->entries * plan->column_tiles * plan->row_tiles;
}

size_t
planes_plan_room(const PlanesPlan *plan)
{
    int64_t copy = plan->is_alone ? plan->copy_size : 0;
    return (size_t)(copy + plan->panel_size + plan->sums_size) * sizeof(float);
}

size_t
planes_plan_copy(const PlanesPlan *plan)
{
    return plan->is_alone ? 0 : (size_t)(plan->entries * plan->copy_size) * sizeof(float);
}

size_t
planes_plan_filter(const PlanesPlan *plan)
{
    return (size_t)(plan->shape->groups * plan->filter_size) * sizeof(float);
}

size_t
planes_plan_taps(const PlanesPlan *plan)
{
    return (size_t)(plan->filter.depth + plan->filter.block) * sizeof(int64_t);
}
