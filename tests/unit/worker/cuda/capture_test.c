/* Parts of graphs as CUDA graphs, on a card that is none (tests/support/cuda_on_cpu): bits, refused values,
 * captures that break, a card that breaks, memory. */
#include <signal.h>

#include "tests/support/captured_networks.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/partition_runs.h"
#include "worker/cuda/lane.h"

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

static PluginDevice opened;

/* A kernel as it must not be: it waits for the card. */
static Status
waiting_compute(KernelContext *context)
{
    Tensor *output = NULL;
    cudaStream_t stream = cuda_stream(context);
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &context->inputs[0].shape, &output));
    (void)cudaMemsetAsync(output->data, 0, tensor_byte_size(output), stream);
    (void)cudaStreamSynchronize(stream);
    (void)cudaGetLastError();
    return STATUS_OK;
}

static const Kernel waiting_kernels[] = {{.op = "Lgamma", .compute = waiting_compute}};
static const KernelFamily waiting_family = {
    .kernels = waiting_kernels, .kernel_count = COUNT_OF(waiting_kernels), .file = __FILE__};

static bool
is_turn_of(const void *lane)
{
    return cuda_lane_is_mine(lane);
}

/* Ends the process when work is enqueued in a stream of the lane by a thread whose turn it is not. */
static void
guard_streams(const CudaLane *lane)
{
    cuda_on_cpu_guard(lane->stream, is_turn_of, lane);
    cuda_on_cpu_guard(lane->recording, is_turn_of, lane);
}

static CudaLane *
lane_of_card(void)
{
    DeviceLane *opened_lane = opened.device->open_lane(opened.device);
    assert_non_null(opened_lane);
    CudaLane *lane = cuda_lane(opened_lane);
    opened.device->close_lane(opened.device, opened_lane);
    return lane;
}

static void
begin(RunFixture *fixture, uint64_t memory)
{
    enum { FAMILIES_MAX = 256 };
    static const KernelFamily *families[FAMILIES_MAX] = {&waiting_family};
    assert_true(cuda_kernels_table_count < FAMILIES_MAX);
    memcpy(families + 1, cuda_kernels_table, cuda_kernels_table_count * sizeof(const KernelFamily *));
    fixture_begin(fixture, 3);
    PluginOptions options = {
        .host = fixture->device, .device = "", .memory = memory, .pinned_memory = 1, .libraries = ""};
    assert_status(&fixture->call, STATUS_OK, cuda_device_open(&fixture->call, &options, &opened));
    assert_status(&fixture->call, STATUS_OK,
        kernel_register(&fixture->call, "GPU", families, cuda_kernels_table_count + 1));
    fixture->accelerator = opened.device;
    accelerator_capture(opened.device);
    guard_streams(lane_of_card());
}

static void
end(RunFixture *fixture)
{
    AWAIT(fixture_memory_in_use(fixture) == 0);
    kernel_unregister("GPU");
    captures_free(TAKE(opened.device->captures));
    cuda_device_close(&opened);
    fixture->accelerator = NULL;
    fixture_end(fixture);
    cuda_on_cpu_reset(true);
}

static uint64_t
captured_count(void)
{
    return atomic_load_relaxed(&opened.device->counts.captured);
}

static uint64_t
replayed_count(void)
{
    return atomic_load_relaxed(&opened.device->counts.replayed);
}

static uint64_t
refused_count(CaptureRefusal reason)
{
    return atomic_load_relaxed(&opened.device->counts.uncaptured[reason]);
}

static const char CHAIN[] = "x = _Arg() T=float32 index=0\n"
                            "k = Const() dtype=float32 value=float32(3)\n"
                            "a = Neg(x) T=float32\n"
                            "to = Const() dtype=int32 value=int32<2>(1;-1)\n"
                            "r = Reshape(a, to) T=float32 Tshape=int32\n"
                            "b = Mul(r, k) T=float32\n"
                            "c = Add(b, k) T=float32\n"
                            "d = Square(c) T=float32\n"
                            "out = _Retval(d) T=float32 index=0\n"
                            "early = _Retval(b) T=float32 index=1\n";

