/* Graphs on a host and an accelerator: which node gets which device, what is copied, and that results are the
 * same. The test device ends the process when anybody reads its memory without a copy. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/graph_literals.h"
#include "tests/support/partition_runs.h"
#include "tests/support/test_device.h"
#include "worker/runtime/partition/compile.h"

static const ScheduleNode *
find_node(const Partition *partition, const char *name)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        if (slice_equals_string(partition->nodes[id].node->name, name)) {
            return &partition->nodes[id];
        }
    }
    fail_msg("there is no node '%s'", name);
    return NULL;
}

static bool
is_accelerated(const Partition *partition, const char *name)
{
    return !device_is_host(find_node(partition, name)->device);
}

static int
count_copies(const Partition *partition)
{
    int count = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        count += slice_equals_string(partition->nodes[id].node->op->name, "_Copy");
    }
    return count;
}

static void
what_both_memories_read_is_copied_once(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "b = Square(x) T=float32\n"
                                                         "c = Add(a, b) T=float32\n"
                                                         "out = _Retval(c) T=float32 index=0\n"
                                                         "also = _Retval(c) T=float32 index=1\n");
    Tensor args[1] = {fixture_vector(&fixture, 5, 3)};
    assert_int_equal(count_copies(partition), 2);
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 4), 6, 0);
    assert_float_equal(tensor_float(&outcome.outputs[1], 4), 6, 0);
    TestDeviceCounts counts = test_device_counts(fixture.accelerator);
    assert_int_equal(counts.computed, 3);
    assert_int_equal(counts.uploads, 1);
    assert_int_equal(counts.downloads, 1);
    assert_int_equal(counts.fences, 1);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_constant_is_uploaded_when_the_graph_is_compiled(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "k = Const() dtype=float32 value=float32(2)\n"
                                                         "y = Mul(x, k) T=float32\n"
                                                         "out = _Retval(y) T=float32 index=0\n");
    assert_int_equal(test_device_counts(fixture.accelerator).uploads, 1);
    for (int round = 0; round < 2; round++) {
        RunOutcome outcome = {0};
        Tensor args[1] = {fixture_vector(&fixture, 3, 4)};
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 2), 8, 0);
        outcome_clear(&outcome);
    }
    assert_int_equal(test_device_counts(fixture.accelerator).uploads, 3);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
what_only_passes_on_stays_where_it_lies(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "to = Const() dtype=int32 value=int32<2>(2;3)\n"
                                                         "r = Reshape(a, to) T=float32 Tshape=int32\n"
                                                         "i = Identity(r) T=float32\n"
                                                         "s = Shape(i) T=float32 out_type=int32\n"
                                                         "b = Square(i) T=float32\n"
                                                         "out = _Retval(b) T=float32 index=0\n"
                                                         "shape = _Retval(s) T=int32 index=1\n");
    Tensor args[1] = {fixture_vector(&fixture, 6, 3)};
    assert_int_equal(count_copies(partition), 2);
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 5), 9, 0);
    assert_int_equal(((const int32_t *)outcome.outputs[1].data)[1], 3);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
shapes_are_computed_on_the_host(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "s = Shape(a) T=float32 out_type=int32\n"
                                                         "one = Const() dtype=int32 value=int32<1>(1)\n"
                                                         "t = Mul(s, one) T=int32\n"
                                                         "r = Reshape(a, t) T=float32 Tshape=int32\n"
                                                         "b = Square(r) T=float32\n"
                                                         "out = _Retval(b) T=float32 index=0\n");
    assert_true(is_accelerated(partition, "a"));
    assert_true(is_accelerated(partition, "b"));
    assert_false(is_accelerated(partition, "t"));
    assert_string_equal(find_node(partition, "t")->reason, "the host needs it to know a shape or what runs");
    assert_int_equal(count_copies(partition), 2);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* A choice that follows from the host's own numbers does not go to the accelerator and back, for a call to
 * wait for. */
