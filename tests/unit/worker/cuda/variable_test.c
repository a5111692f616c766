/* Parts of variables that are changed and read by index on the card, beside the reference kernels. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_fixture.h"
#include "tests/support/graph_case.h"

/* Runs the cases on the host alone, then on the card: both must give what is written down. */
static void
run_on_both(const GraphCase *cases, size_t count)
{
    graph_cases_run(cases, count);
    CudaFixture card;
    cuda_fixture_begin(&card);
    graph_cases_run_in(&card.run, cases, count);
    cuda_fixture_end(&card);
}

#define RUN(cases) run_on_both(cases, COUNT_OF(cases))

#define V(T) "v = VarHandleOp() dtype=" T " shape=<4,2> container='' shared_name='v'\n"
#define ASSIGN(T, elements)                                                                                  \
    {                                                                                                        \
        .graph = V(T) "x = _Arg() T=" T " index=0\n"                                                         \
                      "a = AssignVariableOp(v, x) dtype=" T "\n"                                             \
                      "o = _Retval(x) T=" T " index=0\n",                                                    \
        .feeds = {T "[4,2] " elements}, .fetches = {                                                         \
            T "[4,2] " elements                                                                              \
        }                                                                                                    \
    }

/* Changes parts, and reads the whole behind the change. */
#define CHANGE_OF(T, op, i, u, expected)                                                                     \
    {                                                                                                        \
        .graph = V(T) "i = _Arg() T=int32 index=0\n"                                                         \
                      "u = _Arg() T=" T " index=1\n"                                                         \
                      "c = " op "(v, i, u) Tindices=int32 dtype=" T "\n"                                     \
                      "r = ReadVariableOp(v, ^c) dtype=" T "\n"                                              \
                      "o = _Retval(r) T=" T " index=0\n",                                                    \
        .feeds = {"int32" i, T u}, .fetches = {                                                              \
            T "[4,2] " expected                                                                              \
        }                                                                                                    \
    }
#define ONE_TO_EIGHT "1 2 3 4 5 6 7 8"

static void
rows_change_in_the_order_of_their_indices(void **state)
{
    (void)state;
#define CASES(T)                                                                                             \
    ASSIGN(T, ONE_TO_EIGHT),                                                                                 \
        CHANGE_OF(T, "ResourceScatterUpdate", "[3] 2 0 2", "[3,2] 1 2 3 4 5 6", "3 4 3 4 5 6 7 8"),          \
        ASSIGN(T, ONE_TO_EIGHT),                                                                             \
        CHANGE_OF(T, "ResourceScatterAdd", "[3] 2 0 2", "[3,2] 1 2 3 4 5 6", "4 6 3 4 11 14 7 8"),           \
        CHANGE_OF(T, "ResourceScatterSub", "[3] 2 0 2", "[3,2] 1 2 3 4 5 6", ONE_TO_EIGHT),                  \
        CHANGE_OF(T, "ResourceScatterAdd", "[1,2] 3 3", "[] 1", "1 2 3 4 5 6 9 10"),                         \
        CHANGE_OF(T, "ResourceScatterMul", "[2] 0 0", "[2,2] 2 3 4 5", "8 30 3 4 5 6 9 10"),                 \
        CHANGE_OF(T, "ResourceScatterDiv", "[2] 0 0", "[2,2] 2 3 4 5", "1 2 3 4 5 6 9 10"),                  \
        CHANGE_OF(T, "ResourceScatterMin", "[2] 1 1", "[2,2] 5 3 2 9", "1 2 2 3 5 6 9 10"),                  \
        CHANGE_OF(T, "ResourceScatterMax", "[2] 1 1", "[2,2] 5 1 4 2", "1 2 5 3 5 6 9 10"),                  \
        CHANGE_OF(T, "ResourceScatterAdd", "[0]", "[0,2]", "1 2 5 3 5 6 9 10")
    const GraphCase floats[] = {CASES("float32")};
    const GraphCase doubles[] = {CASES("float64")};
    const GraphCase halves[] = {CASES("float16")};
    const GraphCase brains[] = {CASES("bfloat16")};
    RUN(floats);
    RUN(doubles);
    RUN(halves);
    RUN(brains);
}

/* The Nd ops name their type T, the others dtype. */
#define CHANGE_ND(op, i, u, expected)                                                                        \
    {                                                                                                        \
        .graph = V("float32") "i = _Arg() T=int32 index=0\n"                                                 \
                              "u = _Arg() T=float32 index=1\n"                                               \
                              "c = " op "(v, i, u) Tindices=int32 T=float32\n"                               \
                              "r = ReadVariableOp(v, ^c) dtype=float32\n"                                    \
                              "o = _Retval(r) T=float32 index=0\n",                                          \
        .feeds = {"int32" i, "float32" u}, .fetches = {                                                      \
            "float32[4,2] " expected                                                                         \
        }                                                                                                    \
    }

