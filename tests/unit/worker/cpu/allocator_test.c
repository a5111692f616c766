#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <pthread.h>

#include "tests/support/fail_alloc.h"
#include "worker/cpu/allocator.h"
#include "worker/cpu/size_class.h"
#include "worker/runtime/memory_account.h"

static const uint64_t MIB = 1024 * 1024;

static uint64_t
in_use(Allocator *allocator)
{
    DeviceMemory memory = {0};
    allocator_memory(allocator, &memory);
    return memory.in_use;
}

static void
every_size_fits_its_class_and_wastes_at_most_a_quarter(void **state)
{
    (void)state;
    for (size_t size = 0; size < 3 * MIB; size = size < 5000 ? size + 1 : size + size / 61) {
        uint32_t size_class = 0;
        assert_true(size_class_find(size, &size_class));
        size_t bytes = size_class_bytes(size_class);
        assert_true(bytes >= size);
        assert_true(size_class == 0 || size_class_bytes(size_class - 1) < size);
        assert_true(size <= 256 || bytes - size <= size / 4);
    }
    uint32_t size_class = 0;
    assert_false(size_class_find((size_t)1 << 60, &size_class));
}

static void
a_size_seen_before_needs_no_system_memory(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 64, 100, 5000, 40000, 3000000};
    Allocator *allocator = allocator_new(64 * MIB, 16 * MIB);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        tensor_buffer_unref(allocator_allocate(allocator, sizes[i]));
    }
    size_t before = fail_alloc_count;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        TensorBuffer *buffer = allocator_allocate(allocator, sizes[i]);
        assert_non_null(buffer);
        assert_int_equal((uintptr_t)buffer->data % 64, 0);
        assert_int_equal(buffer->size, sizes[i]);
        memset(buffer->data, 1, sizes[i]);
        tensor_buffer_unref(buffer);
    }
    assert_int_equal(fail_alloc_count, before);
    assert_int_equal(in_use(allocator), 0);
    allocator_free(allocator);
}

static void
the_limit_holds_and_caches_are_emptied_for_it(void **state)
{
    (void)state;
    Allocator *allocator = allocator_new(MIB, MIB);
    TensorBuffer *half = allocator_allocate(allocator, MIB / 2);
    TensorBuffer *other = allocator_allocate(allocator, MIB / 2);
    assert_non_null(half);
    assert_non_null(other);
    assert_null(allocator_allocate(allocator, 1));
    assert_int_equal(in_use(allocator), MIB);
    tensor_buffer_unref(half);
    tensor_buffer_unref(other);
    TensorBuffer *whole = allocator_allocate(allocator, MIB);
    assert_non_null(whole);
    assert_null(allocator_allocate(allocator, MIB + 1));
    tensor_buffer_unref(whole);
    DeviceMemory memory = {0};
    allocator_memory(allocator, &memory);
    assert_int_equal(memory.peak, MIB);
    assert_int_equal(memory.limit, MIB);
    assert_int_equal(memory.in_use, 0);
    assert_int_equal(memory.allocation_count, 3);
    allocator_free(allocator);
}

static void
trimming_gives_cached_blocks_back(void **state)
{
    (void)state;
    Allocator *allocator = allocator_new(64 * MIB, 16 * MIB);
    tensor_buffer_unref(allocator_allocate(allocator, 3 * MIB));
    tensor_buffer_unref(allocator_allocate(allocator, 128));
    allocator_trim(allocator, 0);
    size_t before = fail_alloc_count;
    tensor_buffer_unref(allocator_allocate(allocator, 3 * MIB));
    tensor_buffer_unref(allocator_allocate(allocator, 128));
    assert_int_equal(fail_alloc_count, before + 2);
    allocator_free(allocator);
}

static void
a_full_cache_gives_blocks_back_at_once(void **state)
{
    (void)state;
    Allocator *allocator = allocator_new(64 * MIB, MIB);
    tensor_buffer_unref(allocator_allocate(allocator, 2 * MIB));
    size_t before = fail_alloc_count;
    tensor_buffer_unref(allocator_allocate(allocator, 2 * MIB));
    assert_int_equal(fail_alloc_count, before + 1);
    allocator_free(allocator);
}

