/* Nodes on the card whose outputs are as large as the card finds (worker/cuda/operands/counted.h), in graphs:
 * behind and before others there, beside captured parts, in loops, dead, failed. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_fixture.h"
#include "tests/support/graph_case.h"
#include "tests/support/loop_graphs.h"

static void
run_on_card(const GraphCase *cases, size_t count)
{
    CudaFixture card;
    cuda_fixture_begin(&card);
    graph_cases_run_in(&card.run, cases, count);
    assert_int_equal(atomic_load_relaxed(&card.opened.device->counts.missing), 0);
    cuda_fixture_end(&card);
}

#define RUN(cases) run_on_card(cases, COUNT_OF(cases))

/* The rows of x whose first number is above zero, each twice as large. */
#define ROWS                                                                                                 \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "c = _Arg() T=float32 index=1\n"                                                                         \
    "zero = Const() dtype=float32 value=float32(0)\n"                                                        \
    "axis = Const() dtype=int32 value=int32(0)\n"                                                            \
    "column = Const() dtype=int32 value=int32<1>(1)\n"                                                       \
    "more = Greater(c, zero) T=float32\n"                                                                    \
    "w = Where(more) T=bool\n"                                                                               \
    "flat = Squeeze(w) T=int64 squeeze_dims=[1]\n"                                                           \
    "g = GatherV2(x, flat, axis) Tparams=float32 Tindices=int64 Taxis=int32\n"                               \
    "y = Add(g, g) T=float32\n"                                                                              \
    "o0 = _Retval(y) T=float32 index=0\n"

static const GraphCase rows[] = {
    {.graph = ROWS,
        .feeds = {"float32[3,2] 1 2 3 4 5 6", "float32[3] 1 -1 2"},
        .fetches = {"float32[2,2] 2 4 10 12"}},
    {.graph = ROWS, .feeds = {"float32[3,2] 1 2 3 4 5 6", "float32[3] -1 -1 0"}, .fetches = {"float32[0,2]"}},
    {.graph = ROWS,
        .feeds = {"float32[4,1] 1 2 3 4", "float32[4] 1 1 1 1"},
        .fetches = {"float32[4,1] 2 4 6 8"}},
    {.graph = ROWS, .feeds = {"float32[0,2]", "float32[0]"}, .fetches = {"float32[0,2]"}},
    {.graph = ROWS,
        .feeds = {"float32[1,2] 1 2", "float32[3] -1 -1 2"},
        .error = "index 2 at 0 is not within 1",
        .error_code = STATUS_INVALID_ARGUMENT},
};

static void
the_card_says_how_many_rows_there_are(void **state)
{
    (void)state;
    RUN(rows);
}

/* Each turn of a loop drops what is not above zero, then takes 1 away: a vector that gets shorter. */
static void
a_loop_carries_what_was_counted(void **state)
{
    (void)state;
#define SHRINKING                                                                                            \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "n = _Arg() T=int32 index=1\n"                                                                           \
    "zero = Const() dtype=int32 value=int32(0)\n" LOOP_COUNTER("i", "loop", "zero", "n", "")                 \
        LOOP_VARIABLE("v", "i", "loop", "x", "") "none = Const(^v_body) dtype=float32 value=float32(0)\n"    \
                                                 "one = Const(^v_body) dtype=float32 value=float32(1)\n"     \
                                                 "axis = Const(^v_body) dtype=int32 value=int32(0)\n"        \
                                                 "more = Greater(v_body, none) T=float32\n"                  \
                                                 "w = Where(more) T=bool\n"                                  \
                                                 "flat = Squeeze(w) T=int64 squeeze_dims=[1]\n"              \
                                                 "g = GatherV2(v_body, flat, axis) Tparams=float32 "         \
                                                 "Tindices=int64 Taxis=int32\n"                              \
                                                 "v_new = Sub(g, one) T=float32\n"                           \
                                                 "o0 = _Retval(v_exit) T=float32 index=0\n"
    static const GraphCase cases[] = {
        {.graph = SHRINKING, .feeds = {"float32[4] 3 1 2 5", "int32[] 2"}, .fetches = {"float32[3] 1 0 3"}},
        {.graph = SHRINKING, .feeds = {"float32[4] 3 1 2 5", "int32[] 7"}, .fetches = {"float32[0]"}},
        {.graph = SHRINKING, .feeds = {"float32[2] 3 1", "int32[] 0"}, .fetches = {"float32[2] 3 1"}},
    };
    RUN(cases);
}

