#include "gateway/store/steps.h"

#include <assert.h>

STATEMENT(step_find);
STATEMENT(step_list);
STATEMENT(step_report);
STATEMENT(step_cancel);
STATEMENT(steps_notify);
STATEMENT(step_feed_list);
STATEMENT(step_output_list);
STATEMENT(step_output_expire);

Status
step_read(Call *call, const Rows *rows, size_t row, StepRecord *ret_step)
{
    StepRecord step;
    RowReader reader = row_reader(call, rows, row);
    step.tenant.value = row_uuid(&reader);
    step.id.value = row_uuid(&reader);
    step.session.value = row_uuid(&reader);
    step.graph.value = row_uuid(&reader);
    Slice state = row_bytes_borrowed(&reader);
    step.is_async = row_boolean(&reader);
    step.priority = row_int64(&reader);
    step.request = row_text(&reader);
    step.attempts = row_int64(&reader);
    step.fence = row_int64(&reader);
    step.is_cancel_requested = row_boolean(&reader);
    step.created_us = row_time_us(&reader);
    step.started_us = row_time_us(&reader);
    step.ended_us = row_time_us(&reader);
    step.deadline_us = row_time_us(&reader);
    step.error_code = row_text(&reader);
    step.error_message = row_text(&reader);
    step.error_node = row_text(&reader);
    step.stats = row_text(&reader);
    step.left_us = row_int64(&reader);
    step.begun_us = row_int64(&reader);
    TRY(row_end(call, &reader));
    if (!step_state_from_name(state, &step.state)) {
        return call_fail(call, STATUS_DATA_LOSS, "a step is in the unknown state '%.*s'", SLICE_PRINT(state));
    }
    *ret_step = step;
    return STATUS_OK;
}

static void
add_identity(Values *values, TenantId tenant, StepId id)
{
    values_uuid(values, tenant.value);
    values_uuid(values, id.value);
}

Status
steps_find(Call *call, Store *store, TenantId tenant, StepId id, StepRecord *ret_step)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, id);
    TRY(store_query(call, store, tenant, &sql_step_find, &values, &rows));
    if (rows.count == 0) {
        char text[ID_TEXT_SIZE];
        id_to_text("stp", id.value, text);
        return call_fail(call, STATUS_NOT_FOUND, "step '%s' does not exist", text);
    }
    return step_read(call, &rows, 0, ret_step);
}

Status
steps_report(Call *call, Store *store, const StepRecord *steps, size_t count)
{
    AUTO_SQL_ARRAY tenants = sql_array(SQL_UUID);
    AUTO_SQL_ARRAY ids = sql_array(SQL_UUID);
    AUTO_SQL_ARRAY sessions = sql_array(SQL_UUID);
    AUTO_SQL_ARRAY graphs = sql_array(SQL_UUID);
    AUTO_SQL_ARRAY starts = sql_array(SQL_INT64);
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        sql_array_uuid(&tenants, steps[index].tenant.value);
        sql_array_uuid(&ids, steps[index].id.value);
        sql_array_uuid(&sessions, steps[index].session.value);
        sql_array_uuid(&graphs, steps[index].graph.value);
        sql_array_int64(&starts, (int64_t)steps[index].started_us);
    }
    if (!values_array(&values, &tenants) || !values_array(&values, &ids) ||
        !values_array(&values, &sessions) || !values_array(&values, &graphs) ||
        !values_array(&values, &starts)) {
        return call_fail_memory(call, "a report of running steps");
    }
    return store_execute(call, store, NO_TENANT, &sql_step_report, &values, NULL);
}

Status
steps_list(Call *call, Store *store, TenantId tenant, const StepFilter *filter, StepPage *ret_page)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, filter->session.value);
    values_text(&values, filter->state);
    values_uuid(&values, filter->page.before);
    values_int64(&values, (int64_t)page_size(&filter->page) + 1);
    TRY(store_query(call, store, tenant, &sql_step_list, &values, &rows));
    StepPage found = {.has_more = rows.count > page_size(&filter->page)};
    found.count = rows.count - found.has_more;
    found.items = arena_alloc(call->arena, (found.count + 1) * sizeof *found.items);
    if (found.items == NULL) {
        return call_fail_memory(call, "a page of steps");
    }
    for (size_t index = 0; index < found.count; index++) {
        TRY(step_read(call, &rows, index, &found.items[index]));
    }
    *ret_page = found;
    return STATUS_OK;
}

Status
steps_cancel(Call *call, Store *store, TenantId tenant, StepId id, StepRecord *ret_step)
{
    Values values = {0};
    uint64_t changed = 0;
    add_identity(&values, tenant, id);
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(store_execute(call, store, tenant, &sql_step_cancel, &values, &changed));
    if (changed > 0) {
        TRY(store_execute(call, store, tenant, &sql_steps_notify, &(Values){0}, NULL));
    }
    TRY(steps_find(call, store, tenant, id, ret_step));
    return store_commit(call, TAKE(transaction));
}

static Status
read_tensor(Call *call, const Rows *rows, size_t row, StepTensor *ret_tensor)
{
    RowReader reader = row_reader(call, rows, row);
    ret_tensor->name = row_text(&reader);
    ret_tensor->dtype = row_text(&reader);
    ret_tensor->rank = row_int64_array(&reader, STEP_TENSOR_RANK_MAX, ret_tensor->dims);
    ret_tensor->sha256 = row_digest(&reader);
    return row_end(call, &reader);
}

static Status
list_tensors(Call *call, Store *store, TenantId tenant, StepId id, const Statement *statement,
    StepTensors *ret_tensors)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, id);
    TRY(store_query(call, store, tenant, statement, &values, &rows));
    StepTensors tensors = {.count = rows.count};
    tensors.items = arena_alloc(call->arena, (rows.count + 1) * sizeof *tensors.items);
    if (tensors.items == NULL) {
        return call_fail_memory(call, "a list of tensors");
    }
    for (size_t index = 0; index < rows.count; index++) {
        TRY(read_tensor(call, &rows, index, &tensors.items[index]));
    }
    *ret_tensors = tensors;
    return STATUS_OK;
}

Status
steps_feeds(Call *call, Store *store, TenantId tenant, StepId id, StepTensors *ret_feeds)
{
    return list_tensors(call, store, tenant, id, &sql_step_feed_list, ret_feeds);
}

Status
steps_outputs(Call *call, Store *store, TenantId tenant, StepId id, StepTensors *ret_outputs)
{
    return list_tensors(call, store, tenant, id, &sql_step_output_list, ret_outputs);
}

Status
steps_outputs_expire(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_removed)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_int64(&values, (int64_t)age_s);
    values_int64(&values, (int64_t)count_max);
    return store_execute(call, store, tenant, &sql_step_output_expire, &values, ret_removed);
}
