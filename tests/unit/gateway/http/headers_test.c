#include "gateway/http/headers.h"
#include "tests/support/call_fixture.h"

typedef struct Case {
    const char *accept;
    const char *media_type;
    int quality;
} Case;

static void
the_most_specific_range_decides(void **state)
{
    (void)state;
    static const Case cases[] = {
        {NULL, "application/json", 1000},
        {" ", "application/json", 1000},
        {"*/*", "application/json", 1000},
        {"application/*;q=0.5", "application/json", 500},
        {"application/json;q=0.25, */*", "application/json", 250},
        {"*/*, application/*;q=0.1, application/json;q=0", "application/json", 0},
        {"text/html", "application/json", 0},
        {"APPLICATION/JSON ; Q=0.333", "application/json", 333},
        {"application/json;charset=utf-8", "application/json", 1000},
        {"application/json;q=2", "application/json", 0},
        {"application/json;q=0.1234", "application/json", 0},
        {"application/json;q=", "application/json", 0},
        {"application/jso", "application/json", 0},
        {"application/", "application/json", 0},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        int quality = accept_quality(slice_from_string(cases[index].accept), cases[index].media_type);
        if (quality != cases[index].quality) {
            fail_msg("'%s' gives %d, not %d", cases[index].accept, quality, cases[index].quality);
        }
    }
}

static void
the_best_offer_wins_and_ties_go_to_the_first(void **state)
{
    (void)state;
    static const char *const offers[] = {"application/json", "multipart/mixed", "application/x-npy"};
    assert_int_equal(accept_choose(SLICE("*/*"), offers, 3), 0);
    assert_int_equal(accept_choose(SLICE("application/json;q=0.5, multipart/*"), offers, 3), 1);
    assert_int_equal(accept_choose(SLICE("application/x-npy"), offers, 3), 2);
    assert_int_equal(accept_choose(SLICE("text/html"), offers, 3), -1);
    assert_int_equal(accept_choose((Slice){0}, offers, 3), 0);
}

static void
gzip_is_sent_only_to_those_who_name_it(void **state)
{
    (void)state;
    assert_true(accept_encoding(SLICE("deflate, gzip;q=0.5"), "gzip"));
    assert_true(accept_encoding(SLICE("*"), "gzip"));
    assert_false(accept_encoding(SLICE("*, gzip;q=0"), "gzip"));
    assert_false(accept_encoding(SLICE("*;q=0"), "gzip"));
    assert_false(accept_encoding(SLICE("br"), "gzip"));
    assert_false(accept_encoding((Slice){0}, "gzip"));
}

static void
a_media_type_loses_its_parameters(void **state)
{
    (void)state;
    assert_true(slice_equals_string(media_type_bare(SLICE("text/html ; charset=x")), "text/html"));
    assert_true(slice_equals_string(media_type_bare(SLICE("text/html")), "text/html"));
}

static void
preferences_are_read_and_unknown_ones_ignored(void **state)
{
    (void)state;
    Preferences async = preferences_parse(SLICE("respond-async, wait=5; foo=bar, other"));
    assert_true(async.responds_async && async.has_wait);
    assert_int_equal(async.wait_s, 5);
    Preferences minimal = preferences_parse(SLICE("Return=minimal, wait=-1"));
    assert_true(minimal.wants_minimal);
    assert_false(minimal.has_wait || minimal.responds_async);
    assert_int_equal(preferences_parse(SLICE("wait=1, wait=2")).wait_s, 1);
    assert_false(preferences_parse((Slice){0}).has_wait);
}

