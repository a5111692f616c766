#include "tests/support/fail_alloc.h"

#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

size_t fail_alloc_at;
size_t fail_alloc_count;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool
fails_now(void)
{
    size_t at = atomic_load_relaxed(&fail_alloc_at);
    return atomic_add_relaxed(&fail_alloc_count, 1) == at;
}

void *
__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails_now() ? NULL : __real_aligned_alloc(alignment, size);
}

/* The first run is not counted: it allocates what lives as long as the process. */
void
assert_each_allocation_may_fail(bool (*run)(void), size_t at_least)
{
    assert_true(run());
    fail_alloc_count = 0;
    assert_true(run());
    size_t total = fail_alloc_count;
    assert_true(total >= at_least);
    for (size_t index = 1; index <= total; index++) {
        fail_alloc_count = 0;
        fail_alloc_at = index;
        bool has_succeeded = run();
        fail_alloc_at = 0;
        assert_false(has_succeeded);
    }
}

void
assert_lack_of_memory_is_told(Status (*attempt)(void *context), void *context)
{
    size_t at = 0;
    Status status = STATUS_UNKNOWN;
    while (status != STATUS_OK) {
        atomic_store_relaxed(&fail_alloc_count, 0);
        atomic_store_relaxed(&fail_alloc_at, ++at);
        status = attempt(context);
        atomic_store_relaxed(&fail_alloc_at, 0);
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
    }
    assert_true(at > 1);
}
