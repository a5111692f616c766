/* Life of a step in the queue: queue_enqueue → queue_claim → queue_start → queue_end. queue_retry and
 * queue_release put it back, and queue_sweep does so for holders that are gone. */
#include "gateway/store/queue.h"

#include <assert.h>

#include "shared/base/text.h"

STATEMENT(step_insert);
STATEMENT(step_feed_insert);
STATEMENT(step_output_insert);
STATEMENT(step_end);
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

enum { CLAIM_MAX = 100, COLUMNS_MAX = 8 };

/* The array parameters of one statement, in the order of its parameters. */
typedef struct Columns {
    SqlArray arrays[COLUMNS_MAX];
    size_t count;
} Columns;

static Columns
columns_of(const SqlType *types, size_t count)
{
    Columns columns = {.count = count};
    assert(count <= COLUMNS_MAX);
    for (size_t index = 0; index < count; index++) {
        columns.arrays[index] = sql_array(types[index]);
    }
    return columns;
}

static void
columns_done(Columns *columns)
{
    for (size_t index = 0; index < columns->count; index++) {
        sql_array_done(&columns->arrays[index]);
    }
}
#define AUTO_COLUMNS CLEANUP(columns_done) Columns

static Status
add_columns(Call *call, Values *values, Columns *columns)
{
    for (size_t index = 0; index < columns->count; index++) {
        if (!values_array(values, &columns->arrays[index])) {
            return call_fail_memory(call, "a batch of steps");
        }
    }
    return STATUS_OK;
}

/* Adds a shape in PostgreSQL's text form of an array, "{1,224,224,3}". */
static void
add_shape(SqlArray *shapes, const StepTensor *tensor)
{
    Buffer text = {0};
    assert(tensor->rank <= STEP_TENSOR_RANK_MAX);
    buffer_append_byte(&text, '{');
    for (size_t index = 0; index < tensor->rank; index++) {
        buffer_append_string(&text, index == 0 ? "" : ",");
        buffer_append_int64(&text, tensor->dims[index]);
    }
    buffer_append_byte(&text, '}');
    shapes->buffer.has_failed = shapes->buffer.has_failed || !buffer_is_ok(&text);
    sql_array_bytes(shapes, buffer_slice(&text));
    buffer_done(&text);
}

static const SqlType tensor_columns[] = {SQL_UUID, SQL_INT64, SQL_TEXT, SQL_TEXT, SQL_TEXT, SQL_BYTES};

static void
add_tensors(Columns *columns, StepId step, const StepTensors *tensors)
{
    SqlArray *arrays = columns->arrays;
    for (size_t index = 0; index < tensors->count; index++) {
        const StepTensor *tensor = &tensors->items[index];
        sql_array_uuid(&arrays[0], step.value);
        sql_array_int64(&arrays[1], (int64_t)index);
        sql_array_text(&arrays[2], tensor->name);
        sql_array_text(&arrays[3], tensor->dtype);
        add_shape(&arrays[4], tensor);
        sql_array_bytes(&arrays[5], slice_of(tensor->sha256.bytes, SHA256_SIZE));
    }
}

static Status
insert_tensors(Call *call, Store *store, TenantId tenant, const Statement *statement, Columns *columns)
{
    Values values = {0};
    if (columns->arrays[0].count == 0) {
        return STATUS_OK;
    }
    values_uuid(&values, tenant.value);
    TRY(add_columns(call, &values, columns));
    return store_execute(call, store, tenant, statement, &values, NULL);
}

static void
add_step(SqlArray *arrays, const StepNew *step)
{
    sql_array_uuid(&arrays[0], step->id.value);
    sql_array_uuid(&arrays[1], step->session.value);
    sql_array_uuid(&arrays[2], step->graph.value);
    sql_array_int64(&arrays[3], step->priority);
    sql_array_text(&arrays[4], step->request);
    sql_array_int64(&arrays[5], step->attempts_max);
    sql_array_int64(&arrays[6], (int64_t)step->timeout_ms);
}

