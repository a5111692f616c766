/* Requests in good order: replies, errors, credentials, the log. Clients send raw bytes. */
#include <unistd.h>

#include "shared/base/atomic.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/http_site.h"

static void
a_start_handler_answers_on_the_loop(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_non_null(strstr(http_site_reply, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(http_site_reply, "X-Request-Id: "));
    assert_non_null(strstr(http_site_reply, "\r\n\r\n{\"hello\":\"world\"}"));
}

static void
a_run_handler_answers_from_a_job_thread(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nbytes"), 200);
    assert_non_null(strstr(http_site_reply, "\r\n\r\nbytes"));
}

static void
a_client_request_id_comes_back_when_it_is_sane(void **state)
{
    (void)state;
    (void)http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc-1.2_3\r\n\r\n");
    assert_non_null(strstr(http_site_reply, "X-Request-Id: abc-1.2_3\r\n"));
    (void)http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\r\n\r\n");
    assert_null(strstr(http_site_reply, "X-Request-Id: a b\r\n"));
}

static void
errors_are_problem_documents(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("GET /fail HTTP/1.1\r\nHost: x\r\nX-Request-Id: r1\r\n\r\n"), 400);
    assert_non_null(strstr(http_site_reply, "Content-Type: application/problem+json\r\n"));
    assert_non_null(strstr(http_site_reply,
        "{\"type\":\"/problems/invalid-argument\",\"title\":\"Bad Request\",\"status\":400,"
        "\"detail\":\"the graph has 1 fault\",\"instance\":\"/fail\",\"code\":\"INVALID_ARGUMENT\","
        "\"request_id\":\"r1\",\"retryable\":false,"
        "\"errors\":[{\"pointer\":\"#/node/3\",\"detail\":\"op 'Conv9D' is unknown\"}],"
        "\"error\":\"the graph has 1 fault\"}"));
}

