/* Variables on an accelerator: where their elements lie after reads and changes in either memory, and what
 * was copied. */
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_literals.h"
#include "tests/support/partition_runs.h"
#include "worker/runtime/variable.h"

enum { ELEMENTS = 64 };

/* A session on a worker with an accelerator. */
typedef struct Session {
    RunFixture fixture;
    ResourceContainer *container;
} Session;

static void
begin(Session *session)
{
    fixture_begin_accelerated(&session->fixture, 2);
    session->container = container_new();
    assert_non_null(session->container);
}

static void
end(Session *session)
{
    container_unref(session->container);
    fixture_end(&session->fixture);
}

#define HANDLE "v = VarHandleOp() dtype=float32 shape=<64> container='' shared_name='v'\n"
#define FEED "x = _Arg() T=float32 index=0\n"
#define ON_HOST "@/device:CPU:0\n"

static const char ASSIGN[] = HANDLE FEED "a = AssignVariableOp(v, x) dtype=float32\n"
                                         "out = _Retval(x) T=float32 index=0\n";
static const char READ[] = HANDLE "r = ReadVariableOp(v) dtype=float32\n"
                                  "out = _Retval(r) T=float32 index=0\n";
/* Reads there. */
static const char SQUARE[] = HANDLE "r = ReadVariableOp(v) dtype=float32\n"
                                    "s = Square(r) T=float32\n"
                                    "out = _Retval(s) T=float32 index=0\n";
/* Changes there. */
static const char DESCEND[] = HANDLE FEED "one = Const() dtype=float32 value=float32(1)\n"
                                          "n = Neg(x) T=float32\n"
                                          "d = ResourceApplyGradientDescent(v, one, n) T=float32\n"
                                          "out = _Retval(x, ^d) T=float32 index=0\n";
/* Changes on the host. */
static const char ADD[] = HANDLE FEED "a = AssignAddVariableOp(v, x) dtype=float32 " ON_HOST
                                      "out = _Retval(x, ^a) T=float32 index=0\n";

typedef struct Copies {
    uint64_t up;
    uint64_t down;
} Copies;

/* Runs a text with feeds of `feed`, if it takes any, and expects this value in all of the output's elements.
 */
static Copies
expect_run(Session *session, const char *text, float feed, float expected)
{
    RunFixture *fixture = &session->fixture;
    AUTO_PARTITION partition = fixture_compile(fixture, text);
    TestDeviceCounts before = test_device_counts(fixture->accelerator);
    RunOutcome outcome = {0};
    Tensor args[1] = {{0}};
    uint32_t count = partition_arg_count(partition);
    if (count > 0) {
        args[0] = fixture_vector(fixture, ELEMENTS, feed);
    }
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = count,
        .container = session->container,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
    outcome_wait(&outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], ELEMENTS - 1), expected, 0);
    outcome_clear(&outcome);
    TestDeviceCounts after = test_device_counts(fixture->accelerator);
    return (Copies){.up = after.uploads - before.uploads, .down = after.downloads - before.downloads};
}

static void
expect_copies(Copies copies, uint64_t up, uint64_t down)
{
    assert_int_equal(copies.up, up);
    assert_int_equal(copies.down, down);
}

static void
a_value_that_is_only_read_is_copied_once(void **state)
{
    (void)state;
    Session session;
    begin(&session);
    expect_copies(expect_run(&session, ASSIGN, 3, 3), 0, 0);
    expect_copies(expect_run(&session, SQUARE, 0, 9), 1, 1); /* the output comes down */
    expect_copies(expect_run(&session, SQUARE, 0, 9), 0, 1);
    expect_copies(expect_run(&session, READ, 0, 3), 0, 0);
    end(&session);
}

static void
a_value_that_changes_there_stays_there(void **state)
{
    (void)state;
    Session session;
    begin(&session);
    expect_copies(expect_run(&session, ASSIGN, 3, 3), 0, 0);
    /* The constant, the feed and, the first time, the variable go up. */
    expect_copies(expect_run(&session, DESCEND, 2, 2), 2, 0);
    expect_copies(expect_run(&session, DESCEND, 2, 2), 1, 0);
    expect_copies(expect_run(&session, SQUARE, 0, 49), 0, 1);
    expect_copies(expect_run(&session, READ, 0, 7), 0, 1);
    expect_copies(expect_run(&session, READ, 0, 7), 0, 0);
    expect_copies(expect_run(&session, DESCEND, 2, 2), 1, 0);
    expect_copies(expect_run(&session, READ, 0, 9), 0, 1);
    end(&session);
}

static void
both_memories_may_change_it(void **state)
{
    (void)state;
    Session session;
    begin(&session);
    expect_copies(expect_run(&session, ASSIGN, 3, 3), 0, 0);
    for (int round = 1; round <= 4; round++) {
        (void)expect_run(&session, DESCEND, 2, 2);
        expect_copies(expect_run(&session, ADD, 1, 1), 0, 1);
        expect_copies(expect_run(&session, SQUARE, 0, (float)((3 + 3 * round) * (3 + 3 * round))), 1, 1);
    }
    end(&session);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_is_only_read_is_copied_once),
        cmocka_unit_test(a_value_that_changes_there_stays_there),
        cmocka_unit_test(both_memories_may_change_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
