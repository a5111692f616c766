#include "gateway/resources/paging.h"

#include <assert.h>
#include <string.h>

#include "gateway/http/page.h"

Status
paging_read(Call *call, const Request *request, const Limits *limits, Page *ret_page)
{
    static const char *const parameters[] = {"page_size", "page_token", NULL};
    TRY(request_query_allow(call, request, parameters));
    return paging_read_filtered(call, request, limits, ret_page);
}

Status
paging_read_filtered(Call *call, const Request *request, const Limits *limits, Page *ret_page)
{
    assert(limits->page_size > 0);

    uint64_t size_max = limits->page_size;
    PageQuery query;
    TRY(page_parse(call, request, &query));
    Page page = {.size = query.size < size_max ? query.size : (size_t)size_max};
    if (query.after.size != 0 && query.after.size != sizeof page.before.bytes) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "page_token is none of ours");
    }
    if (query.after.size != 0) {
        memcpy(page.before.bytes, query.after.data, sizeof page.before.bytes);
    }
    *ret_page = page;
    return STATUS_OK;
}

void
paging_write_next(
    Call *call, const Request *request, Response *response, JsonWriter *writer, const Uuid *last)
{
    const char *token =
        last == NULL ? "" : page_token(call, request, response, slice_of(last->bytes, sizeof last->bytes));
    json_member_string(writer, "next_page_token", token);
}
