/* A step's way: queue_enqueue → queue_claim → queue_start → queue_end. Off that way: queue_retry and
 * queue_release put it back, queue_sweep does so for holders that are gone. */
#include "gateway/store/queue.h"

#include <assert.h>

#include "gateway/store/queue_rows.h"
#include "gateway/store/sql_array.h"
#include "shared/base/text.h"

STATEMENT(steps_notify);
STATEMENT(queue_check);
STATEMENT(queue_depth);
STATEMENT(queue_lock);
STATEMENT(queue_claim);
STATEMENT(step_heartbeat);
STATEMENT(step_start);
STATEMENT(step_retry);
STATEMENT(step_release);
STATEMENT(step_sweep);
STATEMENT(step_expire);
STATEMENT(step_redrive);

enum { CLAIM_MAX = 100 };

/* Asked behind the insert, which holds the row that counts the tenant's queue: two cannot both be the last.
 */
static Status
check_quota(Call *call, Store *store, TenantId tenant)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    TRY(store_query(call, store, tenant, &sql_queue_check, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_NOT_FOUND, "the tenant has no quotas");
    }
    RowReader reader = row_reader(call, &rows, 0);
    const bool is_over = row_boolean(&reader);
    TRY(row_end(call, &reader));
    return is_over ? call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the quota 'queued_steps_max' is used up")
                   : STATUS_OK;
}

Status
queue_enqueue_all(Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count)
{
    assert(store_is_in_transaction(store) && count > 0);
    TRY(queue_rows_insert(call, store, tenant, steps, count, NULL));
    TRY(check_quota(call, store, tenant));
    return store_execute(call, store, tenant, &sql_steps_notify, &(Values){0}, NULL);
}

Status
queue_enqueue(Call *call, Store *store, TenantId tenant, const StepNew *step)
{
    if (store_is_in_transaction(store)) {
        return queue_enqueue_all(call, store, tenant, &step, 1);
    }
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(queue_enqueue_all(call, store, tenant, &step, 1));
    return store_commit(call, TAKE(transaction));
}

Status
queue_begin(
    Call *call, Store *store, TenantId tenant, const StepNew *step, const char *owner, StepHold *ret_hold)
{
    const StepHold hold = {.tenant = tenant, .id = step->id, .fence = 1};
    if (store_is_in_transaction(store)) {
        TRY(queue_rows_insert(call, store, tenant, &step, 1, owner));
        *ret_hold = hold;
        return STATUS_OK;
    }
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(queue_rows_insert(call, store, tenant, &step, 1, owner));
    TRY(store_commit(call, TAKE(transaction)));
    *ret_hold = hold;
    return STATUS_OK;
}

Status
queue_claim(
    Call *call, Store *store, const char *owner, size_t count_max, uint64_t lease_ms, StepList *ret_steps)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_text(&values, owner);
    values_int64(&values, count_max < CLAIM_MAX ? (int64_t)count_max : CLAIM_MAX);
    values_int64(&values, (int64_t)lease_ms);
    TRY(store_query(call, store, NO_TENANT, &sql_queue_claim, &values, &rows));
    StepList steps = {.count = rows.count};
    steps.items = arena_alloc(call->arena, (rows.count + 1) * sizeof *steps.items);
    if (steps.items == NULL) {
        return call_fail_memory(call, "claimed steps");
    }
    for (size_t index = 0; index < rows.count; index++) {
        TRY(step_read(call, &rows, index, &steps.items[index]));
    }
    *ret_steps = steps;
    return STATUS_OK;
}

static Status
add_holds(Call *call, Values *values, const StepHold *holds, size_t count, SqlArray arrays[3])
{
    for (size_t index = 0; index < count; index++) {
        sql_array_uuid(&arrays[0], holds[index].tenant.value);
        sql_array_uuid(&arrays[1], holds[index].id.value);
        sql_array_int64(&arrays[2], holds[index].fence);
    }
    for (size_t index = 0; index < 3; index++) {
        if (!values_array(values, &arrays[index])) {
            return call_fail_memory(call, "the steps of a heartbeat");
        }
    }
    return STATUS_OK;
}

static Status
heartbeat(Call *call, Store *store, Values *values, size_t count, StepBeat *ret_beats)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_step_heartbeat, values, &rows));
    assert(rows.count == count);
    for (size_t index = 0; index < count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        ret_beats[index].is_held = row_boolean(&reader);
        ret_beats[index].is_cancel_requested = row_boolean(&reader);
        TRY(row_end(call, &reader));
    }
    return STATUS_OK;
}

Status
queue_heartbeat(
    Call *call, Store *store, const StepHold *holds, size_t count, uint64_t lease_ms, StepBeat *ret_beats)
{
    SqlArray arrays[] = {sql_array(SQL_UUID), sql_array(SQL_UUID), sql_array(SQL_INT64)};
    Values values = {0};
    Status status = add_holds(call, &values, holds, count, arrays);
    if (status == STATUS_OK) {
        values_int64(&values, (int64_t)lease_ms);
        status = heartbeat(call, store, &values, count, ret_beats);
    }
    for (size_t index = 0; index < COUNT_OF(arrays); index++) {
        sql_array_done(&arrays[index]);
    }
    return status;
}

