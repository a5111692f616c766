/* Several gateways at once on one queue: every step ends once, on one of them, and there is no deadlock. */
#include <pthread.h>

#include "gateway/domain/tenant.h"
#include "gateway/store/queue.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

enum { TENANTS = 3, STEPS_EACH = 60, GATEWAYS = 3 };

typedef struct Gateway {
    const Database *database;
    pthread_t thread;
    char owner[16];
    int ended;
    Status status;
    char message[ERROR_MESSAGE_SIZE];
} Gateway;

static Status
end_claimed(Call *call, Store *queue, Store *app, const StepList *steps)
{
    for (size_t index = 0; index < steps->count; index++) {
        const StepRecord *step = &steps->items[index];
        StepHold hold = {.tenant = step->tenant, .id = step->id, .fence = step->fence};
        StepOutcome end = {.state = STEP_SUCCEEDED};
        StepBeat beat;
        TRY(queue_start(call, queue, &hold));
        TRY(queue_heartbeat(call, queue, &hold, 1, 30000, &beat));
        TRY(queue_end(call, app, &hold, &end));
    }
    return STATUS_OK;
}

static Status
work(Call *call, Gateway *gateway, Store *queue, Store *app)
{
    for (;;) {
        StepList steps;
        uint64_t swept = 0;
        TRY(queue_sweep(call, queue, &swept));
        TRY(queue_claim(call, queue, gateway->owner, WANTS(7), 30000, &steps));
        if (steps.count == 0) {
            return STATUS_OK;
        }
        TRY(end_claimed(call, queue, app, &steps));
        gateway->ended += (int)steps.count;
    }
}

static void *
run_gateway(void *argument)
{
    Gateway *gateway = argument;
    AUTO_ARENA arena = arena_new((size_t)64 << 20);
    AUTO_STORE queue = NULL;
    AUTO_STORE app = NULL;
    Call call = {.arena = arena};
    StoreOptions options = {.conninfo = gateway->database->conninfo, .role = STORE_ROLE_QUEUE};
    gateway->status = store_open(&call, &options, &queue);
    options.role = STORE_ROLE_APP;
    gateway->status = gateway->status == STATUS_OK ? store_open(&call, &options, &app) : gateway->status;
    gateway->status = gateway->status == STATUS_OK ? work(&call, gateway, queue, app) : gateway->status;
    (void)snprintf(gateway->message, sizeof gateway->message, "%s", call.error.message);
    return NULL;
}

static void
enqueue_all(Database *database)
{
    TenantId tenants[TENANTS] = {TENANT_DEFAULT};
    tenants[1] = database_add_tenant(database, "second");
    tenants[2] = database_add_tenant(database, "third");
    for (size_t tenant = 0; tenant < TENANTS; tenant++) {
        SessionId session = database_add_session(database, tenants[tenant]);
        for (int index = 0; index < STEPS_EACH; index++) {
            StepNew step = database_step(session);
            step.priority = index % 3;
            step.timeout_ms = 600000;
            assert_status(&database->call, STATUS_OK,
                queue_enqueue(&database->call, database->app, tenants[tenant], &step));
        }
    }
}

static void
every_step_ends_once_whoever_takes_it(void **state)
{
    Database *database = *state;
    Gateway gateways[GATEWAYS] = {0};
    int ended = 0;
    enqueue_all(database);
    for (size_t index = 0; index < GATEWAYS; index++) {
        gateways[index].database = database;
        (void)snprintf(gateways[index].owner, sizeof gateways[index].owner, "gateway-%zu", index);
        assert_int_equal(pthread_create(&gateways[index].thread, NULL, run_gateway, &gateways[index]), 0);
    }
    for (size_t index = 0; index < GATEWAYS; index++) {
        assert_int_equal(pthread_join(gateways[index].thread, NULL), 0);
        if (gateways[index].status != STATUS_OK) {
            fail_msg("%s: %s", gateways[index].owner, gateways[index].message);
        }
        ended += gateways[index].ended;
    }
    assert_int_equal(ended, TENANTS * STEPS_EACH);
    assert_string_equal(
        database_ask(database, "select count(*) from steps where state <> 'succeeded' or attempts <> 1"),
        "0");
    assert_string_equal(database_ask(database, "select sum(queued) + sum(running) from queues"), "0");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {DATABASE_TEST(every_step_ends_once_whoever_takes_it)};
    return cmocka_run_group_tests_name("gateway/store/queue threads", tests, NULL, NULL);
}
