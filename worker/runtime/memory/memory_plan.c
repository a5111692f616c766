/* Steps of a plan: 1. the shapes of all tensors; 2. the values that a run holds (memory_values.h) and the
 * scratch memory of kernels; 3. the values that go into the arena; 4. the arena's layout; 5. the peak of
 * what is allocated outside of the arena. */
#include "worker/runtime/memory/memory_plan.h"

#include <assert.h>
#include <stdlib.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "worker/runtime/memory/arena_layout.h"
#include "worker/runtime/memory/memory_values.h"
#include "worker/runtime/partition/partition.h"
#include "worker/runtime/partition/schedule.h"

typedef struct MemoryShapes {
    const Tensor *feeds;
    int64_t open_size; /* RunRequest.open_size; 0: not known */
    /* Filled in by infer_shapes(): */
    const Shape *const *outputs; /* by node and port; dimensions that cannot be inferred are unknown */
    bool grow;                   /* some shapes follow from the open size */
} MemoryShapes;

enum { RULES_MAX = 2 * SHAPE_RANK_MAX };

/* Computes a shape from pairs of scale and offset, one pair for each dimension: size = scale * open_size +
 * offset. False when open_size is not known or a rule makes no valid size. */
static bool
grow_shape(const int64_t *rules, size_t count, int64_t open_size, Shape *ret_shape)
{
    Shape shape = {.rank = (int)(count / 2)};
    bool is_good = open_size > 0 && count <= RULES_MAX && count % 2 == 0;
    for (int i = 0; is_good && i < shape.rank; i++) {
        const int64_t *rule = &rules[2 * (size_t)i];
        int64_t *size = &shape.dims[i];
        is_good = !__builtin_mul_overflow(rule[0], open_size, size) &&
                  !__builtin_add_overflow(*size, rule[1], size) && *size >= 0;
    }
    *ret_shape = shape;
    return is_good;
}

/* Gives a _Recv's tensor its shape when the gateway has said how it follows from the open size (attribute
 * `grows`). False when it has not. */
static bool
seed_received(MemoryShapes *shapes, const Node *node, ShapeSeed *ret_seed)
{
    int64_t rules[RULES_MAX];
    size_t count = node_attr_ints(node, "grows", rules, COUNT_OF(rules));
    shapes->grow = shapes->grow || count > 0;
    ret_seed->endpoint.node = node->id;
    return count > 0 && grow_shape(rules, count, shapes->open_size, &ret_seed->shape);
}

static size_t
collect_seeds(MemoryShapes *shapes, const Partition *partition, ShapeSeed *seeds)
{
    size_t count = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        if (node->kind == SCHEDULE_ARG) {
            seeds[count++] = (ShapeSeed){.endpoint = {.node = id}, .shape = shapes->feeds[node->index].shape};
        } else if (node->kind == SCHEDULE_RECV) {
            count += seed_received(shapes, node->node, &seeds[count]) ? 1 : 0;
        } else if (node->value != NULL) {
            seeds[count++] =
                (ShapeSeed){.endpoint = {.node = id}, .shape = node->value->shape, .value = node->value};
        }
    }
    return count;
}

/* Infers the shapes of a partition's tensors from its feeds, its constants, and the rules that the gateway
 * gives for tensors that other slots send. False when shapes contradict each other, or without memory. */
static bool
infer_shapes(Arena *arena, const Partition *partition, MemoryShapes *shapes)
{
    size_t seed_max = (size_t)partition->node_count + 1;
    ShapeSeed *seeds = arena_alloc(arena, seed_max * sizeof *seeds);
    if (seeds == NULL) {
        return false;
    }
    Call call = {.arena = arena};
    size_t count = collect_seeds(shapes, partition, seeds);
    return graph_infer_shapes(&call, partition->graph, seeds, count, &shapes->outputs) == STATUS_OK;
}

/* The input shapes and constant values of one node, as a KernelForecast shows them to its kernel. The
 * arrays have room for the node with the most inputs and are filled again for each node. */
typedef struct Telling {
    Shape *shapes;
    const Tensor **values;
} Telling;

static bool
telling_new(Arena *arena, const Partition *partition, Telling *ret_telling)
{
    size_t input_max = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        size_t count = partition->nodes[id].node->input_count;
        input_max = count > input_max ? count : input_max;
    }
    ret_telling->shapes = arena_alloc(arena, (input_max + 1) * sizeof *ret_telling->shapes);
    ret_telling->values = arena_alloc(arena, (input_max + 1) * sizeof *ret_telling->values);
    return ret_telling->shapes != NULL && ret_telling->values != NULL;
}

