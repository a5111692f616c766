#include "gateway/store/history.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/queue.h"
#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static StepRecord
ended(TenantId tenant)
{
    return (StepRecord){.tenant = tenant,
        .id = {uuid_new()},
        .session = {uuid_new()},
        .graph = {uuid_new()},
        .state = STEP_SUCCEEDED,
        .request = "{}",
        .attempts = 1,
        .started_us = clock_wall_us() - 10,
        .ended_us = clock_wall_us(),
        .stats = "{\"elapsed_us\": 10}"};
}

static void
a_batch_of_many_tenants_is_one_statement(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    StepRecord steps[] = {ended(TENANT_DEFAULT), ended(other), ended(TENANT_DEFAULT)};
    StepRecord found;
    steps[1].state = STEP_FAILED;
    steps[1].error_code = "INVALID_ARGUMENT";
    steps[1].error_message = "shapes differ";
    steps[1].error_node = "add";
    steps[1].stats = NULL;
    steps[1].started_us = 0;
    assert_status(call, STATUS_OK, history_record(call, database->queue, steps, 3));
    assert_status(call, STATUS_OK, steps_find(call, database->app, TENANT_DEFAULT, steps[0].id, &found));
    assert_int_equal(found.state, STEP_SUCCEEDED);
    assert_int_equal(found.started_us, steps[0].started_us);
    assert_int_equal(found.ended_us, steps[0].ended_us);
    assert_string_equal(found.stats, "{\"elapsed_us\": 10}");
    assert_status(
        call, STATUS_NOT_FOUND, steps_find(call, database->app, TENANT_DEFAULT, steps[1].id, &found));
    assert_status(call, STATUS_OK, steps_find(call, database->app, other, steps[1].id, &found));
    assert_string_equal(found.error_node, "add");
    assert_int_equal(found.started_us, 0);
    assert_string_equal(found.stats, "{}");
}

static void
a_batch_may_be_written_again(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepRecord step = ended(TENANT_DEFAULT);
    assert_status(call, STATUS_OK, history_record(call, database->queue, &step, 1));
    assert_status(call, STATUS_OK, history_record(call, database->queue, &step, 1));
    assert_status(call, STATUS_OK, history_record(call, database->queue, NULL, 0));
    assert_string_equal(database_ask(database, "select count(*) from step_history"), "1");
}

static void
a_step_says_when_it_was_created_by_its_id(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t before_us = clock_wall_us();
    StepRecord step = ended(TENANT_DEFAULT);
    StepRecord found;
    assert_status(call, STATUS_OK, history_record(call, database->queue, &step, 1));
    assert_status(call, STATUS_OK, steps_find(call, database->app, TENANT_DEFAULT, step.id, &found));
    assert_true(found.created_us + 1000 > before_us && found.created_us <= clock_wall_us());
}

/* The plan removes nine of ten partitions before it runs. */
static void
one_find_looks_into_one_partition(void **state)
{
    Database *database = *state;
    StepRecord step = ended(TENANT_DEFAULT);
    char id[UUID_TEXT_SIZE];
    char sql[256];
    uuid_to_text(step.id.value, id);
    (void)database_ask(database,
        "set plan_cache_mode = force_generic_plan; prepare find (uuid, uuid) as select 1 from "
        "step_history where tenant_id = $1 and id = $2 and created_at = step_created_at($2)");
    (void)snprintf(sql, sizeof sql, "explain (costs off, format json) execute find ('%s', '%s')", id, id);
    assert_non_null(strstr(database_ask(database, sql), "\"Subplans Removed\": 9"));
}

static void
an_ended_step_moves_out_of_the_hot_table(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew step = database_step(database_add_session(database, TENANT_DEFAULT));
    step.request = "{\"a\": 1}";
    StepHold hold;
    StepRecord found;
    uint64_t moved = 0;
    StepOutcome end = {.state = STEP_FAILED, .error_code = "INTERNAL", .error_message = "broken"};
    assert_status(call, STATUS_OK, queue_begin(call, database->app, TENANT_DEFAULT, &step, "g", &hold));
    assert_status(call, STATUS_OK, history_archive(call, database->queue, 0, 100, &moved));
    assert_int_equal(moved, 0);
    assert_status(call, STATUS_OK, queue_end(call, database->app, &hold, &end));
    assert_status(call, STATUS_OK, history_archive(call, database->queue, 3600, 100, &moved));
    assert_int_equal(moved, 0);
    assert_status(call, STATUS_OK, history_archive(call, database->queue, 0, 100, &moved));
    assert_int_equal(moved, 1);
    assert_string_equal(database_ask(database, "select count(*) from steps"), "0");
    assert_status(call, STATUS_OK, steps_find(call, database->app, TENANT_DEFAULT, step.id, &found));
    assert_int_equal(found.state, STEP_FAILED);
    assert_string_equal(found.error_message, "broken");
    assert_string_equal(found.request, "{\"a\": 1}");
}

static void
partitions_come_and_go_by_one_function(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    (void)database_ask(database,
        "create table sluice.step_history_20200101 partition of sluice.step_history for "
        "values from ('2020-01-01 00:00:00+00') to ('2020-01-02 00:00:00+00')");
    assert_status(call, STATUS_OK, history_roll(call, database->queue, 9, 30));
    assert_string_equal(database_ask(database, "select count(*) from pg_inherits where inhparent = "
                                               "'sluice.step_history'::regclass"),
        "12");
    assert_string_equal(
        database_ask(database, "select to_regclass('sluice.step_history_20200101') is null"), "t");
    assert_status(call, STATUS_INVALID_ARGUMENT, history_roll(call, database->queue, 9, 0));
    assert_status(call, STATUS_PERMISSION_DENIED, history_roll(call, database->app, 9, 30));
}

static void
a_record_older_than_every_partition_is_refused(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepRecord step = ended(TENANT_DEFAULT);
    memset(step.id.value.bytes, 0, 6);
    assert_status(call, STATUS_INVALID_ARGUMENT, history_record(call, database->queue, &step, 1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_batch_of_many_tenants_is_one_statement),
        DATABASE_TEST(a_batch_may_be_written_again),
        DATABASE_TEST(a_step_says_when_it_was_created_by_its_id),
        DATABASE_TEST(one_find_looks_into_one_partition),
        DATABASE_TEST(an_ended_step_moves_out_of_the_hot_table),
        DATABASE_TEST(partitions_come_and_go_by_one_function),
        DATABASE_TEST(a_record_older_than_every_partition_is_refused),
    };
    return cmocka_run_group_tests_name("gateway/store/history", tests, NULL, NULL);
}
