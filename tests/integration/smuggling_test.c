/* Requests that two programs could read in two ways, sent to the real gateway: each is refused, its
 * connection closes, and the request hidden behind it, which would make a session, is not run. */
#include <unistd.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { TIMEOUT_MS = 60000 };

/* The hidden request; it would leave a session of that name. */
#define HIDDEN                                                                                               \
    "POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"                \
    "Content-Length: 19\r\n\r\n{\"name\":\"smuggled\"}"
#define START(line) line " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
#define POST START("POST /api/v1/sessions")
#define GET START("GET /api/v1/sessions")

typedef struct Vector {
    const char *what;
    Slice request;
    int status;
} Vector;

#define REQUEST(text)                                                                                        \
    {                                                                                                        \
        .data = (text), .size = sizeof(text) - 1                                                             \
    }

static const Vector vectors[] = {
    {"a length and chunked",
        REQUEST(POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" HIDDEN),
        400},
    {"chunked and a length",
        REQUEST(POST "Transfer-Encoding: chunked\r\nContent-Length: 200\r\n\r\n0\r\n\r\n" HIDDEN), 400},
    {"two lengths that differ", REQUEST(POST "Content-Length: 2\r\nContent-Length: 200\r\n\r\n{}" HIDDEN),
        400},
    {"two lengths that agree", REQUEST(POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" HIDDEN), 400},
    {"a list of lengths", REQUEST(POST "Content-Length: 2, 2\r\n\r\n{}" HIDDEN), 400},
    {"an unknown coding", REQUEST(POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" HIDDEN), 400},
    {"a coding before chunked", REQUEST(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" HIDDEN),
        400},
    {"two codings",
        REQUEST(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" HIDDEN),
        400},
    {"a space before the colon of a length", REQUEST(POST "Content-Length : 2\r\n\r\n{}" HIDDEN), 400},
    {"a tab before the colon of a coding",
        REQUEST(POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n" HIDDEN), 400},
    {"a folded length", REQUEST(POST "Content-Length:\r\n 2\r\nX: y\r\n\r\n{}" HIDDEN), 400},
    {"a signed length", REQUEST(POST "Content-Length: +2\r\n\r\n{}" HIDDEN), 400},
    {"a negative length", REQUEST(POST "Content-Length: -2\r\n\r\n{}" HIDDEN), 400},
    {"a hexadecimal length", REQUEST(POST "Content-Length: 0x2\r\n\r\n{}" HIDDEN), 400},
    {"a length beyond 64 bits", REQUEST(POST "Content-Length: 18446744073709551618\r\n\r\n{}" HIDDEN), 413},
    {"a NUL in a value", REQUEST(GET "Authorization: Bearer a\0b\r\nX: y\r\n\r\n" HIDDEN), 400},
    {"a NUL in a name", REQUEST(GET "Content\0-Length: 2\r\n\r\n" HIDDEN), 400},
    {"two keys", REQUEST(GET "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n" HIDDEN), 400},
    {"two hosts", REQUEST(GET "Host: y\r\n\r\n" HIDDEN), 400},
    {"no host", REQUEST("GET /api/v1/sessions HTTP/1.1\r\n\r\n" HIDDEN), 400},
    {"bare line feeds", REQUEST("GET /api/v1/sessions HTTP/1.1\nHost: localhost\n\n" HIDDEN), 400},
    {"a bare line feed before a length", REQUEST(POST "X: y\nContent-Length: 2\r\n\r\n{}" HIDDEN), 400},
    {"a bare carriage return", REQUEST(GET "X: y\rContent-Length: 200\r\n\r\n" HIDDEN), 400},
    {"an encoded NUL in the path", REQUEST(START("GET /api/v1/sessions%00x") "\r\n" HIDDEN), 400},
    {"encoded dots and slashes", REQUEST(START("GET /livez/%2e%2e/%2fapi") "\r\n" HIDDEN), 400},
    {"an encoded slash", REQUEST(START("GET /api%2fv1/sessions") "\r\n" HIDDEN), 400},
    {"an encoded backslash", REQUEST(START("GET /api%5cv1/sessions") "\r\n" HIDDEN), 400},
    {"dot segments", REQUEST(START("GET /livez/../api/v1/sessions") "\r\n" HIDDEN), 400},
    {"an absolute target", REQUEST(START("GET http://y/api/v1/sessions") "\r\n" HIDDEN), 400},
    {"two spaces behind the method",
        REQUEST("GET  /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n" HIDDEN), 400},
    {"two spaces before the version",
        REQUEST("GET /api/v1/sessions  HTTP/1.1\r\nHost: localhost\r\n\r\n" HIDDEN), 400},
    {"a tab behind the method", REQUEST("GET\t/api/v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n" HIDDEN),
        400},
    {"chunked in HTTP/1.0",
        REQUEST("POST /api/v1/sessions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" HIDDEN),
        400},
    {"bytes beyond ASCII", REQUEST(START("GET /api/v1/s\xc3\xa9ssions") "\r\n" HIDDEN), 400},
    {"a line end in the path", REQUEST(START("GET /api/v1/sessions%0d%0aX:%20y") "\r\n" HIDDEN), 400},
};

/* Returns true when a reply has another status than the refusal: then the hidden request was answered.
 * libmicrohttpd 0.9.75 sends the head of its own refusals twice, with the same status. */
static bool
has_other_status(const char *replies, int status)
{
    char expected[32];
    (void)snprintf(expected, sizeof expected, "HTTP/1.1 %d ", status);
    for (const char *head = strstr(replies, "HTTP/1.1 "); head != NULL;
         head = strstr(head + 1, "HTTP/1.1 ")) {
        if (strncmp(head, expected, strlen(expected)) != 0) {
            return true;
        }
    }
    return false;
}

static void
assert_refused(const Cluster *cluster, const Vector *vector)
{
    static char reply[RAW_REPLY_SIZE];
    int fd = raw_open(cluster->gateway.address);
    raw_send(fd, vector->request.data, vector->request.size);
    int status = raw_reply(fd, reply, TIMEOUT_MS);
    if (status != vector->status) {
        fail_msg("%s: status %d, not %d", vector->what, status, vector->status);
    }
    long rest = raw_drain(fd, reply, sizeof reply - 1, TIMEOUT_MS);
    close(fd);
    if (rest < 0) {
        fail_msg("%s: the connection stays open", vector->what);
    }
    reply[rest] = '\0';
    if (has_other_status(reply, vector->status)) {
        fail_msg("%s: another reply came: %s", vector->what, reply);
    }
}

static void
every_ambiguous_request_is_refused_and_hides_nothing(void **state)
{
    Cluster *cluster = *state;
    for (size_t index = 0; index < COUNT_OF(vectors); index++) {
        AUTO_REST sessions = {0};
        assert_refused(cluster, &vectors[index]);
        cluster_send(cluster, "GET", "/api/v1/sessions", NULL, &sessions);
        cluster_expect(&sessions, 200, NULL);
        if (strstr(rest_text(&sessions), "smuggled") != NULL) {
            fail_msg("%s: the hidden request was run", vectors[index].what);
        }
    }
}

/* Proves that the hidden request would work, so that the test above can fail. */
static void
the_hidden_request_alone_makes_a_session(void **state)
{
    const Cluster *cluster = *state;
    static char reply[RAW_REPLY_SIZE];
    assert_int_equal(raw_exchange(cluster->gateway.address, HIDDEN, sizeof HIDDEN - 1, reply), 201);
    assert_non_null(strstr(reply, "smuggled"));
}

/* A chunked request ends its connection: its extensions and trailers cannot be checked. */
static void
nothing_behind_a_chunked_request_is_run(void **state)
{
    Cluster *cluster = *state;
    static const char request[] = POST "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" HIDDEN;
    static char reply[RAW_REPLY_SIZE];
    AUTO_REST sessions = {0};
    int fd = raw_open(cluster->gateway.address);
    raw_send(fd, request, sizeof request - 1);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 201);
    assert_true(raw_drain(fd, reply, sizeof reply, TIMEOUT_MS) >= 0);
    close(fd);
    cluster_send(cluster, "GET", "/api/v1/sessions", NULL, &sessions);
    assert_null(strstr(rest_text(&sessions), "smuggled"));
}

static void
methods_that_are_not_served_are_405(void **state)
{
    const Cluster *cluster = *state;
    static const char *const methods[] = {"TRACE", "CONNECT", "PUT", "BREW", "get"};
    for (size_t index = 0; index < COUNT_OF(methods); index++) {
        char request[128];
        static char reply[RAW_REPLY_SIZE];
        int size = snprintf(request, sizeof request,
            "%s /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n", methods[index]);
        int status = raw_exchange(cluster->gateway.address, request, (size_t)size, reply);
        if (status != 405 && status != 501) {
            fail_msg("%s: status %d", methods[index], status);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(every_ambiguous_request_is_refused_and_hides_nothing),
        CLUSTER_TEST(the_hidden_request_alone_makes_a_session),
        CLUSTER_TEST(nothing_behind_a_chunked_request_is_run),
        CLUSTER_TEST(methods_that_are_not_served_are_405),
    };
    return cmocka_run_group_tests_name("smuggling", tests, NULL, NULL);
}