static void
run_chain(RunFixture *fixture, Partition *partition, int64_t size, float x)
{
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_vector(fixture, size, x)};
    fixture_run(fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], size - 1), (3 - 3 * x) * (3 - 3 * x), 0);
    assert_float_equal(tensor_float(&outcome.outputs[1], 0), -3 * x, 0);
    outcome_clear(&outcome);
}

static void
a_part_becomes_a_graph_that_is_launched_from_then_on(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 8; round++) {
        uint64_t before = cuda_on_cpu_calls("launch");
        run_chain(&fixture, partition, 5, (float)round);
        assert_int_equal(cuda_on_cpu_calls("launch") - before, round < 3 ? 4 : 0);
    }
    assert_int_equal(cuda_on_cpu_calls("cudaGraphLaunch"), 6);
    assert_int_equal(captured_count(), 1);
    assert_int_equal(replayed_count(), 5);
    partition_unref(TAKE(partition));
    end(&fixture);
}

static void
two_thousand_steps_of_many_shapes_leak_nothing(void **state)
{
    (void)state;
    enum { STEPS = 2000, SHAPES = FIXTURE_GRAPHS_MAX + 2, REPEATS = 50 };
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int step = 0; step < STEPS; step++) {
        run_chain(&fixture, partition, (step / REPEATS % SHAPES + 1) * 10, (float)(step % 17));
    }
    uint64_t made = cuda_on_cpu_calls("cudaGraphInstantiate");
    assert_true(made > FIXTURE_GRAPHS_MAX);
    AWAIT(cuda_on_cpu_calls("cudaGraphExecDestroy") + FIXTURE_GRAPHS_MAX >= made);
    partition_unref(TAKE(partition));
    AWAIT(cuda_on_cpu_calls("cudaGraphExecDestroy") == made);
    end(&fixture);
}

static const char GATHER[] = "x = _Arg() T=float32 index=0\n"
                             "i = _Arg() T=int32 index=1\n"
                             "n = Neg(x) T=float32\n"
                             "g = Gather(n, i) Tparams=float32 Tindices=int32 @/device:GPU:0\n"
                             "h = Gather(g, i) Tparams=float32 Tindices=int32 @/device:GPU:0\n"
                             "s = Square(h) T=float32\n"
                             "out = _Retval(s) T=float32 index=0\n";

static void
expect_gathered(RunFixture *fixture, Partition *partition, int32_t index, const char *message)
{
    RunOutcome outcome = {0};
    Tensor args[2] = {fixture_vector(fixture, 3, 5), fixture_vector(fixture, 3, 0)};
    args[1].dtype = DTYPE_INT32;
    ((int32_t *)args[1].data)[1] = index;
    fixture_run(fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, message);
    assert_string_equal(outcome.node, message[0] == '\0' ? "" : "g");
    if (message[0] == '\0') {
        assert_float_equal(tensor_float(&outcome.outputs[0], 2), 25, 0);
    }
    outcome_clear(&outcome);
}

static void
a_wrong_index_in_captured_work_fails_its_run_alone(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, GATHER);
    for (int round = 0; round < 4; round++) {
        expect_gathered(&fixture, partition, 2, "");
        expect_gathered(&fixture, partition, 7, "index 7 at 1 is not within 3");
        expect_gathered(&fixture, partition, -1, "index -1 at 1 is not within 3");
        expect_gathered(&fixture, partition, 0, "");
    }
    assert_int_equal(captured_count(), 2);
    partition_unref(TAKE(partition));
    end(&fixture);
}

static void
a_kernel_that_waits_breaks_its_capture_and_nothing_else(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "w = Lgamma(a) T=float32\n"
                                                         "b = Sub(w, a) T=float32\n"
                                                         "out = _Retval(b) T=float32 index=0\n");
    AUTO_PARTITION other = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 6; round++) {
        RunOutcome outcome = {0};
        Tensor args[1] = {fixture_vector(&fixture, 3, (float)round)};
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 2), (float)round, 0);
        outcome_clear(&outcome);
        run_chain(&fixture, other, 5, (float)round);
    }
    assert_int_equal(refused_count(CAPTURE_DEVICE_REFUSES), 1);
    assert_int_equal(captured_count(), 1);
    partition_unref(TAKE(partition));
    partition_unref(TAKE(other));
    end(&fixture);
}

