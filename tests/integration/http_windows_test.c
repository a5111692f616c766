/* Bodies that are taken in windows on job threads: whole, held back, refused, broken off. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "tests/support/await.h"
#include "tests/support/http_site.h"

enum { WINDOW = HTTP_SITE_WINDOW_SIZE };

static uint64_t
seen(const uint64_t *count)
{
    return atomic_load_seq_cst(count);
}

static char *
make_body(size_t size)
{
    char *body = memory_new(size + 1, 1);
    for (size_t index = 0; index < size; index++) {
        body[index] = (char)('a' + index * 7 % 23);
    }
    return body;
}

static void
assert_summed(const char *body, size_t size)
{
    char expected[80];
    uint64_t sum = 0;
    for (size_t index = 0; index < size; index++) {
        sum += (unsigned char)body[index] * (uint64_t)(index + 1);
    }
    (void)snprintf(expected, sizeof expected, "\r\n\r\n%zu bytes, sum %llu", size, (unsigned long long)sum);
    assert_non_null(strstr(http_site_reply, expected));
}

static void
send_head(int fd, size_t size)
{
    char head[160];
    (void)snprintf(head, sizeof head,
        "PUT /sum HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stored\r\nContent-Length: %zu\r\n\r\n", size);
    raw_send_text(fd, head);
}

static void
a_body_of_any_size_is_taken_in_order(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, 7 * WINDOW + 5, 64 * WINDOW + 3};
    int fd = raw_open(http_site_usual());
    for (size_t index = 0; index < COUNT_OF(sizes); index++) {
        char *body = make_body(sizes[index]);
        uint64_t ended = seen(&http_site_seen.windows_ended);
        send_head(fd, sizes[index]);
        raw_send(fd, body, sizes[index]);
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
        assert_summed(body, sizes[index]);
        assert_int_equal(seen(&http_site_seen.windows_ended), ended + 1);
        memory_free(body);
    }
    close(fd);
}

static void
a_chunked_body_is_taken_too(void **state)
{
    (void)state;
    enum { SIZE = 3 * WINDOW };
    char chunk[32];
    char *body = make_body(SIZE);
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "PUT /sum HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stored\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n");
    (void)snprintf(chunk, sizeof chunk, "%x\r\n", (unsigned)SIZE);
    raw_send_text(fd, chunk);
    raw_send(fd, body, SIZE);
    raw_send_text(fd, "\r\n0\r\n\r\n");
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_summed(body, SIZE);
    memory_free(body);
    close(fd);
}

/* Sends until the socket takes nothing for a while. */
static size_t
send_until_full(int fd, const char *bytes, size_t size)
{
    enum { QUIET_MS = 1000 };
    size_t sent = 0;
    while (sent < size) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t count = send(fd, bytes + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            sent += (size_t)count;
        } else if (poll(&ready, 1, QUIET_MS) == 0) {
            break;
        }
    }
    return sent;
}

/* Sockets hold some MiB of their own. */
static void
the_socket_is_not_read_while_two_windows_are_full(void **state)
{
    (void)state;
    enum { SIZE = 128 * 1024 * 1024 };
    char *body = make_body(SIZE);
    uint64_t taken = seen(&http_site_seen.windows_taken);
    atomic_store_seq_cst(&http_site_seen.windows_are_held, true);
    int fd = raw_open(http_site_usual());
    send_head(fd, SIZE);
    size_t sent = send_until_full(fd, body, SIZE);
    assert_true(sent < SIZE / 2);
    assert_int_equal(seen(&http_site_seen.windows_taken), taken);
    atomic_store_seq_cst(&http_site_seen.windows_are_held, false);
    raw_send(fd, body + sent, SIZE - sent);
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_summed(body, SIZE);
    memory_free(body);
    close(fd);
}

static void
a_window_that_is_refused_refuses_the_request(void **state)
{
    (void)state;
    enum { SIZE = 8 * WINDOW };
    static const size_t places[] = {5, WINDOW + 5, SIZE - 1};
    for (size_t index = 0; index < COUNT_OF(places); index++) {
        char *body = make_body(SIZE);
        uint64_t ended = seen(&http_site_seen.windows_ended);
        int fd = raw_open(http_site_usual());
        body[places[index]] = 'X';
        send_head(fd, SIZE);
        raw_send(fd, body, SIZE);
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 400);
        assert_non_null(strstr(http_site_reply, "an 'X' is not allowed here"));
        AWAIT(seen(&http_site_seen.windows_ended) == ended + 1);
        memory_free(body);
        close(fd);
    }
}

/* The client goes while a window is on a job thread, and while none is. */
static void
what_had_come_before_a_client_was_gone_is_taken(void **state)
{
    (void)state;
    enum { SIZE = 8 * WINDOW, SENT = 2 * WINDOW + 1000 };
    for (int is_held = 0; is_held <= 1; is_held++) {
        char *body = make_body(SIZE);
        AWAIT(
            seen(&http_site_seen.logged) == seen(&http_site_seen.windows_begun)); /* earlier ones are over */
        uint64_t taken = seen(&http_site_seen.windows_taken);
        uint64_t ended = seen(&http_site_seen.windows_ended);
        uint64_t logged = seen(&http_site_seen.logged);
        atomic_store_seq_cst(&http_site_seen.windows_are_held, is_held == 1);
        int fd = raw_open(http_site_usual());
        send_head(fd, SIZE);
        raw_send(fd, body, SENT);
        if (is_held == 0) {
            AWAIT(seen(&http_site_seen.windows_taken) >= taken + WINDOW);
        }
        close(fd);
        pause_ms(50); /* both orders of the going and the window's end must do; this makes one likely */
        atomic_store_seq_cst(&http_site_seen.windows_are_held, false);
        AWAIT(seen(&http_site_seen.windows_ended) == ended + 1);
        AWAIT(seen(&http_site_seen.logged) == logged + 1);
        assert_true(seen(&http_site_seen.windows_taken) >= taken + WINDOW);
        assert_true(seen(&http_site_seen.windows_taken) <= taken + SENT);
        memory_free(body);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_of_any_size_is_taken_in_order),
        cmocka_unit_test(a_chunked_body_is_taken_too),
        cmocka_unit_test(the_socket_is_not_read_while_two_windows_are_full),
        cmocka_unit_test(a_window_that_is_refused_refuses_the_request),
        cmocka_unit_test(what_had_come_before_a_client_was_gone_is_taken),
    };
    return cmocka_run_group_tests(tests, http_site_start, http_servers_stop);
}
