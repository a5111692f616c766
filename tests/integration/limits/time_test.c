/* The times that things may take: what ends in time is served; what does not is ended, and not before. Each
 * limit is set far below its default, and whatever it ends must end before the default would end it: the
 * machine may be slow. What is to be in time is tried again when the machine held it up. */
#include <signal.h>
#include <unistd.h>

#include "gateway/domain/limits.h"
#include "tests/support/await.h"
#include "tests/support/limit_checks.h"
#include "tests/support/raw_http.h"

static Cluster times;

static char reply[RAW_REPLY_SIZE];

static uint64_t
elapsed_ms(uint64_t since_ns)
{
    return (clock_monotonic_ns() - since_ns) / CLOCK_NS_PER_MS;
}

static uint64_t
default_ms(const char *name)
{
    for (size_t index = 0; index < limit_table_count; index++) {
        if (strcmp(limit_table[index].name, name) == 0) {
            return limit_table[index].default_value;
        }
    }
    fail_msg("there is no limit '%s'", name);
    return 0;
}

/* Fails unless what took this long was ended by the limit: not before it, and before its default. */
static void
assert_ended_by(const char *limit, uint64_t took_ms)
{
    assert_in_range(took_ms, limit_shown(&times, limit), default_ms(limit) - 1);
}

static void
assert_step_timeout(uint64_t timeout_ms, int expected)
{
    char body[128];
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"],\"options\":{\"timeout_ms\":%llu}}",
        (unsigned long long)timeout_ms);
    limit_expect(&times, limit_session_path(&times, "steps"), slice_from_string(body), NULL, expected);
}

static void
limit_step_timeout_ms(void **state)
{
    (void)state;
    uint64_t most_ms = limit_shown(&times, "step_timeout_ms");
    limit_pairs_create(&times, 1);
    assert_step_timeout(most_ms, 200);
    assert_step_timeout(most_ms + 1, 400);
}

/* Sends a step while the worker is stopped; returns how many milliseconds the answer took. */
static uint64_t
send_to_stopped(const char *body, const char *header, RestResponse *ret_response)
{
    (void)kill(times.workers[0].pid, SIGSTOP);
    uint64_t begin_ns = clock_monotonic_ns();
    limit_send(&times, limit_session_path(&times, "steps"), slice_from_string(body), header, ret_response);
    uint64_t took_ms = elapsed_ms(begin_ns);
    (void)kill(times.workers[0].pid, SIGCONT);
    return took_ms;
}

static const char step[] = "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"]}";

/* A step whose worker is stopped ends when its time is over, and not before. */
static void
limit_step_timeout_default_ms(void **state)
{
    (void)state;
    AUTO_REST late = {0};
    limit_pairs_create(&times, 1);
    cluster_expect_step(&times, step, 200, NULL);
    assert_ended_by("step_timeout_default_ms", send_to_stopped(step, NULL, &late));
    cluster_expect(&late, 504, NULL);
}

static bool
has_not_succeeded(const char *path)
{
    return cluster_is_step_in(&times, path, "failed") || cluster_is_step_in(&times, path, "expired");
}

/* A queued step ends when its time is over, too. */
static void
limit_queued_timeout_default_ms(void **state)
{
    (void)state;
    char path[CLUSTER_URL_SIZE / 2];
    AUTO_REST accepted = {0};
    limit_pairs_create(&times, 1);
    cluster_queued_step(&times, step); /* within its time */
    uint64_t begin_ns = clock_monotonic_ns();
    (void)kill(times.workers[0].pid, SIGSTOP);
    limit_send(&times, limit_session_path(&times, "steps"), slice_from_string(step), "Prefer: respond-async",
        &accepted);
    (void)snprintf(path, sizeof path, "%s", rest_header(&accepted, "Location"));
    AWAIT(has_not_succeeded(path));
    (void)kill(times.workers[0].pid, SIGCONT);
    assert_ended_by("queued_timeout_default_ms", elapsed_ms(begin_ns));
}

/* A wait above the limit counts as the limit. */
static void
limit_step_wait_ms(void **state)
{
    (void)state;
    static const char body[] =
        "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"],\"options\":{\"timeout_ms\":60000}}";
    enum { ASKED_MAX_MS = 20000 };
    static const char *const asked[] = {"Prefer: respond-async, wait=1", "Prefer: respond-async, wait=20"};
    uint64_t most_ms = limit_shown(&times, "step_wait_ms");
    limit_pairs_create(&times, 1);
    for (size_t index = 0; index < COUNT_OF(asked); index++) {
        AUTO_REST response = {0};
        assert_in_range(send_to_stopped(body, asked[index], &response), most_ms, ASKED_MAX_MS - 1);
        cluster_expect(&response, 202, NULL);
        assert_string_equal(rest_header(&response, "Preference-Applied"), "respond-async, wait=1");
    }
}