static void
coordinates_name_elements_and_slices(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        ASSIGN("float32", ONE_TO_EIGHT),
        CHANGE_ND("ResourceScatterNdUpdate", "[2,2] 3 1 0 0", "[2] 70 80", "80 2 3 4 5 6 7 70"),
        CHANGE_ND("ResourceScatterNdAdd", "[3,1] 1 1 2", "[3,2] 1 1 2 2 3 3", "80 2 6 7 8 9 7 70"),
        CHANGE_ND("ResourceScatterNdSub", "[1,0]", "[1,4,2] 80 2 6 7 8 9 7 70", "0 0 0 0 0 0 0 0"),
    };
    RUN(cases);
}

#define READ                                                                                                 \
    {                                                                                                        \
        .graph = V("float32") "r = ReadVariableOp(v) dtype=float32\n"                                        \
                              "o = _Retval(r) T=float32 index=0\n",                                          \
        .fetches = {                                                                                         \
            "float32[4,2] " ONE_TO_EIGHT                                                                     \
        }                                                                                                    \
    }
#define REFUSED(i, u, why)                                                                                   \
    {                                                                                                        \
        .graph = V("float32") "i = _Arg() T=int32 index=0\n"                                                 \
                              "u = _Arg() T=float32 index=1\n"                                               \
                              "c = ResourceScatterAdd(v, i, u) Tindices=int32 dtype=float32\n"               \
                              "r = ReadVariableOp(v, ^c) dtype=float32\n"                                    \
                              "o = _Retval(r) T=float32 index=0\n",                                          \
        .feeds = {"int32" i, "float32" u}, .error = why, .error_code = STATUS_INVALID_ARGUMENT               \
    }

static void
a_refused_change_leaves_the_variable_as_it_was(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        ASSIGN("float32", ONE_TO_EIGHT),
        CHANGE_OF("float32", "ResourceScatterAdd", "[0]", "[0,2]", ONE_TO_EIGHT), /* it lies on the card */
        REFUSED("[3] 1 4 0", "[3,2] 1 2 3 4 5 6", "index 4 at 1 is not within 4"),
        READ,
        REFUSED("[2] 1 -1", "[2,2] 1 2 3 4", "index -1 at 1 is not within 4"),
        READ,
        REFUSED("[2] 1 2", "[2,3] 1 2 3 4 5 6", "updates are of shape [2,3] instead of [2,2]"),
        READ,
    };
    RUN(cases);
}

#define GATHER(i, ...)                                                                                       \
    {                                                                                                        \
        .graph = V("float32") "i = _Arg() T=int64 index=0\n"                                                 \
                              "g = ResourceGather(v, i) Tindices=int64 dtype=float32\n"                      \
                              "n = Neg(g) T=float32\n"                                                       \
                              "o = _Retval(n) T=float32 index=0\n",                                          \
        .feeds = {"int64" i}, __VA_ARGS__                                                                    \
    }

static void
rows_are_gathered(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        ASSIGN("float32", ONE_TO_EIGHT),
        GATHER("[3] 3 0 3", .fetches = {"float32[3,2] -7 -8 -1 -2 -7 -8"}),
        GATHER("[2,1] 1 2", .fetches = {"float32[2,1,2] -3 -4 -5 -6"}),
        GATHER("[0]", .fetches = {"float32[0,2]"}),
        GATHER("[2] 1 4", .error = "index 4 at 1 is not within 4", .error_code = STATUS_INVALID_ARGUMENT),
        READ,
    };
    RUN(cases);
}

#define W "w = VariableV2() dtype=float32 shape=<4,2> container='' shared_name='w'\n"

/* A read that comes by reference sees what its reader would have seen, which waits for its controls and for
 * its other inputs. */
