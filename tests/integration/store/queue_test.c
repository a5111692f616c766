#include "gateway/store/queue.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/blobs.h"
#include "gateway/store/sessions.h"
#include "gateway/store/tenants.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

enum { LEASE_MS = 30000 };

static StepNew
enqueue(Database *database, TenantId tenant)
{
    StepNew step = database_step(database_add_session(database, tenant));
    assert_status(&database->call, STATUS_OK, queue_enqueue(&database->call, database->app, tenant, &step));
    return step;
}

static StepHold
claim_one(Database *database)
{
    StepList steps;
    assert_status(&database->call, STATUS_OK,
        queue_claim(&database->call, database->queue, "gateway-1", WANTS(1), LEASE_MS, &steps));
    assert_int_equal(steps.count, 1);
    assert_int_equal(steps.items[0].state, STEP_LEASED);
    return (StepHold){
        .tenant = steps.items[0].tenant, .id = steps.items[0].id, .fence = steps.items[0].fence};
}

static StepHold
start_one(Database *database)
{
    StepHold hold = claim_one(database);
    assert_status(&database->call, STATUS_OK, queue_start(&database->call, database->queue, &hold));
    return hold;
}

static StepRecord
find(Database *database, TenantId tenant, StepId id)
{
    StepRecord step;
    assert_status(&database->call, STATUS_OK, steps_find(&database->call, database->app, tenant, id, &step));
    return step;
}

/* Makes every lease run out. */
static void
let_leases_lapse(Database *database)
{
    (void)database_ask(database,
        "update steps set lease_until = now() - interval '1 second' where lease_until is "
        "not null");
}

static void
assert_depth(Database *database, TenantId tenant, int64_t queued, int64_t running)
{
    QueueDepth depth;
    assert_status(&database->call, STATUS_OK, queue_depth(&database->call, database->app, tenant, &depth));
    assert_int_equal(depth.queued, queued);
    assert_int_equal(depth.running, running);
    assert_int_equal(depth.oldest_us != 0, queued != 0);
}

static Sha256
put_blob(Database *database, Slice bytes)
{
    Sha256 digest;
    sha256(bytes, &digest);
    assert_status(&database->call, STATUS_OK,
        blobs_put(&database->call, database->app, TENANT_DEFAULT, &digest, bytes));
    return digest;
}

static void
a_step_goes_from_the_queue_to_its_end(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepTensor feed = {.name = "x:0", .dtype = "float32", .dims = {1, 224, 3}, .rank = 3};
    StepTensor output = {.name = "y:0", .dtype = "int64", .rank = 0};
    feed.sha256 = put_blob(database, SLICE("feed"));
    output.sha256 = put_blob(database, SLICE("output"));
    StepNew step = database_step(database_add_session(database, TENANT_DEFAULT));
    step.feeds = (StepTensors){.items = &feed, .count = 1};
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &step));
    assert_depth(database, TENANT_DEFAULT, 1, 0);

    StepTensors feeds;
    StepHold hold = start_one(database);
    assert_depth(database, TENANT_DEFAULT, 0, 1);
    assert_status(call, STATUS_OK, steps_feeds(call, database->queue, TENANT_DEFAULT, step.id, &feeds));
    assert_int_equal(feeds.count, 1);
    assert_string_equal(feeds.items[0].name, "x:0");
    assert_int_equal(feeds.items[0].rank, 3);
    assert_int_equal(feeds.items[0].dims[1], 224);
    assert_true(sha256_equal(&feeds.items[0].sha256, &feed.sha256));

    StepOutcome end = {
        .state = STEP_SUCCEEDED, .stats = "{\"nodes\": 7}", .outputs = {.items = &output, .count = 1}};
    StepTensors outputs;
    assert_status(call, STATUS_OK, queue_end(call, database->app, &hold, &end));
    assert_status(call, STATUS_OK, steps_outputs(call, database->app, TENANT_DEFAULT, step.id, &outputs));
    assert_int_equal(outputs.count, 1);
    assert_int_equal(outputs.items[0].rank, 0);
    assert_string_equal(outputs.items[0].dtype, "int64");

    StepRecord ended = find(database, TENANT_DEFAULT, step.id);
    assert_int_equal(ended.state, STEP_SUCCEEDED);
    assert_string_equal(ended.stats, "{\"nodes\": 7}");
    assert_string_equal(ended.error_code, "");
    assert_int_equal(ended.attempts, 1);
    assert_true(ended.created_us <= ended.ended_us && ended.started_us <= ended.ended_us);
    assert_depth(database, TENANT_DEFAULT, 0, 0);
}

