#include "gateway/store/listener.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/queue.h"
#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static void
a_queued_step_wakes_who_listens(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew first = database_step(database_add_session(database, TENANT_DEFAULT));
    StepNew second = database_step(database_add_session(database, TENANT_DEFAULT));
    bool is_woken = true;
    assert_status(call, STATUS_OK, listener_begin(call, database->queue, "gw_1"));
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 20, NULL, &is_woken));
    assert_false(is_woken);
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &first));
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &second));
    uint64_t begin_ns = clock_monotonic_ns();
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 120000, NULL, &is_woken));
    assert_true(is_woken);
    assert_true(clock_monotonic_ns() - begin_ns < 60 * CLOCK_NS_PER_S);
}

static void
a_step_that_was_rolled_back_wakes_nobody(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew step = database_step(database_add_session(database, TENANT_DEFAULT));
    bool is_woken = true;
    assert_status(call, STATUS_OK, listener_begin(call, database->queue, "gw_1"));
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &step));
    store_rollback(database->app);
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 50, NULL, &is_woken));
    assert_false(is_woken);
}

static void
keep_text(void *context, const char *text)
{
    (void)snprintf(context, 64, "%s", text);
}

static void
what_gateways_tell_each_other_wakes_nobody_and_is_heard(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    char heard[64] = "";
    bool is_woken = true;
    MailBox box = {.receive = keep_text, .context = heard};
    assert_status(call, STATUS_OK, listener_begin(call, database->queue, "gw_1"));
    assert_status(call, STATUS_OK, mail_send(call, database->app, "how are you"));
    for (int turn = 0; heard[0] == '\0' && turn < 400; turn++) { /* 20 s */
        assert_status(call, STATUS_OK, listener_wait(call, database->queue, 50, &box, &is_woken));
        assert_false(is_woken);
    }
    assert_string_equal(heard, "how are you");
    assert_status(call, STATUS_OK, mail_send(call, database->app, "nobody hears"));
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 50, NULL, &is_woken));
    assert_false(is_woken);
}

static void
a_lost_listener_says_so_and_can_begin_again(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew step = database_step(database_add_session(database, TENANT_DEFAULT));
    bool is_woken = false;
    assert_status(call, STATUS_OK, listener_begin(call, database->queue, "gw_1"));
    (void)database_ask(database,
        "select pg_terminate_backend(pid, 20000) from pg_stat_activity where usename = "
        "'sluice_queue' and datname = current_database()");
    assert_status(call, STATUS_UNAVAILABLE, listener_wait(call, database->queue, 10000, NULL, &is_woken));
    assert_status(call, STATUS_UNAVAILABLE, listener_wait(call, database->queue, 10000, NULL, &is_woken));
    assert_status(call, STATUS_OK, listener_begin(call, database->queue, "gw_1"));
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &step));
    assert_status(call, STATUS_OK, listener_wait(call, database->queue, 10000, NULL, &is_woken));
    assert_true(is_woken);
}

static bool
has_others(Database *database, const char *name)
{
    bool has_others = false;
    assert_status(
        &database->call, STATUS_OK, listener_has_others(&database->call, database->app, name, &has_others));
    return has_others;
}

static void
others_are_known_while_they_listen(void **state)
{
    Database *database = *state;
    assert_false(has_others(database, "gw_1"));
    assert_status(&database->call, STATUS_OK, listener_begin(&database->call, database->queue, "gw_1"));
    assert_false(has_others(database, "gw_1"));
    assert_true(has_others(database, "gw_2"));
    (void)database_ask(database,
        "select pg_terminate_backend(pid, 20000) from pg_stat_activity where usename = "
        "'sluice_queue' and datname = current_database()");
    assert_false(has_others(database, "gw_2"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_queued_step_wakes_who_listens),
        DATABASE_TEST(a_step_that_was_rolled_back_wakes_nobody),
        DATABASE_TEST(what_gateways_tell_each_other_wakes_nobody_and_is_heard),
        DATABASE_TEST(others_are_known_while_they_listen),
        DATABASE_TEST(a_lost_listener_says_so_and_can_begin_again),
    };
    return cmocka_run_group_tests_name("gateway/store/listener", tests, NULL, NULL);
}
