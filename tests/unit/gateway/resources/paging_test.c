#include "gateway/resources/paging.h"
#include "tests/support/call_fixture.h"

static void
pages_have_a_default_and_a_largest_size(void **state)
{
    Call *call = *state;
    Request request = {.path = SLICE("/graphs")};
    PageQuery page;
    assert_status(call, STATUS_OK, page_parse(call, &request, &page));
    assert_int_equal(page.size, 50);
    request.query[0] = (Field){.name = SLICE("page_size"), .value = SLICE("5000")};
    request.query_count = 1;
    assert_status(call, STATUS_OK, page_parse(call, &request, &page));
    assert_int_equal(page.size, 1000);
    request.query[0].value = SLICE("-1");
    assert_status(call, STATUS_INVALID_ARGUMENT, page_parse(call, &request, &page));
}

static void
a_page_token_comes_back_only_to_the_same_list(void **state)
{
    Call *call = *state;
    Request request = {.path = SLICE("/graphs"), .query_count = 2};
    request.query[0] = (Field){.name = SLICE("state"), .value = SLICE("run ning")};
    request.query[1] = (Field){.name = SLICE("page_size"), .value = SLICE("10")};
    Response response = {0};
    response_begin(&response, call->arena);
    Slice key = slice_of("\x00\xff\xfe key", 7);
    const char *token = page_token(call, &request, &response, key);
    assert_non_null(token);
    assert_int_equal(
        strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), strlen(token));
    char link[256];
    (void)snprintf(
        link, sizeof link, "</graphs?page_token=%s&state=run%%20ning&page_size=10>; rel=\"next\"", token);
    assert_string_equal(response_header_get(&response, "link"), link);

    request.query[1] = (Field){.name = SLICE("page_token"), .value = slice_from_string(token)};
    PageQuery page;
    assert_status(call, STATUS_OK, page_parse(call, &request, &page));
    assert_true(slice_equal(page.after, key));
    request.query[0].value = SLICE("done");
    assert_status(call, STATUS_INVALID_ARGUMENT, page_parse(call, &request, &page));
    assert_string_equal(call->error.message,
        "page_token belongs to another list: only page_size may change from page to page");
    request.query[1].value = SLICE("x!");
    assert_status(call, STATUS_INVALID_ARGUMENT, page_parse(call, &request, &page));
    assert_string_equal(call->error.message, "page_token is none of ours");
    response_done(&response);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(pages_have_a_default_and_a_largest_size),
        CALL_TEST(a_page_token_comes_back_only_to_the_same_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
