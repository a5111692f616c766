/* Failures of CUDA's calls: at any place while a card is opened or copies are under way, and
 * for good. worker/cuda/errors.c is compiled here once more, so that a test can forget that the card broke.
 */
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/fail_alloc.h"

#include "worker/cuda/errors.c" /* NOLINT(bugprone-suspicious-include): its static variable is reset */

static void
forget_fault(void)
{
    atomic_store_release(&fault, (const char *)NULL);
}

static Device *
new_host(Call *call)
{
    Device *host = NULL;
    CpuDeviceOptions options = {.thread_count = 3, .memory_limit = 256 * MIB};
    assert_status(call, STATUS_OK, cpu_device_new(call, &options, &host));
    return host;
}

static Status
open_and_close(Call *call, Device *host, const char *device)
{
    PluginDevice opened;
    PluginOptions options = {.host = host, .device = device, .memory = 2 * MIB, .libraries = ""};
    TRY(cuda_device_open(call, &options, &opened));
    cuda_device_close(&opened);
    return STATUS_OK;
}

/* Each call of each function that opening needs fails once: the error is told, and all is given back. */
static void
a_card_that_cannot_be_opened_leaves_nothing(void **state)
{
    static const char *const functions[] = {"cudaGetDeviceCount", "cudaGetDeviceProperties",
        "cudaDriverGetVersion", "cudaSetDevice", "cudaEventCreateWithFlags", "cudaStreamCreateWithFlags",
        "cudaMemGetInfo", "cudaMalloc", "cudaMemsetAsync", "cudaHostAlloc"};
    Call *call = *state;
    Device *host = new_host(call);
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        bool has_failed = true;
        for (unsigned index = 0; has_failed && index < 3; index++) {
            cuda_on_cpu_fail(functions[i], index, cudaErrorMemoryAllocation);
            has_failed = open_and_close(call, host, "") != STATUS_OK;
            assert_true(has_failed || index > 0);
            assert_int_equal(
                has_failed ? call->error.code : STATUS_RESOURCE_EXHAUSTED, STATUS_RESOURCE_EXHAUSTED);
            cuda_on_cpu_reset(true);
        }
    }
    cpu_device_free(host);
}

typedef struct Opening {
    Call *call;
    Device *host;
} Opening;

static Status
attempt_opening(void *context)
{
    const Opening *opening = context;
    return open_and_close(opening->call, opening->host, "");
}

static void
a_host_without_memory_opens_no_card(void **state)
{
    Opening opening = {.call = *state, .host = new_host(*state)};
    assert_lack_of_memory_is_told(attempt_opening, &opening);
    cpu_device_free(opening.host);
    cuda_on_cpu_reset(true);
}

typedef struct Refusal {
    const char *device;
    int cards;
    int code; /* of cudaGetDeviceCount() */
    const char *message;
} Refusal;

static void
a_card_that_is_not_there_is_named(void **state)
{
    static const Refusal refusals[] = {
        {"", 0, 0, "the CUDA driver finds no card"},
        {"3", 2, 0, "there is no card 3: the driver shows 2, counted from 0"},
        {"first", 2, 0, "'first' is neither the index of a card nor a UUID"},
        {"GPU-00000000-0000-0000-0000-000000000000", 2, 0,
            "none of the 2 cards here is 'GPU-00000000-0000-0000-0000-000000000000'"},
        {"", 1, cudaErrorInsufficientDriver,
            "the driver serves CUDA 13.0 at most, and this plugin needs 13.0: a newer driver is needed"},
        {"", 1, cudaErrorSystemDriverMismatch,
            "asking the CUDA driver for cards: system has unsupported display driver / cuda driver "
            "combination (cudaErrorSystemDriverMismatch, CUDA error 803)"},
    };
    Call *call = *state;
    Device *host = new_host(call);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        cuda_on_cpu_set_devices(refusals[i].cards);
        if (refusals[i].code != 0) {
            cuda_on_cpu_fail("cudaGetDeviceCount", 0, (cudaError_t)refusals[i].code);
        }
        assert_status(call, STATUS_UNAVAILABLE, open_and_close(call, host, refusals[i].device));
        assert_string_equal(call->error.message, refusals[i].message);
        cuda_on_cpu_reset(true);
    }
    cuda_on_cpu_set_devices(2);
    assert_status(call, STATUS_OK, open_and_close(call, host, "1"));
    assert_status(call, STATUS_OK, open_and_close(call, host, "GPU-63707501-0000-0000-0000-000000000000"));
    cpu_device_free(host);
    cuda_on_cpu_reset(true);
}

