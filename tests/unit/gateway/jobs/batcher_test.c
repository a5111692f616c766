#include "gateway/jobs/batcher.h"
#include "shared/base/atomic.h"

#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"

enum { SEEN_MAX = 16 };

static int gate;        /* holds batches back until it is 1 */
static int begun_count; /* batches that have been taken; atomic */
static size_t sizes[SEEN_MAX];
static char groups[SEEN_MAX + 1];
static size_t batch_count;
static size_t done_count;

static void
run(JobContext *context, BatchItem *const *items, size_t count)
{
    (void)context;
    (void)atomic_add_acq_rel(&begun_count, 1);
    while (atomic_load_seq_cst(&gate) == 0) {
        usleep(100);
    }
    for (size_t index = 1; index < count; index++) {
        assert_int_equal(items[index]->priority, items[0]->priority);
    }
    groups[batch_count] = (char)('0' + items[0]->priority);
    sizes[batch_count++] = count;
}

static void
done(BatchItem *item)
{
    item->done = NULL;
    done_count++;
}

typedef struct Fixture {
    Loop *loop;
    JobPool *jobs;
    Batcher *batcher;
} Fixture;

static int
setup(void **state)
{
    static Fixture fixture;
    Call call = {0};
    JobPoolOptions options = {.thread_count = 2};
    gate = 0;
    begun_count = 0;
    batch_count = 0;
    done_count = 0;
    memset(groups, 0, sizeof groups);
    if (loop_new(&call, &fixture.loop) != STATUS_OK ||
        job_pool_new(&call, &options, &fixture.jobs) != STATUS_OK) {
        return -1;
    }
    fixture.batcher = batcher_new(fixture.jobs, run);
    *state = &fixture;
    return fixture.batcher == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
    Fixture *fixture = *state;
    job_pool_free(fixture->jobs);
    batcher_free(fixture->batcher);
    loop_free(fixture->loop);
    return 0;
}

static void
put(const Fixture *fixture, BatchItem *item, int priority)
{
    *item = (BatchItem){.loop = fixture->loop, .priority = priority, .done = done};
    assert_true(batcher_put(fixture->batcher, item));
}

static void
open_gate_and_wait(const Fixture *fixture, size_t count)
{
    atomic_store_seq_cst(&gate, 1);
    while (done_count < count) {
        loop_turn(fixture->loop, 1000);
    }
}

/* Waits until the first batch is under way, so that later items do not join it. */
static void
put_first(const Fixture *fixture, BatchItem *item)
{
    put(fixture, item, 1);
    while (atomic_load_acquire(&begun_count) == 0) {
        usleep(100);
    }
}

static void
what_comes_during_a_batch_goes_together_into_the_next(void **state)
{
    BatchItem items[5];
    put_first(*state, &items[0]);
    for (size_t index = 1; index < COUNT_OF(items); index++) {
        put(*state, &items[index], 1);
    }
    open_gate_and_wait(*state, COUNT_OF(items));
    assert_int_equal(batch_count, 2);
    assert_int_equal(sizes[0], 1);
    assert_int_equal(sizes[1], 4);
}

static void
groups_take_turns_and_are_never_mixed(void **state)
{
    static BatchItem items[2 * BATCH_ITEMS_MAX + 2];
    put_first(*state, &items[0]);
    for (size_t index = 1; index < COUNT_OF(items); index++) {
        put(*state, &items[index], index + 1 < COUNT_OF(items) ? 1 : 2);
    }
    open_gate_and_wait(*state, COUNT_OF(items));
    assert_string_equal(groups, "1211");
    assert_int_equal(sizes[1], 1);
    assert_int_equal(sizes[2], BATCH_ITEMS_MAX);
    assert_int_equal(sizes[3], BATCH_ITEMS_MAX);
}

static void
a_batcher_rests_and_begins_again(void **state)
{
    BatchItem item;
    for (size_t round = 1; round <= 3; round++) {
        put(*state, &item, 0);
        open_gate_and_wait(*state, round);
    }
    assert_int_equal(batch_count, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_comes_during_a_batch_goes_together_into_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_take_turns_and_are_never_mixed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batcher_rests_and_begins_again, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