static Status
insert_rows(
    Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count, const char *owner)
{
    static const SqlType types[] = {SQL_UUID, SQL_UUID, SQL_UUID, SQL_INT64, SQL_TEXT, SQL_INT64, SQL_INT64};
    AUTO_COLUMNS columns = columns_of(types, COUNT_OF(types));
    Values values = {0};
    uint64_t inserted = 0;
    for (size_t index = 0; index < count; index++) {
        add_step(columns.arrays, steps[index]);
    }
    values_uuid(&values, tenant.value);
    TRY(add_columns(call, &values, &columns));
    values_text(&values, owner);
    TRY(store_execute(call, store, tenant, &sql_step_insert, &values, &inserted));
    if (inserted < count) {
        char session[ID_TEXT_SIZE];
        id_to_text("ses", steps[0]->session.value, session);
        return call_fail(call, STATUS_NOT_FOUND, "session '%s' does not exist", session);
    }
    return STATUS_OK;
}

static Status
insert_steps(
    Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count, const char *owner)
{
    AUTO_COLUMNS feeds = columns_of(tensor_columns, COUNT_OF(tensor_columns));
    TRY(insert_rows(call, store, tenant, steps, count, owner));
    for (size_t index = 0; index < count; index++) {
        add_tensors(&feeds, steps[index]->id, &steps[index]->feeds);
    }
    return insert_tensors(call, store, tenant, &sql_step_feed_insert, &feeds);
}

static void
add_end(SqlArray *arrays, const StepEnd *end)
{
    const StepOutcome *outcome = end->outcome;
    assert(step_state_is_ended(outcome->state));
    sql_array_uuid(&arrays[0], end->hold->id.value);
    sql_array_int64(&arrays[1], end->hold->fence);
    sql_array_text(&arrays[2], step_state_name(outcome->state));
    sql_array_text(&arrays[3], outcome->error_code);
    sql_array_text(&arrays[4], outcome->error_message);
    sql_array_text(&arrays[5], outcome->error_node);
    sql_array_text(&arrays[6], outcome->stats);
}

static Status
write_ends(Call *call, Store *store, const StepEnd *ends, size_t count, uint64_t *ret_ended)
{
    static const SqlType types[] = {SQL_UUID, SQL_INT64, SQL_TEXT, SQL_TEXT, SQL_TEXT, SQL_TEXT, SQL_TEXT};
    AUTO_COLUMNS columns = columns_of(types, COUNT_OF(types));
    TenantId tenant = ends[0].hold->tenant;
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        add_end(columns.arrays, &ends[index]);
    }
    values_uuid(&values, tenant.value);
    TRY(add_columns(call, &values, &columns));
    return store_execute(call, store, tenant, &sql_step_end, &values, ret_ended);
}

static Status
write_outputs(Call *call, Store *store, const StepEnd *ends, size_t count)
{
    AUTO_COLUMNS outputs = columns_of(tensor_columns, COUNT_OF(tensor_columns));
    for (size_t index = 0; index < count; index++) {
        add_tensors(&outputs, ends[index].hold->id, &ends[index].outcome->outputs);
    }
    return insert_tensors(call, store, ends[0].hold->tenant, &sql_step_output_insert, &outputs);
}

/* Checks the quota behind the insert, which holds the row that counts the tenant's queue: two inserts
 * cannot both be the last that fits. */
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
    bool is_over = row_boolean(&reader);
    TRY(row_end(call, &reader));
    return is_over ? call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the quota 'queued_steps_max' is used up")
                   : STATUS_OK;
}

Status
queue_enqueue_all(Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count)
{
    assert(store_is_in_transaction(store) && count > 0);
    TRY(insert_steps(call, store, tenant, steps, count, NULL));
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
    assert(owner != NULL);

    StepHold hold = {.tenant = tenant, .id = step->id, .fence = 1};
    if (store_is_in_transaction(store)) {
        TRY(insert_steps(call, store, tenant, &step, 1, owner));
        *ret_hold = hold;
        return STATUS_OK;
    }
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(insert_steps(call, store, tenant, &step, 1, owner));
    TRY(store_commit(call, TAKE(transaction)));
    *ret_hold = hold;
    return STATUS_OK;
}