static void
no_system_memory_is_null_and_nothing_counts(void **state)
{
    (void)state;
    Allocator *allocator = allocator_new(64 * MIB, 16 * MIB);
    for (size_t at = 1; at <= 2; at++) {
        fail_alloc_count = 0;
        fail_alloc_at = at;
        TensorBuffer *buffer = allocator_allocate(allocator, 1000);
        fail_alloc_at = 0;
        tensor_buffer_unref(buffer);
        assert_int_equal(in_use(allocator), 0);
    }
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    assert_null(allocator_allocate(allocator, 2 * MIB));
    fail_alloc_count = 0;
    assert_null(allocator_new(MIB, MIB));
    fail_alloc_at = 0;
    allocator_free(allocator);
}

enum { THREADS = 4, ROUNDS = 3000, HELD = 50 };

typedef struct Exchange {
    Allocator *allocator;
    TensorBuffer *handed[HELD]; /* atomic: passed between threads */
} Exchange;

static void *
allocate_and_hand_on(void *argument)
{
    Exchange *exchange = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = (size_t)(i * 7919U) % 100000U;
        TensorBuffer *made = allocator_allocate(exchange->allocator, size);
        memset(made->data, (int)i, size);
        tensor_buffer_unref(atomic_exchange_acq_rel(&exchange->handed[i % HELD], made));
    }
    return NULL;
}

static void
buffers_may_be_given_back_on_other_threads(void **state)
{
    (void)state;
    static Exchange exchange;
    pthread_t threads[THREADS];
    exchange.allocator = allocator_new(64 * MIB, 16 * MIB);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, allocate_and_hand_on, &exchange);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < HELD; i++) {
        tensor_buffer_unref(exchange.handed[i]);
    }
    DeviceMemory memory = {0};
    allocator_memory(exchange.allocator, &memory);
    assert_int_equal(memory.in_use, 0);
    assert_int_equal(memory.allocation_count, THREADS * ROUNDS);
    allocator_free(exchange.allocator);
}

static void
a_buffer_that_nobody_counts_is_adopted_once(void **state)
{
    (void)state;
    Allocator *allocator = allocator_new(64 * MIB, 16 * MIB);
    MemoryAccount *account = memory_account_new();
    TensorBuffer *came = allocator_allocate(allocator, MIB);
    TensorBuffer *shared = tensor_buffer_ref(allocator_allocate(allocator, MIB));
    assert_false(allocator_adopt(allocator, came)); /* the buffer counts for nobody */
    assert_null(allocator_charge(allocator, account));
    assert_true(allocator_adopt(allocator, came));
    assert_false(allocator_adopt(allocator, came));
    assert_false(allocator_adopt(allocator, shared));
    assert_ptr_equal(allocator_charge(allocator, NULL), account);
    assert_int_equal(memory_account_in_use(account), MIB);
    tensor_buffer_unref(came);
    assert_int_equal(memory_account_in_use(account), 0);
    assert_int_equal(memory_account_peak(account), MIB);
    memory_account_end(account);
    tensor_buffer_unref(shared);
    tensor_buffer_unref(shared);
    allocator_free(allocator);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_fits_its_class_and_wastes_at_most_a_quarter),
        cmocka_unit_test(a_size_seen_before_needs_no_system_memory),
        cmocka_unit_test(the_limit_holds_and_caches_are_emptied_for_it),
        cmocka_unit_test(trimming_gives_cached_blocks_back),
        cmocka_unit_test(a_full_cache_gives_blocks_back_at_once),
        cmocka_unit_test(no_system_memory_is_null_and_nothing_counts),
        cmocka_unit_test(buffers_may_be_given_back_on_other_threads),
        cmocka_unit_test(a_buffer_that_nobody_counts_is_adopted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
