/* The thread on which a run is done. */
#include "tests/support/cmocka_all.h"

#include <pthread.h>

#include "tests/support/loop_graphs.h"
#include "tests/support/partition_runs.h"

/* The thread that computed a run's output. The one that ends the run may be another: whoever leaves it last.
 */
typedef struct Computation {
    RunOutcome outcome;
    pthread_t thread;
} Computation;

static void
note_output(void *context, uint32_t index, Tensor *tensor, bool is_dead)
{
    Computation *computation = context;
    computation->thread = pthread_self();
    outcome_callbacks(&computation->outcome).on_output(&computation->outcome, index, tensor, is_dead);
}

static void
note_end(void *context, const RunResult *result)
{
    RunOutcome *outcome = &((Computation *)context)->outcome;
    outcome_callbacks(outcome).on_done(outcome, result);
}

/* Returns whether the calling thread computes the output of the partition, whose arg is a vector. */
static bool
partition_computes_here(RunFixture *fixture, Partition *partition, bool caller_is_idle)
{
    Computation computation = {0};
    Tensor arg = fixture_vector(fixture, 1, 1);
    RunRequest request = {
        .partition = partition,
        .args = &arg,
        .arg_count = 1,
        .caller_is_idle = caller_is_idle,
        .callbacks = {.context = &computation, .on_output = note_output, .on_done = note_end},
    };
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
    outcome_wait(&computation.outcome);
    assert_int_equal(computation.outcome.code, STATUS_OK);
    assert_int_equal(computation.outcome.output_count, 1);
    outcome_clear(&computation.outcome);
    return pthread_equal(computation.thread, pthread_self()) != 0;
}

/* Returns whether the calling thread computes a run that is expected to take this long; 0: it has never run.
 * `node_cost`: what its node took. */
static bool
computes_here(RunFixture *fixture, uint64_t cost_ns, uint32_t node_cost, bool caller_is_idle)
{
    AUTO_PARTITION partition = fixture_compile(fixture, "x = _Arg() T=float32 index=0\n"
                                                        "y = Neg(x) T=float32\n"
                                                        "out = _Retval(y) T=float32 index=0\n");
    partition->total_cost = cost_ns == 0 ? partition->total_cost : cost_ns;
    for (uint32_t i = 0; i < partition->node_count; i++) {
        partition->costs[i] = partition->costs[i] == COST_UNKNOWN ? node_cost : partition->costs[i];
    }
    return partition_computes_here(fixture, partition, caller_is_idle);
}

static void
a_small_run_stays_with_a_caller_that_has_nothing_else_to_do(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    assert_false(computes_here(&fixture, 100 * 1000, 1000, false));
    assert_true(computes_here(&fixture, 100 * 1000, 1000, true));
    assert_false(computes_here(&fixture, 300 * 1000, 1000, true));
    fixture_end(&fixture);
}

/* A node that has never run may be a product of matrices of thousands of rows. */
static void
what_has_never_run_stays_with_nobody(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    assert_false(computes_here(&fixture, 0, COST_UNKNOWN, false));
    assert_false(computes_here(&fixture, 0, COST_UNKNOWN, true));
    fixture_end(&fixture);
}

/* The rest of the run is expected to be short; of a branch that has never been taken nobody knows. */
static void
a_run_goes_on_elsewhere_from_a_branch_that_was_never_taken(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    assert_false(computes_here(&fixture, 100 * 1000, COST_DEAD, true));
    fixture_end(&fixture);
}

static bool
untaken_branch_computes_here(RunFixture *fixture)
{
    AUTO_PARTITION partition = fixture_compile(fixture, "x = _Arg() T=float32 index=0\n"
                                                        "taken = Const() dtype=bool value=bool(1)\n"
                                                        "s = Switch(x, taken) T=float32\n"
                                                        "no = Neg(s) T=float32\n"
                                                        "yes = Abs(s:1) T=float32\n"
                                                        "m = Merge(no, yes) T=float32 N=2\n"
                                                        "out = _Retval(m) T=float32 index=0\n");
    partition->total_cost = 100 * 1000;
    for (uint32_t i = 0; i < partition->node_count; i++) {
        bool is_untaken = slice_equals_string(partition->nodes[i].node->name, "no");
        partition->costs[i] = is_untaken ? COST_DEAD : 1000;
    }
    return partition_computes_here(fixture, partition, true);
}

static void
a_branch_that_is_not_taken_leaves_the_run_where_it_is(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    assert_true(untaken_branch_computes_here(&fixture));
    fixture_end(&fixture);
}

/* One of two nodes goes to another thread because nobody knows what it takes; the other stays. */
static void
known_nodes_beside_unknown_ones_run_too(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "y = Neg(x) T=float32\n"
                                                         "z = Abs(x) T=float32\n"
                                                         "y_out = _Retval(y) T=float32 index=0\n"
                                                         "z_out = _Retval(z) T=float32 index=1\n");
    partition->total_cost = 100 * 1000;
    uint32_t unknown = COST_DEAD;
    for (uint32_t i = 0; i < partition->node_count; i++) {
        partition->costs[i] = partition->costs[i] == COST_UNKNOWN ? unknown : partition->costs[i];
        unknown = partition->costs[i] == COST_DEAD ? 20 * 1000 : unknown;
    }
    Tensor arg = fixture_vector(&fixture, 1, 1);
    RunOutcome outcome = {0};
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .caller_is_idle = true,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* The only thread of the device is in a run without end; the runs that come behind it end all the same. */
static void
a_short_run_waits_for_a_turn_of_a_long_one_and_not_for_its_end(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION endless = fixture_compile(&fixture, LOOP_ENDLESS);
    Tensor arg = fixture_vector(&fixture, 1, 1);
    RunOutcome outcome = {0};
    Run *run = NULL;
    RunRequest request = {
        .partition = endless, .args = &arg, .arg_count = 1, .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, &run));
    for (int round = 0; round < 5; round++) {
        assert_false(computes_here(&fixture, 0, COST_UNKNOWN, false));
    }
    run_cancel(run, STATUS_CANCELLED, "enough");
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_CANCELLED);
    run_unref(run);
    outcome_clear(&outcome);
    partition_unref(TAKE(endless));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_run_stays_with_a_caller_that_has_nothing_else_to_do),
        cmocka_unit_test(what_has_never_run_stays_with_nobody),
        cmocka_unit_test(a_run_goes_on_elsewhere_from_a_branch_that_was_never_taken),
        cmocka_unit_test(a_branch_that_is_not_taken_leaves_the_run_where_it_is),
        cmocka_unit_test(known_nodes_beside_unknown_ones_run_too),
        cmocka_unit_test(a_short_run_waits_for_a_turn_of_a_long_one_and_not_for_its_end),
    };
    return cmocka_run_group_tests_name("runtime/run_thread", tests, NULL, NULL);
}
