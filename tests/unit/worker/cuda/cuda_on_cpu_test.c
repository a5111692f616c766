/* Tests the ground of all tests of the CUDA device: that the runtime without a GPU is as strict as it says.
 */
#include "tests/support/cmocka_all.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/cuda_on_cpu/sample.h"

enum { COUNT = 1024 };

#define assert_cuda(expected, call) assert_string_equal(cudaGetErrorName(call), cudaGetErrorName(expected))
#define assert_done(call) assert_cuda(cudaSuccess, call)

typedef struct Fixture {
    cudaStream_t stream;
    cudaStream_t other;
    cudaEvent_t event;
    float *host; /* pinned */
    float *in;
    float *out;
} Fixture;

static int
set_up(void **state)
{
    static Fixture fixture;
    cuda_on_cpu_reset(false);
    assert_done(cudaStreamCreateWithFlags(&fixture.stream, cudaStreamNonBlocking));
    assert_done(cudaStreamCreateWithFlags(&fixture.other, cudaStreamNonBlocking));
    assert_done(cudaEventCreateWithFlags(&fixture.event, cudaEventDisableTiming));
    assert_done(cudaHostAlloc((void **)&fixture.host, COUNT * sizeof(float), 0));
    assert_done(cudaMalloc((void **)&fixture.in, COUNT * sizeof(float)));
    assert_done(cudaMalloc((void **)&fixture.out, COUNT * sizeof(float)));
    for (int i = 0; i < COUNT; i++) {
        fixture.host[i] = (float)i;
    }
    assert_done(cudaMemcpy(fixture.in, fixture.host, COUNT * sizeof(float), cudaMemcpyHostToDevice));
    *state = &fixture;
    return 0;
}

static int
tear_down(void **state)
{
    Fixture *fixture = *state;
    (void)cudaFree(fixture->in);
    (void)cudaFree(fixture->out);
    (void)cudaFreeHost(fixture->host);
    (void)cudaEventDestroy(fixture->event);
    (void)cudaStreamDestroy(fixture->stream);
    (void)cudaStreamDestroy(fixture->other);
    cuda_on_cpu_reset(false);
    return 0;
}

static float
read_element(const float *data, int index)
{
    float value = 0;
    assert_done(cudaMemcpy(&value, data + index, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

/* Runs `act` in a process of its own and asserts that it ends by this signal. */
static void
assert_ends_by(int signal, void (*act)(Fixture *fixture), Fixture *fixture)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        act(fixture);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
#if defined(__SANITIZE_ADDRESS__)
    (void)signal; /* the sanitizer reports the access, and ends the process by a code of its own */
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#else
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signal);
#endif
}

static void
kernels_compute(void **state)
{
    Fixture *fixture = *state;
    assert_done(sample_scale(COUNT, 3, fixture->in, fixture->out, fixture->stream));
    assert_true(read_element(fixture->out, COUNT - 1) == 3 * (COUNT - 1));
    assert_done(sample_reverse(COUNT, true, fixture->in, fixture->out, fixture->stream));
    assert_true(read_element(fixture->out, 0) == 255);
    assert_true(read_element(fixture->out, COUNT - 1) == COUNT - 256);
    assert_done(sample_sum_rows(COUNT / 256, fixture->in, fixture->out, fixture->stream));
    assert_true(read_element(fixture->out, 1) == 256 * 256 + 255 * 128);
}

static void
a_missing_barrier_gives_wrong_numbers_whatever_the_order(void **state)
{
    Fixture *fixture = *state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        cuda_on_cpu_seed(seed);
        assert_done(sample_reverse(COUNT, true, fixture->in, fixture->out, fixture->stream));
        bool is_right = true;
        for (int i = 0; i < 256; i++) {
            is_right = is_right && read_element(fixture->out, i) == (float)(255 - i);
        }
        assert_true(is_right);
        assert_done(sample_reverse(COUNT, false, fixture->in, fixture->out, fixture->stream));
        for (int i = 0; i < 256; i++) {
            is_right = is_right && read_element(fixture->out, i) == (float)(255 - i);
        }
        assert_false(is_right);
    }
}

static void
hang(Fixture *fixture)
{
    (void)sample_hang(fixture->stream);
    (void)cudaStreamSynchronize(fixture->stream);
}

static void
a_barrier_that_not_all_threads_reach_ends_the_process(void **state)
{
    assert_ends_by(SIGABRT, hang, *state);
}

