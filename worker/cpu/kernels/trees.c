/* Ensembles of decision trees, laid out when they are prepared (grove.h). Eight rows go down a tree side by
 * side, or a row down eight trees, so that the memory is asked for one while another one waits. Weights are
 * added as the reference kernel adds them: in double, in the order of trees. */
#include <math.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "worker/cpu/sizes.h"
#include "worker/reference/grove.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    LANES = GROVE_LANES,
    PART_ROWS_MAX = 256, /* that meet a tree while it is in the nearest cache */
    PART_ROWS_MIN = 32,  /* with fewer, the trees take longer to come from memory than to be walked */
    PARTS = 16,          /* that rows are cut into when there are enough of them */
    PART_WALKS = 2048,   /* fewer are not worth handing to another thread */
    WALK_WORK = 16,      /* about the nanoseconds of a row in a tree */
};

typedef struct TreesState {
    bool is_wide;
    Grove *grove; /* NULL: some table is no constant */
} TreesState;

typedef struct TreesRun {
    const Call *call;
    const Grove *grove;
    const void *rows; /* float32, or float64 of a wide grove */
    int64_t row_count;
    int64_t features;
    int64_t part_rows;
    int64_t block_keys; /* of LANES rows */
    void *keys;
    double *sums; /* [row_count, targets] */
    float *output;
} TreesRun;

/* Leads LANES walks to their leaves, of which the first one reads keys[column] and the next ones what lies
 * `step` further each; `at` are their positions. */
#define WALK(name, split_type, key_type)                                                                     \
    static inline __attribute__((always_inline)) void name(                                                  \
        const split_type *splits, const key_type *keys, int step, uint32_t *at)                              \
    {                                                                                                        \
        uint32_t place[LANES];                                                                               \
        uint32_t moved = 0;                                                                                  \
        memcpy(place, at, sizeof place);                                                                     \
        do {                                                                                                 \
            moved = 0;                                                                                       \
            _Pragma("GCC unroll 8") for (int lane = 0; lane < LANES; lane++)                                 \
            {                                                                                                \
                const split_type *split = &splits[place[lane]];                                              \
                uint32_t next = split->next[keys[split->column + (uint32_t)(lane * step)] > split->key];     \
                moved |= next ^ place[lane];                                                                 \
                place[lane] = next;                                                                          \
            }                                                                                                \
        } while (moved != 0);                                                                                \
        memcpy(at, place, sizeof place);                                                                     \
    }

WALK(walk_narrow, Split, int32_t)
WALK(walk_wide, WideSplit, int64_t)

/* Finds the leaves of LANES rows in a tree. */
static void
find_leaves_of_rows(const TreesRun *run, uint32_t tree, int64_t block, uint32_t *ret_leaves)
{
    const Grove *grove = run->grove;
    uint32_t at[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        at[lane] = grove->roots[tree];
    }
    if (grove->splits != NULL) {
        walk_narrow(grove->splits, (const int32_t *)run->keys + block * run->block_keys, 1, at);
    } else {
        walk_wide(grove->wide, (const int64_t *)run->keys + block * run->block_keys, 1, at);
    }
    memcpy(ret_leaves, at, sizeof at);
}

/* Finds the leaves of a row in LANES trees, of which the last ones may be the last tree again. */
static void
find_leaves_of_trees(const TreesRun *run, uint32_t tree, int64_t row, uint32_t *ret_leaves)
{
    const Grove *grove = run->grove;
    int64_t keys = row / LANES * run->block_keys + row % LANES;
    uint32_t at[LANES];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        at[lane] = grove->roots[tree + lane < grove->root_count ? tree + lane : grove->root_count - 1];
    }
    if (grove->splits != NULL) {
        walk_narrow(grove->splits, (const int32_t *)run->keys + keys, 0, at);
    } else {
        walk_wide(grove->wide, (const int64_t *)run->keys + keys, 0, at);
    }
    memcpy(ret_leaves, at, sizeof at);
}

