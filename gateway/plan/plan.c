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

static Status
copy_changes(const Compile *compile, Plan *plan)
{
    const size_t count = compile->optimised.note_count;
    PlanChange *const changes = arena_alloc(plan->arena, count * sizeof *changes);
    if (changes == NULL && count > 0) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < count; index++) {
        const RewriteNote *const note = &compile->optimised.notes[index];
        changes[index] = (PlanChange){
            .pass = note->pass,
            .node = slice_of(text_copy(plan->arena, note->node), note->node.size),
        };
        if (changes[index].node.data == NULL) {
            return compile_no_memory(compile);
        }
    }
    plan->changes = changes;
    plan->change_count = count;
    return STATUS_OK;
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
    TRY(find_loops(&compile));
    TRY(place(&compile));
    AUTO_PLAN plan = plan_new();
    if (plan == NULL) {
        return compile_no_memory(&compile);
    }
    TRY(copy_names(&compile, plan));
    TRY(describe_slots(&compile, plan));
    TRY(partition(&compile, plan));
    TRY(copy_changes(&compile, plan));
    plan->is_pure = !has_state(compile.graph);
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