static Status
add_wants(Call *call, Values *values, const QueueWants *wants, SqlArray *tenants, SqlArray *counts)
{
    for (size_t index = 0; index < wants->tenant_count; index++) {
        sql_array_uuid(tenants, wants->tenants[index].value);
        sql_array_int64(counts, (int64_t)wants->counts[index]);
    }
    if (!values_array(values, tenants) || !values_array(values, counts)) {
        return call_fail_memory(call, "the steps that are wanted");
    }
    values_int64(values, (int64_t)wants->others);
    values_int64(values, wants->room < CLAIM_MAX ? (int64_t)wants->room : CLAIM_MAX);
    return STATUS_OK;
}

Status
queue_claim(Call *call, Store *store, const char *owner, const QueueWants *wants, uint64_t lease_ms,
    StepList *ret_steps)
{
    assert(owner != NULL);

    AUTO_ROWS rows = {0};
    AUTO_SQL_ARRAY tenants = sql_array(SQL_UUID);
    AUTO_SQL_ARRAY counts = sql_array(SQL_INT64);
    Values values = {0};
    values_text(&values, owner);
    TRY(add_wants(call, &values, wants, &tenants, &counts));
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
send_heartbeat(Call *call, Store *store, Values *values, size_t count, StepBeat *ret_beats)
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
    assert(count > 0);

    SqlArray arrays[] = {sql_array(SQL_UUID), sql_array(SQL_UUID), sql_array(SQL_INT64)};
    Values values = {0};
    Status status = add_holds(call, &values, holds, count, arrays);
    if (status == STATUS_OK) {
        values_int64(&values, (int64_t)lease_ms);
        status = send_heartbeat(call, store, &values, count, ret_beats);
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

/* Tells an end that was committed before, whose reply was lost, from a step that another holds. */
static Status
accept_same_end(Call *call, Store *store, const StepHold *hold, StepState wanted)
{
    StepRecord step;
    TRY(steps_find(call, store, hold->tenant, hold->id, &step));
    return step.fence == hold->fence && step.state == wanted ? STATUS_OK : fail_lost(call, hold);
}

Status
queue_end_all(Call *call, Store *store, const StepEnd *ends, size_t count)
{
    uint64_t ended = 0;
    assert(store_is_in_transaction(store) && count > 0);
    TRY(write_ends(call, store, ends, count, &ended));
    return ended < count ? call_fail(call, STATUS_ABORTED, "a step of the batch is no longer held")
                         : write_outputs(call, store, ends, count);
}

static Status
end_step(Call *call, Store *store, const StepHold *hold, const StepOutcome *outcome)
{
    StepEnd end = {.hold = hold, .outcome = outcome};
    uint64_t ended = 0;
    TRY(write_ends(call, store, &end, 1, &ended));
    return ended == 0 ? accept_same_end(call, store, hold, outcome->state)
                      : write_outputs(call, store, &end, 1);
}

Status
queue_end(Call *call, Store *store, const StepHold *hold, const StepOutcome *outcome)
{
    assert(step_state_is_ended(outcome->state));
    if (store_is_in_transaction(store)) {
        return end_step(call, store, hold, outcome);
    }
    TRY(store_begin(call, store, hold->tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(end_step(call, store, hold, outcome));
    return store_commit(call, TAKE(transaction));
}

Status
queue_retry(Call *call, Store *store, const StepHold *hold, const StepOutcome *reason, bool is_charged,
    StepState *ret_state)
{
    assert(reason != NULL);

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
    bool is_known = step_state_from_name(row_bytes_borrowed(&reader), ret_state);
    assert(is_known);
    (void)is_known;
    return row_end(call, &reader);
}

/* Runs a statement over steps of many tenants, in a transaction that keeps claims out. */
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