/* Fills in the inputs of a node; an absent optional one has an unknown shape. False when the shape of
 * another is not known. */
static bool
tell_inputs(const Telling *telling, const Partition *partition, const Shape *const *shapes, const Node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        Endpoint from = node->inputs[i];
        telling->shapes[i] = shape_unknown();
        telling->values[i] = NULL;
        if (from.node == NODE_NONE) {
            continue;
        }
        telling->shapes[i] = shapes[from.node][from.port];
        telling->values[i] = from.port == 0 ? partition->nodes[from.node].value : NULL;
        if (!shape_is_known(&telling->shapes[i])) {
            return false;
        }
    }
    return true;
}

static uint64_t
forecast_size(const KernelForecast *told, const Kernel *kernel)
{
    return kernel->scratch != NULL ? kernel->scratch(told)
                                   : kernel_wide_size(told, kernel->wide_inputs, kernel->wide_outputs);
}

static bool
takes_scratch(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_KERNEL &&
           (node->kernel->scratch != NULL || node->kernel->wide_inputs != 0 ||
               node->kernel->wide_outputs != 0);
}

/* Forecasts the device memory that kernels will take while they compute, beside their inputs and outputs
 * (Kernel.scratch). Returns bytes by node: 0 when its kernel takes none or cannot tell, or when an input's
 * shape is not known; NULL without memory. `shapes`: by node and port. */
static uint64_t *
forecast_scratch(Arena *arena, const Partition *partition, const Shape *const *shapes)
{
    uint64_t *sizes = arena_alloc(arena, ((size_t)partition->node_count + 1) * sizeof *sizes);
    Telling telling;
    if (sizes == NULL || !telling_new(arena, partition, &telling)) {
        return NULL;
    }
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        if (!takes_scratch(node) || !tell_inputs(&telling, partition, shapes, node->node)) {
            continue;
        }
        Call call = {.arena = arena};
        KernelForecast told = {
            .call = &call,
            .device = partition->device,
            .state = node->state,
            .shapes = {.node = node->node,
                .inputs = telling.shapes,
                .values = telling.values,
                .outputs = without_const(shapes[id])},
        };
        sizes[id] = forecast_size(&told, node->kernel);
    }
    return sizes;
}

enum {
    ARENA_TENSOR_MIN = 1024,    /* bytes; a smaller tensor is allocated on its own as cheaply */
    ARENA_SIZE_MIN = 64 * 1024, /* bytes of all tensors together; an arena for fewer does not pay */
    ARENA_USES_MAX = 1024,      /* readers of one tensor; more would make planning slow */
};
static const size_t SCRATCH_SIZE_MAX = (size_t)1 << 30;
static const size_t PLAN_SIZE_MAX = (size_t)1 << 28;

typedef struct Planning {
    Arena *scratch;
    const Partition *partition;
    MemoryShapes shapes;
    Flow flow;
    MemoryValues values;
    const uint64_t *scratch_sizes; /* by node: bytes that its kernel takes beside inputs and outputs */
    /* One element a value, for values with memory of their own: */
    uint32_t *lasts;     /* the last value that takes that memory over, or the value itself */
    uint32_t *buffers;   /* index of its buffer in the arena, or BUFFER_NONE */
    uint32_t *positions; /* by node: its position in flow.order */
    LayoutBuffer *layout;
    uint32_t layout_count;
    MemoryPlan *plan;
} Planning;

/* Follows the chains of values that take over each other's memory, and marks the first value of a chain as
 * kept or held when one of the chain is. A value's index is above that of the value it takes over, so that
 * one pass is enough. */
static bool
find_owners(Planning *planning)
{
    uint32_t count = planning->values.count;
    MemoryValue *values = planning->values.values;
    uint32_t *owners = arena_alloc(planning->scratch, ((size_t)count + 1) * sizeof *owners);
    planning->lasts = arena_alloc(planning->scratch, ((size_t)count + 1) * sizeof *planning->lasts);
    planning->buffers = arena_alloc(planning->scratch, ((size_t)count + 1) * sizeof *planning->buffers);
    if (owners == NULL || planning->lasts == NULL || planning->buffers == NULL) {
        return false;
    }
    memset(planning->buffers, 0xff, count * sizeof *planning->buffers);
    for (uint32_t i = 0; i < count; i++) {
        owners[i] = values[i].from == VALUE_NONE ? i : owners[values[i].from];
        planning->lasts[owners[i]] = i;
        values[owners[i]].is_kept = values[owners[i]].is_kept || values[i].is_kept;
        values[owners[i]].is_held = values[owners[i]].is_held || values[i].is_held;
    }
    return true;
}

