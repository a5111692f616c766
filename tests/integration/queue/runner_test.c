/* A cancellation reaches a step that is held, however early it comes. */
#include "gateway/queue/runner.h"
#include "shared/base/atomic.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/steps.h"
#include "tests/support/await.h"
#include "tests/support/database.h"

/* An hour, so that no heartbeat comes by itself while a test runs. */
enum { LEASE_MS = 3600 * 1000, LOOP = 3 };

/* Written on the runner's thread. */
typedef struct Heard {
    StepHold hold;       /* written before claimed_count */
    int claimed_count;   /* atomic */
    int cancelled_count; /* atomic */
    int cancelled_loop;  /* written before cancelled_count */
} Heard;

static bool
is_ready(void *context)
{
    (void)context;
    return true;
}

static bool
run(void *context, const StepRecord *step)
{
    Heard *heard = context;
    heard->hold = (StepHold){.tenant = step->tenant, .id = step->id, .fence = step->fence};
    (void)atomic_add_acq_rel(&heard->claimed_count, 1);
    return true;
}

static void
cancel(void *context, int loop_index, const StepHold *hold)
{
    Heard *heard = context;
    (void)hold;
    heard->cancelled_loop = loop_index;
    (void)atomic_add_acq_rel(&heard->cancelled_count, 1);
}

static int
count(const int *number)
{
    return atomic_load_acquire(number);
}

static QueueRunner *
runner_of(Database *database, Admission *admission, Heard *heard)
{
    QueueRunnerOptions options = {
        .conninfo = database->conninfo,
        .owner = "gateway-1",
        .held_max = 4,
        .admission = admission,
        .lease_ms = LEASE_MS,
        .is_ready = is_ready,
        .run = run,
        .cancel = cancel,
        .context = heard,
    };
    QueueRunner *runner = NULL;
    assert_status(&database->call, STATUS_OK, queue_runner_new(&database->call, &options, &runner));
    return runner;
}

static void
enqueue(Database *database)
{
    StepNew step = database_step(database_add_session(database, TENANT_DEFAULT));
    assert_status(
        &database->call, STATUS_OK, queue_enqueue(&database->call, database->app, TENANT_DEFAULT, &step));
}

static void
a_cancellation_that_comes_before_a_loop_runs_the_step_is_heard_behind_that(void **state)
{
    Database *database = *state;
    Heard heard = {0};
    StepRecord step;
    Admission *admission = admission_new(&(AdmissionOptions){0});
    assert_non_null(admission);
    QueueRunner *runner = runner_of(database, admission, &heard);
    enqueue(database);
    queue_runner_wake(runner);
    AWAIT(count(&heard.claimed_count) == 1);
    (void)database_ask(database, "update steps set lease_until = now() + interval '1 minute'");
    assert_status(&database->call, STATUS_OK,
        steps_cancel(&database->call, database->app, TENANT_DEFAULT, heard.hold.id, &step));
    assert_int_equal(step.state, STEP_LEASED);
    queue_runner_wake_beat(runner);
    AWAIT(database_says(database, "select lease_until > now() + interval '30 minutes' from steps", "t"));
    assert_int_equal(count(&heard.cancelled_count), 0); /* no loop runs the step yet */
    queue_runner_note(runner, &heard.hold, LOOP, true);
    AWAIT(count(&heard.cancelled_count) > 0);
    assert_int_equal(heard.cancelled_loop, LOOP);
    queue_runner_stop(runner);
    queue_runner_free(runner);
    admission_free(admission);
    assert_string_equal(database_ask(database, "select state from steps"), "cancelled");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_cancellation_that_comes_before_a_loop_runs_the_step_is_heard_behind_that),
    };
    return cmocka_run_group_tests_name("gateway/queue/runner", tests, NULL, NULL);
}