static void
write_an_element_too_many(Fixture *fixture)
{
    (void)sample_scale(COUNT + 1, 2, fixture->in, fixture->out, fixture->stream);
    (void)cudaStreamSynchronize(fixture->stream);
}

static void
an_element_too_many_ends_the_process(void **state)
{
    assert_ends_by(SIGABRT, write_an_element_too_many, *state);
}

static void
touch_device_memory(Fixture *fixture)
{
    *(volatile float *)fixture->in = 1;
}

static void
the_host_cannot_touch_device_memory(void **state)
{
    assert_ends_by(SIGSEGV, touch_device_memory, *state);
}

static void
copy_pageable_memory(Fixture *fixture)
{
    float local[4] = {0};
    (void)cudaMemcpyAsync(fixture->in, local, sizeof local, cudaMemcpyHostToDevice, fixture->stream);
}

static void
pageable_memory_in_a_copy_ends_the_process(void **state)
{
    assert_ends_by(SIGABRT, copy_pageable_memory, *state);
}

static void
fresh_memory_is_nan_and_memory_is_limited(void **state)
{
    (void)state;
    cuda_on_cpu_set_memory(1 << 20);
    size_t before = 0;
    size_t total = 0;
    assert_done(cudaMemGetInfo(&before, &total));
    assert_int_equal(total, 1 << 20);
    float *data = NULL;
    assert_cuda(cudaErrorMemoryAllocation, cudaMalloc((void **)&data, before + 1));
    assert_cuda(cudaErrorMemoryAllocation, cudaGetLastError());
    assert_done(cudaMalloc((void **)&data, before));
    float first = read_element(data, 0);
    assert_true(first != first);
    assert_done(cudaFree(data));
    assert_cuda(cudaErrorInvalidValue, cudaFree(data));
}

/* Computes from what another stream copies, with the event between them or without. Returns whether the
 * numbers were right each time. */
static bool
compute_behind_a_copy(Fixture *fixture, bool waits)
{
    bool is_right = true;
    for (int i = 0; i < 20; i++) {
        fixture->host[COUNT - 1] = (float)i;
        assert_done(cudaMemcpyAsync(
            fixture->in, fixture->host, COUNT * sizeof(float), cudaMemcpyHostToDevice, fixture->other));
        assert_done(cudaEventRecord(fixture->event, fixture->other));
        if (waits) {
            assert_done(cudaStreamWaitEvent(fixture->stream, fixture->event, 0));
        }
        assert_done(sample_scale(COUNT, 2, fixture->in, fixture->out, fixture->stream));
        assert_done(cudaStreamSynchronize(fixture->stream));
        is_right = is_right && read_element(fixture->out, COUNT - 1) == (float)(2 * i);
    }
    return is_right;
}

static void
streams_are_ordered_by_events_alone(void **state)
{
    assert_true(compute_behind_a_copy(*state, true));
    assert_false(compute_behind_a_copy(*state, false));
}

static void
an_event_is_ready_when_its_stream_has_come_to_it(void **state)
{
    Fixture *fixture = *state;
    assert_done(cudaEventQuery(fixture->event));
    bool was_late = false;
    for (int i = 0; i < 20; i++) {
        assert_done(sample_scale(COUNT, 2, fixture->in, fixture->out, fixture->stream));
        assert_done(cudaEventRecord(fixture->event, fixture->stream));
        cudaError_t error = cudaEventQuery(fixture->event);
        was_late = was_late || error == cudaErrorNotReady;
        assert_true(error == cudaSuccess || error == cudaErrorNotReady);
        (void)cudaGetLastError();
        assert_done(cudaEventSynchronize(fixture->event));
        assert_done(cudaEventQuery(fixture->event));
    }
    assert_true(was_late);
}

static void
a_capture_records_and_its_graph_replays(void **state)
{
    Fixture *fixture = *state;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    assert_done(cudaStreamBeginCapture(fixture->stream, cudaStreamCaptureModeThreadLocal));
    assert_done(sample_scale(COUNT, 2, fixture->in, fixture->in, fixture->stream));
    assert_done(cudaStreamEndCapture(fixture->stream, &graph));
    assert_true(read_element(fixture->in, 1) == 1);
    assert_done(cudaGraphInstantiate(&executable, graph, 0));
    assert_done(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++) {
        assert_done(cudaGraphLaunch(executable, fixture->stream));
    }
    assert_done(cudaStreamSynchronize(fixture->stream));
    assert_true(read_element(fixture->in, 1) == 8);
    assert_done(cudaGraphExecDestroy(executable));
}