/* Returns whether the copy there and the copy back told of a failure; else the bytes must be right. */
static bool
fails_there_and_back(const CudaBench *bench, size_t size)
{
    TensorBuffer *from = cuda_bench_filled(size, 1);
    TensorBuffer *back = cuda_bench_filled(size, 2);
    TensorBuffer *there = bench->card->allocate(bench->card, size);
    WaitedCopy up = {.status = STATUS_RESOURCE_EXHAUSTED};
    WaitedCopy down = {.status = STATUS_RESOURCE_EXHAUSTED};
    if (there != NULL) {
        cuda_bench_begin(bench, &up, from, there);
        (void)cuda_bench_await(&up);
        cuda_bench_begin(bench, &down, there, back);
        (void)cuda_bench_await(&down);
        tensor_buffer_unref(there);
    }
    bool has_failed = up.status != STATUS_OK || down.status != STATUS_OK;
    assert_true(has_failed || memcmp(from->data, back->data, size) == 0);
    tensor_buffer_unref(from);
    tensor_buffer_unref(back);
    return has_failed;
}

/* Whichever call fails, each copy ends once and tells of it or is good, nothing is lost, and the next is
 * good. */
static void
a_copy_that_fails_half_way_says_so(void **state)
{
    static const char *const functions[] = {
        "cudaMemcpyAsync", "cudaEventRecord", "cudaStreamWaitEvent", "cudaMemsetAsync"};
    static const size_t sizes[] = {5000, 300000, 9 * MIB};
    for (size_t i = 0; i < COUNT_OF(functions) * COUNT_OF(sizes); i++) {
        const char *function = functions[i % COUNT_OF(functions)];
        size_t size = sizes[i / COUNT_OF(functions)];
        unsigned failures = 0;
        CudaBench bench = cuda_bench_open(*state, "", 12 * MIB, 1);
        assert_false(fails_there_and_back(&bench, size));
        for (unsigned index = 0; index < 4; index++) {
            cuda_on_cpu_fail(function, index, cudaErrorInvalidValue);
            failures += fails_there_and_back(&bench, size);
            cuda_on_cpu_fail(function, 1000000, cudaErrorInvalidValue);
            assert_false(fails_there_and_back(&bench, size));
        }
        assert_true(failures > 0 || strcmp(function, "cudaStreamWaitEvent") == 0);
        assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
        assert_null(bench.card->fault(bench.card));
        cuda_bench_close(&bench);
        cuda_on_cpu_reset(true);
    }
}

static void
a_refusal_of_cuda_leaves_the_card_in_service(void **state)
{
    Call *call = *state;
    assert_status(call, STATUS_INTERNAL, cuda_check(call, cudaErrorInvalidConfiguration, "a Softmax kernel"));
    assert_string_equal(call->error.message,
        "a Softmax kernel: invalid configuration argument (cudaErrorInvalidConfiguration, CUDA error 9)");
    assert_status(call, STATUS_RESOURCE_EXHAUSTED, cuda_check(call, cudaErrorMemoryAllocation, "cuDNN"));
    assert_string_equal(
        call->error.message, "cuDNN: the card has no memory left: 268435456 of its 268435456 bytes are free");
    assert_status(call, STATUS_OK, cuda_check(call, cudaSuccess, "nothing"));
    assert_null(cuda_fault());
    cuda_on_cpu_reset(true);
}