static bool
is_extreme(const Grove *grove)
{
    return grove->aggregate == AGGREGATE_MIN || grove->aggregate == AGGREGATE_MAX;
}

/* NaN stands for a target that no leaf has named. */
static double
join_extremes(TreeAggregate aggregate, double before, double weight)
{
    bool is_beyond = aggregate == AGGREGATE_MIN ? weight < before : weight > before;
    return isnan(before) || is_beyond ? weight : before;
}

/* Adds the weights of the leaf at this position to the sums of a row. */
static void
add_leaf(const Grove *grove, uint32_t position, double *sums)
{
    int64_t leaf = grove->splits != NULL ? grove->splits[position].key : grove->wide[position].key;
    uint32_t end = grove->first_weights[leaf + 1];
    if (is_extreme(grove)) {
        for (uint32_t index = grove->first_weights[leaf]; index < end; index++) {
            double *sum = &sums[grove->targets[index]];
            *sum = join_extremes(grove->aggregate, *sum, grove->weights[index]);
        }
        return;
    }
    for (uint32_t index = grove->first_weights[leaf]; index < end; index++) {
        sums[grove->targets[index]] += grove->weights[index];
    }
}

#define FILL_KEYS(name, number_type, key_type, key_of, least, greatest)                                      \
    static void name(const TreesRun *run, int64_t first, int64_t end)                                        \
    {                                                                                                        \
        for (int64_t row = first; row < end; row++) {                                                        \
            const number_type *numbers = (const number_type *)run->rows + row * run->features;               \
            key_type *keys = (key_type *)run->keys + row / LANES * run->block_keys + row % LANES;            \
            keys[0] = 0;                                                                                     \
            for (int64_t feature = 0; feature <= run->grove->feature_max; feature++) {                       \
                keys[feature * GROVE_PLACES * LANES] = key_of(numbers[feature], greatest);                   \
                keys[(feature * GROVE_PLACES + 1) * LANES] = key_of(numbers[feature], least);                \
            }                                                                                                \
        }                                                                                                    \
    }

FILL_KEYS(fill_keys, float, int32_t, grove_key, INT32_MIN, INT32_MAX)
FILL_KEYS(fill_wide_keys, double, int64_t, grove_wide_key, INT64_MIN, INT64_MAX)

static void
begin_rows(const TreesRun *run, int64_t first, int64_t end)
{
    int64_t targets = run->grove->target_count;
    double nothing = is_extreme(run->grove) ? (double)NAN : 0;
    if (run->grove->splits != NULL) {
        fill_keys(run, first, end);
    } else {
        fill_wide_keys(run, first, end);
    }
    for (int64_t n = first * targets; n < end * targets; n++) {
        run->sums[n] = nothing;
    }
}

static void
finish_rows(const TreesRun *run, int64_t first, int64_t end)
{
    const Grove *grove = run->grove;
    double count = grove->aggregate == AGGREGATE_AVERAGE ? (double)grove->root_count : 1;
    for (int64_t row = first; row < end; row++) {
        for (int64_t target = 0; target < grove->target_count; target++) {
            double sum = run->sums[row * grove->target_count + target];
            double value = (isnan(sum) && is_extreme(grove) ? 0 : sum) / count;
            run->output[row * grove->target_count + target] = (float)(value + grove->bases[target]);
        }
    }
}

/* Leads rows, of which there are whole blocks, down a tree. */
static void
add_tree(const TreesRun *run, uint32_t tree, int64_t first, int64_t end)
{
    for (int64_t row = first; row < end; row += LANES) {
        uint32_t leaves[LANES];
        find_leaves_of_rows(run, tree, row / LANES, leaves);
        for (int lane = 0; lane < LANES; lane++) {
            add_leaf(run->grove, leaves[lane], run->sums + (row + lane) * run->grove->target_count);
        }
    }
}