static void
the_choice_of_a_branch_is_computed_on_the_host(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture,
        "function f() -> ()\n"
        "f/x = _Arg() T=float32 index=0\n"
        "f/y = Neg(f/x) T=float32\n"
        "f/out = _Retval(f/y) T=float32 index=0\n"
        "end\n"
        "x = _Arg() T=float32 index=0\n"
        "rate = _Arg() T=int64 index=1\n"
        "usual = Const() dtype=int64 value=int64(16000)\n"
        "is_usual = Equal(rate, usual) T=int64\n"
        "p = Squeeze(is_usual) T=bool\n"
        "y = Square(x) T=float32\n"
        "z = _Branch(p, y) Tindex=bool Tin=[float32] Tout=[float32] branches=[@f,@f]\n"
        "out = _Retval(z) T=float32 index=0\n");
    assert_true(is_accelerated(partition, "y"));
    assert_false(is_accelerated(partition, "is_usual"));
    assert_string_equal(
        find_node(partition, "is_usual")->reason, "the host needs it to know a shape or what runs");
    assert_string_equal(find_node(partition, "z")->reason, "it computes nothing, and waits for what does");
    assert_string_equal(
        find_node(partition, "p")->reason, "it reads no elements: what it passes on stays where it lies");
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
the_graph_chooses_the_cpu(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32 @/device:CPU:0\n"
                                                         "b = Square(a) T=float32\n"
                                                         "out = _Retval(b) T=float32 index=0\n");
    assert_false(is_accelerated(partition, "a"));
    assert_true(is_accelerated(partition, "b"));
    assert_string_equal(find_node(partition, "a")->reason, "the graph asks for the CPU");
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
what_is_no_plain_data_stays_on_the_host(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "v = VarHandleOp() dtype=float32 shape=<2>\n"
                                                         "w = VariableV2() dtype=float32 shape=<2>\n"
                                                         "assigned = Assign(w, a) T=float32\n"
                                                         "text = AsString(a) T=float32\n"
                                                         "is = IsVariableInitialized(w) dtype=float32\n"
                                                         "k = _Arg() T=int32 index=1\n"
                                                         "shape = BroadcastArgs(k, k) T=int32\n"
                                                         "set = AssignVariableOp(v, a) dtype=float32\n"
                                                         "out = _Retval(text) T=string index=0\n"
                                                         "last = _Retval(assigned) T=float32 index=1\n"
                                                         "both = _Retval(shape) T=int32 index=2\n"
                                                         "flag = _Retval(is) T=bool index=3\n");
    assert_string_equal(
        find_node(partition, "v")->reason, "it computes nothing: it makes or names a resource");
    assert_string_equal(
        find_node(partition, "w")->reason, "it computes nothing: it makes or names a resource");
    assert_string_equal(find_node(partition, "assigned")->reason,
        "it reads no elements: what it passes on stays where it lies");
    assert_string_equal(
        find_node(partition, "is")->reason, "it computes nothing: it makes or names a resource");
    assert_string_equal(find_node(partition, "text")->reason, "it has strings");
    assert_string_equal(find_node(partition, "shape")->reason, "it computes shapes of shapes");
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
the_graph_chooses_the_gpu(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                  "s = Shape(x) T=float32 out_type=int32 @/device:GPU:0\n"
                                  "one = Const() dtype=int32 value=int32<1>(1)\n"
                                  "t = Mul(s, one) T=int32 @/device:GPU:0\n"
                                  "r = Reshape(x, t) T=float32 Tshape=int32 @/device:GPU:0\n"
                                  "out = _Retval(r) T=float32 index=0\n");
    assert_true(is_accelerated(partition, "t"));
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Compiles a graph whose node 'a' asks for a GPU, which fails so. */
static void
expect_refusal(RunFixture *fixture, Status code, const char *message)
{
    Partition *partition = NULL;
    MissingBlobs missing = {0};
    AUTO_GRAPH_DEF def = graph_literal("x = _Arg() T=float32 index=0\n"
                                       "a = Neg(x) T=float32 @/device:GPU:0\n"
                                       "out = _Retval(a) T=float32 index=0\n");
    assert_int_equal(
        partition_compile(&fixture->call, def, fixture_devices(fixture), NULL, &missing, &partition), code);
    assert_string_equal(fixture->call.error.message, message);
}

