#include "gateway/plan/plan.h"

#include "gateway/plan/compile.h"
#include "shared/base/text.h"

enum { PLAN_ARENA_SIZE_MAX = 1 << 30 };

/* --- Memory of a compilation ---------------------------------------------------------------------------- */

void *
compile_alloc(const Compile *compile, size_t count, size_t size)
{
    size_t total = 0;
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(compile->call->arena, total);
}

static void
map_release(void *map)
{
    map_free(map);
}

Map *
compile_map(const Compile *compile)
{
    Map *const map = map_new();
    if (map != NULL && arena_defer(compile->call->arena, map_release, map) == NULL) {
        map_free(map);
        return NULL;
    }
    return map;
}

Status
compile_no_memory(const Compile *compile)
{
    return call_fail_memory(compile->call, "a plan");
}

/* --- Compiling ------------------------------------------------------------------------------------------ */

static Plan *
plan_new(void)
{
    AUTO_ARENA arena = arena_new(PLAN_ARENA_SIZE_MAX);
    Plan *const plan = arena == NULL ? NULL : arena_alloc(arena, sizeof *plan);
    if (plan != NULL) {
        plan->reference_count = 1;
        plan->arena = TAKE(arena);
    }
    return plan;
}

static Status
copy_names(const Compile *compile, Plan *plan)
{
    const Signature *const signature = compile->request->signature;
    const size_t count = signature->feed_count + signature->fetch_count;
    Slice *const names = arena_alloc(plan->arena, count * sizeof *names);
    if (names == NULL) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < count; index++) {
        const Slice name = index < signature->feed_count ? signature->feeds[index].name
                                                         : signature->fetches[index - signature->feed_count];
        names[index] = slice_of(text_copy(plan->arena, name), name.size);
        if (names[index].data == NULL) {
            return compile_no_memory(compile);
        }
    }
    Shape *const shapes = arena_alloc(plan->arena, (signature->feed_count + 1) * sizeof *shapes);
    if (shapes == NULL) {
        return compile_no_memory(compile);
    }
    if (signature->feed_count > 0) {
        memcpy(shapes, compile->feed_shapes, signature->feed_count * sizeof *shapes);
    }
    plan->feed_shapes = shapes;
    plan->feeds = names;
    plan->feed_count = signature->feed_count;
    plan->fetches = names + signature->feed_count;
    plan->fetch_count = signature->fetch_count;
    return STATUS_OK;
}

static Status
describe_slots(const Compile *compile, Plan *plan)
{
    PlanSlot *const slots = arena_alloc(plan->arena, compile->slot_count * sizeof *slots);
    if (slots == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        slots[slot].device_type = "CPU";
        slots[slot].task = compile->slot_tasks[slot];
    }
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        if (node_keeps_state(&compile->graph->nodes[id])) {
            slots[compile->slots[id]].keeps_state = true;
        }
    }
    TRY(estimate_slots(compile, slots));
    plan->slots = slots;
    plan->slot_count = compile->slot_count;
    return STATUS_OK;
}

static uint32_t
count_fused(const Compile *compile)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        count += compile->fusions[id] != id;
    }
    return count;
}

bool
plan_own_text(const Plan *plan, Slice *text)
{
    text->data = text_copy(plan->arena, *text);
    return text->data != NULL;
}

/* False without memory for the texts. */
static bool
add_change(Plan *plan, PlanChange *changes, const PlanChange *change)
{
    PlanChange *const added = &changes[plan->change_count++];
    *added = *change;
    return plan_own_text(plan, &added->node) && plan_own_text(plan, &added->into) &&
           plan_own_text(plan, &added->reason);
}

/* What was done here, then what the workers will do. */
static Status
copy_changes(const Compile *compile, Plan *plan)
{
    const Optimised *const done = &compile->optimised;
    const size_t count = done->note_count + compile->call_count + count_fused(compile);
    PlanChange *const changes = arena_alloc(plan->arena, (count + 1) * sizeof *changes);
    bool is_ok = changes != NULL;
    for (size_t index = 0; is_ok && index < done->note_count; index++) {
        const RewriteNote *const note = &done->notes[index];
        is_ok = add_change(plan, changes, &(PlanChange){.pass = note->pass, .node = note->node});
    }
    for (size_t index = 0; is_ok && index < compile->call_count; index++) {
        is_ok = add_change(plan, changes, &compile->calls[index]);
    }
    for (uint32_t id = 0; is_ok && id < compile->graph->node_count; id++) {
        const Node *const nodes = compile->graph->nodes;
        const uint32_t into = compile->fusions[id];
        const PlanChange fused = {
            .pass = "elementwise_fusion", .node = nodes[id].name, .into = nodes[into].name};
        is_ok = into == id || add_change(plan, changes, &fused);
    }
    plan->changes = changes;
    return is_ok ? STATUS_OK : compile_no_memory(compile);
}

static bool
has_state(const Graph *graph)
{
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const unsigned flags = graph->nodes[id].op->flags;
        if ((flags & OP_STATEFUL) != 0 && (flags & OP_STEP_LOCAL) == 0) {
            return true;
        }
    }
    return false;
}

Status
plan_compile(Call *call, const PlanRequest *request, Plan **ret_plan)
{
    Compile compile = {.call = call, .request = request, .source = request->graph};
    TRY(resolve_names(&compile));
    TRY(check_feeds(&compile));
    TRY(prune(&compile));
    TRY(infer_shapes(&compile));
    TRY(simplify(&compile));
    compile.is_pure = !has_state(compile.graph);
    TRY(outline(&compile));
    TRY(find_loops(&compile));
    TRY(place(&compile));
    TRY(find_growth(&compile));
    TRY(find_fusions(&compile));
    AUTO_PLAN plan = plan_new();
    if (plan == NULL) {
        return compile_no_memory(&compile);
    }
    TRY(copy_names(&compile, plan));
    TRY(describe_slots(&compile, plan));
    TRY(partition(&compile, plan));
    TRY(copy_changes(&compile, plan));
    plan->is_pure = compile.is_pure;
    plan->grows = compile.grows;
    plan->byte_size = arena_size(plan->arena);
    *ret_plan = TAKE(plan);
    return STATUS_OK;
}

Plan *
plan_ref(Plan *plan)
{
    (void)__atomic_add_fetch(&plan->reference_count, 1, __ATOMIC_RELAXED);
    return plan;
}

void
plan_unref(Plan *plan)
{
    if (plan != NULL && __atomic_sub_fetch(&plan->reference_count, 1, __ATOMIC_ACQ_REL) == 0) {
        arena_free(plan->arena);
    }
}
