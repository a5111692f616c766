#include "gateway/http/problem.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

typedef struct Fixture {
    Arena *arena;
    Call call;
    Response response;
} Fixture;

static int
setup(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){.arena = arena_new(64 * 1024)};
    fixture.call = (Call){.arena = fixture.arena, .request_id = "r1"};
    response_begin(&fixture.response, fixture.arena);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    Fixture *fixture = *state;
    response_done(&fixture->response);
    arena_free(fixture->arena);
    return 0;
}

static void
the_code_chooses_status_type_and_title(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(
        call_fail(&fixture->call, STATUS_NOT_FOUND, "graph '%s' does not exist", "g\n1"), STATUS_NOT_FOUND);
    problem_write(&fixture->call, SLICE("/graphs/g1"), &fixture->response);
    assert_int_equal(fixture->response.status, 404);
    assert_string_equal(response_header_get(&fixture->response, "content-type"), "application/problem+json");
    assert_string_equal(buffer_string(&fixture->response.buffer),
        "{\"type\":\"/problems/not-found\",\"title\":\"Not Found\",\"status\":404,"
        "\"detail\":\"graph 'g\\n1' does not exist\",\"instance\":\"/graphs/g1\",\"code\":\"NOT_FOUND\","
        "\"request_id\":\"r1\",\"retryable\":false,\"error\":\"graph 'g\\n1' does not exist\"}\n");
}

static void
http_only_failures_keep_their_status(void **state)
{
    Fixture *fixture = *state;
    Status status = response_fail(&fixture->call, &fixture->response, 412, "a race was lost");
    assert_int_equal(status, STATUS_FAILED_PRECONDITION);
    problem_write(&fixture->call, SLICE("/"), &fixture->response);
    assert_int_equal(fixture->response.status, 412);
    assert_non_null(strstr(buffer_string(&fixture->response.buffer), "\"title\":\"Precondition Failed\""));
}

static void
what_a_handler_wrote_before_it_failed_is_dropped(void **state)
{
    Fixture *fixture = *state;
    response_status(&fixture->response, 201);
    response_etag(&fixture->response, "r1");
    response_header(&fixture->response, "Location", "/x");
    buffer_append_string(response_json(&fixture->response), "{\"half\":");
    response_header(&fixture->response, "Content-Encoding", "gzip");
    assert_int_equal(call_fail(&fixture->call, STATUS_ABORTED, "too late"), STATUS_ABORTED);
    problem_write(&fixture->call, SLICE("/"), &fixture->response);
    assert_int_equal(fixture->response.status, 409);
    assert_null(fixture->response.etag);
    assert_null(response_header_get(&fixture->response, "Content-Encoding"));
    assert_null(strstr(buffer_string(&fixture->response.buffer), "half"));
}

static void
inner_failures_are_not_told_to_clients(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(
        call_fail(&fixture->call, STATUS_INTERNAL, "relation \"steps\" does not exist"), STATUS_INTERNAL);
    problem_write(&fixture->call, SLICE("/"), &fixture->response);
    assert_null(strstr(buffer_string(&fixture->response.buffer), "relation"));
}

static void
clients_are_told_when_to_come_back_and_how_to_show_who_they_are(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(call_fail(&fixture->call, STATUS_UNAVAILABLE, "no worker is ready"), STATUS_UNAVAILABLE);
    response_header(&fixture->response, "Retry-After", "7");
    problem_write(&fixture->call, SLICE("/"), &fixture->response);
    assert_string_equal(response_header_get(&fixture->response, "Retry-After"), "7");
    response_begin(&fixture->response, fixture->arena);
    assert_int_equal(call_fail(&fixture->call, STATUS_RESOURCE_EXHAUSTED, "the quota is used up"),
        STATUS_RESOURCE_EXHAUSTED);
    problem_write(&fixture->call, SLICE("/"), &fixture->response);
    assert_string_equal(response_header_get(&fixture->response, "Retry-After"), "1");
    response_begin(&fixture->response, fixture->arena);
    assert_int_equal(call_fail(&fixture->call, STATUS_UNAUTHENTICATED, "no key"), STATUS_UNAUTHENTICATED);
    problem_write(&fixture->call, SLICE("/"), &fixture->response);
    assert_non_null(response_header_get(&fixture->response, "WWW-Authenticate"));
}

static void
headers_are_replaced_joined_and_kept_clean(void **state)
{
    Response *response = &((Fixture *)*state)->response;
    response_header(response, "Location", "/a");
    response_header_format(response, "location", "/%d", 7);
    assert_int_equal(response->header_count, 1);
    assert_string_equal(response_header_get(response, "LOCATION"), "/7");
    response_vary(response, "Accept");
    response_vary(response, "Origin");
    assert_string_equal(response_header_get(response, "Vary"), "Accept, Origin");
    assert_false(response->has_failed);
    response_header(response, "X-Evil", "a\r\nSet-Cookie: b");
    assert_true(response->has_failed);
    assert_string_equal(response_header_get(response, "X-Evil"), "");
}

static int release_count;

static void
count_release(void *resource)
{
    (void)resource;
    release_count++;
}

static void
a_borrowed_body_is_released_once(void **state)
{
    Response *response = &((Fixture *)*state)->response;
    release_count = 0;
    response_borrow(response, "application/x-npy", SLICE("bytes"), count_release, response);
    assert_int_equal(release_count, 0);
    buffer_append_string(response_body(response, "text/plain"), "other");
    assert_int_equal(release_count, 1);
    response_clear_body(response);
    assert_int_equal(release_count, 1);
}

static void
a_problem_without_memory_says_so_and_does_not_crash(void **state)
{
    (void)state;
    fail_alloc_at = 1;
    bool has_failed = true;
    while (has_failed) {
        fail_alloc_count = 0;
        size_t at = fail_alloc_at;
        fail_alloc_at = 0;
        AUTO_ARENA arena = arena_new(64 * 1024);
        Call call = {.arena = arena};
        fail_alloc_count = 0;
        fail_alloc_at = at;
        Response response = {0};
        response_begin(&response, arena);
        assert_int_equal(response_fail(&call, &response, 429, "full"), STATUS_RESOURCE_EXHAUSTED);
        problem_write(&call, SLICE("/"), &response);
        has_failed = response.has_failed || !buffer_is_ok(&response.buffer);
        assert_true(has_failed || strstr(buffer_string(&response.buffer), "full") != NULL);
        response_done(&response);
        fail_alloc_at = at + 1;
        assert_true(at < 100);
    }
    assert_true(fail_alloc_at > 2);
    fail_alloc_at = 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_code_chooses_status_type_and_title, setup, teardown),
        cmocka_unit_test_setup_teardown(http_only_failures_keep_their_status, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_handler_wrote_before_it_failed_is_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(inner_failures_are_not_told_to_clients, setup, teardown),
        cmocka_unit_test_setup_teardown(
            clients_are_told_when_to_come_back_and_how_to_show_who_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(headers_are_replaced_joined_and_kept_clean, setup, teardown),
        cmocka_unit_test_setup_teardown(a_borrowed_body_is_released_once, setup, teardown),
        cmocka_unit_test(a_problem_without_memory_says_so_and_does_not_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