/* Leads a row down all trees. */
static void
add_trees(const TreesRun *run, int64_t row)
{
    const Grove *grove = run->grove;
    for (uint32_t tree = 0; tree < grove->root_count; tree += LANES) {
        uint32_t leaves[LANES];
        find_leaves_of_trees(run, tree, row, leaves);
        for (uint32_t lane = 0; lane < LANES && tree + lane < grove->root_count; lane++) {
            add_leaf(grove, leaves[lane], run->sums + row * grove->target_count);
        }
    }
}

static void
run_part(void *context, int64_t part)
{
    const TreesRun *run = context;
    int64_t first = part * run->part_rows;
    int64_t end = smaller_of(first + run->part_rows, run->row_count);
    int64_t whole = end - (end - first) % LANES; /* behind it there is no whole block */
    uint64_t work = 0;
    begin_rows(run, first, end);
    for (uint32_t tree = 0; tree < run->grove->root_count && whole > first; tree++) {
        if (call_ends_after(run->call, (uint64_t)(whole - first) * WALK_WORK, &work)) {
            return;
        }
        add_tree(run, tree, first, whole);
    }
    for (int64_t row = whole; row < end; row++) {
        if (call_ends_after(run->call, run->grove->root_count * (uint64_t)WALK_WORK, &work)) {
            return;
        }
        add_trees(run, row);
    }
    finish_rows(run, first, end);
}

static int64_t
whole_blocks(int64_t rows)
{
    return divide_up(rows, LANES) * LANES;
}

static int64_t
choose_part_rows(const TreesRun *run)
{
    int64_t worthwhile = divide_up(PART_WALKS, larger_of(1, run->grove->root_count));
    int64_t share = divide_up(run->row_count, PARTS);
    int64_t rows = larger_of(PART_ROWS_MIN, larger_of(worthwhile, share));
    return smaller_of(whole_blocks(rows), PART_ROWS_MAX);
}

/* Returns the input as rows of the grove's width. */
static Status
take_rows(KernelContext *context, bool is_wide, Tensor *ret_rows)
{
    return is_wide ? scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, ret_rows)
                   : scratch_floats(context, &context->inputs[0], ret_rows);
}

static Status
run_grove(KernelContext *context, const Grove *grove)
{
    Shape shape;
    AUTO_TENSOR rows = {0};
    AUTO_TENSOR keys = {0};
    AUTO_TENSOR sums = {0};
    Tensor *output = NULL;
    const Shape *input = &context->inputs[0].shape;
    bool is_wide = grove->splits == NULL;
    TRY(output_shapes(context, &shape));
    TreesRun run = {.call = context->call,
        .grove = grove,
        .row_count = shape.dims[0],
        .features = input->dims[input->rank - 1],
        .block_keys = larger_of(1, grove->feature_max + 1) * GROVE_PLACES * LANES};
    TRY(forest_check_features(context->call, grove->feature_max, run.features));
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &shape, &output));
    if (run.row_count == 0) {
        return STATUS_OK;
    }
    TRY(take_rows(context, is_wide, &rows));
    TRY(scratch_bytes(context, divide_up(run.row_count, LANES) * run.block_keys,
        is_wide ? sizeof(int64_t) : sizeof(int32_t), &keys));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &sums));
    run.rows = rows.data;
    run.keys = keys.data;
    run.sums = sums.data;
    run.output = output->data;
    run.part_rows = choose_part_rows(&run);
    context->device->parallel_for(context->device, divide_up(run.row_count, run.part_rows), run_part, &run);
    return call_check(context->call, clock_monotonic_ns());
}

/* Returns whether float32 holds neither the rows nor what they are compared with. */
static bool
needs_doubles(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    bool fits = dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16 ||
                dtype == DTYPE_INT8 || dtype == DTYPE_UINT8 || dtype == DTYPE_INT16 || dtype == DTYPE_UINT16;
    bool has_doubles = node->input_count > TREES_VALUES && node->input_dtypes[TREES_VALUES] == DTYPE_FLOAT64;
    return !fits || has_doubles;
}

