#include "gateway/http/target.h"
#include "tests/support/call_fixture.h"

static void
segments_are_split_and_decoded(void **state)
{
    Call *call = *state;
    Target target;
    assert_status(call, STATUS_OK, target_parse(call, SLICE("/a/b%20c/%C3%A9:plan/?x=/1"), &target));
    assert_true(slice_equals_string(target.path, "/a/b%20c/%C3%A9:plan/"));
    assert_int_equal(target.segment_count, 4);
    assert_true(slice_equals_string(target.segments[1], "b c"));
    assert_true(slice_equals_string(target.segments[2], "\xc3\xa9:plan"));
    assert_true(slice_equals_string(target.segments[3], ""));
}

static void
what_hides_structure_is_refused_and_named(void **state)
{
    Call *call = *state;
    static const char *const refused[][2] = {
        {"", "the request target must start with '/' (origin form)"},
        {"http://x/", "the request target must start with '/' (origin form)"},
        {"*", "the request target must start with '/' (origin form)"},
        {"/a//b", "the path has an empty segment"},
        {"/a/./b", "the path has a dot segment"},
        {"/a/%2E%2e", "the path has a dot segment"},
        {"/a%2Fb", "'%2f' is not allowed in a path"},
        {"/a%5cb", "'%5c' is not allowed in a path"},
        {"/a%00", "'%00' is not allowed in a path"},
        {"/a%7f", "'%7f' is not allowed in a path"},
        {"/a%", "'%' without two hex digits in the path"},
        {"/a%2", "'%' without two hex digits in the path"},
        {"/a%zz", "'%' without two hex digits in the path"},
        {"/a\\b", "'\\' must be percent-encoded in a path"},
        {"/a{b}", "'{' must be percent-encoded in a path"},
        {"/\xc3\xa9", "byte 0xc3 is not allowed in a path"},
        {"/a#b", "'#' must be percent-encoded in a path"},
        {"/%C3", "the path is not UTF-8"},
        {"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", "the path has more than 16 segments"},
    };
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        Target target;
        assert_status(
            call, STATUS_INVALID_ARGUMENT, target_parse(call, slice_from_string(refused[index][0]), &target));
        assert_string_equal(call->error.message, refused[index][1]);
    }
}

static void
queries_are_decoded_as_forms(void **state)
{
    Call *call = *state;
    Request request = {0};
    assert_status(call, STATUS_OK,
        query_parse(call, SLICE("a=1&b=x+y%2Bz&flag&empty=&&c=d=e"), request.query, &request.query_count));
    assert_int_equal(request.query_count, 5);
    assert_true(slice_equals_string(request_query(&request, "b"), "x y+z"));
    assert_true(slice_equals_string(request_query(&request, "c"), "d=e"));
    assert_non_null(request_query(&request, "flag").data);
    assert_null(request_query(&request, "other").data);
}

static void
queries_are_strict(void **state)
{
    Call *call = *state;
    static const char *const refused[][2] = {
        {"a=1&a=2", "query parameter 'a' is given twice"},
        {"=1", "a query parameter has no name"},
        {"a=%0a", "'%0a' is not allowed in a query"},
        {"a=<", "'<' must be percent-encoded in a query"},
        {"a=%ff", "the query is not UTF-8"},
    };
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        Request request = {0};
        assert_status(call, STATUS_INVALID_ARGUMENT,
            query_parse(call, slice_from_string(refused[index][0]), request.query, &request.query_count));
        assert_string_equal(call->error.message, refused[index][1]);
    }
}

static void
query_values_have_types(void **state)
{
    Call *call = *state;
    Request request = {0};
    assert_status(call, STATUS_OK,
        query_parse(call, SLICE("n=7&big=8&no=false&yes"), request.query, &request.query_count));
    uint64_t number = 1;
    bool flag = true;
    assert_status(call, STATUS_OK, request_query_uint64(call, &request, "n", 7, &number));
    assert_int_equal(number, 7);
    assert_status(call, STATUS_OK, request_query_uint64(call, &request, "absent", 7, &number));
    assert_int_equal(number, 7);
    assert_status(call, STATUS_INVALID_ARGUMENT, request_query_uint64(call, &request, "big", 7, &number));
    assert_string_equal(call->error.message, "query parameter 'big' is '8', expected an integer from 0 to 7");
    assert_status(call, STATUS_OK, request_query_boolean(call, &request, "no", &flag));
    assert_false(flag);
    assert_status(call, STATUS_OK, request_query_boolean(call, &request, "yes", &flag));
    assert_true(flag);
    assert_status(call, STATUS_INVALID_ARGUMENT, request_query_boolean(call, &request, "n", &flag));
    static const char *const known[] = {"n", "big", "no", NULL};
    assert_status(call, STATUS_INVALID_ARGUMENT, request_query_allow(call, &request, known));
    assert_string_equal(call->error.message, "query parameter 'yes' is not known here");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(segments_are_split_and_decoded),
        CALL_TEST(what_hides_structure_is_refused_and_named),
        CALL_TEST(queries_are_decoded_as_forms),
        CALL_TEST(queries_are_strict),
        CALL_TEST(query_values_have_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