/* Returns whether the run allocates memory for this value, rather than takes over another value's. */
static bool
is_allocated(const MemoryValue *value)
{
    return (value->kind == VALUE_NEW || value->kind == VALUE_RECEIVED) && value->from == VALUE_NONE;
}

static bool
has_kind(const Partition *partition, ScheduleKind kind)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        if (partition->nodes[id].kind == kind) {
            return true;
        }
    }
    return false;
}

/* Returns whether loops or branches decide during the run which tensors are made. */
static bool
has_control_flow(const Partition *partition)
{
    return partition->frame_count > 1 || has_kind(partition, SCHEDULE_SWITCH) ||
           has_kind(partition, SCHEDULE_MERGE);
}

static bool
belongs_in_arena(const Planning *planning, uint32_t value)
{
    const MemoryValue *at = &planning->values.values[value];
    return is_allocated(at) && at->kind == VALUE_NEW && at->is_known && !at->is_kept &&
           at->size >= ARENA_TENSOR_MIN &&
           planning->values.values[planning->lasts[value]].use_count <= ARENA_USES_MAX;
}

static int
compare_descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

/* Finds the size from which on tensors go into the arena, so that they are at most LAYOUT_BUFFERS_MAX. */
static bool
find_threshold(const Planning *planning, uint64_t *ret_threshold)
{
    uint64_t *sizes = arena_alloc(planning->scratch, ((size_t)planning->values.count + 1) * sizeof *sizes);
    uint32_t count = 0;
    for (uint32_t i = 0; sizes != NULL && i < planning->values.count; i++) {
        if (belongs_in_arena(planning, i)) {
            sizes[count++] = planning->values.values[i].size;
        }
    }
    *ret_threshold = 0;
    if (count > LAYOUT_BUFFERS_MAX) {
        qsort(sizes, count, sizeof *sizes, compare_descending);
        *ret_threshold = sizes[LAYOUT_BUFFERS_MAX] + 1;
    }
    return sizes != NULL;
}

static bool
choose_buffers(Planning *planning)
{
    uint64_t threshold = 0;
    uint64_t total = 0;
    planning->layout = arena_alloc(planning->scratch, (LAYOUT_BUFFERS_MAX + 1) * sizeof *planning->layout);
    if (planning->layout == NULL || !find_threshold(planning, &threshold)) {
        return false;
    }
    for (uint32_t i = 0; i < planning->values.count; i++) {
        const MemoryValue *value = &planning->values.values[i];
        if (!belongs_in_arena(planning, i) || value->size < threshold) {
            continue;
        }
        const MemoryValue *last = &planning->values.values[planning->lasts[i]];
        total += value->size;
        planning->buffers[i] = planning->layout_count;
        planning->layout[planning->layout_count++] = (LayoutBuffer){.maker = value->node,
            .last_maker = last->node,
            .use_count = last->use_count,
            .uses = last->uses,
            .size = value->size};
    }
    if (total < ARENA_SIZE_MIN) {
        memset(planning->buffers, 0xff, planning->values.count * sizeof *planning->buffers);
        planning->layout_count = 0;
    }
    return true;
}

/* Copies the layout from scratch memory into the plan's own. */
static bool
keep_buffers(const Planning *planning)
{
    MemoryPlan *plan = planning->plan;
    PlannedBuffer *buffers = arena_alloc(plan->arena, ((size_t)planning->layout_count + 1) * sizeof *buffers);
    for (uint32_t i = 0; buffers != NULL && i < planning->layout_count; i++) {
        const LayoutBuffer *from = &planning->layout[i];
        uint32_t *former = arena_alloc(plan->arena, ((size_t)from->former_count + 1) * sizeof *former);
        if (former == NULL) {
            return false;
        }
        memcpy(former, from->former, from->former_count * sizeof *former);
        buffers[i] = (PlannedBuffer){
            .offset = from->offset, .size = from->size, .former = former, .former_count = from->former_count};
    }
    plan->buffers = buffers;
    plan->buffer_count = planning->layout_count;
    return buffers != NULL;
}

