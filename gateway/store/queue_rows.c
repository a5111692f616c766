#include "gateway/store/queue_rows.h"

#include <assert.h>

#include "gateway/store/sql_array.h"

STATEMENT(step_insert);
STATEMENT(step_feed_insert);
STATEMENT(step_output_insert);
STATEMENT(step_end);
STATEMENT(queue_correct);

enum { COLUMNS_MAX = 8 };

/* The array parameters of one statement, in its order. */
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

/* PostgreSQL's text form of an array, "{1,224,224,3}". */
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
    SqlArray *const arrays = columns->arrays;
    for (size_t index = 0; index < tensors->count; index++) {
        const StepTensor *const tensor = &tensors->items[index];
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

static int64_t
nanoseconds(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

/* --- Steps in ------------------------------------------------------------------------------------------- */

static void
add_step(SqlArray *arrays, const StepNew *step)
{
    sql_array_uuid(&arrays[0], step->id.value);
    sql_array_uuid(&arrays[1], step->session.value);
    sql_array_uuid(&arrays[2], step->graph.value);
    sql_array_int64(&arrays[3], step->priority);
    sql_array_int64(&arrays[4], nanoseconds(step->cost));
    sql_array_text(&arrays[5], step->request);
    sql_array_int64(&arrays[6], step->attempts_max);
    sql_array_int64(&arrays[7], (int64_t)step->timeout_ms);
}

static Status
insert_rows(
    Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count, const char *owner)
{
    static const SqlType types[] = {
        SQL_UUID, SQL_UUID, SQL_UUID, SQL_INT64, SQL_INT64, SQL_TEXT, SQL_INT64, SQL_INT64};
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

Status
queue_rows_insert(
    Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count, const char *owner)
{
    AUTO_COLUMNS feeds = columns_of(tensor_columns, COUNT_OF(tensor_columns));
    TRY(insert_rows(call, store, tenant, steps, count, owner));
    for (size_t index = 0; index < count; index++) {
        add_tensors(&feeds, steps[index]->id, &steps[index]->feeds);
    }
    return insert_tensors(call, store, tenant, &sql_step_feed_insert, &feeds);
}

/* --- Steps out ------------------------------------------------------------------------------------------ */

static Status
correct_charges(Call *call, Store *store, const StepEnding *endings, size_t count)
{
    static const SqlType types[] = {SQL_UUID, SQL_INT64};
    AUTO_COLUMNS columns = columns_of(types, COUNT_OF(types));
    const TenantId tenant = endings[0].hold->tenant;
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        if (endings[index].end->device_seconds > 0) {
            sql_array_uuid(&columns.arrays[0], endings[index].hold->id.value);
            sql_array_int64(&columns.arrays[1], nanoseconds(endings[index].end->device_seconds));
        }
    }
    if (columns.arrays[0].count == 0) {
        return STATUS_OK;
    }
    values_uuid(&values, tenant.value);
    TRY(add_columns(call, &values, &columns));
    return store_execute(call, store, tenant, &sql_queue_correct, &values, NULL);
}

static void
add_end(SqlArray *arrays, const StepEnding *ending)
{
    const StepEnd *const end = ending->end;
    assert(step_state_is_ended(end->state));
    sql_array_uuid(&arrays[0], ending->hold->id.value);
    sql_array_int64(&arrays[1], ending->hold->fence);
    sql_array_text(&arrays[2], step_state_name(end->state));
    sql_array_text(&arrays[3], end->error_code);
    sql_array_text(&arrays[4], end->error_message);
    sql_array_text(&arrays[5], end->error_node);
    sql_array_text(&arrays[6], end->stats);
}

Status
queue_rows_end(Call *call, Store *store, const StepEnding *endings, size_t count, uint64_t *ret_ended)
{
    static const SqlType types[] = {SQL_UUID, SQL_INT64, SQL_TEXT, SQL_TEXT, SQL_TEXT, SQL_TEXT, SQL_TEXT};
    AUTO_COLUMNS columns = columns_of(types, COUNT_OF(types));
    const TenantId tenant = endings[0].hold->tenant;
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        add_end(columns.arrays, &endings[index]);
    }
    values_uuid(&values, tenant.value);
    TRY(add_columns(call, &values, &columns));
    return store_execute(call, store, tenant, &sql_step_end, &values, ret_ended);
}

/* What comes with the ends of steps that were held. */
Status
queue_rows_end_others(Call *call, Store *store, const StepEnding *endings, size_t count)
{
    AUTO_COLUMNS outputs = columns_of(tensor_columns, COUNT_OF(tensor_columns));
    for (size_t index = 0; index < count; index++) {
        add_tensors(&outputs, endings[index].hold->id, &endings[index].end->outputs);
    }
    TRY(insert_tensors(call, store, endings[0].hold->tenant, &sql_step_output_insert, &outputs));
    return correct_charges(call, store, endings, count);
}