static void
add_hold(Values *values, const StepHold *hold)
{
    values_uuid(values, hold->tenant.value);
    values_uuid(values, hold->id.value);
    values_int64(values, hold->fence);
}

static Status
fail_lost(Call *call, const StepHold *hold)
{
    char step[ID_TEXT_SIZE];
    id_to_text("stp", hold->id.value, step);
    return call_fail(
        call, STATUS_ABORTED, "step '%s' is no longer held with fence %lld", step, (long long)hold->fence);
}

Status
queue_start(Call *call, Store *store, const StepHold *hold)
{
    Values values = {0};
    uint64_t changed = 0;
    add_hold(&values, hold);
    TRY(store_execute(call, store, hold->tenant, &sql_step_start, &values, &changed));
    return changed == 0 ? fail_lost(call, hold) : STATUS_OK;
}

/* Nothing was changed. If this same end is what stands there, an earlier try of it was committed. */
static Status
accept_same_end(Call *call, Store *store, const StepHold *hold, StepState wanted)
{
    StepRecord step;
    TRY(steps_find(call, store, hold->tenant, hold->id, &step));
    return step.fence == hold->fence && step.state == wanted ? STATUS_OK : fail_lost(call, hold);
}

Status
queue_end_all(Call *call, Store *store, const StepEnding *endings, size_t count)
{
    uint64_t ended = 0;
    assert(store_is_in_transaction(store) && count > 0);
    TRY(queue_rows_end(call, store, endings, count, &ended));
    return ended < count ? call_fail(call, STATUS_ABORTED, "a step of the batch is no longer held")
                         : queue_rows_end_others(call, store, endings, count);
}

static Status
end_step(Call *call, Store *store, const StepHold *hold, const StepEnd *end)
{
    const StepEnding ending = {.hold = hold, .end = end};
    uint64_t ended = 0;
    TRY(queue_rows_end(call, store, &ending, 1, &ended));
    return ended == 0 ? accept_same_end(call, store, hold, end->state)
                      : queue_rows_end_others(call, store, &ending, 1);
}

Status
queue_end(Call *call, Store *store, const StepHold *hold, const StepEnd *end)
{
    assert(step_state_is_ended(end->state));
    if (store_is_in_transaction(store)) {
        return end_step(call, store, hold, end);
    }
    TRY(store_begin(call, store, hold->tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(end_step(call, store, hold, end));
    return store_commit(call, TAKE(transaction));
}

Status
queue_retry(Call *call, Store *store, const StepHold *hold, const StepEnd *reason, bool is_charged,
    StepState *ret_state)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_hold(&values, hold);
    values_boolean(&values, is_charged);
    values_text(&values, reason->error_code);
    values_text(&values, reason->error_message);
    values_text(&values, reason->error_node);
    TRY(store_query(call, store, hold->tenant, &sql_step_retry, &values, &rows));
    if (rows.count == 0) {
        return fail_lost(call, hold);
    }
    RowReader reader = row_reader(call, &rows, 0);
    const bool is_known = step_state_from_name(row_bytes_borrowed(&reader), ret_state);
    assert(is_known);
    (void)is_known;
    return row_end(call, &reader);
}

/* A statement over steps of many tenants, in a transaction that keeps claims out. */
static Status
run_over_all(
    Call *call, Store *store, const Statement *statement, const Values *values, uint64_t *ret_changed)
{
    TRY(store_begin(call, store, NO_TENANT));
    AUTO_TRANSACTION transaction = store;
    TRY(store_execute(call, store, NO_TENANT, &sql_queue_lock, &(Values){0}, NULL));
    TRY(store_execute(call, store, NO_TENANT, statement, values, ret_changed));
    return store_commit(call, TAKE(transaction));
}

Status
queue_release(Call *call, Store *store, const char *owner, uint64_t *ret_released)
{
    Values values = {0};
    values_text(&values, owner);
    return run_over_all(call, store, &sql_step_release, &values, ret_released);
}

Status
queue_sweep(Call *call, Store *store, uint64_t *ret_swept)
{
    uint64_t lost = 0;
    uint64_t expired = 0;
    TRY(run_over_all(call, store, &sql_step_sweep, &(Values){0}, &lost));
    TRY(run_over_all(call, store, &sql_step_expire, &(Values){0}, &expired));
    *ret_swept = lost + expired;
    return STATUS_OK;
}

Status
queue_redrive(Call *call, Store *store, TenantId tenant, StepId id)
{
    Values values = {0};
    uint64_t changed = 0;
    StepRecord step;
    values_uuid(&values, tenant.value);
    values_uuid(&values, id.value);
    TRY(store_execute(call, store, tenant, &sql_step_redrive, &values, &changed));
    if (changed > 0) {
        return STATUS_OK;
    }
    TRY(steps_find(call, store, tenant, id, &step));
    return step_state_move(call, &step.state, STEP_QUEUED);
}

Status
queue_depth(Call *call, Store *store, TenantId tenant, QueueDepth *ret_depth)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    QueueDepth depth;
    values_uuid(&values, tenant.value);
    TRY(store_query(call, store, tenant, &sql_queue_depth, &values, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    depth.queued = row_int64(&reader);
    depth.running = row_int64(&reader);
    depth.oldest_us = row_time_us(&reader);
    TRY(row_end(call, &reader));
    *ret_depth = depth;
    return STATUS_OK;
}