/* Another run's launch would become a part of the graph. */
static void
launch_between(void *context)
{
    TensorBuffer *buffer = context;
    (void)cudaMemsetAsync(buffer->data, 0, buffer->size, lane_of_card()->recording);
}

static void
nobody_else_enqueues_in_what_is_captured(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    TensorBuffer *buffer = opened.device->allocate(opened.device, 16);
    assert_non_null(buffer);
    assert_int_equal(signal_of(launch_between, buffer), SIGABRT);
    tensor_buffer_unref(buffer);
    end(&fixture);
}

/* Each call of a capture fails once, as of a card without memory, or with an error of a capture. */
static void
a_capture_that_fails_runs_plainly(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate"};
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        RunFixture fixture;
        begin(&fixture, 16 * MIB);
        AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
        run_chain(&fixture, partition, 5, 1);
        run_chain(&fixture, partition, 5, 2);
        cuda_on_cpu_fail(calls[i], 0, i < 2 ? cudaErrorStreamCaptureInvalidated : cudaErrorMemoryAllocation);
        for (int round = 0; round < 4; round++) {
            run_chain(&fixture, partition, 5, (float)round);
        }
        assert_int_equal(refused_count(i < 2 ? CAPTURE_DEVICE_REFUSES : CAPTURE_LACKS_MEMORY), 1);
        assert_int_equal(captured_count(), 0);
        partition_unref(TAKE(partition));
        end(&fixture);
    }
}

static void
expect_failed_launch(RunFixture *fixture, Partition *partition)
{
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_vector(fixture, 5, 1)};
    cuda_on_cpu_fail("cudaGraphLaunch", 0, cudaErrorInvalidValue);
    fixture_run(fixture, partition, NULL, args, 1, &outcome);
    assert_int_equal(outcome.code, STATUS_INTERNAL);
    outcome_clear(&outcome);
}

static void
a_graph_that_fails_to_launch_costs_one_step_until_it_is_tried_again(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, 5, (float)round);
    }
    expect_failed_launch(&fixture, partition);
    AWAIT(cuda_on_cpu_calls("cudaGraphExecDestroy") == 1);
    uint64_t launches = cuda_on_cpu_calls("cudaGraphLaunch");
    for (int round = 0; round < CAPTURE_REST_MIN; round++) {
        run_chain(&fixture, partition, 5, (float)round);
    }
    assert_int_equal(cuda_on_cpu_calls("cudaGraphLaunch"), launches);
    expect_failed_launch(&fixture, partition);
    launches = cuda_on_cpu_calls("cudaGraphLaunch");
    for (int round = 0; round < 2 * CAPTURE_REST_MIN; round++) {
        run_chain(&fixture, partition, 5, (float)round);
    }
    assert_int_equal(cuda_on_cpu_calls("cudaGraphLaunch"), launches);
    run_chain(&fixture, partition, 5, 3);
    run_chain(&fixture, partition, 5, 4);
    assert_int_equal(cuda_on_cpu_calls("cudaGraphLaunch"), launches + 2);
    assert_int_equal(refused_count(CAPTURE_LAUNCH_FAILED), 2);
    partition_unref(TAKE(partition));
    end(&fixture);
}

/* All steps that replay the graph at the same time may fail; it is freed behind the last of them. */
static void
steps_that_share_a_graph_that_fails_to_launch_free_it_once(void **state)
{
    (void)state;
    enum { RUNS = 8 };
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, 5, (float)round);
    }
    RunOutcome outcomes[RUNS] = {0};
    cuda_on_cpu_fail("cudaGraphLaunch", 0, cudaErrorInvalidValue);
    for (int i = 0; i < RUNS; i++) {
        Tensor args[1] = {fixture_vector(&fixture, 5, (float)i)};
        RunRequest request = {.partition = partition,
            .args = args,
            .arg_count = 1,
            .callbacks = outcome_callbacks(&outcomes[i])};
        assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    }
    int failed_count = 0;
    for (int i = 0; i < RUNS; i++) {
        outcome_wait(&outcomes[i]);
        failed_count += outcomes[i].code != STATUS_OK;
        outcome_clear(&outcomes[i]);
    }
    assert_int_equal(failed_count, 1);
    AWAIT(cuda_on_cpu_calls("cudaGraphExecDestroy") == 1);
    assert_int_equal(refused_count(CAPTURE_LAUNCH_FAILED), 1);
    partition_unref(TAKE(partition));
    end(&fixture);
}