static void
a_node_is_refused_whose_gpu_cannot_compute_it(void **state)
{
    (void)state;
    RunFixture fixture;
    TestDeviceOptions options = {.lacks = "Neg"};
    fixture_begin(&fixture, 2);
    options.host = fixture.device;
    accelerator_begin(&fixture.call, &options, &fixture.accelerator);
    expect_refusal(&fixture, STATUS_INVALID_ARGUMENT,
        "node 'a' asks for '/device:GPU:0', which has no kernel of 'Neg' for its types and attributes; with "
        "\"soft_placement\" the session would run it on the CPU");
    fixture_end(&fixture);
}

/* The gateway takes it for a worker that has lost its GPU, and tries another. */
static void
a_node_is_refused_whose_gpu_is_not_there(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    expect_refusal(
        &fixture, STATUS_UNAVAILABLE, "node 'a' asks for '/device:GPU:0', which this worker does not have");
    fixture_end(&fixture);
}

/* A loop that doubles x while i < 5: i stays on the host, x on the accelerator. */
static const char LOOP[] = "x = _Arg() T=float32 index=0\n"
                           "zero = Const() dtype=int32 value=int32(0)\n"
                           "i_enter = Enter(zero) T=int32 frame_name='loop'\n"
                           "x_enter = Enter(x) T=float32 frame_name='loop'\n"
                           "i_merge = Merge(i_enter, i_next) N=2 T=int32\n"
                           "x_merge = Merge(x_enter, x_next) N=2 T=float32\n"
                           "five = Const(^i_merge) dtype=int32 value=int32(5)\n"
                           "less = Less(i_merge, five) T=int32\n"
                           "cond = LoopCond(less)\n"
                           "i_switch = Switch(i_merge, cond) T=int32\n"
                           "x_switch = Switch(x_merge, cond) T=float32\n"
                           "i_body = Identity(i_switch:1) T=int32\n"
                           "x_body = Identity(x_switch:1) T=float32\n"
                           "one = Const(^i_body) dtype=int32 value=int32(1)\n"
                           "i_add = Add(i_body, one) T=int32\n"
                           "x_add = Add(x_body, x_body) T=float32\n"
                           "i_next = NextIteration(i_add) T=int32\n"
                           "x_next = NextIteration(x_add) T=float32\n"
                           "x_exit = Exit(x_switch) T=float32\n"
                           "out = _Retval(x_exit) T=float32 index=0\n";

static void
a_loop_waits_for_no_copy(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, LOOP);
    Tensor args[1] = {fixture_vector(&fixture, 3, 1)};
    assert_false(is_accelerated(partition, "less"));
    assert_false(is_accelerated(partition, "i_add"));
    assert_true(is_accelerated(partition, "x_add"));
    assert_int_equal(count_copies(partition), 2);
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 2), 32, 0);
    TestDeviceCounts counts = test_device_counts(fixture.accelerator);
    assert_int_equal(counts.computed, 5);
    assert_int_equal(counts.uploads, 1);
    assert_int_equal(counts.downloads, 1);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* The same loop, which doubles x in a function. */
static const char CALLING_LOOP[] =
    "function double() -> ()\n"
    "d/x = _Arg() T=float32 index=0\n"
    "d/y = Add(d/x, d/x) T=float32\n"
    "d/out = _Retval(d/y) T=float32 index=0\n"
    "end\n"
    "x = _Arg() T=float32 index=0\n"
    "zero = Const() dtype=int32 value=int32(0)\n"
    "i_enter = Enter(zero) T=int32 frame_name='loop'\n"
    "x_enter = Enter(x) T=float32 frame_name='loop'\n"
    "i_merge = Merge(i_enter, i_next) N=2 T=int32\n"
    "x_merge = Merge(x_enter, x_next) N=2 T=float32\n"
    "five = Const(^i_merge) dtype=int32 value=int32(5)\n"
    "less = Less(i_merge, five) T=int32\n"
    "cond = LoopCond(less)\n"
    "i_switch = Switch(i_merge, cond) T=int32\n"
    "x_switch = Switch(x_merge, cond) T=float32\n"
    "i_body = Identity(i_switch:1) T=int32\n"
    "x_body = Identity(x_switch:1) T=float32\n"
    "one = Const(^i_body) dtype=int32 value=int32(1)\n"
    "i_add = Add(i_body, one) T=int32\n"
    "yes = Const(^i_body) dtype=bool value=bool(1)\n"
    "x_add = _Branch(yes, x_body) Tindex=bool Tin=[float32] Tout=[float32] branches=[@double,@double]\n"
    "i_next = NextIteration(i_add) T=int32\n"
    "x_next = NextIteration(x_add) T=float32\n"
    "x_exit = Exit(x_switch) T=float32\n"
    "out = _Retval(x_exit) T=float32 index=0\n";

