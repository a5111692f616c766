#include "gateway/workers/members.h"

#include <assert.h>

#include "shared/base/clock.h"
#include "shared/telemetry/log.h"

/* Lists the leases that have lapsed, and notes when the next one will. Returns how many have. */
static size_t
judge_leases(Members *members, const WorkerLease **lapsed)
{
    WorkerLeaseList *list = &members->list;
    size_t lapsed_count = 0;
    members->due_ms = UINT64_MAX;
    for (size_t index = 0; index < list->count; index++) {
        const WorkerLease *lease = &list->items[index];
        uint64_t left_ms = lease_left_ms(&members->watch, lease->renewed_us, (uint64_t)lease->lease_ms);
        if (left_ms == 0) {
            lapsed[lapsed_count++] = lease;
        } else if (left_ms < members->due_ms) {
            members->due_ms = left_ms;
        }
    }
    return lapsed_count;
}

/* Another gateway may have been first; the trigger on the table tells all of them to read again. */
static Status
end_lapsed(Call *call, Store *store, const WorkerLease *const *lapsed, size_t count)
{
    uint64_t ended = 0;
    TRY(worker_leases_lapse(call, store, lapsed, count, &ended));
    for (size_t index = 0; index < count && ended > 0; index++) {
        log_event(LOG_WARNING, "a worker's lease has lapsed, it is taken off the list",
            log_text("worker", lapsed[index]->name), log_text("address", lapsed[index]->address));
    }
    return STATUS_OK;
}

static Status
read_and_judge(Call *call, Store *store, Members *members)
{
    TRY(worker_leases_list(call, store, &members->list));
    lease_watch_note(&members->watch, clock_monotonic_ns(), members->list.now_us);
    const WorkerLease **lapsed = arena_alloc(call->arena, (members->list.count + 1) * sizeof(WorkerLease *));
    if (lapsed == NULL) {
        return call_fail_memory(call, "a list of workers' leases");
    }
    size_t count = judge_leases(members, lapsed);
    if (count == 0) {
        return STATUS_OK;
    }
    TRY(end_lapsed(call, store, lapsed, count));
    return worker_leases_list(call, store, &members->list);
}

Status
members_read(Call *call, Store *store, Members *members)
{
    assert(call->arena != NULL);

    members->list = (WorkerLeaseList){0};
    members->due_ms = UINT64_MAX;
    Status status = read_and_judge(call, store, members);
    if (status != STATUS_OK) {
        lease_watch_break(&members->watch);
        members->list = (WorkerLeaseList){0};
    }
    return status;
}
