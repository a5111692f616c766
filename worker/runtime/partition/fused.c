#include "worker/runtime/partition/fused.h"

#include <stdalign.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/graph/fusion.h"
#include "worker/runtime/partition/fused_plan.h"

enum {
    /* Tiles that one thread computes in one piece of work; fewer are not worth a hand-over. */
    TILES_AT_ONCE = 8,
    SIZE_CLASSES = 5, /* element sizes: 1, 2, 4, 8, 16 bytes */
};

typedef struct FusedRun {
    KernelContext *context;
    const Fused *fused;
    const FusedPlan *plan;
    /* Outputs of the steps that their own kernels compute, by step; NULL: there are no such steps. */
    Tensor *results;
    char *output;
    size_t output_size; /* bytes of an element */
    bool has_refused;   /* atomic: an operation has refused some element */
} FusedRun;

static const Tensor *
value_tensor(const FusedRun *run, uint32_t value)
{
    uint32_t input_count = run->fused->input_count;
    return value < input_count ? &run->context->inputs[value] : &run->results[value - input_count];
}

static Status
compute_whole(const FusedRun *run, uint32_t index)
{
    const FusedStep *step = &run->fused->steps[index];
    Tensor inputs[FUSION_INPUTS_MAX];
    for (uint32_t input = 0; input < step->node->input_count; input++) {
        inputs[input] = tensor_ref(value_tensor(run, step->values[input]));
    }
    KernelContext context = *run->context;
    context.node = step->node;
    context.state = step->state;
    context.inputs = inputs;
    context.input_count = step->node->input_count;
    context.outputs = &run->results[index];
    Status status = step->kernel->compute(&context);
    for (uint32_t input = 0; input < step->node->input_count; input++) {
        tensor_unref(&inputs[input]);
    }
    if (status != STATUS_OK) {
        call_blame(run->context->call, step->node->name);
    }
    return status;
}

/* Allocates the results of single steps, unless the plan is certain to need tiles only. */
static Status
make_room(FusedRun *run)
{
    const FusedPlan *plan = run->plan;
    if (plan->whole_count == 0 && plan->operation_count > 0 && !plan->may_refuse) {
        return STATUS_OK;
    }
    run->results = memory_new(run->fused->step_count, sizeof *run->results);
    return run->results != NULL ? STATUS_OK
                                : call_fail_memory(run->context->call, "what lies between fused nodes");
}

static void
release_results(const FusedRun *run)
{
    for (uint32_t step = 0; run->results != NULL && step < run->fused->step_count; step++) {
        tensor_unref(&run->results[step]);
    }
}

#define REPEAT(size, storage)                                                                                \
    static void repeat_##size(const void *from, void *to, int64_t count)                                     \
    {                                                                                                        \
        storage value = *(const storage *)from;                                                              \
        storage *target = to;                                                                                \
        for (int64_t n = 0; n < count; n++) {                                                                \
            target[n] = value;                                                                               \
        }                                                                                                    \
    }

typedef struct Wide {
    uint64_t halves[2];
} Wide;

REPEAT(1, uint8_t)
REPEAT(2, uint16_t)
REPEAT(4, uint32_t)
REPEAT(8, uint64_t)
REPEAT(16, Wide)

static void
repeat_element(const void *from, void *to, int64_t count, size_t size)
{
    static void (*const loops[SIZE_CLASSES])(const void *, void *, int64_t) = {
        repeat_1, repeat_2, repeat_4, repeat_8, repeat_16};
    loops[__builtin_ctzll(size)](from, to, count);
}

/* Converts an index into the result to positions in the walk's dimensions. Returns the offset into the
 * value, in elements. */
static int64_t
walk_seek(const FusedWalk *walk, int64_t at, int64_t *positions)
{
    int64_t offset = 0;
    for (int dimension = 0; dimension < walk->rank; dimension++) {
        positions[dimension] = at % walk->dims[dimension];
        at /= walk->dims[dimension];
        offset += positions[dimension] * walk->strides[dimension];
    }
    return offset;
}

/* Moves from the end of a line to the start of the next one. Returns its offset. */
static int64_t
walk_carry(const FusedWalk *walk, int64_t offset, int64_t *positions)
{
    offset -= positions[0] * walk->strides[0];
    positions[0] = 0;
    for (int dimension = 1; dimension < walk->rank; dimension++) {
        offset += walk->strides[dimension];
        if (++positions[dimension] < walk->dims[dimension]) {
            return offset;
        }
        offset -= walk->dims[dimension] * walk->strides[dimension];
        positions[dimension] = 0;
    }
    return offset;
}