/* Sends the text in two parts with a pause between; returns the status, 0 when the gateway closed instead. */
static int
ask_slowly(const char *first, long pause, const char *second)
{
    int fd = raw_open(times.gateway.address);
    raw_send_text(fd, first);
    pause_ms(pause);
    raw_send_text(fd, second);
    int status = raw_reply(fd, reply, AWAIT_MS);
    close(fd);
    return status;
}

/* Sends the beginning of a request and nothing more; returns how long the gateway took to end the
 * connection. */
static uint64_t
wait_for_end(const char *beginning)
{
    uint64_t begin_ns = clock_monotonic_ns();
    int fd = raw_open(times.gateway.address);
    raw_send_text(fd, beginning);
    assert_true(raw_drain(fd, reply, sizeof reply, AWAIT_MS) >= 0);
    close(fd);
    return elapsed_ms(begin_ns);
}

static void
limit_header_timeout_ms(void **state)
{
    (void)state;
    static const char beginning[] = "GET /livez HTTP/1.1\r\nHost: x\r\n";
    long time_ms = (long)limit_shown(&times, "header_timeout_ms");
    AWAIT(ask_slowly(beginning, time_ms / 4, "\r\n") == 200);
    assert_ended_by("header_timeout_ms", wait_for_end(beginning));
}

#define BODY_OF_600                                                                                          \
    "POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"                \
    "Content-Length: 600\r\n\r\n"

/* Sends the 600 bytes of a body in pieces, each after a pause, until the gateway closes; returns the status,
 * 0 when it closed. */
static int
ask_in_pieces(size_t piece_size, int pause)
{
    char body[601];
    (void)snprintf(body, sizeof body, "{}%598s", "");
    int fd = raw_open(times.gateway.address);
    bool is_open = true;
    raw_send_text(fd, BODY_OF_600);
    for (size_t sent = 0; sent < 600 && is_open; sent += piece_size) {
        is_open = !raw_is_closed(fd, pause);
        raw_send(fd, body + sent, piece_size);
    }
    int status = is_open ? raw_reply(fd, reply, AWAIT_MS) : 0;
    close(fd);
    return status;
}

static void
limit_body_grace_ms(void **state)
{
    (void)state;
    AWAIT(ask_in_pieces(600, (int)limit_shown(&times, "body_grace_ms") / 4) == 201);
    assert_ended_by("body_grace_ms", wait_for_end(BODY_OF_600));
}

/* Three times the rate is served, half of it is not; both take longer than the grace. */
static void
limit_body_bytes_per_second(void **state)
{
    (void)state;
    uint64_t rate = limit_shown(&times, "body_bytes_per_second");
    assert_true(600 * 1000 / (3 * rate) > limit_shown(&times, "body_grace_ms"));
    AWAIT(ask_in_pieces(60, (int)(60 * 1000 / (3 * rate))) == 201);
    assert_int_not_equal(ask_in_pieces(60, (int)(60 * 1000 * 2 / rate)), 201);
}

static void
limit_idle_timeout_ms(void **state)
{
    (void)state;
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
    int fd = raw_open(times.gateway.address);
    raw_send_text(fd, request);
    assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 200);
    pause_ms((long)limit_shown(&times, "idle_timeout_ms") / 4);
    uint64_t begin_ns = clock_monotonic_ns();
    raw_send_text(fd, request);
    assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 200);
    assert_true(raw_is_closed(fd, AWAIT_MS));
    assert_ended_by("idle_timeout_ms", elapsed_ms(begin_ns));
    close(fd);
}

static const char *const short_times[] = {"--limit",
    "step_timeout_ms=90000,step_timeout_default_ms=2000,queued_timeout_default_ms=3000,step_wait_ms=1000,"
    "header_timeout_ms=1200,body_bytes_per_second=100,body_grace_ms=1200,idle_timeout_ms=1600",
    NULL};

static int
set_up(void **state)
{
    (void)state;
    bool is_up =
        cluster_start(&times, &(ClusterOptions){.worker_count = 1, .gateway_arguments = short_times});
    return is_up ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&times);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_step_timeout_ms),
        cmocka_unit_test(limit_step_timeout_default_ms),
        cmocka_unit_test(limit_queued_timeout_default_ms),
        cmocka_unit_test(limit_step_wait_ms),
        cmocka_unit_test(limit_header_timeout_ms),
        cmocka_unit_test(limit_body_grace_ms),
        cmocka_unit_test(limit_body_bytes_per_second),
        cmocka_unit_test(limit_idle_timeout_ms),
    };
    return cmocka_run_group_tests_name("limits of times", tests, set_up, tear_down);
}
