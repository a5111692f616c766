#include "worker/runtime/run/run_admission.h"

#include <assert.h>

#include <inttypes.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/mutex.h"

enum {
    RESERVED_SIZE_MIN = 64 * 1024,       /* bytes; less is not worth reserving */
    PLANNING_SHARE = 8,                  /* planning may take 1 / 8 of the time that runs compute */
    PLANNING_FREE_NS = 20 * 1000 * 1000, /* ns; so much planning is always allowed */
};

static MemoryPlan *
find_plan(Partition *partition, const RunRequest *request)
{
    MemoryPlan *found = NULL;
    mutex_lock(&partition->pool.lock);
    for (uint32_t i = 0; i < PARTITION_PLANS_MAX && found == NULL; i++) {
        MemoryPlan *plan = partition->pool.plans[i];
        found = plan != NULL && memory_plan_fits(plan, request->args, request->open_size)
                    ? memory_plan_ref(plan)
                    : NULL;
    }
    mutex_unlock(&partition->pool.lock);
    return found;
}

static void
keep_plan(Partition *partition, MemoryPlan *plan, uint64_t elapsed_ns)
{
    mutex_lock(&partition->pool.lock);
    MemoryPlan **kept = &partition->pool.plans[partition->pool.next_plan];
    MemoryPlan *dropped = *kept;
    *kept = memory_plan_ref(plan);
    partition->pool.next_plan = (partition->pool.next_plan + 1) % PARTITION_PLANS_MAX;
    partition->pool.planning_ns += elapsed_ns;
    mutex_unlock(&partition->pool.lock);
    memory_plan_unref(dropped);
}

/* Returns whether a new plan may be made. When the shapes of feeds change with every run, planning must not
 * take more than a small share of the time that the runs take. */
static bool
is_planning_worthwhile(Partition *partition)
{
    uint64_t runs = atomic_load_relaxed(&partition->run_count);
    mutex_lock(&partition->pool.lock);
    uint64_t planning_ns = partition->pool.planning_ns;
    mutex_unlock(&partition->pool.lock);
    return planning_ns < PLANNING_FREE_NS + runs * partition_cost_ns(partition) / PLANNING_SHARE;
}

/* Finds the plan for these feeds, or makes it. NULL: the run goes without a plan. */
static MemoryPlan *
obtain_plan(Partition *partition, const RunRequest *request)
{
    MemoryPlan *plan = find_plan(partition, request);
    if (plan == NULL && is_planning_worthwhile(partition)) {
        uint64_t start_ns = clock_thread_ns();
        plan = memory_plan_new(partition, request->args, request->open_size);
        if (plan != NULL) {
            keep_plan(partition, plan, clock_thread_ns() - start_ns);
        }
    }
    return plan;
}

static bool
prepare_plan(Run *run, const RunRequest *request)
{
    if (run->plan != NULL && memory_plan_fits(run->plan, request->args, request->open_size)) {
        return true;
    }
    run_state_drop_plan(run);
    run->plan = obtain_plan(run->partition, request);
    if (run->plan != NULL && run->plan->buffer_count > 0 && run->partition->has_arena) {
        run->memory = run_memory_new(run->plan);
        return run->memory != NULL;
    }
    return true;
}

static const char *
plan_text(const MemoryPlan *plan, Buffer *text)
{
    buffer_append_format(text, "%s%" PRIu64 " bytes (%" PRIu64 " fed)", plan->is_exact ? "" : "an estimated ",
        memory_plan_bytes(plan), plan->fed_bytes);
    for (int i = 0; i < LARGEST_COUNT && plan->largest[i].bytes > 0; i++) {
        buffer_append_format(text, "%s'%.*s' %" PRIu64, i == 0 ? ", the largest tensors " : ", ",
            SLICE_PRINT(slice_part(plan->largest[i].node, 0, 64)), plan->largest[i].bytes);
    }
    const char *whole = buffer_string(text);
    return whole == NULL ? "more" : whole;
}

static Status
check_limit(Call *call, const MemoryPlan *plan, uint64_t limit)
{
    if (limit == 0 || memory_plan_bytes(plan) <= limit) {
        return STATUS_OK;
    }
    AUTO_BUFFER text = {0};
    return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
        "the step is planned to take %s on this worker, but may take %" PRIu64, plan_text(plan, &text),
        limit);
}

/* Tells the caller whether memory is short only because other runs hold it: the device could give `wanted`
 * bytes if no other run held any. */