static void
calls_take_and_give_tensors_where_they_lie(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, CALLING_LOOP);
    Tensor args[1] = {fixture_vector(&fixture, 3, 1)};
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 2), 32, 0);
    TestDeviceCounts counts = test_device_counts(fixture.accelerator);
    assert_int_equal(counts.computed, 5);
    assert_int_equal(counts.uploads, 1); /* the feed, however often the loop goes round */
    assert_int_equal(counts.downloads, 1);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* A function that computes nothing there takes and gives tensors like all others. */
static void
functions_without_kernels_there_are_called_alike(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "function same() -> ()\n"
                                  "s/x = _Arg() T=float32 index=0\n"
                                  "s/n = _Arg() T=int32 index=1\n"
                                  "s/y = Neg(s/x) T=float32 @/device:CPU:0\n"
                                  "s/size = Size(s/x) T=float32 out_type=int32\n"
                                  "s/m = Add(s/n, s/size) T=int32\n"
                                  "s/out = _Retval(s/y) T=float32 index=0\n"
                                  "s/x_out = _Retval(s/x) T=float32 index=1\n"
                                  "s/n_out = _Retval(s/m) T=int32 index=2\n"
                                  "end\n"
                                  "x = _Arg() T=float32 index=0\n"
                                  "one = Const() dtype=int32 value=int32(1)\n"
                                  "p = Const() dtype=bool value=bool(1)\n"
                                  "f = _Branch(p, x, one) Tindex=bool Tin=[float32,int32] "
                                  "Tout=[float32,float32,int32] branches=[@same,@same]\n"
                                  "out = _Retval(f) T=float32 index=0\n"
                                  "x_out = _Retval(f:1) T=float32 index=1\n"
                                  "n_out = _Retval(f:2) T=int32 index=2\n");
    for (int64_t size = 3; size >= 0; size -= 3) {
        Tensor args[1] = {fixture_vector(&fixture, size, 4)};
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        assert_string_equal(outcome.message, "");
        if (size > 0) {
            assert_float_equal(tensor_float(&outcome.outputs[0], 2), -4, 0);
            assert_float_equal(tensor_float(&outcome.outputs[1], 2), 4, 0);
        }
        assert_int_equal(*(const int32_t *)outcome.outputs[2].data, 1 + size);
        outcome_clear(&outcome);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Runs a node of a graph and one of a function on the device. Returns how many of the two were allowed TF32.
 */
static uint64_t
count_tf32(bool partition_allows, bool device_allows)
{
    RunFixture fixture;
    RunOutcome outcome = {0};
    MissingBlobs missing = {0};
    Partition *partition = NULL;
    AUTO_GRAPH_DEF def = graph_literal(
        "function double() -> ()\n"
        "d/x = _Arg() T=float32 index=0\n"
        "d/y = Add(d/x, d/x) T=float32\n"
        "d/out = _Retval(d/y) T=float32 index=0\n"
        "end\n"
        "x = _Arg() T=float32 index=0\n"
        "p = Const() dtype=bool value=bool(1)\n"
        "f = _Branch(p, x) Tindex=bool Tin=[float32] Tout=[float32] branches=[@double,@double]\n"
        "n = Neg(f) T=float32\n"
        "out = _Retval(n) T=float32 index=0\n");
    assert_non_null(def);
    fixture_begin_accelerated(&fixture, 2);
    def->allows_tf32 = partition_allows;
    fixture.accelerator->allows_tf32 = device_allows;
    assert_status(&fixture.call, STATUS_OK,
        partition_compile(&fixture.call, def, fixture_devices(&fixture), NULL, &missing, &partition));
    Tensor args[1] = {fixture_vector(&fixture, 3, 1)};
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 2), -2, 0);
    TestDeviceCounts counts = test_device_counts(fixture.accelerator);
    assert_int_equal(counts.computed, 2);
    outcome_clear(&outcome);
    partition_unref(partition);
    fixture_end(&fixture);
    return counts.tf32;
}

