/* Requests that are refused from their head alone: those that two programs could read in two ways, and
 * those above a limit. */
#include <unistd.h>

#include "gateway/http/server.h"
#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/http_site.h"

typedef struct Smuggled {
    const char *what;
    Slice request;
    int status;
} Smuggled;

#define REQUEST(text)                                                                                        \
    {                                                                                                        \
        .data = (text), .size = sizeof(text) - 1                                                             \
    }

static const Smuggled smuggled[] = {
    {"two lengths",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400},
    {"length and chunked",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        400},
    {"another coding",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 400},
    {"an unknown coding",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 400},
    {"two hosts", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n"), 400},
    {"no host", REQUEST("GET /hello HTTP/1.1\r\n\r\n"), 400},
    {"two keys",
        REQUEST(
            "GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"),
        400},
    {"two types",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Type: a/c\r\n"
                "Content-Length: 1\r\n\r\na"),
        400},
    {"two idempotency keys",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n"
                "Content-Length: 1\r\n\r\na"),
        400},
    {"space before the colon", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc"),
        400},
    {"tab before the colon", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAccept\t: a\r\n\r\n"), 400},
    {"a folded line", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAccept: a\r\n b\r\nX: y\r\n\r\n"), 400},
    {"a folded last line", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAccept: a\r\n\tb\r\n\r\n"), 400},
    {"NUL in a value",
        REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\0b\r\nX: y\r\n\r\n"), 400},
    {"NUL in the last value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\0b\r\n\r\n"),
        400},
    {"NUL at a value's end", REQUEST("GET /hello HTTP/1.1\r\nHost: x\0\r\nX: y\r\n\r\n"), 400},
    {"NUL at the last value's end", REQUEST("GET /hello HTTP/1.1\r\nHost: x\0\r\n\r\n"), 400},
    {"a bare line feed at the very end", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\n\n"), 400},
    {"NUL in the target", REQUEST("GET /hello\0x HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a control byte in a value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX: a\x01z\r\n\r\n"), 400},
    {"a bare CR in a value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n"), 400},
    {"DEL in a value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX: a\x7f\r\n\r\n"), 400},
    {"an empty name", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n"), 400},
    {"bare LF everywhere", REQUEST("GET /hello HTTP/1.1\nHost: x\nX: y\n\n"), 400},
    {"bare LF behind the request line", REQUEST("GET /hello HTTP/1.1\nHost: x\r\n\r\n"), 400},
    {"bare LF among the headers", REQUEST("GET /hello HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"), 400},
    {"a request behind a bare LF",
        REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\n\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a signed length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc"), 400},
    {"a negative length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc"), 400},
    {"a length list", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc"), 400},
    {"an overflowing length",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabc"), 413},
    {"a length just above 64 bits",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\nabc"), 413},
    {"a word for a length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\nabc"), 400},
    {"no length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\nabc"), 400},
    {"a length of two words", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1 2\r\n\r\nabc"),
        400},
    {"a length with more behind it",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3abc\r\n\r\nabc"), 400},
    {"a hexadecimal length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc"),
        400},
    {"a tab behind the length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\t\r\n\r\nabc"),
        400},
    {"two different lengths",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"), 400},
    {"a word and a length",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\nContent-Length: 3\r\n\r\nabc"),
        400},
    {"a length and a word",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: abc\r\n\r\nabc"),
        400},
    {"a word for a length and chunked",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n"
                "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        400},
    {"a word for a length that is waited with",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: abc\r\n\r\n"),
        400},
    {"absolute form", REQUEST("GET http://x/hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded NUL", REQUEST("GET /hello%00 HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded slash", REQUEST("GET /items%2fa HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded backslash", REQUEST("GET /items%5Ca HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a backslash", REQUEST("GET /items\\a HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"dot segments", REQUEST("GET /items/../hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"encoded dot segments", REQUEST("GET /items/%2e%2E/hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"non-ASCII", REQUEST("GET /h\xc3\xa4llo HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded line end", REQUEST("GET /hello%0d%0a HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"half an escape", REQUEST("GET /hello%2 HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a query name twice", REQUEST("GET /hello?a=1&a=2 HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
};

/* One answer comes, a problem document if it is ours, and behind it the end of the connection. */
static void
check_refusal(int fd, const Smuggled *sent, bool is_ours)
{
    int status = raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS);
    if (status != sent->status) {
        fail_msg("%s: status %d, expected %d", sent->what, status, sent->status);
    }
    if (strcasestr(http_site_reply, "Connection: close\r\n") == NULL ||
        (is_ours && strstr(http_site_reply, "Content-Type: application/problem+json\r\n") == NULL)) {
        fail_msg("%s: answered with '%s'", sent->what, http_site_reply);
    }
    long rest = raw_drain(fd, http_site_reply, sizeof http_site_reply, HTTP_SITE_TIMEOUT_MS);
    if (rest != 0) {
        fail_msg("%s: %ld bytes behind the answer, expected the end", sent->what, rest);
    }
}

static void
what_can_be_read_in_two_ways_is_refused_and_closes(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(smuggled); index++) {
        int fd = raw_open(http_site_usual());
        raw_send(fd, smuggled[index].request.data, smuggled[index].request.size);
        check_refusal(fd, &smuggled[index], true);
        close(fd);
    }
}

/* libmicrohttpd answers by itself, with a page of its own. */
static void
what_libmicrohttpd_cannot_read_is_refused_once(void **state)
{
    static const Smuggled unread[] = {
        {"NUL in a name", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX\0Y: y\r\n\r\n"), 400},
        {"no version", REQUEST("GET /hello\r\nHost: x\r\n\r\n"), 400},
        {"an unknown version", REQUEST("GET /hello HTTP/7.1\r\nHost: x\r\n\r\n"), 505},
    };
    (void)state;
    for (size_t index = 0; index < COUNT_OF(unread); index++) {
        int fd = raw_open(http_site_usual());
        raw_send(fd, unread[index].request.data, unread[index].request.size);
        check_refusal(fd, &unread[index], false);
        close(fd);
    }
}

static void
what_is_refused_behind_a_good_request_is_refused_as_alone(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(smuggled); index++) {
        int fd = raw_open(http_site_usual());
        raw_send_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        raw_send(fd, smuggled[index].request.data, smuggled[index].request.size);
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
        check_refusal(fd, &smuggled[index], true);
        close(fd);
    }
}

/* Two heads with bad lengths come in pieces, among others that wait: each gets its own answer. */
static void
a_bad_length_is_answered_where_it_came_from(void **state)
{
    (void)state;
    enum { WAITING = 4 };
    static const char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: ab";
    Smuggled refused = {.what = "a length in two pieces", .status = 400};
    int waiting[WAITING];
    for (size_t index = 0; index < WAITING; index++) {
        waiting[index] = raw_open(http_site_usual());
        raw_send_text(waiting[index], index % 2 == 0 ? head : "GET /hello HTTP/1.1\r\nHost: x\r\n");
        assert_int_equal(
            http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 200); /* the piece has come */
    }
    for (size_t index = WAITING; index-- > 0;) {
        if (index % 2 == 0) {
            raw_send_text(waiting[index], "c\r\n\r\nabc");
            check_refusal(waiting[index], &refused, true);
        } else {
            raw_send_text(waiting[index], "\r\n");
            assert_int_equal(raw_reply(waiting[index], http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
        }
        close(waiting[index]);
    }
}

static void
what_is_unusual_but_clear_is_taken(void **state)
{
    (void)state;
    assert_int_equal(
        http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\nEmpty:\r\nSpaces:  \t a b \t \r\n\r\n"), 200);
    assert_int_equal(http_site_ask("\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(http_site_ask("GET /hello? HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(http_site_ask("GET /hello?a=%41&b=x+y&c HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Latin: \xe9\r\n\r\n"), 200);
    assert_int_equal(http_site_ask("GET /hello HTTP/1.0\r\n\r\n"), 200);
}

static int
ask_padded(const char *before, size_t padding, const char *behind)
{
    size_t size = strlen(before) + padding + strlen(behind);
    char *request = memory_new(1, size + 1);
    memcpy(request, before, strlen(before));
    memset(request + strlen(before), 'a', padding);
    memcpy(request + strlen(before) + padding, behind, strlen(behind));
    int status = raw_exchange(http_site_usual(), request, size, http_site_reply);
    memory_free(request);
    return status;
}

static void
targets_and_heads_have_limits(void **state)
{
    (void)state;
    assert_int_equal(ask_padded("GET /hello?a=", 8192 - 9, " HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(ask_padded("GET /hello?a=", 8193 - 9, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    assert_int_equal(ask_padded("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", 32 * 1024 - 29, "\r\n\r\n"), 200);
    assert_int_equal(ask_padded("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", 32 * 1024 - 28, "\r\n\r\n"), 431);
    assert_int_equal(ask_padded("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", 300 * 1024, "\r\n\r\n"), 431);
}

/* The largest head with the most fields, the body and the reply share the memory that libmicrohttpd gives
 * a connection. */
static void
the_largest_head_of_the_most_fields_leaves_room_for_a_body_and_a_reply(void **state)
{
    (void)state;
    enum { BODY_SIZE = 20000, HEAD_SIZE = 32 * 1024, LINE_SIZE = 500 };
    static char body[BODY_SIZE];
    static const char opening[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 20000";
    AUTO_BUFFER request = {0};
    memset(body, 'b', sizeof body);
    buffer_append_string(&request, opening);
    for (int field = 2; field < REQUEST_HEADERS_MAX; field++) {
        size_t used = request.size - strlen("POST ");
        size_t size = field + 1 < REQUEST_HEADERS_MAX ? LINE_SIZE : HEAD_SIZE - used;
        buffer_append_format(&request, "\r\nX-%02d: %0*d", field, (int)size - 8, 0);
    }
    buffer_append_string(&request, "\r\n\r\n");
    buffer_append(&request, body, sizeof body);
    assert_int_equal(raw_exchange(http_site_usual(), request.data, request.size, http_site_reply), 200);
    assert_non_null(strstr(http_site_reply, "bbbb"));
}

static void
bodies_have_limits_known_from_the_head(void **state)
{
    (void)state;
    assert_int_equal(
        ask_padded("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", 60000, ""), 200);
    assert_int_equal(http_site_ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n"), 413);
    assert_int_equal(http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"), 413);
    assert_int_equal(
        http_site_ask(
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\na"),
        415);
    assert_int_equal(
        http_site_ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\na"),
        415);
}

static void
a_small_refused_body_keeps_the_connection(void **state)
{
    (void)state;
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
                      "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 404);
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    close(fd);
}

static void
a_client_that_expects_continue_is_refused_before_its_body(void **state)
{
    (void)state;
    int fd = raw_open(http_site_usual());
    raw_send_text(
        fd, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n");
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 413);
    assert_true(raw_is_closed(fd, HTTP_SITE_TIMEOUT_MS));
    close(fd);
    int other = raw_open(http_site_usual());
    raw_send_text(
        other, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_int_equal(raw_reply(other, http_site_reply, HTTP_SITE_TIMEOUT_MS), 100);
    raw_send_text(other, "abc");
    assert_int_equal(raw_reply(other, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    close(other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_read_in_two_ways_is_refused_and_closes),
        cmocka_unit_test(what_libmicrohttpd_cannot_read_is_refused_once),
        cmocka_unit_test(what_is_refused_behind_a_good_request_is_refused_as_alone),
        cmocka_unit_test(a_bad_length_is_answered_where_it_came_from),
        cmocka_unit_test(what_is_unusual_but_clear_is_taken),
        cmocka_unit_test(targets_and_heads_have_limits),
        cmocka_unit_test(the_largest_head_of_the_most_fields_leaves_room_for_a_body_and_a_reply),
        cmocka_unit_test(bodies_have_limits_known_from_the_head),
        cmocka_unit_test(a_small_refused_body_keeps_the_connection),
        cmocka_unit_test(a_client_that_expects_continue_is_refused_before_its_body),
    };
    return cmocka_run_group_tests(tests, http_site_start, http_servers_stop);
}
