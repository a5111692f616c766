#include "gateway/http/conditional.h"
#include "gateway/http/page.h"
#include "gateway/http/preferences.h"
#include "gateway/http/principal.h"
#include "tests/support/cmocka_all.h"

static Arena *arena;
static Call call;

static int
setup(void **state)
{
    (void)state;
    arena = arena_new(256 * 1024);
    call = (Call){.arena = arena};
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    arena_free(TAKE(arena));
    return 0;
}

static void
preferences_are_read_and_unknown_ones_ignored(void **state)
{
    (void)state;
    const Preferences async = preferences_parse(SLICE("respond-async, wait=5; foo=bar, other"));
    assert_true(async.responds_async && async.has_wait);
    assert_int_equal(async.wait_s, 5);
    const Preferences minimal = preferences_parse(SLICE("Return=minimal, wait=-1"));
    assert_true(minimal.wants_minimal);
    assert_false(minimal.has_wait || minimal.responds_async);
    assert_int_equal(preferences_parse(SLICE("wait=1, wait=2")).wait_s, 1);
    assert_false(preferences_parse((Slice){0}).has_wait);
}

static void
an_idempotency_key_may_be_quoted_or_not(void **state)
{
    (void)state;
    static const char *const keys[][2] = {
        {"abc-1", "abc-1"}, {"\"abc-1\"", "abc-1"}, {" \"a\\\"b\\\\\" ", "a\"b\\"}};
    for (size_t index = 0; index < COUNT_OF(keys); index++) {
        Slice key;
        assert_status(
            &call, STATUS_OK, idempotency_key_parse(&call, slice_from_string(keys[index][0]), &key));
        assert_true(slice_equals_string(key, keys[index][1]));
    }
    static const char *const refused[] = {"", "\"\"", "a b", "\"a\\n\"", "\"a\"b\"", "\"a\\\"", "a\x01"};
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        Slice key;
        assert_status(&call, STATUS_INVALID_ARGUMENT,
            idempotency_key_parse(&call, slice_of(refused[index], strlen(refused[index])), &key));
    }
    Slice key = SLICE("x");
    assert_status(&call, STATUS_OK, idempotency_key_parse(&call, (Slice){0}, &key));
    assert_null(key.data);
}

static void
an_idempotency_key_has_at_most_255_characters(void **state)
{
    (void)state;
    char text[256];
    memset(text, 'k', sizeof text);
    Slice key;
    assert_status(&call, STATUS_OK, idempotency_key_parse(&call, slice_of(text, 255), &key));
    assert_status(&call, STATUS_INVALID_ARGUMENT, idempotency_key_parse(&call, slice_of(text, 256), &key));
}

static void
foreign_request_ids_must_be_fit_for_a_log(void **state)
{
    (void)state;
    assert_true(request_id_is_valid(SLICE("0af7651916cd43dd8448eb211c80319c")));
    assert_false(request_id_is_valid(SLICE("0af7651916cd43dd8448eb211c80319c0")));
    assert_false(request_id_is_valid(SLICE("")));
    assert_false(request_id_is_valid(SLICE("a\"b")));
}

static void
credentials_are_bearer_or_basic(void **state)
{
    (void)state;
    Credentials credentials;
    assert_status(&call, STATUS_OK, credentials_parse(&call, SLICE("bearer  slk_1 "), &credentials));
    assert_int_equal(credentials.scheme, CREDENTIALS_BEARER);
    assert_true(slice_equals_string(credentials.secret, "slk_1"));
    assert_status(&call, STATUS_OK, credentials_parse(&call, SLICE("Basic aWQ6c2U6Y3JldA=="), &credentials));
    assert_int_equal(credentials.scheme, CREDENTIALS_BASIC);
    assert_true(slice_equals_string(credentials.name, "id"));
    assert_true(slice_equals_string(credentials.secret, "se:cret"));
    assert_status(&call, STATUS_OK, credentials_parse(&call, (Slice){0}, &credentials));
    assert_int_equal(credentials.scheme, CREDENTIALS_NONE);
    static const char *const refused[] = {
        "", "Bearer", "Bearer a b", "Basic !", "Basic aWQ=", "Basic aQA6", "Digest x"};
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        assert_status(&call, STATUS_UNAUTHENTICATED,
            credentials_parse(&call, slice_of(refused[index], strlen(refused[index])), &credentials));
    }
}