static bool
keep_outputs(const Planning *planning)
{
    MemoryPlan *plan = planning->plan;
    uint32_t node_count = planning->partition->node_count;
    size_t output_count = planning->values.starts[node_count];
    uint32_t *starts = arena_alloc(plan->arena, ((size_t)node_count + 1) * sizeof *starts);
    uint32_t *outputs = arena_alloc(plan->arena, (output_count + 1) * sizeof *outputs);
    if (starts == NULL || outputs == NULL) {
        return false;
    }
    memcpy(starts, planning->values.starts, ((size_t)node_count + 1) * sizeof *starts);
    memset(outputs, 0xff, output_count * sizeof *outputs);
    for (uint32_t i = 0; i < planning->values.count; i++) {
        const MemoryValue *value = &planning->values.values[i];
        outputs[starts[value->node] + value->port] =
            value->from == VALUE_NONE ? planning->buffers[i] : BUFFER_INPUT;
    }
    plan->starts = starts;
    plan->outputs = outputs;
    return true;
}

static bool
plan_arena(Planning *planning)
{
    if (has_control_flow(planning->partition)) {
        planning->plan->is_branching = true;
        planning->plan->is_exact = false;
        return true;
    }
    if (!choose_buffers(planning) || planning->layout_count == 0) {
        return planning->layout != NULL;
    }
    return arena_layout(planning->scratch, &planning->flow, planning->layout, planning->layout_count,
               &planning->plan->arena_bytes) &&
           keep_buffers(planning) && keep_outputs(planning);
}

static uint32_t
last_position(const Planning *planning, uint32_t value)
{
    const MemoryValue *last = &planning->values.values[planning->lasts[value]];
    uint32_t position = planning->positions[last->node];
    for (uint32_t i = 0; i < last->use_count; i++) {
        uint32_t use = planning->positions[last->uses[i]];
        position = use > position ? use : position;
    }
    return position;
}

/* Returns the position in the order at which a value begins to take memory. A received value is assumed to
 * arrive just before its first reader. */
static uint32_t
first_position(const Planning *planning, const MemoryValue *value)
{
    uint32_t position = planning->positions[value->node];
    for (uint32_t i = 0; value->kind == VALUE_RECEIVED && i < value->use_count; i++) {
        uint32_t use = planning->positions[value->uses[i]];
        position = i == 0 || use < position ? use : position;
    }
    return position;
}

/* Finds the peak of memory outside of the arena by walking through one order of the nodes: each position
 * adds the tensors it makes, needs scratch memory meanwhile, and frees the tensors whose last use it is.
 * Held values are never freed. */
static bool
plan_loose(Planning *planning)
{
    uint32_t node_count = planning->partition->node_count;
    uint64_t *made = arena_alloc(planning->scratch, ((size_t)node_count + 1) * sizeof *made);
    uint64_t *ended = arena_alloc(planning->scratch, ((size_t)node_count + 1) * sizeof *ended);
    if (made == NULL || ended == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < planning->values.count; i++) {
        const MemoryValue *value = &planning->values.values[i];
        if (is_allocated(value) && planning->buffers[i] == BUFFER_NONE) {
            made[first_position(planning, value)] += value->size;
            ended[value->is_held ? node_count : last_position(planning, i)] += value->size;
        }
    }
    uint64_t live = 0;
    for (uint32_t position = 0; position < node_count; position++) {
        live += made[position];
        uint64_t most = live + planning->scratch_sizes[planning->flow.order[position]];
        planning->plan->loose_bytes = most > planning->plan->loose_bytes ? most : planning->plan->loose_bytes;
        live -= ended[position];
    }
    return true;
}

static void
note_largest(MemoryPlan *plan, PlannedTensor tensor)
{
    for (uint32_t i = 0; i < LARGEST_COUNT; i++) {
        if (tensor.bytes > plan->largest[i].bytes) {
            PlannedTensor smaller = plan->largest[i];
            plan->largest[i] = tensor;
            tensor = smaller;
        }
    }
}

static void
sum_up(const Planning *planning)
{
    MemoryPlan *plan = planning->plan;
    /* Called functions plan their memory themselves: it is not in this plan. */
    plan->is_exact = plan->is_exact && !has_kind(planning->partition, SCHEDULE_PROMISE);
    for (uint32_t i = 0; i < planning->values.count; i++) {
        const MemoryValue *value = &planning->values.values[i];
        if (value->kind == VALUE_FED) {
            plan->fed_bytes += value->size;
        } else if (is_allocated(value)) {
            Slice node = planning->partition->nodes[value->node].node->name;
            note_largest(plan, (PlannedTensor){.node = node, .bytes = value->size});
        }
        plan->is_exact = plan->is_exact && (value->is_known || value->kind == VALUE_ELSEWHERE);
    }
}