/* Copies the elements that run->count elements of the result read, in their order, to `to`. */
static void
walk_copy(const FusedOperand *operand, const char *value, int64_t offset, int64_t *positions, ElementRun *run,
    char *to)
{
    const FusedWalk *walk = operand->walk;
    int64_t size = (int64_t)operand->size;
    for (int64_t done = 0; done < run->count;) {
        int64_t left = walk->dims[0] - positions[0];
        int64_t count = left < run->count - done ? left : run->count - done;
        const char *from = value + offset * size;
        if (walk->strides[0] == 0) {
            repeat_element(from, to + done * size, count, operand->size);
        } else {
            memcpy(to + done * size, from, (size_t)(count * size));
        }
        done += count;
        positions[0] += count;
        offset = walk_carry(walk, offset + count * walk->strides[0], positions);
    }
}

/* Points an operand at the value's own elements when those of the tile lie on one line, else at a copy in
 * `room`. */
static void
bind_walk(
    const FusedOperand *operand, const char *value, int64_t start, ElementRun *run, int index, char *room)
{
    const FusedWalk *walk = operand->walk;
    int64_t positions[SHAPE_RANK_MAX] = {0};
    int64_t offset = walk_seek(walk, start, positions);
    if (positions[0] + run->count <= walk->dims[0]) {
        run->inputs[index] = value + offset * (int64_t)operand->size;
        run->strides[index] = walk->strides[0];
        return;
    }
    walk_copy(operand, value, offset, positions, run, room);
    run->inputs[index] = room;
    run->strides[index] = 1;
}

typedef struct Registers {
    alignas(64) char tiles[FUSED_REGISTER_COUNT][FUSED_REGISTER_SIZE];
    alignas(64) char copies[ELEMENT_INPUTS_MAX][FUSED_REGISTER_SIZE];
} Registers;

static void
bind_operands(const FusedRun *fused, const FusedOperation *operation, int64_t start, Registers *registers,
    ElementRun *run)
{
    for (uint32_t index = 0; index < operation->operand_count; index++) {
        const FusedOperand *operand = &operation->operands[index];
        const char *value = operand->kind == FUSED_REGISTER ? registers->tiles[operand->source]
                                                            : value_tensor(fused, operand->source)->data;
        bool is_line = operand->kind == FUSED_LINE;
        run->inputs[index] = is_line ? value + start * (int64_t)operand->size : value;
        run->strides[index] = operand->kind != FUSED_SCALAR;
        if (operand->kind == FUSED_WALK) {
            bind_walk(operand, value, start, run, (int)index, registers->copies[index]);
        }
    }
}

/* Computes one tile. False when an operation refuses an element. */
static bool
compute_tile(const FusedRun *fused, int64_t start, int64_t count, Registers *registers)
{
    const FusedPlan *plan = fused->plan;
    char *output = fused->output + start * (int64_t)fused->output_size;
    for (uint32_t index = 0; index < plan->operation_count; index++) {
        const FusedOperation *operation = &plan->operations[index];
        const ElementFunction *function = operation->function;
        ElementRun run = {.count = count, .parameters = function->parameters};
        bind_operands(fused, operation, start, registers, &run);
        if (function->accepts != NULL && !function->accepts(&run)) {
            return false;
        }
        run.output = operation->target == FUSED_OUTPUT ? output : registers->tiles[operation->target];
        function->loop(&run);
    }
    return true;
}

static void
compute_tiles(void *context, int64_t index)
{
    FusedRun *run = context;
    const FusedPlan *plan = run->plan;
    Registers registers;
    int64_t size = plan->tile * TILES_AT_ONCE;
    int64_t first = index * size;
    int64_t end = plan->count - first < size ? plan->count : first + size;
    for (int64_t start = first; start < end; start += plan->tile) {
        int64_t count = end - start < plan->tile ? end - start : plan->tile;
        if (!compute_tile(run, start, count, &registers)) {
            atomic_store_relaxed(&run->has_refused, true);
            return;
        }
    }
}

/* Makes the output, if possible in the memory of an input that nobody else needs: each tile of that input
 * is read before the same tile of the output is written. */
static Status
make_output(KernelContext *context, const FusedPlan *plan, Tensor **ret_output)
{
    Dtype dtype = context->node->output_dtypes[0];
    size_t size = dtype_size(dtype);
    for (uint32_t index = 0; index < context->input_count && !plan->may_refuse; index++) {
        const Tensor *input = &context->inputs[index];
        bool is_alike = tensor_element_count(input) == plan->count && dtype_size(input->dtype) == size;
        if (is_alike && tensor_is_unique(input)) {
            return kernel_forward(context, index, 0, dtype, &plan->shape, ret_output);
        }
    }
    return kernel_output(context, 0, dtype, &plan->shape, ret_output);
}