static void
a_stale_fence_changes_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew step = enqueue(database, TENANT_DEFAULT);
    StepHold old = start_one(database);
    uint64_t swept = 0;
    StepBeat beats[2];
    StepState moved = STEP_STATE_COUNT;
    let_leases_lapse(database);
    assert_status(call, STATUS_OK, queue_sweep(call, database->queue, &swept));
    assert_int_equal(swept, 1);
    (void)database_ask(database, "update steps set run_after = now()");
    StepHold current = start_one(database);
    assert_int_equal(current.fence, old.fence + 1);

    StepOutcome end = {.state = STEP_SUCCEEDED, .stats = "{\"zombie\": true}"};
    StepOutcome failure = {.error_code = "INTERNAL"};
    assert_status(call, STATUS_ABORTED, queue_end(call, database->app, &old, &end));
    assert_status(call, STATUS_ABORTED, queue_start(call, database->queue, &old));
    assert_status(call, STATUS_ABORTED, queue_retry(call, database->queue, &old, &failure, true, &moved));
    const StepHold both[] = {old, current};
    assert_status(call, STATUS_OK, queue_heartbeat(call, database->queue, both, 2, LEASE_MS, beats));
    assert_false(beats[0].is_held);
    assert_true(beats[1].is_held);
    StepRecord found = find(database, TENANT_DEFAULT, step.id);
    assert_int_equal(found.state, STEP_RUNNING);
    assert_int_equal(found.attempts, 2);
    assert_string_equal(found.stats, "{}");
}

/* Queues the steps in one transaction, which commits when all of them can be queued. */
static Status
enqueue_all(Database *database, const StepNew *const *steps, size_t count)
{
    Call *call = &database->call;
    TRY(store_begin(call, database->app, TENANT_DEFAULT));
    AUTO_TRANSACTION transaction = database->app;
    TRY(queue_enqueue_all(call, database->app, TENANT_DEFAULT, steps, count));
    return store_commit(call, TAKE(transaction));
}

static void
steps_are_queued_together_or_not_at_all(void **state)
{
    Database *database = *state;
    StepNew first = database_step(database_add_session(database, TENANT_DEFAULT));
    StepNew second = database_step(first.session);
    StepNew stray = database_step((SessionId){uuid_new()});
    const StepNew *const steps[] = {&first, &second, &stray};
    assert_status(&database->call, STATUS_NOT_FOUND, enqueue_all(database, steps, 3));
    assert_string_equal(database_ask(database, "select count(*) from steps"), "0");
    assert_status(&database->call, STATUS_OK, enqueue_all(database, steps, 2));
    assert_string_equal(
        database_ask(database, "select sum(queued) || '/' || sum(running) from queues"), "2/0");
}

static Status
end_all(Database *database, const StepEnd *endings, size_t count)
{
    Call *call = &database->call;
    TRY(store_begin(call, database->app, TENANT_DEFAULT));
    AUTO_TRANSACTION transaction = database->app;
    TRY(queue_end_all(call, database->app, endings, count));
    return store_commit(call, TAKE(transaction));
}