static void
etags_match_with_and_without_weakness(void **state)
{
    (void)state;
    assert_true(etag_list_has(SLICE("\"r1\""), SLICE("r1")));
    assert_true(etag_list_has(SLICE("\"r0\", W/\"r1\""), SLICE("r1")));
    assert_true(etag_list_has(SLICE("*"), SLICE("r1")));
    assert_false(etag_list_has(SLICE("r1"), SLICE("r1")));
    assert_false(etag_list_has(SLICE("\"r11\""), SLICE("r1")));
    assert_false(etag_list_has((Slice){0}, SLICE("r1")));
}

static void
a_lost_race_is_412_and_a_missing_tag_428(void **state)
{
    (void)state;
    Request request = {.method = "PATCH"};
    Response response = {0};
    response_begin(&response, arena);
    assert_status(&call, STATUS_OK, request_match(&call, &request, &response, "r2", false));
    assert_status(&call, STATUS_FAILED_PRECONDITION, request_match(&call, &request, &response, "r2", true));
    assert_int_equal(response.status, 428);
    request.headers[0] = (Field){.name = SLICE("if-match"), .value = SLICE("\"r1\"")};
    request.header_count = 1;
    assert_status(&call, STATUS_FAILED_PRECONDITION, request_match(&call, &request, &response, "r2", true));
    assert_int_equal(response.status, 412);
    assert_string_equal(call.error.message, "If-Match is '\"r1\"', but the resource is at '\"r2\"'");
    assert_status(&call, STATUS_OK, request_match(&call, &request, &response, "r1", true));
    response_done(&response);
}

static void
pages_have_a_default_and_a_largest_size(void **state)
{
    (void)state;
    Request request = {.path = SLICE("/graphs")};
    PageQuery page;
    assert_status(&call, STATUS_OK, page_parse(&call, &request, &page));
    assert_int_equal(page.size, 50);
    request.query[0] = (Field){.name = SLICE("page_size"), .value = SLICE("5000")};
    request.query_count = 1;
    assert_status(&call, STATUS_OK, page_parse(&call, &request, &page));
    assert_int_equal(page.size, 1000);
    request.query[0].value = SLICE("-1");
    assert_status(&call, STATUS_INVALID_ARGUMENT, page_parse(&call, &request, &page));
}

static void
a_page_token_comes_back_only_to_the_same_list(void **state)
{
    (void)state;
    Request request = {.path = SLICE("/graphs"), .query_count = 2};
    request.query[0] = (Field){.name = SLICE("state"), .value = SLICE("run ning")};
    request.query[1] = (Field){.name = SLICE("page_size"), .value = SLICE("10")};
    Response response = {0};
    response_begin(&response, arena);
    const Slice key = slice_of("\x00\xff\xfe key", 7);
    const char *const token = page_token(&call, &request, &response, key);
    assert_non_null(token);
    assert_int_equal(
        strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), strlen(token));
    char link[256];
    (void)snprintf(
        link, sizeof link, "</graphs?page_token=%s&state=run%%20ning&page_size=10>; rel=\"next\"", token);
    assert_string_equal(response_header_get(&response, "link"), link);

    request.query[1] = (Field){.name = SLICE("page_token"), .value = slice_from_string(token)};
    PageQuery page;
    assert_status(&call, STATUS_OK, page_parse(&call, &request, &page));
    assert_true(slice_equal(page.after, key));
    request.query[0].value = SLICE("done");
    assert_status(&call, STATUS_INVALID_ARGUMENT, page_parse(&call, &request, &page));
    assert_string_equal(call.error.message,
        "page_token belongs to another list: only page_size may change from page to page");
    request.query[1].value = SLICE("x!");
    assert_status(&call, STATUS_INVALID_ARGUMENT, page_parse(&call, &request, &page));
    assert_string_equal(call.error.message, "page_token is none of ours");
    response_done(&response);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(preferences_are_read_and_unknown_ones_ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(an_idempotency_key_may_be_quoted_or_not, setup, teardown),
        cmocka_unit_test_setup_teardown(an_idempotency_key_has_at_most_255_characters, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_request_ids_must_be_fit_for_a_log, setup, teardown),
        cmocka_unit_test_setup_teardown(credentials_are_bearer_or_basic, setup, teardown),
        cmocka_unit_test_setup_teardown(etags_match_with_and_without_weakness, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_race_is_412_and_a_missing_tag_428, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_have_a_default_and_a_largest_size, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_token_comes_back_only_to_the_same_list, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
