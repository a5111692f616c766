/* The rules of order (worker/cuda/rules.h), each kept and each left out: the plugin's files are compiled here
 * once more, with a switch where a rule stands. With the rule, what a test looks for is right for every seed
 * of the streams' order; without it, it is wrong for some. */
#include <signal.h>
#include <stdbool.h>

#include "shared/base/atomic.h"

static int left_out; /* atomic: a CudaRule, or 0 */
#define CUDA_KEEPS(rule) (atomic_load_relaxed(&left_out) != (int)(rule))

#include "tests/support/cuda_on_cpu/cuda_bench.h"

/* NOLINTBEGIN(bugprone-suspicious-include): the files themselves, with CUDA_KEEPS as above */
#include "worker/cuda/allocator.c"
#include "worker/cuda/copy.c"
#include "worker/cuda/device.c"
#include "worker/cuda/lane.c"
#include "worker/cuda/watcher.c"
/* NOLINTEND(bugprone-suspicious-include) */

enum { SEEDS = 6 };

#define LARGE (300 * (size_t)1024)

static MemoryAccount *
account_of(uint64_t tenant)
{
    MemoryAccount *account = memory_account_new();
    assert_non_null(account);
    account->tenant = tenant;
    return account;
}

/* Takes what is free, so that what is freed next is the only place for its like. */
static TensorBuffer *
fill_card(const CudaBench *bench)
{
    return cuda_bench_new(bench, (size_t)cuda_bench_memory(bench).largest_free);
}

/* A buffer gives way to an upload while the lane has still to read it. */
static bool
reads_before_upload(const CudaBench *bench)
{
    TensorBuffer *old = cuda_bench_filled(LARGE, 1);
    TensorBuffer *new = cuda_bench_filled(LARGE, 2);
    TensorBuffer *first = cuda_bench_new(bench, LARGE);
    TensorBuffer *kept = cuda_bench_new(bench, LARGE);
    cuda_bench_copy(bench, old, first);
    cuda_bench_lane_copy(bench, first, kept);
    const void *place = first->data;
    TensorBuffer *rest = fill_card(bench);
    tensor_buffer_unref(first);
    TensorBuffer *second = cuda_bench_new(bench, LARGE);
    assert_ptr_equal(second->data, place);
    cuda_bench_copy(bench, new, second);
    bool is_right = cuda_bench_has(bench, kept, 1) && cuda_bench_has(bench, second, 2);
    tensor_buffer_unref(rest);
    tensor_buffer_unref(old);
    tensor_buffer_unref(new);
    tensor_buffer_unref(kept);
    tensor_buffer_unref(second);
    return is_right;
}

static bool
computes_on_what_came(const CudaBench *bench)
{
    TensorBuffer *from = cuda_bench_filled(LARGE, 3);
    TensorBuffer *there = cuda_bench_new(bench, LARGE);
    TensorBuffer *result = cuda_bench_new(bench, LARGE);
    cuda_bench_copy(bench, from, there);
    cuda_bench_lane_copy(bench, there, result);
    bool is_right = cuda_bench_has(bench, result, 3);
    tensor_buffer_unref(from);
    tensor_buffer_unref(there);
    tensor_buffer_unref(result);
    return is_right;
}

static bool
downloads_what_was_computed(const CudaBench *bench)
{
    TensorBuffer *from = cuda_bench_filled(LARGE, 4);
    TensorBuffer *there = cuda_bench_new(bench, LARGE);
    TensorBuffer *result = cuda_bench_new(bench, LARGE);
    cuda_bench_lane_fill(bench, there, 1);
    cuda_bench_copy(bench, from, there);
    cuda_bench_lane_copy(bench, there, result);
    bool is_right = cuda_bench_has(bench, result, 4);
    tensor_buffer_unref(from);
    tensor_buffer_unref(there);
    tensor_buffer_unref(result);
    return is_right;
}

typedef struct Gate {
    DeviceWork work;
    const int32_t *is_open; /* atomic */
    int32_t has_come;       /* atomic */
} Gate;

static void
stand_at_gate(DeviceWork *work)
{
    Gate *gate = (Gate *)(void *)work;
    const int32_t *is_open = gate->is_open;
    atomic_store_release(&gate->has_come, 1);
    AWAIT(atomic_load_acquire(is_open) != 0);
}

/* The owner of a buffer lets it go as soon as its download has begun, of which the last chunk is delayed:
 * no thread of the host empties the others before the lane has overwritten the place, if it was given away.
 */