static void
steps_are_ended_together_or_not_at_all(void **state)
{
    Database *database = *state;
    (void)enqueue(database, TENANT_DEFAULT);
    (void)enqueue(database, TENANT_DEFAULT);
    const StepHold holds[] = {start_one(database), start_one(database)};
    StepHold lost = {.tenant = TENANT_DEFAULT, .id = holds[1].id, .fence = holds[1].fence + 1};
    StepOutcome success = {.state = STEP_SUCCEEDED};
    StepOutcome failure = {.state = STEP_FAILED, .error_code = "INTERNAL", .error_message = "broken"};
    const StepEnd stale[] = {{&holds[0], &success}, {&lost, &failure}};
    const StepEnd endings[] = {{&holds[0], &success}, {&holds[1], &failure}};
    assert_status(&database->call, STATUS_ABORTED, end_all(database, stale, 2));
    assert_int_equal(find(database, TENANT_DEFAULT, holds[0].id).state, STEP_RUNNING);
    assert_status(&database->call, STATUS_OK, end_all(database, endings, 2));
    assert_int_equal(find(database, TENANT_DEFAULT, holds[0].id).state, STEP_SUCCEEDED);
    assert_string_equal(find(database, TENANT_DEFAULT, holds[1].id).error_message, "broken");
    assert_string_equal(
        database_ask(database, "select sum(queued) || '/' || sum(running) from queues"), "0/0");
}

static void
ending_again_in_the_same_way_is_fine(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    (void)enqueue(database, TENANT_DEFAULT);
    StepHold hold = start_one(database);
    StepOutcome success = {.state = STEP_SUCCEEDED};
    StepOutcome failure = {.state = STEP_FAILED, .error_code = "INTERNAL"};
    assert_status(call, STATUS_OK, queue_end(call, database->app, &hold, &success));
    assert_status(call, STATUS_OK, queue_end(call, database->app, &hold, &success));
    assert_status(call, STATUS_ABORTED, queue_end(call, database->app, &hold, &failure));
}

static void
a_move_that_is_not_in_the_table_is_refused(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    (void)enqueue(database, TENANT_DEFAULT);
    StepHold leased = claim_one(database);
    StepOutcome success = {.state = STEP_SUCCEEDED};
    assert_status(call, STATUS_FAILED_PRECONDITION, queue_end(call, database->app, &leased, &success));
    assert_string_equal(call->error.message, "a step cannot move from 'leased' to 'succeeded'");
}

/* The tables of gateway/domain/step_state.c are those of the migrations. */
static void
the_database_knows_the_same_states_and_moves(void **state)
{
    Database *database = *state;
    char sql[256];
    int count = 0;
    for (StepState from = STEP_QUEUED; from < STEP_STATE_COUNT; from++) {
        (void)snprintf(sql, sizeof sql,
            "select is_initial::text || is_ended::text from step_states where name = '%s'",
            step_state_name(from));
        char expected[16];
        (void)snprintf(expected, sizeof expected, "%s%s", step_state_is_initial(from) ? "true" : "false",
            step_state_is_ended(from) ? "true" : "false");
        assert_string_equal(database_ask(database, sql), expected);
        for (StepState to = STEP_QUEUED; to < STEP_STATE_COUNT; to++) {
            (void)snprintf(sql, sizeof sql,
                "select count(*) from step_moves where from_state = '%s' and to_state = '%s'",
                step_state_name(from), step_state_name(to));
            assert_string_equal(database_ask(database, sql), step_state_may_move(from, to) ? "1" : "0");
            count += step_state_may_move(from, to);
        }
    }
    char total[16];
    (void)snprintf(total, sizeof total, "%d", count);
    assert_string_equal(database_ask(database, "select count(*) from step_moves"), total);
    (void)snprintf(total, sizeof total, "%d", STEP_STATE_COUNT);
    assert_string_equal(database_ask(database, "select count(*) from step_states"), total);
}