static void
variables_by_reference_change_there_too(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = W "x = _Arg() T=float32 index=0\n"
                    "a = Assign(w, x) T=float32\n"
                    "o = _Retval(a) T=float32 index=0\n",
            .feeds = {"float32[4,2] " ONE_TO_EIGHT},
            .fetches = {"float32[4,2] " ONE_TO_EIGHT}},
        {.graph = W "i = _Arg() T=int32 index=0\n"
                    "u = _Arg() T=float32 index=1\n"
                    "a = ScatterAdd(w, i, u) T=float32 Tindices=int32\n"
                    "m = ScatterMul(a, i, u) T=float32 Tindices=int32\n"
                    "n = Neg(m) T=float32\n"
                    "o = _Retval(n) T=float32 index=0\n"
                    "p = _Retval(w, ^m) T=float32 index=1\n",
            .feeds = {"int32[2] 3 0", "float32[2,2] 1 1 2 2"},
            .fetches = {"float32[4,2] -6 -8 -3 -4 -5 -6 -8 -9", "float32[4,2] 6 8 3 4 5 6 8 9"}},
        {.graph = W "i = _Arg() T=int32 index=0\n"
                    "u = _Arg() T=float32 index=1\n"
                    "s = ScatterNdSub(w, i, u) T=float32 Tindices=int32\n"
                    "both = Add(w, s) T=float32\n"
                    "after = Square(w, ^both) T=float32\n"
                    "o = _Retval(both) T=float32 index=0\n"
                    "p = _Retval(after) T=float32 index=1\n",
            .feeds = {"int32[1,2] 0 0", "float32[1] 5"},
            .fetches = {"float32[4,2] 2 16 6 8 10 12 16 18", "float32[4,2] 1 64 9 16 25 36 64 81"}},
        {.graph = W "x = _Arg() T=float32 index=0\n"
                    "d = AssignAdd(w, x) T=float32\n"
                    "g = ApplyGradientDescent(d, one, x) T=float32\n"
                    "one = Const() dtype=float32 value=float32(1)\n"
                    "o = _Retval(g) T=float32 index=0\n",
            .feeds = {"float32[4,2] 1 1 1 1 1 1 1 1"},
            .fetches = {"float32[4,2] 1 8 3 4 5 6 8 9"}},
        {.graph = W "i = _Arg() T=int32 index=0\n"
                    "u = _Arg() T=float32 index=1\n"
                    "s = ScatterUpdate(w, i, u) T=float32 Tindices=int32\n"
                    "o = _Retval(s) T=float32 index=0\n",
            .feeds = {"int32[1] 4", "float32[1,2] 1 2"},
            .error = "index 4 at 0 is not within 4",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = W "p = _Arg() T=bool index=0\n"
                    "s = RefSwitch(w, p) T=float32\n"
                    "n = Neg(s:1) T=float32\n"
                    "m = Merge(s, n) N=2 T=float32\n"
                    "o = _Retval(m) T=float32 index=0\n",
            .feeds = {"bool[] 1"},
            .fetches = {"float32[4,2] -1 -8 -3 -4 -5 -6 -8 -9"}},
        {.graph = W "p = _Arg() T=bool index=0\n"
                    "z = VariableV2() dtype=float32 shape=<4,2> container='' shared_name='z'\n"
                    "s = RefSwitch(w, p) T=float32\n"
                    "t = RefSwitch(z, p) T=float32\n" /* it has no value, and is dead */
                    "n = Neg(t:1) T=float32\n"
                    "m = Merge(s, n) N=2 T=float32\n"
                    "o = _Retval(m) T=float32 index=0\n",
            .feeds = {"bool[] 0"},
            .fetches = {"float32[4,2] 1 8 3 4 5 6 8 9"}},
        {.graph = "z = VariableV2() dtype=float32 shape=<4,2> container='' shared_name='z'\n"
                  "n = Neg(z) T=float32\n"
                  "o = _Retval(n) T=float32 index=0\n",
            .error = "variable 'z' is not initialised",
            .error_code = STATUS_FAILED_PRECONDITION},
    };
    RUN(cases);
}

/* More elements than threads, so that each has a range of rows. */
static void
a_large_table_changes(void **state)
{
    (void)state;
    enum { ROWS = 70000, CHANGES = 300 };
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *run = &card.run;
    ResourceContainer *session = container_new();
    assert_non_null(session);
    AUTO_PARTITION partition =
        fixture_compile(run, "v = VarHandleOp() dtype=float32 shape=<70000> container='' shared_name='v'\n"
                             "x = _Arg() T=float32 index=0\n"
                             "i = _Arg() T=int32 index=1\n"
                             "u = _Arg() T=float32 index=2\n"
                             "a = AssignVariableOp(v, x) dtype=float32\n"
                             "c = ResourceScatterAdd(v, i, u, ^a) Tindices=int32 dtype=float32\n"
                             "r = ReadVariableOp(v, ^c) dtype=float32\n"
                             "o = _Retval(r) T=float32 index=0\n");
    Tensor args[] = {
        fixture_vector(run, ROWS, 1), fixture_vector(run, CHANGES, 0), fixture_vector(run, CHANGES, 2)};
    args[1].dtype = DTYPE_INT32;
    for (int32_t n = 0; n < CHANGES; n++) {
        ((int32_t *)args[1].data)[n] = n * 233 % ROWS;
    }
    RunOutcome outcome = {0};
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = COUNT_OF(args),
        .container = session,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&run->call, STATUS_OK, run_start(&run->call, &request, NULL));
    outcome_wait(&outcome);
    assert_string_equal(outcome.message, "");
    assert_true(run->accelerator->counts.kernels > 0); /* the change, and nothing else */
    for (int64_t row = 0; row < ROWS; row++) {
        bool is_changed = row % 233 == 0 && row / 233 < CHANGES;
        assert_true(tensor_float(&outcome.outputs[0], row) == (is_changed ? 3 : 1));
    }
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    container_unref(session);
    cuda_fixture_end(&card);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_change_in_the_order_of_their_indices),
        cmocka_unit_test(coordinates_name_elements_and_slices),
        cmocka_unit_test(a_refused_change_leaves_the_variable_as_it_was),
        cmocka_unit_test(rows_are_gathered),
        cmocka_unit_test(variables_by_reference_change_there_too),
        cmocka_unit_test(a_large_table_changes),
    };
    return cmocka_run_group_tests_name("worker/cuda/kernels/variable", tests, NULL, NULL);
}