/* A branch that is not taken counts nothing. */
static void
a_dead_node_counts_nothing(void **state)
{
    (void)state;
#define BRANCHING                                                                                            \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "p = _Arg() T=bool index=1\n"                                                                            \
    "a = Neg(x) T=float32\n"                                                                                 \
    "s = Switch(a, p) T=float32\n"                                                                           \
    "w = Where(s:1) T=float32\n"                                                                             \
    "e = Cast(w) SrcT=int64 DstT=float32\n"                                                                  \
    "m = Merge(s, e) T=float32 N=2\n"                                                                        \
    "y = Neg(m) T=float32\n"                                                                                 \
    "o0 = _Retval(y) T=float32 index=0\n"
    static const GraphCase cases[] = {
        {.graph = BRANCHING, .feeds = {"float32[3] 4 0 5", "bool[] 0"}, .fetches = {"float32[3] 4 0 5"}},
        {.graph = BRANCHING, .feeds = {"float32[3] 4 0 5", "bool[] 1"}, .fetches = {"float32[2,1] 0 -2"}},
    };
    RUN(cases);
}

/* Runs the graph of the test below once more, with other numbers. */
static void
run_turn(CudaFixture *card, Partition *partition, int turn)
{
    bool is_odd = turn % 2 != 0;
    float numbers[] = {0, 1, is_odd ? 1 : 0, 1};
    RunOutcome outcome = {0};
    Shape shape = shape_vector(COUNT_OF(numbers));
    Tensor feed = fixture_floats(&card->run, &shape, numbers);
    fixture_run(&card->run, partition, NULL, &feed, 1, &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    assert_int_equal(outcome.outputs[0].shape.dims[0], is_odd ? 3 : 2);
    const int64_t *places = outcome.outputs[0].data;
    assert_int_equal(places[0], 1);
    assert_int_equal(places[1], is_odd ? 2 : 3);
    assert_true(tensor_float(&outcome.outputs[1], 2) == (is_odd ? -1 : 0));
    outcome_clear(&outcome);
}

/* Captured nodes may stand before a node that counts, and beside it, never around it. */
static void
captured_neighbours_read_what_was_counted(void **state)
{
    (void)state;
    static const char graph[] = "x = _Arg() T=float32 index=0\n"
                                "a = Neg(x) T=float32\n"
                                "b = Abs(a) T=float32\n"
                                "d = Square(b) T=float32\n"
                                "w = Where(d) T=float32\n"
                                "e = Abs(d) T=float32\n"
                                "f = Neg(e) T=float32\n"
                                "g = Neg(w) T=int64\n"
                                "h = Abs(g) T=int64\n"
                                "o0 = _Retval(h) T=int64 index=0\n"
                                "o1 = _Retval(f) T=float32 index=1\n";
    enum { TURNS = 8 };
    CudaFixture card;
    cuda_fixture_begin(&card);
    accelerator_capture(card.opened.device);
    Partition *partition = fixture_compile(&card.run, graph);
    for (int turn = 0; turn < TURNS; turn++) {
        run_turn(&card, partition, turn);
    }
    partition_unref(TAKE(partition));
    const DeviceCounts *counts = &card.opened.device->counts;
    assert_true(atomic_load_relaxed(&counts->replayed) > 0);
    assert_int_equal(atomic_load_relaxed(&counts->uncaptured[CAPTURE_DEVICE_REFUSES]), 0);
    captures_free(TAKE(card.opened.device->captures));
    cuda_fixture_end(&card);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_card_says_how_many_rows_there_are),
        cmocka_unit_test(a_loop_carries_what_was_counted),
        cmocka_unit_test(a_dead_node_counts_nothing),
        cmocka_unit_test(captured_neighbours_read_what_was_counted),
    };
    return cmocka_run_group_tests_name("worker/cuda/operands/counted", tests, NULL, NULL);
}