/* A kernel of a node breaks the card while a fence, an upload and a download are under way. All end; so does
 * what comes later, at once; and the card can be closed. */
static void
a_sticky_error_takes_the_card_out_of_service(void **state)
{
    Call *call = *state;
    char message[ERROR_MESSAGE_SIZE];
    CudaBench bench = cuda_bench_open(call, "", 12 * MIB, 1);
    Node node = {.name = SLICE("bad")};
    KernelContext kernel = {.lane = bench.lane, .node = &node};
    TensorBuffer *there = cuda_bench_new(&bench, 9 * MIB);
    TensorBuffer *host = cuda_bench_filled(9 * MIB, 1);
    WaitedCopy down;
    bench.card->enter(bench.card, bench.lane);
    assert_int_equal(cudaMemsetAsync(there->data, 1, there->size, cuda_stream(&kernel)), cudaSuccess);
    assert_status(call, STATUS_OK, bench.card->leave(call, bench.card, bench.lane));
    cuda_on_cpu_break(cudaErrorIllegalAddress);
    cuda_bench_begin(&bench, &down, there, host);
    assert_int_equal(cuda_bench_await(&down), STATUS_UNAVAILABLE);
    assert_int_equal(cuda_bench_fence(&bench, message), STATUS_UNAVAILABLE);
    assert_non_null(bench.card->fault(bench.card));
    cuda_bench_begin(&bench, &down, host, there);
    assert_int_equal(cuda_bench_await(&down), STATUS_UNAVAILABLE);
    bench.card->enter(bench.card, bench.lane);
    assert_status(call, STATUS_UNAVAILABLE, bench.card->leave(call, bench.card, bench.lane));
    assert_status(call, STATUS_UNAVAILABLE, open_and_close(call, bench.host, ""));
    tensor_buffer_unref(there);
    tensor_buffer_unref(host);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(false);
    forget_fault();
}

/* The error is found at an event, far behind the launch; the message says whose work was the last. */
static void
a_late_error_names_the_last_node(void **state)
{
    Call *call = *state;
    char message[ERROR_MESSAGE_SIZE];
    CudaBench bench = cuda_bench_open(call, "", MIB, 0);
    Node node = {.name = SLICE("bad")};
    KernelContext kernel = {.lane = bench.lane, .node = &node};
    bench.card->enter(bench.card, bench.lane);
    (void)cuda_stream(&kernel);
    assert_status(call, STATUS_OK, bench.card->leave(call, bench.card, bench.lane));
    cuda_on_cpu_fail("cudaEventQuery", 0, cudaErrorIllegalAddress);
    assert_int_equal(cuda_bench_fence(&bench, message), STATUS_UNAVAILABLE);
    assert_string_equal(bench.card->fault(bench.card),
        "work that was enqueued earlier failed: an illegal memory access was encountered "
        "(cudaErrorIllegalAddress, CUDA error 700); the last work enqueued before was of node 'bad'");
    assert_string_equal(message,
        "waiting for the card: the card is out of service: work that was enqueued earlier failed: an "
        "illegal memory access was encountered (cudaErrorIllegalAddress, CUDA error 700); the last work "
        "enqueued before was of node 'bad'");
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
    forget_fault();
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CALL_TEST(a_card_that_cannot_be_opened_leaves_nothing),
        CALL_TEST(a_host_without_memory_opens_no_card),
        CALL_TEST(a_card_that_is_not_there_is_named),
        CALL_TEST(a_copy_that_fails_half_way_says_so),
        CALL_TEST(a_refusal_of_cuda_leaves_the_card_in_service),
        CALL_TEST(a_sticky_error_takes_the_card_out_of_service),
        CALL_TEST(a_late_error_names_the_last_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
