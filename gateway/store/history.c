#include "gateway/store/history.h"

#include <assert.h>

STATEMENT(history_record);
STATEMENT(history_record_again);
STATEMENT(history_archive);
STATEMENT(history_roll);

enum Column {
    COLUMN_TENANT,
    COLUMN_ID,
    COLUMN_SESSION,
    COLUMN_GRAPH,
    COLUMN_STATE,
    COLUMN_REQUEST,
    COLUMN_ATTEMPTS,
    COLUMN_STARTED,
    COLUMN_ENDED,
    COLUMN_ERROR_CODE,
    COLUMN_ERROR_MESSAGE,
    COLUMN_ERROR_NODE,
    COLUMN_STATS,
    COLUMN_COUNT
};

static const SqlType column_types[COLUMN_COUNT] = {SQL_UUID, SQL_UUID, SQL_UUID, SQL_UUID, SQL_TEXT, SQL_TEXT,
    SQL_INT64, SQL_INT64, SQL_INT64, SQL_TEXT, SQL_TEXT, SQL_TEXT, SQL_TEXT};

typedef struct Columns {
    SqlArray arrays[COLUMN_COUNT];
} Columns;

static Columns
new_columns(void)
{
    Columns columns;
    for (size_t index = 0; index < COLUMN_COUNT; index++) {
        columns.arrays[index] = sql_array(column_types[index]);
    }
    return columns;
}

static void
columns_done(Columns *columns)
{
    for (size_t index = 0; index < COLUMN_COUNT; index++) {
        sql_array_done(&columns->arrays[index]);
    }
}

static void
add_step(SqlArray *arrays, const StepRecord *step)
{
    assert(step_state_is_ended(step->state));
    sql_array_uuid(&arrays[COLUMN_TENANT], step->tenant.value);
    sql_array_uuid(&arrays[COLUMN_ID], step->id.value);
    sql_array_uuid(&arrays[COLUMN_SESSION], step->session.value);
    sql_array_uuid(&arrays[COLUMN_GRAPH], step->graph.value);
    sql_array_text(&arrays[COLUMN_STATE], step_state_name(step->state));
    sql_array_text(&arrays[COLUMN_REQUEST], step->request);
    sql_array_int64(&arrays[COLUMN_ATTEMPTS], step->attempts);
    sql_array_int64(&arrays[COLUMN_STARTED], (int64_t)step->started_us);
    sql_array_int64(&arrays[COLUMN_ENDED], (int64_t)step->ended_us);
    sql_array_text(&arrays[COLUMN_ERROR_CODE], step->error_code);
    sql_array_text(&arrays[COLUMN_ERROR_MESSAGE], step->error_message);
    sql_array_text(&arrays[COLUMN_ERROR_NODE], step->error_node);
    sql_array_text(&arrays[COLUMN_STATS], step->stats);
}

static Status
write_steps(Call *call, Store *store, const Statement *statement, const StepRecord *steps, size_t count)
{
    CLEANUP(columns_done) Columns columns = new_columns();
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        add_step(columns.arrays, &steps[index]);
    }
    for (size_t index = 0; index < COLUMN_COUNT; index++) {
        if (!values_array(&values, &columns.arrays[index])) {
            return call_fail_memory(call, "a batch of step records");
        }
    }
    return store_execute(call, store, NO_TENANT, statement, &values, NULL);
}

/* Looks for records that are stored already only after a conflict: doing so first costs a fifth of an
 * insert, and hardly ever finds one. */
Status
history_record(Call *call, Store *store, const StepRecord *steps, size_t count)
{
    assert(count <= HISTORY_RECORDS_MAX);
    assert(count <= HISTORY_RECORDS_MAX);
    if (count == 0) {
        return STATUS_OK;
    }
    Status status = write_steps(call, store, &sql_history_record, steps, count);
    return status == STATUS_ALREADY_EXISTS ? write_steps(call, store, &sql_history_record_again, steps, count)
                                           : status;
}

Status
history_archive(Call *call, Store *store, uint64_t age_s, size_t count_max, uint64_t *ret_moved)
{
    Values values = {0};
    values_int64(&values, (int64_t)age_s);
    values_int64(&values, (int64_t)count_max);
    return store_execute(call, store, NO_TENANT, &sql_history_archive, &values, ret_moved);
}

Status
history_roll(Call *call, Store *store, int days_ahead, int days_kept)
{
    Values values = {0};
    values_int64(&values, days_ahead);
    values_int64(&values, days_kept);
    return store_execute(call, store, NO_TENANT, &sql_history_roll, &values, NULL);
}