static void
unknown_paths_and_methods_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
    assert_int_equal(http_site_ask("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n"), 405);
    assert_non_null(strstr(http_site_reply, "Allow: POST, OPTIONS\r\n"));
    assert_int_equal(http_site_ask("TRACE /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 405);
}

static void
options_and_head_need_no_handler(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("OPTIONS /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 204);
    assert_non_null(strstr(http_site_reply, "Allow: GET, HEAD, OPTIONS\r\n"));
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    long size = raw_drain(fd, http_site_reply, sizeof http_site_reply - 1, HTTP_SITE_TIMEOUT_MS);
    assert_true(size > 0);
    http_site_reply[size] = '\0';
    assert_non_null(strstr(http_site_reply, "HTTP/1.1 200 OK"));
    assert_non_null(strstr(http_site_reply, "Content-Length: 17\r\n"));
    assert_string_equal(strstr(http_site_reply, "\r\n\r\n"), "\r\n\r\n");
    close(fd);
}

static void
an_allowed_origin_may_ask_from_a_browser(void **state)
{
    (void)state;
    assert_int_equal(
        http_site_ask("OPTIONS /hello HTTP/1.1\r\nHost: x\r\nOrigin: https://dashboard.example\r\n"
                      "Access-Control-Request-Method: GET\r\n\r\n"),
        204);
    assert_non_null(strstr(http_site_reply, "Access-Control-Allow-Origin: https://dashboard.example\r\n"));
    assert_non_null(strstr(http_site_reply, "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n"));
    assert_int_equal(
        http_site_ask("GET /hello HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\n\r\n"), 200);
    assert_null(strstr(http_site_reply, "Access-Control-Allow-Origin"));
}

static void
a_known_etag_gives_304(void **state)
{
    (void)state;
    assert_int_equal(
        http_site_ask("GET /items/a%20b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cached\r\n\r\n"), 200);
    assert_non_null(strstr(http_site_reply, "ETag: \"r1\"\r\n"));
    assert_non_null(strstr(http_site_reply, "{\"item\":\"a b\"}"));
    assert_int_equal(http_site_ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cached\r\n"
                                   "If-None-Match: \"r0\", W/\"r1\"\r\n\r\n"),
        304);
    assert_non_null(strstr(http_site_reply, "ETag: \"r1\"\r\n"));
}

static void
large_json_is_sent_as_gzip_when_accepted(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_null(strstr(http_site_reply, "Content-Encoding"));
    assert_non_null(strstr(http_site_reply, "Vary: Accept-Encoding"));
    assert_int_equal(http_site_ask("GET /large HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"), 200);
    assert_non_null(strstr(http_site_reply, "Content-Encoding: gzip\r\n"));
}

static void
credentials_are_asked_for_and_checked(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("GET /items/a HTTP/1.1\r\nHost: x\r\n\r\n"), 401);
    assert_non_null(strstr(http_site_reply, "WWW-Authenticate: Bearer realm=\"sluice\""));
    assert_int_equal(
        http_site_ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Digest x\r\n\r\n"), 401);
    assert_int_equal(
        http_site_ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n"), 401);
    assert_int_equal(
        http_site_ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stored\r\n\r\n"), 200);
    /* The credentials are base64 of "id:stored". */
    assert_int_equal(
        http_site_ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Basic aWQ6c3RvcmVk\r\n\r\n"), 200);
    assert_int_equal(http_site_ask("GET /items/a?ticket=stored HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

/* Sends a request with this key and returns its connection. */
static int
send_key(const char *key)
{
    char request[256];
    int fd = raw_open(http_site_usual());
    (void)snprintf(
        request, sizeof request, "GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", key);
    raw_send_text(fd, request);
    return fd;
}

static int
close_key(int fd)
{
    int status = raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS);
    (void)close(fd);
    return status;
}

/* While one look-up is held, any number of unknown keys wait for the next one, in which stale ones lead. */
static void
keys_are_looked_up_together_and_stale_ones_first(void **state)
{
    (void)state;
    enum { COUNT = AUTHORIZE_ITEMS_MAX + 20, STALE = COUNT / 2, LOOK_UPS_MAX = 6 };
    static int sockets[COUNT];
    uint64_t asked = atomic_load_acquire(&http_site_seen.keys_asked);
    uint64_t look_ups = atomic_load_acquire(&http_site_seen.key_look_ups);
    atomic_store_release(&http_site_seen.keys_are_held, true);
    int held = send_key("nobody");
    AWAIT(atomic_load_acquire(&http_site_seen.key_look_ups) == look_ups + 1);
    for (int index = 0; index < COUNT; index++) {
        sockets[index] = send_key(index == STALE ? "stale" : "nobody");
    }
    AWAIT(atomic_load_acquire(&http_site_seen.keys_asked) == asked + COUNT + 1);
    assert_int_equal(close_key(send_key("cached")), 200); /* others are served meanwhile */
    assert_int_equal(atomic_load_acquire(&http_site_seen.key_look_ups), look_ups + 1);
    atomic_store_release(&http_site_seen.keys_are_held, false);
    assert_int_equal(close_key(held), 401);
    for (int index = 0; index < COUNT; index++) {
        assert_int_equal(close_key(sockets[index]), index == STALE ? 200 : 401);
    }
    assert_true(atomic_load_acquire(&http_site_seen.key_look_ups) <= look_ups + LOOK_UPS_MAX);
    assert_int_equal(atomic_load_acquire(&http_site_seen.stale_behind_unknown), 0);
}

static void
a_body_waits_for_credentials_that_are_not_cached(void **state)
{
    (void)state;
    assert_int_equal(http_site_ask("PUT /upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stored\r\n"
                                   "Content-Length: 5\r\n\r\nbytes"),
        200);
    assert_non_null(strstr(http_site_reply, "\r\n\r\n5"));
    assert_int_equal(http_site_ask("PUT /upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n"
                                   "Content-Length: 5\r\n\r\nbytes"),
        401);
}

static void
pipelined_requests_are_answered_in_order(void **state)
{
    (void)state;
    int fd = raw_open(http_site_usual());
    for (int count = 0; count < 20; count++) {
        raw_send_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /fail HTTP/1.1\r\nHost: x\r\n\r\n"
                          "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    }
    for (int count = 0; count < 20; count++) {
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 400);
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
        assert_non_null(strstr(http_site_reply, "\r\n\r\nabc"));
    }
    close(fd);
}

static void
every_request_is_logged_once(void **state)
{
    (void)state;
    uint64_t before = atomic_load_seq_cst(&http_site_seen.logged);
    assert_int_equal(http_site_ask("GET /fail HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
    http_servers_wait(&http_site_seen.logged, before);
    assert_int_equal(atomic_load_seq_cst(&http_site_seen.log_status), 400);
    assert_int_equal(atomic_load_seq_cst(&http_site_seen.logged), before + 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_is_logged_once), /* first, while nothing else is being logged */
        cmocka_unit_test(a_start_handler_answers_on_the_loop),
        cmocka_unit_test(a_run_handler_answers_from_a_job_thread),
        cmocka_unit_test(a_client_request_id_comes_back_when_it_is_sane),
        cmocka_unit_test(errors_are_problem_documents),
        cmocka_unit_test(unknown_paths_and_methods_are_told_apart),
        cmocka_unit_test(options_and_head_need_no_handler),
        cmocka_unit_test(an_allowed_origin_may_ask_from_a_browser),
        cmocka_unit_test(a_known_etag_gives_304),
        cmocka_unit_test(large_json_is_sent_as_gzip_when_accepted),
        cmocka_unit_test(credentials_are_asked_for_and_checked),
        cmocka_unit_test(keys_are_looked_up_together_and_stale_ones_first),
        cmocka_unit_test(a_body_waits_for_credentials_that_are_not_cached),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
    };
    return cmocka_run_group_tests(tests, http_site_start, http_servers_stop);
}