static void
what_a_capture_forbids_breaks_it(void **state)
{
    Fixture *fixture = *state;
    cudaGraph_t graph = NULL;
    void *data = NULL;
    assert_done(cudaStreamBeginCapture(fixture->stream, cudaStreamCaptureModeThreadLocal));
    assert_cuda(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(fixture->stream));
    assert_cuda(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(fixture->stream, &graph));
    assert_done(cudaStreamBeginCapture(fixture->stream, cudaStreamCaptureModeThreadLocal));
    assert_cuda(cudaErrorStreamCaptureUnsupported, cudaMalloc(&data, 1));
    assert_cuda(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(fixture->stream, &graph));
    assert_done(cudaStreamBeginCapture(fixture->stream, cudaStreamCaptureModeThreadLocal));
    assert_done(cudaEventRecord(fixture->event, fixture->stream));
    assert_done(cudaStreamWaitEvent(fixture->other, fixture->event, 0));
    assert_done(sample_scale(COUNT, 2, fixture->in, fixture->out, fixture->other));
    assert_cuda(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(fixture->stream, &graph));
    assert_cuda(cudaErrorIllegalState, cudaStreamEndCapture(fixture->stream, &graph));
    (void)cudaGetLastError();
    assert_done(cudaMalloc(&data, 1));
    assert_done(cudaFree(data));
}

static void
a_broken_context_refuses_everything(void **state)
{
    Fixture *fixture = *state;
    cuda_on_cpu_break_in_kernel(cudaErrorIllegalAddress);
    assert_done(cudaEventRecord(fixture->event, fixture->other));
    cudaError_t launched = sample_scale(COUNT, 2, fixture->in, fixture->out, fixture->stream);
    assert_true(launched == cudaSuccess || launched == cudaErrorIllegalAddress);
    assert_cuda(cudaErrorIllegalAddress, cudaStreamSynchronize(fixture->stream));
    assert_cuda(cudaErrorIllegalAddress, cudaGetLastError());
    assert_cuda(cudaErrorIllegalAddress, cudaGetLastError());
    assert_cuda(cudaErrorIllegalAddress, cudaEventQuery(fixture->event));
    assert_cuda(cudaErrorIllegalAddress, sample_scale(COUNT, 2, fixture->in, fixture->out, fixture->stream));
}

static void
a_planned_failure_comes_once(void **state)
{
    (void)state;
    void *data = NULL;
    cuda_on_cpu_fail("cudaHostAlloc", 1, cudaErrorMemoryAllocation);
    assert_done(cudaHostAlloc(&data, 16, 0));
    assert_done(cudaFreeHost(data));
    assert_cuda(cudaErrorMemoryAllocation, cudaHostAlloc(&data, 16, 0));
    assert_done(cudaHostAlloc(&data, 16, 0));
    assert_done(cudaFreeHost(data));
    assert_cuda(cudaErrorMemoryAllocation, cudaGetLastError());
    assert_done(cudaGetLastError());
}

static void
launches_are_checked(void **state)
{
    Fixture *fixture = *state;
    assert_cuda(cudaErrorInvalidConfiguration,
        sample_scale(0, 1, fixture->in, fixture->out, fixture->stream)); /* a grid without blocks */
    cuda_on_cpu_set_devices(2);
    assert_done(cudaSetDevice(1));
    assert_cuda(cudaErrorInvalidResourceHandle,
        sample_scale(1, 1, fixture->in, fixture->out, fixture->stream)); /* a stream of another device */
    assert_cuda(cudaErrorInvalidDevice, cudaSetDevice(2));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_compute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_missing_barrier_gives_wrong_numbers_whatever_the_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_barrier_that_not_all_threads_reach_ends_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_element_too_many_ends_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_host_cannot_touch_device_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pageable_memory_in_a_copy_ends_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fresh_memory_is_nan_and_memory_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streams_are_ordered_by_events_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_event_is_ready_when_its_stream_has_come_to_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_capture_records_and_its_graph_replays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_capture_forbids_breaks_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_context_refuses_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_planned_failure_comes_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(launches_are_checked, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
