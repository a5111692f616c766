#include "gateway/store/idempotency.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/pool.h"
#include "gateway/store/queue.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static IdempotencyRequest
request(const char *key, Slice body)
{
    IdempotencyRequest made = {.key = key, .held_ms = 60000};
    sha256(body, &made.digest);
    return made;
}

static Idempotency
begin(Database *database, TenantId tenant, const char *key, Slice body)
{
    IdempotencyRequest made = request(key, body);
    Idempotency begun;
    assert_status(
        &database->call, STATUS_OK, idempotency_begin(&database->call, database->app, tenant, &made, &begun));
    return begun;
}

static const IdempotencyAnswer created = {
    .http_status = 201, .location = "/api/v1/sessions/ses_1", .content_type = "application/json"};

static void
the_first_answer_is_given_again(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Idempotency first = begin(database, TENANT_DEFAULT, "k", SLICE("body"));
    assert_int_equal(first.outcome, IDEMPOTENCY_FRESH);
    assert_int_equal(begin(database, TENANT_DEFAULT, "k", SLICE("body")).outcome, IDEMPOTENCY_RUNNING);
    IdempotencyAnswer answer = created;
    answer.body = slice_of("{\0}", 3);
    assert_status(
        call, STATUS_OK, idempotency_finish(call, database->app, TENANT_DEFAULT, "k", first.owner, &answer));
    Idempotency again = begin(database, TENANT_DEFAULT, "k", SLICE("body"));
    assert_int_equal(again.outcome, IDEMPOTENCY_REPLAY);
    assert_int_equal(again.answer.http_status, 201);
    assert_string_equal(again.answer.location, created.location);
    assert_string_equal(again.answer.content_type, created.content_type);
    assert_true(slice_equal(again.answer.body, answer.body));
}

static void
another_body_under_the_same_key_is_a_mismatch(void **state)
{
    Database *database = *state;
    (void)begin(database, TENANT_DEFAULT, "k", SLICE("body"));
    assert_int_equal(begin(database, TENANT_DEFAULT, "k", SLICE("other")).outcome, IDEMPOTENCY_MISMATCH);
}

static void
another_tenant_has_keys_of_its_own(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    Idempotency first = begin(database, TENANT_DEFAULT, "k", SLICE("body"));
    Idempotency second = begin(database, other, "k", SLICE("other"));
    assert_int_equal(second.outcome, IDEMPOTENCY_FRESH);
    assert_status(
        call, STATUS_ABORTED, idempotency_finish(call, database->app, other, "k", first.owner, &created));
}

static void
an_abandoned_key_may_be_used_again(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Idempotency first = begin(database, TENANT_DEFAULT, "k", SLICE("body"));
    assert_status(
        call, STATUS_OK, idempotency_abandon(call, database->app, TENANT_DEFAULT, "k", first.owner));
    assert_int_equal(begin(database, TENANT_DEFAULT, "k", SLICE("other")).outcome, IDEMPOTENCY_FRESH);
}

static void
the_key_of_a_crashed_holder_is_taken_over_by_the_same_request(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Idempotency first = begin(database, TENANT_DEFAULT, "k", SLICE("body"));
    (void)database_ask(database, "update idempotency_keys set held_until = now() - interval '1 second'");
    assert_int_equal(begin(database, TENANT_DEFAULT, "k", SLICE("other")).outcome, IDEMPOTENCY_MISMATCH);
    assert_int_equal(begin(database, TENANT_DEFAULT, "k", SLICE("body")).outcome, IDEMPOTENCY_FRESH);
    assert_status(call, STATUS_ABORTED,
        idempotency_finish(call, database->app, TENANT_DEFAULT, "k", first.owner, &created));
    assert_string_equal(call->error.message, "the idempotency key 'k' was taken over");
}

static void
a_key_that_is_taken_over_stands_for_the_run_of_its_first_holder(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    IdempotencyRequest made = request("k", SLICE("body"));
    Idempotency first;
    Idempotency second;
    made.run = uuid_new();
    Uuid run = made.run;
    assert_status(call, STATUS_OK, idempotency_begin(call, database->app, TENANT_DEFAULT, &made, &first));
    assert_true(uuid_equal(first.run.id, run));
    assert_int_equal(first.run.holds, 1);
    assert_status(call, STATUS_OK, idempotency_loosen(call, database->app, TENANT_DEFAULT, "k", first.owner));
    (void)database_ask(
        database, "update idempotency_keys set run_begun_at = run_begun_at - interval '1 hour'");
    made.run = uuid_new();
    assert_status(call, STATUS_OK, idempotency_begin(call, database->app, TENANT_DEFAULT, &made, &second));
    assert_int_equal(second.outcome, IDEMPOTENCY_FRESH);
    assert_true(uuid_equal(second.run.id, run));
    assert_int_equal(second.run.holds, 2);
    assert_true(second.run.age_us >= UINT64_C(3600) * 1000000);
    assert_status(
        call, STATUS_OK, idempotency_abandon(call, database->app, TENANT_DEFAULT, "k", second.owner));
    Idempotency third;
    assert_status(call, STATUS_OK, idempotency_begin(call, database->app, TENANT_DEFAULT, &made, &third));
    assert_true(uuid_equal(third.run.id, made.run));
}

/* Opens a store as a gateway's job threads do. */
static Store *
open_gateway(Database *database, const char *gateway)
{
    StoreOptions options = {.conninfo = database->conninfo, .role = STORE_ROLE_APP, .gateway = gateway};
    Store *store = NULL;
    assert_status(&database->call, STATUS_OK, store_open(&database->call, &options, &store));
    return store;
}

