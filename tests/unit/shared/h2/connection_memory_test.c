/* Counts the allocations of some requests, then repeats them with each allocation failing in turn: every
 * stream closes once, every release comes once, and nothing leaks. */
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/h2_pair.h"

static char body[200 * 1024];
static int writes;

static void
open_requests(void)
{
    for (int count = 0; count < 40 && pair.connections[CLIENT] != NULL; count++) {
        Probe *probe = pair_request("/echo", false);
        if (probe == NULL) {
            continue;
        }
        writes++;
        (void)h2_stream_write(
            probe->stream, slice_of(body, count < 4 ? sizeof body : 100), pair_release, NULL);
        (void)h2_stream_write_copy(probe->stream, slice_of(body, 5000));
        (void)h2_stream_write_copy(probe->stream, SLICE("more"));
        h2_stream_end(probe->stream);
    }
}

static bool
is_quiet(Side side)
{
    return pair.connections[side] == NULL || h2_stream_count(pair.connections[side]) == 0;
}

/* Returns true when every request was answered. */
static bool
run(size_t failing)
{
    Call call = {.arena = NULL};
    pair_open(NULL);
    Timer first = {.fire = NULL}; /* reserves memory for timers, which the loop asserts to have */
    timer_set(pair.loop, &first, UINT64_MAX);
    timer_clear(pair.loop, &first);
    writes = 0;
    fail_alloc_count = 0;
    fail_alloc_at = failing;
    Status connected =
        h2_connect(&call, pair.loop, pair.address, &pair.options[CLIENT], &pair.connections[CLIENT]);
    if (connected == STATUS_OK) {
        open_requests();
        PAIR_UNTIL(pair.connections[SERVER] != NULL || pair.disconnects[SERVER] > 0);
        PAIR_UNTIL(is_quiet(CLIENT) && is_quiet(SERVER));
    }
    fail_alloc_at = 0;
    bool is_good = connected == STATUS_OK && pair.probe_count[CLIENT] == 40;
    for (size_t index = 0; index < pair.probe_count[CLIENT]; index++) {
        is_good = is_good && pair.probes[CLIENT][index].reason == STATUS_OK;
    }
    pair_close();
    assert_int_equal(pair.released, writes);
    return is_good;
}

static void
every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_true(run(0));
    size_t total = fail_alloc_count;
    assert_true(total > 200);
    int failed = 0;
    for (size_t index = 1; index <= total; index++) {
        failed += run(index) ? 0 : 1;
    }
    assert_true(failed > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failed_allocation_is_survived)};
    return cmocka_run_group_tests_name("HTTP/2 connection memory", tests, NULL, NULL);
}
