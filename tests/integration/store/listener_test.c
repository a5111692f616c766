#include "gateway/store/listener.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/queue.h"
#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static StepNew
example(Database *database)
{
    return (StepNew){.id = {uuid_new()},
        .session = database_add_session(database, TENANT_DEFAULT),
        .graph = {uuid_new()},
        .cost = 1,
        .request = "{}",
        .attempts_max = 1,
        .timeout_ms = 1000};
}

static void
a_queued_step_wakes_who_listens(void **state)
{
    Database *const database = *state;
    Call *const call = &database->call;
    const StepNew first = example(database);
    const StepNew second = example(database);
    bool is_woken = true;
    assert_status(call, STATUS_OK, listener_begin(call, database->queue));
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 20, &is_woken));
    assert_false(is_woken);
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &first));
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &second));
    const uint64_t begin_ns = clock_monotonic_ns();
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 10000, &is_woken));
    assert_true(is_woken);
    assert_true(clock_monotonic_ns() - begin_ns < 5 * CLOCK_NS_PER_S);
}

static void
a_step_that_was_rolled_back_wakes_nobody(void **state)
{
    Database *const database = *state;
    Call *const call = &database->call;
    const StepNew step = example(database);
    bool is_woken = true;
    assert_status(call, STATUS_OK, listener_begin(call, database->queue));
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &step));
    store_rollback(database->app);
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 50, &is_woken));
    assert_false(is_woken);
}

static void
a_lost_listener_says_so_and_can_begin_again(void **state)
{
    Database *const database = *state;
    Call *const call = &database->call;
    const StepNew step = example(database);
    bool is_woken = false;
    assert_status(call, STATUS_OK, listener_begin(call, database->queue));
    (void)database_ask(database,
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = "
        "'sluice_queue' and datname = current_database()");
    assert_status(call, STATUS_UNAVAILABLE, listener_wait(call, database->queue, 10000, &is_woken));
    assert_status(call, STATUS_UNAVAILABLE, listener_wait(call, database->queue, 10000, &is_woken));
    assert_status(call, STATUS_OK, listener_begin(call, database->queue));
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &step));
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 10000, &is_woken));
    assert_true(is_woken);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_queued_step_wakes_who_listens),
        DATABASE_TEST(a_step_that_was_rolled_back_wakes_nobody),
        DATABASE_TEST(a_lost_listener_says_so_and_can_begin_again),
    };
    return cmocka_run_group_tests_name("gateway/store/listener", tests, NULL, NULL);
}