static void
a_failure_is_tried_again_until_the_last_attempt(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew step = enqueue(database, TENANT_DEFAULT);
    StepOutcome reason = {
        .error_code = "UNAVAILABLE", .error_message = "the worker died", .error_node = "conv1"};
    StepState moved = STEP_STATE_COUNT;
    StepList none;
    StepHold hold = start_one(database);
    assert_status(call, STATUS_OK, queue_retry(call, database->queue, &hold, &reason, true, &moved));
    assert_int_equal(moved, STEP_QUEUED);
    assert_status(
        call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", WANTS(1), LEASE_MS, &none));
    assert_int_equal(none.count, 0); /* it waits before the next attempt */
    (void)database_ask(database, "update steps set run_after = now()");
    hold = start_one(database);
    assert_status(call, STATUS_OK, queue_retry(call, database->queue, &hold, &reason, true, &moved));
    assert_int_equal(moved, STEP_DEAD);
    StepRecord dead = find(database, TENANT_DEFAULT, step.id);
    assert_int_equal(dead.attempts, 2);
    assert_string_equal(dead.error_message, "the worker died");
    assert_string_equal(dead.error_node, "conv1");

    assert_status(call, STATUS_OK, queue_redrive(call, database->app, TENANT_DEFAULT, step.id));
    assert_status(
        call, STATUS_FAILED_PRECONDITION, queue_redrive(call, database->app, TENANT_DEFAULT, step.id));
    assert_int_equal(claim_one(database).fence, 3);
}

static void
a_retry_without_charge_costs_no_attempt_and_no_pause(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepOutcome reason = {.error_code = "UNAVAILABLE"};
    StepState moved = STEP_STATE_COUNT;
    StepNew step = enqueue(database, TENANT_DEFAULT);
    for (int turn = 0; turn < 5; turn++) {
        StepHold hold = start_one(database);
        assert_status(call, STATUS_OK, queue_retry(call, database->queue, &hold, &reason, false, &moved));
        assert_int_equal(moved, STEP_QUEUED);
    }
    assert_int_equal(find(database, TENANT_DEFAULT, step.id).attempts, 0);
}

static void
a_gateway_that_drains_gives_its_steps_back(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t released = 0;
    StepNew step = enqueue(database, TENANT_DEFAULT);
    (void)start_one(database);
    assert_status(call, STATUS_OK, queue_release(call, database->queue, "gateway-2", &released));
    assert_int_equal(released, 0);
    assert_status(call, STATUS_OK, queue_release(call, database->queue, "gateway-1", &released));
    assert_int_equal(released, 1);
    StepRecord found = find(database, TENANT_DEFAULT, step.id);
    assert_int_equal(found.state, STEP_QUEUED);
    assert_int_equal(found.attempts, 0);
    assert_int_equal(claim_one(database).fence, 2);
}

static void
a_sweep_ends_what_nobody_holds(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t swept = 0;
    StepHold hold;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StepNew synchronous = database_step(session);
    StepNew late = database_step(session);
    late.timeout_ms = 0;
    assert_status(
        call, STATUS_OK, queue_begin(call, database->app, TENANT_DEFAULT, &synchronous, "gateway-1", &hold));
    assert_status(call, STATUS_OK, queue_enqueue(call, database->app, TENANT_DEFAULT, &late));
    let_leases_lapse(database);
    assert_status(call, STATUS_OK, queue_sweep(call, database->queue, &swept));
    assert_int_equal(swept, 2);
    StepRecord failed = find(database, TENANT_DEFAULT, synchronous.id);
    StepRecord expired = find(database, TENANT_DEFAULT, late.id);
    assert_int_equal(failed.state, STEP_FAILED);
    assert_string_equal(failed.error_message, "the gateway that ran it went away");
    assert_int_equal(expired.state, STEP_EXPIRED);
    assert_string_equal(expired.error_code, "DEADLINE_EXCEEDED");
    assert_status(call, STATUS_OK, queue_sweep(call, database->queue, &swept));
    assert_int_equal(swept, 0);
}

static void
a_queued_step_is_cancelled_at_once_and_a_running_one_on_request(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepRecord step;
    StepBeat beat;
    StepNew first = enqueue(database, TENANT_DEFAULT);
    StepHold hold = start_one(database);
    StepNew second = enqueue(database, TENANT_DEFAULT);
    assert_status(call, STATUS_OK, steps_cancel(call, database->app, TENANT_DEFAULT, second.id, &step));
    assert_int_equal(step.state, STEP_CANCELLED);
    assert_true(step.ended_us > 0);
    assert_status(call, STATUS_OK, steps_cancel(call, database->app, TENANT_DEFAULT, second.id, &step));
    assert_int_equal(step.state, STEP_CANCELLED);
    assert_status(call, STATUS_OK, queue_heartbeat(call, database->queue, &hold, 1, LEASE_MS, &beat));
    assert_true(beat.is_held && !beat.is_cancel_requested);
    assert_status(call, STATUS_OK, steps_cancel(call, database->app, TENANT_DEFAULT, first.id, &step));
    assert_int_equal(step.state, STEP_RUNNING);
    assert_status(call, STATUS_OK, queue_heartbeat(call, database->queue, &hold, 1, LEASE_MS, &beat));
    assert_true(beat.is_held && beat.is_cancel_requested);
    assert_depth(database, TENANT_DEFAULT, 0, 1);
}

/* Back in the queue it would run once more before anybody could end it. */
static void
a_step_that_is_to_be_cancelled_does_not_go_back_into_the_queue(void **state)
{
    static const char *const messages[] = {"cancelled before it ran", "cancelled while it ran"};
    Database *database = *state;
    Call *call = &database->call;
    StepOutcome reason = {.error_code = "UNAVAILABLE", .error_message = "the worker died"};
    for (int is_charged = 0; is_charged < 2; is_charged++) {
        StepRecord step;
        StepState moved = STEP_STATE_COUNT;
        StepNew asked = enqueue(database, TENANT_DEFAULT);
        StepHold hold = start_one(database);
        assert_status(call, STATUS_OK, steps_cancel(call, database->app, TENANT_DEFAULT, asked.id, &step));
        assert_status(
            call, STATUS_OK, queue_retry(call, database->queue, &hold, &reason, is_charged == 1, &moved));
        assert_int_equal(moved, STEP_CANCELLED);
        step = find(database, TENANT_DEFAULT, asked.id);
        assert_string_equal(step.error_code, "CANCELLED");
        assert_string_equal(step.error_message, messages[is_charged]);
        assert_true(step.ended_us > 0);
    }
    assert_depth(database, TENANT_DEFAULT, 0, 0);
}

static void
a_gateway_that_drains_cancels_what_was_to_be(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepRecord step;
    uint64_t released = 0;
    StepNew asked = enqueue(database, TENANT_DEFAULT);
    (void)start_one(database);
    assert_status(call, STATUS_OK, steps_cancel(call, database->app, TENANT_DEFAULT, asked.id, &step));
    assert_status(call, STATUS_OK, queue_release(call, database->queue, "gateway-1", &released));
    assert_int_equal(released, 1);
    step = find(database, TENANT_DEFAULT, asked.id);
    assert_int_equal(step.state, STEP_CANCELLED);
    assert_string_equal(step.error_code, "CANCELLED");
    assert_true(step.ended_us > 0);
}

static void
another_tenant_can_neither_see_nor_touch_a_step(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    StepNew step = enqueue(database, TENANT_DEFAULT);
    StepHold hold = start_one(database);
    StepRecord found;
    StepPage page;
    StepTensors tensors;
    assert_status(call, STATUS_NOT_FOUND, steps_find(call, database->app, other, step.id, &found));
    assert_status(call, STATUS_NOT_FOUND, steps_cancel(call, database->app, other, step.id, &found));
    assert_status(call, STATUS_OK, steps_list(call, database->app, other, &(StepFilter){0}, &page));
    assert_int_equal(page.count, 0);
    assert_status(call, STATUS_OK, steps_outputs(call, database->app, other, step.id, &tensors));
    assert_int_equal(tensors.count, 0);
    assert_depth(database, other, 0, 0);
    hold.tenant = other;
    StepOutcome end = {.state = STEP_SUCCEEDED};
    assert_status(call, STATUS_NOT_FOUND, queue_end(call, database->app, &hold, &end));
    StepNew stolen = database_step(step.session);
    assert_status(call, STATUS_NOT_FOUND, queue_enqueue(call, database->app, other, &stolen));
    assert_int_equal(find(database, TENANT_DEFAULT, step.id).state, STEP_RUNNING);
}

static void
the_quota_of_queued_steps_is_kept(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Quota quota;
    assert_status(call, STATUS_OK, quotas_find(call, database->app, TENANT_DEFAULT, &quota));
    quota.queued_steps_max = 2;
    assert_status(call, STATUS_OK, quotas_update(call, database->app, TENANT_DEFAULT, &quota));
    (void)enqueue(database, TENANT_DEFAULT);
    (void)enqueue(database, TENANT_DEFAULT);
    StepNew third = database_step(database_add_session(database, TENANT_DEFAULT));
    StepRecord found;
    assert_status(
        call, STATUS_RESOURCE_EXHAUSTED, queue_enqueue(call, database->app, TENANT_DEFAULT, &third));
    assert_string_equal(call->error.message, "the quota 'queued_steps_max' is used up");
    assert_status(call, STATUS_NOT_FOUND, steps_find(call, database->app, TENANT_DEFAULT, third.id, &found));
    assert_depth(database, TENANT_DEFAULT, 2, 0);
}

static void
lists_filter_by_session_and_state(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew first = enqueue(database, TENANT_DEFAULT);
    StepNew second = enqueue(database, TENANT_DEFAULT);
    StepRecord cancelled;
    StepPage page;
    assert_status(call, STATUS_OK, steps_cancel(call, database->app, TENANT_DEFAULT, first.id, &cancelled));
    assert_status(call, STATUS_OK, steps_list(call, database->app, TENANT_DEFAULT, &(StepFilter){0}, &page));
    assert_int_equal(page.count, 2);
    StepFilter filter = {.state = "cancelled"};
    assert_status(call, STATUS_OK, steps_list(call, database->app, TENANT_DEFAULT, &filter, &page));
    assert_true(page.count == 1 && uuid_equal(page.items[0].id.value, first.id.value));
    filter = (StepFilter){.session = second.session};
    assert_status(call, STATUS_OK, steps_list(call, database->app, TENANT_DEFAULT, &filter, &page));
    assert_true(page.count == 1 && uuid_equal(page.items[0].id.value, second.id.value));
}

static void
deleting_a_session_cancels_its_steps(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepNew step = enqueue(database, TENANT_DEFAULT);
    assert_status(call, STATUS_OK, sessions_delete(call, database->app, TENANT_DEFAULT, step.session, 0));
    StepRecord found = find(database, TENANT_DEFAULT, step.id);
    assert_int_equal(found.state, STEP_CANCELLED);
    assert_string_equal(found.error_message, "the session was deleted");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_step_goes_from_the_queue_to_its_end),
        DATABASE_TEST(a_stale_fence_changes_nothing),
        DATABASE_TEST(steps_are_queued_together_or_not_at_all),
        DATABASE_TEST(steps_are_ended_together_or_not_at_all),
        DATABASE_TEST(ending_again_in_the_same_way_is_fine),
        DATABASE_TEST(a_move_that_is_not_in_the_table_is_refused),
        DATABASE_TEST(the_database_knows_the_same_states_and_moves),
        DATABASE_TEST(a_failure_is_tried_again_until_the_last_attempt),
        DATABASE_TEST(a_retry_without_charge_costs_no_attempt_and_no_pause),
        DATABASE_TEST(a_gateway_that_drains_gives_its_steps_back),
        DATABASE_TEST(a_sweep_ends_what_nobody_holds),
        DATABASE_TEST(a_queued_step_is_cancelled_at_once_and_a_running_one_on_request),
        DATABASE_TEST(a_step_that_is_to_be_cancelled_does_not_go_back_into_the_queue),
        DATABASE_TEST(a_gateway_that_drains_cancels_what_was_to_be),
        DATABASE_TEST(another_tenant_can_neither_see_nor_touch_a_step),
        DATABASE_TEST(the_quota_of_queued_steps_is_kept),
        DATABASE_TEST(lists_filter_by_session_and_state),
        DATABASE_TEST(deleting_a_session_cancels_its_steps),
    };
    return cmocka_run_group_tests_name("gateway/store/queue", tests, NULL, NULL);
}
