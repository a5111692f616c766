/* Fuzzes page_token as a client sends it, for a list with a filter: it gives a key or an error, and a
 * key's own token gives the key back. */
#include <assert.h>

#include "gateway/resources/paging.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Request
list_request(Slice token)
{
    return (Request){
        .path = SLICE("/api/v1/graphs"),
        .query = {{SLICE("state"), SLICE("done")}, {SLICE("page_token"), token}},
        .query_count = 2,
    };
}

static void
check_key(Call *call, Slice key)
{
    Response response = {0};
    Request request = list_request(SLICE(""));
    PageQuery page;
    response_begin(&response, call->arena);
    const char *token = page_token(call, &request, &response, key);
    assert(token != NULL);
    request = list_request(slice_from_string(token));
    Status status = page_parse(call, &request, &page);
    assert(status == STATUS_OK && slice_equal(page.after, key));
    response_done(&response);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { KEY_SIZE_MAX = 600 };
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    Request request = list_request(slice_of(data, size));
    PageQuery page;
    assert(arena != NULL);
    if (page_parse(&call, &request, &page) == STATUS_OK) {
        assert(page.size > 0 && page.size <= PAGE_QUERY_SIZE_MAX);
    }
    if (size > 0 && size <= KEY_SIZE_MAX) {
        check_key(&call, slice_of(data, size));
    }
    return 0;
}