static void
note_crowd(const RunRequest *request, uint64_t wanted, uint64_t limit)
{
    if (request->is_crowded != NULL) {
        *request->is_crowded = wanted <= limit;
    }
}

/* Reserves what the run is planned to allocate; feeds are allocated already. Other runs count with what
 * they have reserved or with what is in use, whichever is more. */
static Status
reserve_memory(Call *call, Run *run, const RunRequest *request)
{
    Device *device = run->partition->device;
    uint64_t wanted = memory_plan_allocated(run->plan);
    if (wanted < RESERVED_SIZE_MIN) {
        return STATUS_OK;
    }
    DeviceMemory memory;
    device->memory(device, &memory);
    uint64_t reserved = atomic_add_relaxed(&device->reserved, wanted);
    uint64_t taken = memory.in_use > reserved - wanted ? memory.in_use : reserved - wanted;
    if (wanted <= memory.limit && taken <= memory.limit - wanted) {
        run->reserved = wanted;
        return STATUS_OK;
    }
    atomic_sub_relaxed(&device->reserved, wanted);
    note_crowd(request, wanted, memory.limit);
    AUTO_BUFFER text = {0};
    return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
        "the step is planned to take %s, but %" PRIu64 " of the worker's %" PRIu64 " bytes are taken",
        plan_text(run->plan, &text), taken, memory.limit);
}

static bool
prepare_account(Run *run, const RunRequest *request)
{
    uint64_t limit = request->memory_limit;
    if (run->account == NULL || !memory_account_reset(run->account)) {
        memory_account_end(run->account);
        run->account = memory_account_new();
    }
    if (run->account != NULL && limit != 0) {
        run->account->limit = limit > run->fed_bytes ? limit - run->fed_bytes : 1;
    }
    if (run->account != NULL) {
        run->account->tenant = request->tenant;
    }
    return run->account != NULL;
}

static Status
begin_arena(Call *call, Run *run, const RunRequest *request)
{
    Device *device = run->partition->device;
    if (run->memory == NULL) {
        return STATUS_OK;
    }
    assert(run->plan != NULL); /* planned memory is of a plan, and both are dropped together */
    MemoryAccount *before = device->charge(device, run->account);
    bool is_there = run_memory_begin(run->memory, device);
    (void)device->charge(device, before);
    if (is_there) {
        return STATUS_OK;
    }
    AUTO_BUFFER text = {0};
    DeviceMemory memory;
    device->memory(device, &memory);
    note_crowd(request, run->plan->arena_bytes, memory.limit);
    return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
        "the step is planned to take %s, but %" PRIu64 " of the worker's %" PRIu64 " bytes are in use",
        plan_text(run->plan, &text), memory.in_use, memory.limit);
}

static void
release_reservation(Run *run)
{
    if (run->reserved > 0) {
        atomic_sub_relaxed(&run->partition->device->reserved, run->reserved);
        run->reserved = 0;
    }
}

Status
run_admit(Call *call, Run *run, const RunRequest *request)
{
    assert(run->partition == request->partition);
    if (request->feeds_come_late) {
        run_state_drop_plan(run); /* the shapes of feeds that come late are not known yet */
    } else if (!prepare_plan(run, request)) {
        return call_fail_memory(call, "a run's arena");
    }
    run->fed_bytes = run->plan == NULL ? 0 : run->plan->fed_bytes;
    run->planned_bytes = run->plan == NULL ? 0 : memory_plan_bytes(run->plan);
    if (run->plan != NULL && !run->plan->is_branching) {
        TRY(check_limit(call, run->plan, request->memory_limit));
        TRY(reserve_memory(call, run, request));
    }
    Status status = prepare_account(run, request) ? begin_arena(call, run, request)
                                                  : call_fail_memory(call, "a run's account");
    if (status != STATUS_OK) {
        release_reservation(run);
    }
    return status;
}

void
run_settle(Run *run, RunStats *ret_stats)
{
    uint64_t fed = atomic_load_relaxed(&run->fed_bytes);
    ret_stats->peak_bytes = memory_account_peak(run->account) + fed;
    ret_stats->planned_bytes = run->planned_bytes;
    ret_stats->is_plan_exact = run->plan != NULL && run->plan->is_exact;
    if (run->plan != NULL && run->failure.code == STATUS_OK) {
        memory_plan_learn(run->plan, ret_stats->peak_bytes);
    }
    if (run->memory != NULL && !run_memory_end(run->memory)) {
        run->memory = NULL;
        memory_plan_unref(TAKE(run->plan));
    }
    release_reservation(run);
}
