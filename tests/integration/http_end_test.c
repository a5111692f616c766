/* Tests of how connections end: clients that leave, clients that are slow, servers that stop. */
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/http_site.h"

static void
assert_hang_up_is_seen(const char *request)
{
    uint64_t before = atomic_load_seq_cst(&http_site_seen.waiting);
    atomic_store_seq_cst(&http_site_seen.cancelled_at_ns, 0);
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, request);
    http_servers_wait(&http_site_seen.waiting, before);
    close(fd);
    http_servers_wait(&http_site_seen.cancelled_at_ns, 0);
}

static void
a_hang_up_cancels_at_once(void **state)
{
    (void)state;
    assert_hang_up_is_seen("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_hang_up_is_seen("GET /wait-job HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_hang_up_is_seen("GET /stream?size=10&open HTTP/1.1\r\nHost: x\r\n\r\n");
}

static void
a_client_that_half_closes_is_taken_as_gone(void **state)
{
    (void)state;
    atomic_store_seq_cst(&http_site_seen.cancelled_at_ns, 0);
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(fd, SHUT_WR);
    http_servers_wait(&http_site_seen.cancelled_at_ns, 0);
    close(fd);
}

/* Sends a byte every 20 ms until the server has had enough. */
static void
assert_dawdling_is_cut(const char *start, int status)
{
    int fd = raw_open(http_site_impatient());
    uint64_t end_ns = clock_monotonic_ns() + HTTP_SITE_TIMEOUT_MS * CLOCK_NS_PER_MS;
    raw_send_text(fd, start);
    int got = -1;
    while (got == -1 && clock_monotonic_ns() < end_ns) {
        raw_send(fd, "a", 1);
        got = raw_reply(fd, http_site_reply, 20);
    }
    assert_int_equal(got, status);
    assert_true(raw_is_closed(fd, HTTP_SITE_TIMEOUT_MS));
    close(fd);
}

static void
slow_headers_are_cut_however_steady(void **state)
{
    (void)state;
    assert_dawdling_is_cut("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", 408);
}

static void
slow_bodies_are_cut_however_steady(void **state)
{
    (void)state;
    assert_dawdling_is_cut("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n", 408);
}

static void
idle_connections_are_closed(void **state)
{
    (void)state;
    int fd = raw_open(http_site_impatient());
    raw_send_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_true(raw_is_closed(fd, HTTP_SITE_TIMEOUT_MS));
    close(fd);
}

static void
a_deadline_ends_a_handler_with_504(void **state)
{
    (void)state;
    static const char *const paths[] = {"/wait", "/wait-job"};
    for (size_t index = 0; index < COUNT_OF(paths); index++) {
        int fd = raw_open(http_site_impatient());
        raw_send_text(fd, "GET ");
        raw_send_text(fd, paths[index]);
        raw_send_text(fd, " HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 504);
        assert_non_null(strstr(http_site_reply, "\"code\":\"DEADLINE_EXCEEDED\""));
        close(fd);
    }
}

typedef struct Alone {
    Call call;
    Loop *loop;
    HttpServer *server;
    char address[ADDRESS_TEXT_SIZE];
} Alone;

static void
alone_open(Alone *alone, uint32_t connections_max)
{
    *alone = (Alone){0};
    HttpOptions options = {.handlers = http_site_handlers, .connections_max = connections_max};
    assert_status(&alone->call, STATUS_OK, loop_new(&alone->call, &alone->loop));
    assert_status(&alone->call, STATUS_OK,
        http_server_new(&alone->call, alone->loop, "127.0.0.1:0", &options, &alone->server));
    http_server_address(alone->server, alone->address);
}

static void
turn(const Alone *alone)
{
    for (int count = 0; count < 20; count++) {
        loop_turn(alone->loop, 1);
    }
}

static void
a_server_without_job_threads_says_503(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 0);
    int fd = raw_open(alone.address);
    raw_send_text(fd, "GET /fail HTTP/1.1\r\nHost: x\r\n\r\n");
    turn(&alone);
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 503);
    assert_non_null(strstr(http_site_reply, "Retry-After: 1\r\n"));
    close(fd);
    http_server_free(alone.server);
    loop_free(alone.loop);
}

