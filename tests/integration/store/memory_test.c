/* Every allocation of some work fails in turn. Those inside libpq do not count: it is another library. */
#include "gateway/domain/tenant.h"
#include "gateway/store/history.h"
#include "gateway/store/queue.h"
#include "gateway/store/sessions.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"
#include "tests/support/fail_alloc.h"

static Status
open_and_close(Database *database, Arena *arena)
{
    Call call = {.arena = arena};
    StoreOptions options = {.conninfo = database->conninfo, .role = STORE_ROLE_APP};
    AUTO_STORE store = NULL;
    return store_open(&call, &options, &store);
}

static Status
find_session(Database *database, Arena *arena)
{
    Call call = {.arena = arena};
    SessionPage page;
    return sessions_list(&call, database->app, TENANT_DEFAULT, &(Page){0}, &page);
}

static Status
record_step(Database *database, Arena *arena)
{
    Call call = {.arena = arena};
    StepRecord step = {.tenant = TENANT_DEFAULT,
        .id = {uuid_new()},
        .session = {uuid_new()},
        .graph = {uuid_new()},
        .state = STEP_CANCELLED,
        .request = "{}",
        .ended_us = UINT64_C(1800000000000000)};
    return history_record(&call, database->queue, &step, 1);
}

static Status
beat(Database *database, Arena *arena)
{
    Call call = {.arena = arena};
    StepHold hold = {.tenant = TENANT_DEFAULT, .id = {uuid_new()}, .fence = 1};
    StepBeat answer;
    return queue_heartbeat(&call, database->queue, &hold, 1, 30000, &answer);
}

static Status
run(Database *database, Status (*work)(Database *database, Arena *arena))
{
    AUTO_ARENA arena = arena_new(1 << 20);
    return arena == NULL ? STATUS_RESOURCE_EXHAUSTED : work(database, arena);
}

static void
every_failed_allocation_is_told_and_survived(void **state)
{
    Database *database = *state;
    Status (*const works[])(Database *, Arena *) = {open_and_close, find_session, record_step, beat};
    (void)database_add_session(database, TENANT_DEFAULT);
    for (size_t index = 0; index < COUNT_OF(works); index++) {
        fail_alloc_count = 0;
        assert_int_equal(run(database, works[index]), STATUS_OK);
        size_t total = fail_alloc_count;
        assert_true(total >= 2);
        for (size_t allocation = 1; allocation <= total; allocation++) {
            fail_alloc_count = 0;
            fail_alloc_at = allocation;
            Status status = run(database, works[index]);
            fail_alloc_at = 0;
            assert_int_equal(status, STATUS_RESOURCE_EXHAUSTED);
        }
        assert_int_equal(run(database, works[index]), STATUS_OK);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {DATABASE_TEST(every_failed_allocation_is_told_and_survived)};
    return cmocka_run_group_tests_name("gateway/store/memory", tests, NULL, NULL);
}