static bool
find_positions(Planning *planning)
{
    uint32_t node_count = planning->partition->node_count;
    planning->positions =
        arena_alloc(planning->scratch, ((size_t)node_count + 1) * sizeof *planning->positions);
    for (uint32_t position = 0; planning->positions != NULL && position < node_count; position++) {
        planning->positions[planning->flow.order[position]] = position;
    }
    return planning->positions != NULL;
}

static bool
find_scratch(Planning *planning)
{
    planning->scratch_sizes =
        forecast_scratch(planning->scratch, planning->partition, planning->shapes.outputs);
    return planning->scratch_sizes != NULL;
}

static bool
plan_memory(Planning *planning)
{
    MemoryPlan *plan = planning->plan;
    plan->is_exact = infer_shapes(planning->scratch, planning->partition, &planning->shapes);
    plan->grows = planning->shapes.grow;
    if (!plan->is_exact) {
        return true;
    }
    if (!flow_new(planning->scratch, planning->partition, &planning->flow) || !find_positions(planning) ||
        !memory_values_find(planning->scratch, planning->partition, &planning->flow, planning->shapes.outputs,
            &planning->values) ||
        !find_scratch(planning) || !find_owners(planning) || !plan_arena(planning) || !plan_loose(planning)) {
        return false;
    }
    sum_up(planning);
    return true;
}

static MemoryPlan *
plan_begin(const Partition *partition, const Tensor *feeds, int64_t open_size)
{
    AUTO_ARENA arena = arena_new(PLAN_SIZE_MAX);
    MemoryPlan *plan = arena == NULL ? NULL : arena_alloc(arena, sizeof *plan);
    Shape *shapes =
        plan == NULL ? NULL : arena_alloc(arena, ((size_t)partition->arg_count + 1) * sizeof *shapes);
    if (shapes == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < partition->arg_count; i++) {
        shapes[i] = feeds[i].shape;
    }
    *plan = (MemoryPlan){
        .reference_count = 1, .feeds = shapes, .feed_count = partition->arg_count, .open_size = open_size};
    plan->arena = TAKE(arena);
    return plan;
}

MemoryPlan *
memory_plan_new(const Partition *partition, const Tensor *feeds, int64_t open_size)
{
    AUTO_ARENA scratch = arena_new(SCRATCH_SIZE_MAX);
    MemoryPlan *plan = scratch == NULL ? NULL : plan_begin(partition, feeds, open_size);
    Planning planning = {.scratch = scratch,
        .partition = partition,
        .shapes = {.feeds = feeds, .open_size = open_size},
        .plan = plan};
    if (plan != NULL && !plan_memory(&planning)) {
        memory_plan_unref(plan);
        return NULL;
    }
    return plan;
}

MemoryPlan *
memory_plan_ref(MemoryPlan *plan)
{
    assert(plan != NULL);
    reference_count_add(&plan->reference_count);
    return plan;
}

void
memory_plan_unref(MemoryPlan *plan)
{
    if (plan != NULL && reference_count_drop(&plan->reference_count)) {
        arena_free(plan->arena);
    }
}

bool
memory_plan_fits(const MemoryPlan *plan, const Tensor *feeds, int64_t open_size)
{
    if (plan->grows && plan->open_size != open_size) {
        return false;
    }
    for (uint32_t i = 0; i < plan->feed_count; i++) {
        if (!shape_equal(&plan->feeds[i], &feeds[i].shape)) {
            return false;
        }
    }
    return true;
}

/* The first run lays out weights and the like once, so the second replaces what the first has shown. Later
 * a larger peak counts at once and a smaller one by half, since peaks vary when several threads run. Two
 * runs that learn at the same time may lose one measurement, which the next run makes up for. */
void
memory_plan_learn(MemoryPlan *plan, uint64_t peak)
{
    uint64_t base = plan->fed_bytes + plan->arena_bytes + plan->loose_bytes;
    uint64_t seen = peak > base ? peak - base : 0;
    uint64_t before = atomic_load_relaxed(&plan->learnt_bytes);
    uint32_t runs = atomic_load_relaxed(&plan->learnt_runs);
    if (runs <= 1) {
        atomic_store_relaxed(&plan->learnt_runs, runs + 1);
    }
    if (runs <= 1 || seen != before) {
        uint64_t next = runs <= 1 || seen > before ? seen : (seen + before) / 2;
        atomic_store_relaxed(&plan->learnt_bytes, next);
    }
}