static void
tf32_is_allowed_where_both_the_partition_and_the_device_allow_it(void **state)
{
    (void)state;
    assert_int_equal(count_tf32(false, false), 0);
    assert_int_equal(count_tf32(false, true), 0);
    assert_int_equal(count_tf32(true, false), 0);
    assert_int_equal(count_tf32(true, true), 2);
}

static void
a_device_out_of_service_takes_no_runs(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, LOOP);
    Tensor args[1] = {fixture_vector(&fixture, 3, 1)};
    test_device_break(fixture.accelerator, "it was unplugged");
    RunRequest request = {.partition = partition, .args = args, .arg_count = 1};
    assert_int_equal(run_start(&fixture.call, &request, NULL), STATUS_UNAVAILABLE);
    assert_string_equal(
        fixture.call.error.message, "the GPU of this worker is out of service: it was unplugged");
    tensor_unref(&args[0]);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_full_device_fails_the_step_alone(void **state)
{
    (void)state;
    enum { LARGE = 300 << 20 };
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "n = _Arg() T=int32 index=0\n"
                                                         "zero = Const() dtype=float32 value=float32(0)\n"
                                                         "f = Fill(n, zero) T=float32 index_type=int32\n"
                                                         "s = Size(f) T=float32 out_type=int32\n"
                                                         "out = _Retval(s) T=int32 index=0\n");
    Shape shape = shape_vector(1);
    for (int round = 0; round < 2; round++) {
        Tensor args[1] = {0};
        assert_true(tensor_new(DTYPE_INT32, &shape, &args[0]));
        *(int32_t *)args[0].data = round == 0 ? LARGE : 10;
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        assert_int_equal(outcome.code, round == 0 ? STATUS_RESOURCE_EXHAUSTED : STATUS_OK);
        if (round == 0) {
            assert_string_equal(outcome.node, "f");
            assert_non_null(strstr(outcome.message, "needs 1258291200 bytes"));
        }
        outcome_clear(&outcome);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Reads a tensor of the device on the host, which the test device must not allow. */
static void
read_foreign_memory(void)
{
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 1);
    TensorBuffer *buffer = fixture.accelerator->allocate(fixture.accelerator, 16);
    volatile const char *bytes = buffer->data;
    _exit(bytes[0] == 0 ? 1 : 2);
}

static void
a_host_read_of_foreign_memory_ends_the_process(void **state)
{
    (void)state;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        read_foreign_memory();
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > 2));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_both_memories_read_is_copied_once),
        cmocka_unit_test(a_constant_is_uploaded_when_the_graph_is_compiled),
        cmocka_unit_test(what_only_passes_on_stays_where_it_lies),
        cmocka_unit_test(shapes_are_computed_on_the_host),
        cmocka_unit_test(the_choice_of_a_branch_is_computed_on_the_host),
        cmocka_unit_test(the_graph_chooses_the_cpu),
        cmocka_unit_test(what_is_no_plain_data_stays_on_the_host),
        cmocka_unit_test(the_graph_chooses_the_gpu),
        cmocka_unit_test(a_node_is_refused_whose_gpu_cannot_compute_it),
        cmocka_unit_test(a_node_is_refused_whose_gpu_is_not_there),
        cmocka_unit_test(a_loop_waits_for_no_copy),
        cmocka_unit_test(calls_take_and_give_tensors_where_they_lie),
        cmocka_unit_test(functions_without_kernels_there_are_called_alike),
        cmocka_unit_test(tf32_is_allowed_where_both_the_partition_and_the_device_allow_it),
        cmocka_unit_test(a_device_out_of_service_takes_no_runs),
        cmocka_unit_test(a_full_device_fails_the_step_alone),
        cmocka_unit_test(a_host_read_of_foreign_memory_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
