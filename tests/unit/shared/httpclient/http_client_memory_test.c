/* A request without memory ends with RESOURCE_EXHAUSTED, whichever allocation failed. */
#include "shared/httpclient/http_client.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

/* Nobody listens on port 1 of loopback: with enough memory the request is UNAVAILABLE. */
static Status
attempt(size_t failing)
{
    static const char *const headers[] = {"Accept: application/json", NULL};
    fail_alloc_at = 0;
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    assert_non_null(arena);
    fail_alloc_count = 0;
    fail_alloc_at = failing;
    AUTO_HTTP_CLIENT client = http_client_new(&(HttpClientOptions){.user_agent = "test"});
    if (client == NULL) {
        fail_alloc_at = 0;
        return STATUS_RESOURCE_EXHAUSTED;
    }
    HttpClientRequest request = {
        .url = "http://127.0.0.1:1/", .content_type = "text/plain", .body = SLICE("x"), .headers = headers};
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    Status status = http_client_send(&call, client, &request, &response);
    fail_alloc_at = 0;
    return status;
}

static void
every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_int_equal(attempt(0), STATUS_UNAVAILABLE);
    size_t total = fail_alloc_count;
    assert_true(total > 1);
    for (size_t index = 1; index <= total; index++) {
        assert_int_equal(attempt(index), STATUS_RESOURCE_EXHAUSTED);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failed_allocation_is_reported)};
    return cmocka_run_group_tests_name("shared/httpclient/memory", tests, NULL, NULL);
}