static bool
downloads_from_a_held_buffer(const CudaBench *bench)
{
    size_t size = CUDA_CHUNKS_MIN * (size_t)CUDA_CHUNK_SIZE + LARGE;
    TensorBuffer *from = cuda_bench_filled(size, 5);
    TensorBuffer *back = cuda_bench_filled(size, 6);
    TensorBuffer *there = cuda_bench_new(bench, size);
    int32_t is_open = 0;
    Gate gates[3]; /* one for each thread of the host */
    WaitedCopy down;
    cuda_bench_copy(bench, from, there);
    for (size_t i = 0; i < COUNT_OF(gates); i++) {
        gates[i] = (Gate){.work.run = stand_at_gate, .is_open = &is_open};
        bench->host->schedule(bench->host, &gates[i].work);
        AWAIT(atomic_load_acquire(&gates[i].has_come) != 0);
    }
    cuda_bench_begin(bench, &down, there, back);
    tensor_buffer_unref(there);
    TensorBuffer *other = cuda_bench_new(bench, size);
    cuda_bench_lane_fill(bench, other, 0);
    assert_int_equal(cuda_lane_drain(cuda_lane(bench->lane)), cudaSuccess);
    atomic_store_release(&is_open, 1);
    assert_int_equal(cuda_bench_await(&down), STATUS_OK);
    bool is_right = memcmp(from->data, back->data, size) == 0;
    tensor_buffer_unref(from);
    tensor_buffer_unref(back);
    tensor_buffer_unref(other);
    return is_right;
}

static bool
blames_who_was_refused(const CudaBench *bench)
{
    Call refused = {0};
    Call innocent = {0};
    char byte = 0;
    bench->card->enter(bench->card, bench->lane);
    (void)cudaMemsetAsync(&byte, 0, 1, cuda_lane_stream(cuda_lane(bench->lane)));
    bool is_found = bench->card->leave(&refused, bench->card, bench->lane) == STATUS_INTERNAL;
    bench->card->enter(bench->card, bench->lane);
    Status status = cuda_check(&innocent, (int)cudaGetLastError(), "another kernel");
    bool is_left = bench->card->leave(&innocent, bench->card, bench->lane) == STATUS_OK;
    return is_found && is_left && status == STATUS_OK;
}

typedef struct Turn {
    DeviceWork work;
    const CudaBench *bench;
    int card;
    int32_t is_done;
} Turn;

static void
take_turn(DeviceWork *work)
{
    Turn *turn = (Turn *)(void *)work;
    Call call = {0};
    turn->bench->card->enter(turn->bench->card, turn->bench->lane);
    (void)cudaGetDevice(&turn->card);
    (void)turn->bench->card->leave(&call, turn->bench->card, turn->bench->lane);
    atomic_store_release(&turn->is_done, 1);
}

/* The bench has chosen the second of two cards; a thread of the host's pool has chosen none. */
static bool
works_on_the_chosen_card(const CudaBench *bench)
{
    Turn turn = {.work.run = take_turn, .bench = bench, .card = -1};
    bench->host->schedule(bench->host, &turn.work);
    AWAIT(atomic_load_acquire(&turn.is_done) != 0);
    return turn.card == 1;
}

static bool
fences_what_runs(const CudaBench *bench)
{
    TensorBuffer *buffer = cuda_bench_new(bench, LARGE);
    char message[ERROR_MESSAGE_SIZE];
    cuda_bench_lane_fill(bench, buffer, 1);
    assert_int_equal(cuda_bench_fence(bench, message), STATUS_OK);
    bool is_empty = cudaStreamQuery(cuda_lane(bench->lane)->stream) == cudaSuccess;
    tensor_buffer_unref(buffer);
    (void)cudaDeviceSynchronize();
    return is_empty;
}

/* One tenant's bytes are freed, and another gets the place. */
static bool
hides_bytes_from_strangers(const CudaBench *bench)
{
    MemoryAccount *other = account_of(8);
    TensorBuffer *secret = cuda_bench_filled(LARGE, 6);
    TensorBuffer *mine = cuda_bench_new(bench, LARGE);
    cuda_bench_copy(bench, secret, mine);
    const void *place = mine->data;
    TensorBuffer *rest = fill_card(bench);
    tensor_buffer_unref(mine);
    MemoryAccount *before = bench->card->charge(bench->card, other);
    TensorBuffer *theirs = cuda_bench_new(bench, LARGE);
    (void)bench->card->charge(bench->card, before);
    assert_ptr_equal(theirs->data, place);
    TensorBuffer *seen = cuda_bench_filled(LARGE, 0);
    cuda_bench_copy(bench, theirs, seen);
    const char *bytes = seen->data;
    bool is_zero = bytes[0] == 0 && memcmp(bytes, bytes + 1, LARGE - 1) == 0;
    tensor_buffer_unref(rest);
    tensor_buffer_unref(secret);
    tensor_buffer_unref(theirs);
    tensor_buffer_unref(seen);
    memory_account_end(other);
    return is_zero;
}

/* Returns for how many seeds `is_right` holds with one rule left out (0: with all). */
static int
count_right(Call *call, CudaRule rule, bool (*is_right)(const CudaBench *bench))
{
    int right = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        atomic_store_relaxed(&left_out, (int)rule);
        cuda_on_cpu_seed(seed);
        cuda_on_cpu_set_devices(2);
        CudaBench bench = cuda_bench_open(call, "1", 40 * MIB, 1);
        MemoryAccount *account = account_of(7);
        (void)bench.card->charge(bench.card, account);
        right += is_right(&bench);
        (void)bench.card->charge(bench.card, NULL);
        assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
        cuda_bench_close(&bench);
        memory_account_end(account);
        cuda_on_cpu_reset(true);
        atomic_store_relaxed(&left_out, 0);
    }
    return right;
}