static void
an_idempotency_key_may_be_quoted_or_not(void **state)
{
    Call *call = *state;
    static const char *const keys[][2] = {
        {"abc-1", "abc-1"}, {"\"abc-1\"", "abc-1"}, {" \"a\\\"b\\\\\" ", "a\"b\\"}};
    for (size_t index = 0; index < COUNT_OF(keys); index++) {
        Slice key;
        assert_status(call, STATUS_OK, idempotency_key_parse(call, slice_from_string(keys[index][0]), &key));
        assert_true(slice_equals_string(key, keys[index][1]));
    }
    static const char *const refused[] = {
        "", "\"\"", "a b", "\"a\\n\"", "\"a\"b\"", "\"a\\\"", "a\x01", "\"", "a\"b", "\"a", "a\""};
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        Slice key;
        assert_status(call, STATUS_INVALID_ARGUMENT,
            idempotency_key_parse(call, slice_of(refused[index], strlen(refused[index])), &key));
    }
    Slice key = SLICE("x");
    assert_status(call, STATUS_OK, idempotency_key_parse(call, (Slice){0}, &key));
    assert_null(key.data);
}

static void
an_idempotency_key_has_at_most_255_characters(void **state)
{
    Call *call = *state;
    char text[256];
    memset(text, 'k', sizeof text);
    Slice key;
    assert_status(call, STATUS_OK, idempotency_key_parse(call, slice_of(text, 255), &key));
    assert_status(call, STATUS_INVALID_ARGUMENT, idempotency_key_parse(call, slice_of(text, 256), &key));
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
    Call *call = *state;
    Credentials credentials;
    assert_status(call, STATUS_OK, credentials_parse(call, SLICE("bearer  slk_1 "), &credentials));
    assert_int_equal(credentials.scheme, CREDENTIALS_BEARER);
    assert_true(slice_equals_string(credentials.secret, "slk_1"));
    assert_status(call, STATUS_OK, credentials_parse(call, SLICE("Basic aWQ6c2U6Y3JldA=="), &credentials));
    assert_int_equal(credentials.scheme, CREDENTIALS_BASIC);
    assert_true(slice_equals_string(credentials.name, "id"));
    assert_true(slice_equals_string(credentials.secret, "se:cret"));
    assert_status(call, STATUS_OK, credentials_parse(call, (Slice){0}, &credentials));
    assert_int_equal(credentials.scheme, CREDENTIALS_NONE);
    static const char *const refused[] = {
        "", "Bearer", "Bearer a b", "Basic !", "Basic aWQ=", "Basic aQA6", "Digest x"};
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        assert_status(call, STATUS_UNAUTHENTICATED,
            credentials_parse(call, slice_of(refused[index], strlen(refused[index])), &credentials));
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
    Call *call = *state;
    Request request = {.method = "PATCH"};
    Response response = {0};
    response_begin(&response, call->arena);
    assert_status(call, STATUS_OK, request_match(call, &request, &response, "r2", false));
    assert_status(call, STATUS_FAILED_PRECONDITION, request_match(call, &request, &response, "r2", true));
    assert_int_equal(response.status, 428);
    request.headers[0] = (Field){.name = SLICE("if-match"), .value = SLICE("\"r1\"")};
    request.header_count = 1;
    assert_status(call, STATUS_FAILED_PRECONDITION, request_match(call, &request, &response, "r2", true));
    assert_int_equal(response.status, 412);
    assert_string_equal(call->error.message, "If-Match is '\"r1\"', but the resource is at '\"r2\"'");
    assert_status(call, STATUS_OK, request_match(call, &request, &response, "r1", true));
    response_done(&response);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_specific_range_decides),
        cmocka_unit_test(the_best_offer_wins_and_ties_go_to_the_first),
        cmocka_unit_test(gzip_is_sent_only_to_those_who_name_it),
        cmocka_unit_test(a_media_type_loses_its_parameters),
        CALL_TEST(preferences_are_read_and_unknown_ones_ignored),
        CALL_TEST(an_idempotency_key_may_be_quoted_or_not),
        CALL_TEST(an_idempotency_key_has_at_most_255_characters),
        CALL_TEST(foreign_request_ids_must_be_fit_for_a_log),
        CALL_TEST(credentials_are_bearer_or_basic),
        CALL_TEST(etags_match_with_and_without_weakness),
        CALL_TEST(a_lost_race_is_412_and_a_missing_tag_428),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