/* Gives a gateway its place in the pool, as a round does. */
static void
enter_pool(Database *database, const char *gateway, uint64_t lease_ms)
{
    Call *call = &database->call;
    PoolMember member = {.owner = gateway, .lease_ms = lease_ms};
    PoolShares pool;
    ShareReport report;
    assert_status(call, STATUS_OK, pool_round_begin(call, database->queue, &member, &pool, &report));
    assert_status(call, STATUS_OK, store_commit(call, database->queue));
}

static IdempotencyOutcome
begin_at(Database *database, Store *gateway, Slice body)
{
    IdempotencyRequest made = request("k", body);
    Idempotency begun;
    assert_status(&database->call, STATUS_OK,
        idempotency_begin(&database->call, gateway, TENANT_DEFAULT, &made, &begun));
    return begun.outcome;
}

static void
the_key_of_a_gateway_that_is_gone_is_taken_over_through_another(void **state)
{
    Database *database = *state;
    AUTO_STORE first = open_gateway(database, "gw_1");
    AUTO_STORE second = open_gateway(database, "gw_2");
    enter_pool(database, "gw_1", AWAIT_MS);
    enter_pool(database, "gw_2", AWAIT_MS);
    (void)database_ask(database, "update pool_gateways set judges_from = now() where owner = 'gw_2'");
    assert_int_equal(begin_at(database, first, SLICE("body")), IDEMPOTENCY_FRESH);
    assert_int_equal(begin_at(database, second, SLICE("body")), IDEMPOTENCY_RUNNING);
    (void)database_ask(database, "update pool_gateways set held_until = now() where owner = 'gw_1'");
    assert_int_equal(begin_at(database, second, SLICE("other")), IDEMPOTENCY_MISMATCH);
    enter_pool(database, "gw_2", AWAIT_MS);
    assert_int_equal(begin_at(database, second, SLICE("body")), IDEMPOTENCY_FRESH);
    assert_int_equal(begin_at(database, first, SLICE("body")), IDEMPOTENCY_RUNNING);
}

/* After an outage of the database all places have run out, though all gateways live. */
static void
a_gateway_that_has_just_come_back_takes_no_key_over(void **state)
{
    Database *database = *state;
    AUTO_STORE first = open_gateway(database, "gw_1");
    AUTO_STORE second = open_gateway(database, "gw_2");
    enter_pool(database, "gw_1", AWAIT_MS);
    enter_pool(database, "gw_2", 1);
    assert_int_equal(begin_at(database, first, SLICE("body")), IDEMPOTENCY_FRESH);
    (void)database_ask(database, "update pool_gateways set held_until = now() - interval '1 s'");
    enter_pool(database, "gw_2", AWAIT_MS);
    assert_int_equal(begin_at(database, second, SLICE("body")), IDEMPOTENCY_RUNNING);
}

static void
an_old_key_is_forgotten(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t removed = 0;
    (void)begin(database, TENANT_DEFAULT, "old", SLICE("body"));
    (void)begin(database, TENANT_DEFAULT, "new", SLICE("body"));
    (void)database_ask(
        database, "update idempotency_keys set expires_at = now() - interval '1 s' where key = 'old'");
    assert_status(call, STATUS_OK, idempotency_expire(call, database->app, TENANT_DEFAULT, 100, &removed));
    assert_int_equal(removed, 1);
    assert_string_equal(database_ask(database, "select key from idempotency_keys"), "new");
}

/* The key, the step and the answer commit together, so that a retry after a lost reply finds the one step. */
static void
a_step_and_its_key_are_accepted_together(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    IdempotencyRequest made = request("k", SLICE("body"));
    StepNew step = database_step(database_add_session(database, TENANT_DEFAULT));
    Idempotency begun;
    for (int turn = 0; turn < 2; turn++) {
        assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
        AUTO_TRANSACTION transaction = database->app;
        assert_status(call, STATUS_OK, idempotency_begin(call, database->app, TENANT_DEFAULT, &made, &begun));
        assert_int_equal(begun.outcome, IDEMPOTENCY_FRESH);
        assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &step));
        assert_status(call, STATUS_OK,
            idempotency_finish(call, database->app, TENANT_DEFAULT, "k", begun.owner, &created));
        if (turn == 1) {
            assert_status(call, STATUS_OK, store_commit(call, TAKE(transaction)));
        }
    }
    assert_int_equal(begin(database, TENANT_DEFAULT, "k", SLICE("body")).outcome, IDEMPOTENCY_REPLAY);
    assert_string_equal(database_ask(database, "select count(*) from steps"), "1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(the_first_answer_is_given_again),
        DATABASE_TEST(another_body_under_the_same_key_is_a_mismatch),
        DATABASE_TEST(another_tenant_has_keys_of_its_own),
        DATABASE_TEST(an_abandoned_key_may_be_used_again),
        DATABASE_TEST(the_key_of_a_crashed_holder_is_taken_over_by_the_same_request),
        DATABASE_TEST(a_key_that_is_taken_over_stands_for_the_run_of_its_first_holder),
        DATABASE_TEST(the_key_of_a_gateway_that_is_gone_is_taken_over_through_another),
        DATABASE_TEST(a_gateway_that_has_just_come_back_takes_no_key_over),
        DATABASE_TEST(an_old_key_is_forgotten),
        DATABASE_TEST(a_step_and_its_key_are_accepted_together),
    };
    return cmocka_run_group_tests_name("gateway/store/idempotency", tests, NULL, NULL);
}
