/* late_arg_awaits() → run_feed() on any thread → the node runs again, as a ticket of its own. Args belong to
 * the root, which no node keeps from ending: the ticket is all that the wait counts as. */
#include "worker/runtime/run/late_args.h"

#include <inttypes.h>

#include "shared/base/memory.h"
#include "worker/runtime/run/executor.h"

enum { NAMED_MAX = 4 };

struct LateArg {
    DeviceWork work;
    Activation *activation;
    bool is_awaited; /* by its node; under the run's lock */
};

bool
late_args_expect(Run *run)
{
    run->late_args = memory_new(run->partition->arg_count + 1, sizeof *run->late_args);
    return run->late_args != NULL;
}

/* A failure that came before has given up what waited: nothing may wait behind it. */
bool
late_arg_awaits(const Ticket *ticket, Activation *activation, const ScheduleNode *node)
{
    Run *run = ticket->run;
    if (run->late_args == NULL) {
        return false;
    }
    LateArg *late = &run->late_args[node->index];
    pthread_mutex_lock(&run->lock);
    const bool is_absent = run->args[node->index].dtype == DTYPE_INVALID;
    if (is_absent && !run->has_failed) {
        late->activation = activation;
        late->is_awaited = true;
        __atomic_add_fetch(&run->ticket_count, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&run->lock);
    return is_absent;
}

static void
late_arg_continue(DeviceWork *work)
{
    const LateArg *late = (LateArg *)(void *)((char *)work - offsetof(LateArg, work));
    Ticket ticket;
    ticket_begin(&ticket, late->activation->iteration->run, arena_new(SCRATCH_MAX));
    ticket_resume(&ticket, late->activation, node_run);
    arena_free(ticket_run(&ticket));
}

static Status
check_feed(Call *call, const Run *run, uint32_t index, const Tensor *tensor)
{
    if (run->late_args == NULL || index >= run->partition->arg_count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the run takes no feed %" PRIu32 " later", index);
    }
    const Dtype wanted = partition_arg_dtype(run->partition, index);
    return tensor->dtype == wanted
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "feed %" PRIu32 " must be of type %s, not %s",
                     index, dtype_name(wanted), dtype_name(tensor->dtype));
}

/* With the lock held. */
static Status
take_feed(Call *call, Run *run, uint32_t index, Tensor *tensor, bool *ret_is_awaited)
{
    LateArg *late = &run->late_args[index];
    if (run->has_failed || run->is_done) {
        tensor_unref(tensor);
        return STATUS_OK;
    }
    if (run->args[index].dtype != DTYPE_INVALID) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "feed %" PRIu32 " has come already", index);
    }
    run->args[index] = *tensor;
    *tensor = (Tensor){0};
    *ret_is_awaited = late->is_awaited;
    late->is_awaited = false;
    return STATUS_OK;
}

Status
run_feed(Call *call, Run *run, uint32_t index, Tensor *tensor)
{
    bool is_awaited = false;
    TRY(check_feed(call, run, index, tensor));
    pthread_mutex_lock(&run->lock);
    const Status status = take_feed(call, run, index, tensor, &is_awaited);
    pthread_mutex_unlock(&run->lock);
    if (is_awaited) {
        Device *device = run->partition->device;
        LateArg *late = &run->late_args[index];
        late->work.run = late_arg_continue;
        device->schedule(device, &late->work);
    }
    return status;
}

void
late_args_give_up(Run *run)
{
    const uint32_t count = run->late_args == NULL ? 0 : run->partition->arg_count;
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_lock(&run->lock);
        const bool was_awaited = run->late_args[i].is_awaited;
        run->late_args[i].is_awaited = false;
        pthread_mutex_unlock(&run->lock);
        if (was_awaited) {
            ticket_drop(run);
        }
    }
}

void
late_args_describe(Run *run, Buffer *text)
{
    uint32_t count = 0;
    const uint32_t arg_count = run->late_args == NULL ? 0 : run->partition->arg_count;
    pthread_mutex_lock(&run->lock);
    for (uint32_t i = 0; i < arg_count; i++) {
        if (run->late_args[i].is_awaited && count++ < NAMED_MAX) {
            const Slice name = run->partition->nodes[run->partition->args[i]].node->name;
            buffer_append_format(
                text, "%s'%.*s'", count == 1 ? "; waiting for feeds: " : ", ", SLICE_PRINT(name));
        }
    }
    pthread_mutex_unlock(&run->lock);
    if (count > NAMED_MAX) {
        buffer_append_format(text, " and %" PRIu32 " more", count - NAMED_MAX);
    }
}