static Status
compute_all_tiles(FusedRun *run)
{
    KernelContext *context = run->context;
    const FusedPlan *plan = run->plan;
    Tensor *output = NULL;
    TRY(make_output(context, plan, &output));
    run->output = output->data;
    run->output_size = dtype_size(output->dtype);
    int64_t size = plan->tile * TILES_AT_ONCE;
    if (plan->count <= size) {
        compute_tiles(run, 0);
    } else {
        context->device->parallel_for(context->device, (plan->count + size - 1) / size, compute_tiles, run);
    }
    return STATUS_OK;
}

/* Computes the nodes one after another by their own kernels, which report the error when shapes do not
 * match or an element is refused. */
static Status
compute_nodes(const FusedRun *run)
{
    uint32_t last = run->fused->step_count - 1;
    for (uint32_t step = 0; step <= last; step++) {
        TRY(compute_whole(run, step));
    }
    run->context->outputs[0] = run->results[last];
    run->results[last] = (Tensor){0};
    return STATUS_OK;
}

static Status
compute_result(FusedRun *run)
{
    const FusedPlan *plan = run->plan;
    if (plan->operation_count == 0) {
        return compute_nodes(run);
    }
    for (uint32_t index = 0; index < plan->whole_count; index++) {
        TRY(compute_whole(run, plan->whole[index]));
    }
    TRY(compute_all_tiles(run));
    if (!run->has_refused) {
        return STATUS_OK;
    }
    tensor_unref(&run->context->outputs[0]);
    release_results(run);
    return compute_nodes(run);
}

static Status
fused_compute(KernelContext *context)
{
    FusedRun run = {.context = context, .fused = context->state};
    bool is_kept = false;
    TRY(fused_plan_get(context->call, run.fused, context->inputs, &run.plan, &is_kept));
    Status status = make_room(&run);
    if (status == STATUS_OK) {
        status = compute_result(&run);
        release_results(&run);
        memory_free(run.results);
    }
    if (!is_kept) {
        fused_plan_free(run.plan);
    }
    return status;
}

static bool
is_live(const FusedRun *run, const FusedStep *step)
{
    bool is_live = true;
    for (uint32_t input = 0; input < step->node->input_count; input++) {
        is_live = is_live && value_tensor(run, step->values[input])->dtype != DTYPE_INVALID;
    }
    return is_live;
}

/* Computes the nodes that no dead input reaches, because they may fail. The last node is always dead then. */
static Status
fused_compute_dead(KernelContext *context)
{
    FusedRun run = {.context = context, .fused = context->state};
    Status status = STATUS_OK;
    run.results = memory_new(run.fused->step_count, sizeof *run.results);
    if (run.results == NULL) {
        return call_fail_memory(context->call, "what lies between fused nodes");
    }
    for (uint32_t step = 0; step + 1 < run.fused->step_count && status == STATUS_OK; step++) {
        status = is_live(&run, &run.fused->steps[step]) ? compute_whole(&run, step) : STATUS_OK;
    }
    release_results(&run);
    memory_free(run.results);
    return status;
}

static void
fused_destroy(void *state)
{
    const Fused *fused = state;
    for (int i = 0; i < FUSED_PLAN_COUNT; i++) {
        fused_plan_free(fused->plans[i]);
    }
}

static Status
compute_one_by_one(FusedRun *run)
{
    run->results = memory_new(run->fused->step_count, sizeof *run->results);
    if (run->results == NULL) {
        return call_fail_memory(run->context->call, "what lies between fused nodes");
    }
    Status status = compute_nodes(run);
    release_results(run);
    memory_free(run->results);
    return status;
}

static Status
fused_device_compute(KernelContext *context)
{
    FusedRun run = {.context = context, .fused = context->state};
    bool is_done = false;
    TRY(run.fused->fusion->compute(context, run.fused->group, &is_done));
    return is_done ? STATUS_OK : compute_one_by_one(&run);
}

void
fused_device_clear(const Fused *fused)
{
    for (uint32_t index = 0; index < fused->step_count; index++) {
        const FusedStep *step = &fused->steps[index];
        if (step->state != NULL && step->kernel->destroy != NULL) {
            step->kernel->destroy(step->state);
        }
    }
    if (fused->group != NULL) {
        fused->fusion->destroy(fused->group);
    }
}

static void
fused_device_destroy(void *state)
{
    fused_device_clear(state);
}

const Kernel fused_device_kernel = {
    .op = "_Fused",
    .compute = fused_device_compute,
    .compute_dead = fused_compute_dead,
    .destroy = fused_device_destroy,
    .sharing = KERNEL_FORWARDS,
};

const Kernel fused_kernel = {
    .op = "_Fused",
    .compute = fused_compute,
    .compute_dead = fused_compute_dead,
    .destroy = fused_destroy,
    .sharing = KERNEL_FORWARDS,
};
