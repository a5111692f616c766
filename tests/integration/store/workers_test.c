#include "gateway/store/workers.h"

#include <pthread.h>

#include "gateway/store/leases.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static WorkerRecord
upsert(Database *database, const char *name, const char *incarnation)
{
    WorkerRecord seen = {.name = name, .address = "10.0.0.1:4711", .incarnation = incarnation};
    WorkerList list;
    assert_status(
        &database->call, STATUS_OK, workers_upsert(&database->call, database->queue, &seen, 1, &list));
    assert_int_equal(list.count, 1);
    return list.items[0];
}

static void
a_name_keeps_its_task_and_a_new_one_gets_the_lowest_free(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    assert_int_equal(upsert(database, "a", "1").task, 0);
    assert_int_equal(upsert(database, "b", "1").task, 1);
    assert_int_equal(upsert(database, "c", "1").task, 2);
    WorkerRecord again = upsert(database, "b", "2");
    assert_int_equal(again.task, 1);
    assert_string_equal(again.incarnation, "2");
    assert_string_equal(again.address, "10.0.0.1:4711");
    assert_true(again.first_seen_us < again.last_seen_us);
    assert_status(call, STATUS_OK, workers_delete(call, database->queue, "a"));
    assert_status(call, STATUS_NOT_FOUND, workers_delete(call, database->queue, "a"));
    assert_int_equal(upsert(database, "d", "1").task, 0);
    assert_int_equal(upsert(database, "e", "1").task, 3);
}

static void
a_worker_that_nobody_sees_is_forgotten_and_its_task_is_free(void **state)
{
    Database *database = *state;
    uint64_t count = 0;
    assert_int_equal(upsert(database, "old", "1").task, 0);
    assert_int_equal(upsert(database, "new", "1").task, 1);
    (void)database_ask(
        database, "update workers set last_seen_at = now() - interval '1 h' where name = 'old'");
    assert_status(&database->call, STATUS_OK, workers_forget(&database->call, database->queue, 7200, &count));
    assert_int_equal(count, 0);
    assert_status(&database->call, STATUS_OK, workers_forget(&database->call, database->queue, 1800, &count));
    assert_int_equal(count, 1);
    assert_int_equal(upsert(database, "next", "1").task, 0);
    assert_int_equal(upsert(database, "new", "1").task, 1);
}

static void *
upsert_from_thread(void *argument)
{
    const Database *database = argument;
    Call call = {.arena = arena_new(1 << 20)};
    StoreOptions options = {.conninfo = database->conninfo, .role = STORE_ROLE_QUEUE};
    Store *store = NULL;
    Status status = store_open(&call, &options, &store);
    for (int index = 0; index < 20 && status == STATUS_OK; index++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%lx-%d", (unsigned long)pthread_self(), index);
        WorkerRecord seen = {.name = name, .address = "a", .incarnation = "1"};
        WorkerList list;
        status = workers_upsert(&call, store, &seen, 1, &list);
    }
    store_close(store);
    arena_free(call.arena);
    return status == STATUS_OK ? argument : NULL;
}

static void
workers_that_come_at_once_get_numbers_without_gap(void **state)
{
    Database *database = *state;
    pthread_t threads[3];
    for (size_t index = 0; index < COUNT_OF(threads); index++) {
        assert_int_equal(pthread_create(&threads[index], NULL, upsert_from_thread, database), 0);
    }
    for (size_t index = 0; index < COUNT_OF(threads); index++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[index], &result), 0);
        assert_non_null(result);
    }
    assert_string_equal(database_ask(database, "select count(*) from workers"), "60");
    assert_string_equal(database_ask(database, "select max(task) from workers"), "59");
}