static void
trees_destroy(void *state)
{
    TreesState *trees = state;
    grove_free(trees->grove);
    memory_free(trees);
}

static Status
trees_create(Call *call, const Node *node, void **ret_state)
{
    TreesState *trees = memory_new(1, sizeof *trees);
    if (trees == NULL) {
        return call_fail_memory(call, "trees");
    }
    trees->is_wide = needs_doubles(node);
    *ret_state = trees;
    return STATUS_OK;
}

static Status
regressor_create(Call *call, const Node *node, void **ret_state)
{
    AUTO_FOREST forest = NULL;
    void *state = NULL;
    TRY(forest_of_attributes(call, node, &forest));
    TRY(trees_create(call, node, &state));
    TreesState *trees = state;
    Status status = grove_new(call, forest, trees->is_wide, &trees->grove);
    if (status != STATUS_OK) {
        trees_destroy(trees);
        return status;
    }
    *ret_state = trees;
    return STATUS_OK;
}

/* Returns whether the tables have the shapes that the op's rule asks for; if not, the rule fails the run. */
static bool
are_tables(const Tensor *const *constants)
{
    for (uint32_t index = TREES_NODES; index < TREES_INPUTS; index++) {
        if (constants[index] == NULL) {
            return false;
        }
    }
    return tensor_element_count(constants[TREES_NODES]) ==
               NODE_COLUMNS * tensor_element_count(constants[TREES_VALUES]) &&
           tensor_element_count(constants[TREES_LEAVES]) ==
               LEAF_COLUMNS * tensor_element_count(constants[TREES_WEIGHTS]);
}

static Status
trees_prepare(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)device;
    TreesState *trees = state;
    AUTO_FOREST forest = NULL;
    if (!are_tables(constants)) {
        return STATUS_OK;
    }
    TRY(forest_of_tensors(call, node, constants, &forest));
    return grove_new(call, forest, trees->is_wide, &trees->grove);
}

static Status
trees_compute(KernelContext *context)
{
    const TreesState *trees = context->state;
    return trees->grove == NULL ? kernel_find_reference(context->node)->compute(context)
                                : run_grove(context, trees->grove);
}

/* Keys take PLACES numbers for each feature of at most LANES rows more than there are. */
static uint64_t
trees_scratch(const KernelForecast *told)
{
    const TreesState *trees = told->state;
    const Shape *rows = &told->shapes.inputs[0];
    int64_t count = rows->rank == 1 ? 1 : rows->dims[0];
    if (trees->grove == NULL) {
        return 0;
    }
    uint64_t size = trees->is_wide ? sizeof(double) : sizeof(float);
    uint64_t numbers = (uint64_t)count * (uint64_t)rows->dims[rows->rank - 1];
    uint64_t keys =
        (uint64_t)whole_blocks(count) * (uint64_t)larger_of(1, trees->grove->feature_max + 1) * GROVE_PLACES;
    uint64_t sums = (uint64_t)count * (uint64_t)trees->grove->target_count * sizeof(double);
    return (numbers + keys) * size + sums;
}

static const Kernel trees_kernels[] = {
    {.op = "ai.onnx.ml::TreeEnsembleRegressor",
        .supports = forest_supports,
        .create = regressor_create,
        .destroy = trees_destroy,
        .compute = trees_compute,
        .scratch = trees_scratch},
    {.op = "ai.onnx.ml::_Trees",
        .supports = forest_supports,
        .create = trees_create,
        .destroy = trees_destroy,
        .prepare = trees_prepare,
        .compute = trees_compute,
        .scratch = trees_scratch},
};

KERNEL_FAMILY(cpu_kernels, trees, trees_kernels);