static void
connections_beyond_the_limit_get_503(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 1);
    int first = raw_open(alone.address);
    int second = raw_open(alone.address);
    turn(&alone);
    assert_int_equal(raw_reply(second, http_site_reply, HTTP_SITE_TIMEOUT_MS), 503);
    raw_send_text(first, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    turn(&alone);
    assert_int_equal(raw_reply(first, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    close(first);
    close(second);
    http_server_free(alone.server);
    loop_free(alone.loop);
}

static void
a_draining_server_answers_and_then_closes(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 0);
    int idle = raw_open(alone.address);
    int busy = raw_open(alone.address);
    raw_send_text(idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_send_text(busy, "GET /hello HTTP/1.1\r\nHost: x\r\n");
    turn(&alone);
    assert_int_equal(raw_reply(idle, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    http_server_drain(alone.server);
    raw_send_text(busy, "\r\n");
    turn(&alone);
    assert_true(raw_is_closed(idle, HTTP_SITE_TIMEOUT_MS));
    assert_int_equal(raw_reply(busy, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_non_null(strstr(http_site_reply, "Connection: close\r\n"));
    assert_true(raw_is_closed(busy, HTTP_SITE_TIMEOUT_MS));
    assert_int_equal(http_server_active(alone.server), 0);
    close(idle);
    close(busy);
    http_server_free(alone.server);
    loop_free(alone.loop);
}

static void
a_draining_server_reads_what_has_come(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 0);
    int idle = raw_open(alone.address);
    raw_send_text(idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    turn(&alone);
    assert_int_equal(raw_reply(idle, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    int unaccepted = raw_open(alone.address);
    raw_send_text(unaccepted, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_send_text(idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    http_server_drain(alone.server);
    turn(&alone);
    assert_int_equal(raw_reply(unaccepted, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_int_equal(raw_reply(idle, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_true(raw_is_closed(unaccepted, HTTP_SITE_TIMEOUT_MS));
    assert_true(raw_is_closed(idle, HTTP_SITE_TIMEOUT_MS));
    close(idle);
    close(unaccepted);
    http_server_free(alone.server);
    loop_free(alone.loop);
}

static void
freeing_a_server_cancels_what_is_in_flight(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 0);
    static const char *const requests[] = {"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /stream?size=10&open HTTP/1.1\r\nHost: x\r\n\r\n", "GET /hel",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"};
    int fds[COUNT_OF(requests)];
    for (size_t index = 0; index < COUNT_OF(requests); index++) {
        fds[index] = raw_open(alone.address);
        raw_send_text(fds[index], requests[index]);
    }
    turn(&alone);
    assert_int_equal(http_server_active(alone.server), 3);
    uint64_t closed = atomic_load_seq_cst(&http_site_seen.stream_closed);
    http_server_free(alone.server);
    assert_int_equal(atomic_load_seq_cst(&http_site_seen.stream_closed), closed + 1);
    for (size_t index = 0; index < COUNT_OF(requests); index++) {
        assert_true(
            raw_drain(fds[index], http_site_reply, sizeof http_site_reply, HTTP_SITE_TIMEOUT_MS) >= 0);
        close(fds[index]);
    }
    loop_free(alone.loop);
}

static void
an_address_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    Alone alone = {0};
    HttpOptions options = {.handlers = http_site_handlers};
    assert_status(&alone.call, STATUS_OK, loop_new(&alone.call, &alone.loop));
    assert_status(&alone.call, STATUS_INVALID_ARGUMENT,
        http_server_new(&alone.call, alone.loop, "nonsense", &options, &alone.server));
    assert_null(alone.server);
    loop_free(alone.loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hang_up_cancels_at_once),
        cmocka_unit_test(a_client_that_half_closes_is_taken_as_gone),
        cmocka_unit_test(slow_headers_are_cut_however_steady),
        cmocka_unit_test(slow_bodies_are_cut_however_steady),
        cmocka_unit_test(idle_connections_are_closed),
        cmocka_unit_test(a_deadline_ends_a_handler_with_504),
        cmocka_unit_test(a_server_without_job_threads_says_503),
        cmocka_unit_test(connections_beyond_the_limit_get_503),
        cmocka_unit_test(a_draining_server_answers_and_then_closes),
        cmocka_unit_test(a_draining_server_reads_what_has_come),
        cmocka_unit_test(freeing_a_server_cancels_what_is_in_flight),
        cmocka_unit_test(an_address_that_cannot_be_read_is_refused),
    };
    return cmocka_run_group_tests(tests, http_site_start, http_servers_stop);
}