/* A pool of thousands gets its numbers in one statement; those that were known keep theirs. */
static void
thousands_of_workers_are_noted_at_once(void **state)
{
    enum { COUNT = 4096 };
    Database *database = *state;
    Call call = {.arena = arena_new(64 << 20)};
    static WorkerRecord seen[COUNT];
    static char names[COUNT][16];
    WorkerList list;
    for (size_t index = 0; index < COUNT; index++) {
        (void)snprintf(names[index], sizeof names[index], "w%zu", COUNT - index);
        seen[index] = (WorkerRecord){.name = names[index], .address = "a", .incarnation = "1"};
    }
    assert_int_equal(upsert(database, names[7], "0").task, 0);
    for (int round = 0; round < 2; round++) {
        assert_status(&call, STATUS_OK, workers_upsert(&call, database->queue, seen, COUNT, &list));
        assert_int_equal(list.count, COUNT);
        assert_string_equal(database_ask(database, "select count(*) from workers"), "4096");
        assert_string_equal(database_ask(database, "select max(task) from workers"), "4095");
        assert_string_equal(database_ask(database, "select task from workers where name = 'w4089'"), "0");
        assert_string_equal(database_ask(database, "select task from workers where name = 'w4096'"), "1");
        assert_string_equal(database_ask(database, "select task from workers where name = 'w1'"), "4095");
    }
    arena_free(call.arena);
}

static void
a_drain_mark_ends_with_the_life_that_it_was_set_in(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    WorkerRecord worker;
    WorkerList list;
    (void)upsert(database, "b", "1");
    (void)upsert(database, "a", "1");
    assert_status(call, STATUS_OK, workers_set_draining(call, database->app, "a", true));
    assert_status(call, STATUS_NOT_FOUND, workers_set_draining(call, database->app, "z", true));
    assert_string_equal(call->error.message, "worker 'z' is not known");
    (void)upsert(database, "a", "1");
    assert_status(call, STATUS_OK, workers_find(call, database->app, "a", &worker));
    assert_true(worker.is_draining);
    (void)upsert(database, "a", "2");
    assert_status(call, STATUS_OK, workers_find(call, database->app, "a", &worker));
    assert_false(worker.is_draining);
    assert_status(call, STATUS_NOT_FOUND, workers_find(call, database->app, "z", &worker));
    assert_status(call, STATUS_OK, workers_list(call, database->app, &list));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "b");
    assert_false(list.items[0].is_draining);
}

static void
one_at_a_time_holds_a_lease(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Lease lease;
    assert_status(call, STATUS_OK, leases_acquire(call, database->queue, "gc", "a", 60000, &lease));
    assert_true(lease.is_held);
    int64_t fence = lease.fence;
    assert_status(call, STATUS_OK, leases_acquire(call, database->queue, "gc", "b", 60000, &lease));
    assert_false(lease.is_held);
    assert_status(call, STATUS_OK, leases_acquire(call, database->queue, "gc", "a", 60000, &lease));
    assert_true(lease.is_held && lease.fence == fence);
    assert_status(call, STATUS_OK, leases_release(call, database->queue, "gc", "b"));
    assert_status(call, STATUS_OK, leases_acquire(call, database->queue, "gc", "b", 60000, &lease));
    assert_false(lease.is_held);
    assert_status(call, STATUS_OK, leases_release(call, database->queue, "gc", "a"));
    assert_status(call, STATUS_OK, leases_acquire(call, database->queue, "gc", "b", 0, &lease));
    assert_true(lease.is_held && lease.fence == fence + 1);
    assert_status(call, STATUS_OK, leases_acquire(call, database->queue, "gc", "a", 60000, &lease));
    assert_true(lease.is_held && lease.fence == fence + 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_name_keeps_its_task_and_a_new_one_gets_the_lowest_free),
        DATABASE_TEST(a_worker_that_nobody_sees_is_forgotten_and_its_task_is_free),
        DATABASE_TEST(workers_that_come_at_once_get_numbers_without_gap),
        DATABASE_TEST(thousands_of_workers_are_noted_at_once),
        DATABASE_TEST(a_drain_mark_ends_with_the_life_that_it_was_set_in),
        DATABASE_TEST(one_at_a_time_holds_a_lease),
    };
    return cmocka_run_group_tests_name("gateway/store/workers", tests, NULL, NULL);
}