/* A broken card is so for the rest of its process. */
static void
break_in_replay(void *context)
{
    (void)context;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, 5, (float)round);
    }
    cuda_on_cpu_break_in_kernel(cudaErrorIllegalAddress);
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_vector(&fixture, 5, 1)};
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    bool is_told = outcome.code == STATUS_UNAVAILABLE && opened.device->fault(opened.device) != NULL;
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    AWAIT(fixture_memory_in_use(&fixture) == 0);
    captures_free(TAKE(opened.device->captures));
    cuda_device_close(&opened);
    if (!is_told) {
        abort();
    }
}

static void
a_card_that_breaks_in_captured_work_is_out_of_service(void **state)
{
    (void)state;
    assert_int_equal(signal_of(break_in_replay, NULL), 0);
}

static void
captured_parts_give_way_to_steps(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 2 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, 60000, (float)round);
    }
    assert_int_equal(captured_count(), 1);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, 150000, (float)round);
    }
    assert_int_equal(refused_count(CAPTURE_LACKS_MEMORY), 1);
    partition_unref(TAKE(partition));
    end(&fixture);
}

static void
steps_at_the_same_time_share_captured_work(void **state)
{
    (void)state;
    enum { RUNS = 8, ROUNDS = 6 };
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    AUTO_PARTITION gather = fixture_compile(&fixture, GATHER);
    for (int round = 0; round < ROUNDS; round++) {
        RunOutcome outcomes[RUNS] = {0};
        for (int i = 0; i < RUNS; i++) {
            Tensor args[1] = {fixture_vector(&fixture, 300, (float)i)};
            RunRequest request = {.partition = partition,
                .args = args,
                .arg_count = 1,
                .callbacks = outcome_callbacks(&outcomes[i])};
            assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
        }
        expect_gathered(&fixture, gather, 2, "");
        expect_gathered(&fixture, gather, 9, "index 9 at 1 is not within 3");
        for (int i = 0; i < RUNS; i++) {
            outcome_wait(&outcomes[i]);
            assert_string_equal(outcomes[i].message, "");
            assert_float_equal(
                tensor_float(&outcomes[i].outputs[0], 299), (3 - 3 * (float)i) * (3 - 3 * (float)i), 0);
            outcome_clear(&outcomes[i]);
        }
    }
    assert_int_equal(captured_count(), 3);
    partition_unref(TAKE(partition));
    partition_unref(TAKE(gather));
    end(&fixture);
}

static void
random_networks_have_the_same_bits_captured(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    captured_networks_compare(&fixture, 1, 12);
    end(&fixture);
}

static void
training_has_the_same_bits_captured(void **state)
{
    (void)state;
    RunFixture fixture;
    begin(&fixture, 16 * MIB);
    captured_training_compare(&fixture);
    end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_becomes_a_graph_that_is_launched_from_then_on),
        cmocka_unit_test(two_thousand_steps_of_many_shapes_leak_nothing),
        cmocka_unit_test(a_wrong_index_in_captured_work_fails_its_run_alone),
        cmocka_unit_test(a_kernel_that_waits_breaks_its_capture_and_nothing_else),
        cmocka_unit_test(nobody_else_enqueues_in_what_is_captured),
        cmocka_unit_test(a_capture_that_fails_runs_plainly),
        cmocka_unit_test(a_graph_that_fails_to_launch_costs_one_step_until_it_is_tried_again),
        cmocka_unit_test(steps_that_share_a_graph_that_fails_to_launch_free_it_once),
        cmocka_unit_test(a_card_that_breaks_in_captured_work_is_out_of_service),
        cmocka_unit_test(captured_parts_give_way_to_steps),
        cmocka_unit_test(steps_at_the_same_time_share_captured_work),
        cmocka_unit_test(random_networks_have_the_same_bits_captured),
        cmocka_unit_test(training_has_the_same_bits_captured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
