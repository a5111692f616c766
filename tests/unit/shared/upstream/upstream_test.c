#include "shared/upstream/upstream.h"

#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"

static int done_count;

static void
on_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)message;
    assert_int_equal(status, STATUS_UNAVAILABLE);
    done_count++;
}

/* Nobody listens on these loopback addresses: each call fails, and its connection with it. */
static void
workers_that_are_gone_are_forgotten(void **state)
{
    enum { ADDRESSES = 1000, KEPT_MAX = 64 };
    static const UpstreamEvents events = {.on_done = on_done};
    Call *call = *state;
    Loop *loop = NULL;
    assert_status(call, STATUS_OK, loop_new(call, &loop));
    Upstream *upstream = upstream_new(loop, &(UpstreamOptions){0});
    assert_non_null(upstream);
    for (int index = 0; index < ADDRESSES; index++) {
        char address[32];
        (void)snprintf(address, sizeof address, "127.1.%d.%d:1", index / 250, 1 + index % 250);
        UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = address, .deadline_ms = 1000};
        UpstreamCall *made = upstream_begin(upstream, &head, &events, NULL);
        assert_non_null(made);
        upstream_end(made);
        uint64_t until_ns = clock_monotonic_ns() + 10 * CLOCK_NS_PER_S;
        while (done_count <= index && clock_monotonic_ns() < until_ns) {
            loop_turn(loop, 10);
        }
        assert_int_equal(done_count, index + 1);
        assert_true(upstream_peer_count(upstream) <= KEPT_MAX);
    }
    upstream_free(upstream);
    loop_free(loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(workers_that_are_gone_are_forgotten),
    };
    return cmocka_run_group_tests_name("upstream", tests, NULL, NULL);
}