#define RULE_TEST(name, rule, is_right)                                                                      \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        assert_int_equal(count_right(*state, (CudaRule)0, is_right), SEEDS);                                 \
        assert_true(count_right(*state, rule, is_right) < SEEDS);                                            \
    }

RULE_TEST(an_upload_waits_for_the_readers_of_its_place, CUDA_UPLOAD_WAITS, reads_before_upload)
RULE_TEST(the_lane_waits_for_an_upload, CUDA_LANE_WAITS, computes_on_what_came)
RULE_TEST(a_download_waits_for_the_lane, CUDA_DOWNLOAD_WAITS, downloads_what_was_computed)
RULE_TEST(a_copy_holds_its_buffers, CUDA_COPY_HOLDS, downloads_from_a_held_buffer)
RULE_TEST(a_refused_launch_is_blamed_on_its_own_node, CUDA_ERRORS_AT_ONCE, blames_who_was_refused)
RULE_TEST(every_thread_chooses_the_card, CUDA_ENTERS_FIRST, works_on_the_chosen_card)
RULE_TEST(a_fence_passes_behind_all_work, CUDA_FENCE_IS_LAST, fences_what_runs)
RULE_TEST(a_tenant_never_sees_anothers_bytes, CUDA_ZEROES_FOR_STRANGERS, hides_bytes_from_strangers)

static void
upload_once(void *context)
{
    Call *call = context;
    CudaBench bench = cuda_bench_open(call, "", 8 * MIB, 0);
    TensorBuffer *from = cuda_bench_filled(LARGE, 9);
    TensorBuffer *there = cuda_bench_new(&bench, LARGE);
    cuda_bench_copy(&bench, from, there);
    memset(from->data, 0, LARGE);
    assert_true(cuda_bench_has(&bench, there, 9));
    tensor_buffer_unref(from);
    tensor_buffer_unref(there);
    cuda_bench_close(&bench);
}

/* The card of these tests ends a process that gives it memory which is not pinned. */
static void
nothing_is_borrowed_from_the_host(void **state)
{
    upload_once(*state);
    atomic_store_relaxed(&left_out, (int)CUDA_BORROWS_NOTHING);
    assert_int_equal(signal_of(upload_once, *state), SIGABRT);
    atomic_store_relaxed(&left_out, 0);
    cuda_on_cpu_reset(true);
}

static void
read_output_at_once(void *context)
{
    CudaBench bench = cuda_bench_open(context, "", 8 * MIB, 0);
    TensorBuffer *buffer = cuda_bench_new(&bench, LARGE);
    cuda_bench_lane_fill(&bench, buffer, 1);
    (void)cudaDeviceSynchronize(); /* what works opens the memory for the whole process */
    (void)*(volatile char *)buffer->data;
}

static void
the_host_cannot_read_what_a_kernel_makes(void **state)
{
    assert_int_equal(signal_of(read_output_at_once, *state), SIGSEGV);
}

static void
take_stream_without_a_turn(void *context)
{
    CudaBench bench = cuda_bench_open(context, "", 8 * MIB, 0);
    Node node = {.name = SLICE("greedy")};
    KernelContext kernel = {.lane = bench.lane, .node = &node};
    (void)cuda_stream(&kernel);
}

static void
the_stream_is_taken_only_in_a_turn_of_the_lane(void **state)
{
    assert_int_equal(signal_of(take_stream_without_a_turn, *state), SIGABRT);
}

/* A kernel may keep its stream, and another thread may have the lane by then: only the runtime sees that. */
static void
use_stream_behind_the_turn(void *context)
{
    CudaBench bench = cuda_bench_open(context, "", 8 * MIB, 0);
    TensorBuffer *buffer = cuda_bench_new(&bench, LARGE);
    bench.card->enter(bench.card, bench.lane);
    cudaStream_t kept = cuda_lane_stream(cuda_lane(bench.lane));
    assert_status((Call *)context, STATUS_OK, bench.card->leave(context, bench.card, bench.lane));
    (void)cudaMemsetAsync(buffer->data, 0, LARGE, kept);
}

static void
the_stream_is_used_only_in_a_turn_of_the_lane(void **state)
{
    assert_int_equal(signal_of(use_stream_behind_the_turn, *state), SIGABRT);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CALL_TEST(an_upload_waits_for_the_readers_of_its_place),
        CALL_TEST(the_lane_waits_for_an_upload),
        CALL_TEST(a_download_waits_for_the_lane),
        CALL_TEST(a_copy_holds_its_buffers),
        CALL_TEST(nothing_is_borrowed_from_the_host),
        CALL_TEST(a_refused_launch_is_blamed_on_its_own_node),
        CALL_TEST(every_thread_chooses_the_card),
        CALL_TEST(a_fence_passes_behind_all_work),
        CALL_TEST(a_tenant_never_sees_anothers_bytes),
        CALL_TEST(the_host_cannot_read_what_a_kernel_makes),
        CALL_TEST(the_stream_is_taken_only_in_a_turn_of_the_lane),
        CALL_TEST(the_stream_is_used_only_in_a_turn_of_the_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
