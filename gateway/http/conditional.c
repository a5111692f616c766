#include "gateway/http/conditional.h"

bool
etag_list_has(Slice list, Slice tag)
{
    Slice rest = list;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        item = slice_trim(item);
        if (slice_equals_string(item, "*")) {
            return true;
        }
        if (slice_starts_with(item, SLICE("W/"))) {
            item = slice_part(item, 2, item.size);
        }
        if (item.size == tag.size + 2 && item.data[0] == '"' && item.data[item.size - 1] == '"' &&
            slice_equal(slice_part(item, 1, tag.size), tag)) {
            return true;
        }
    }
    return false;
}

bool
request_holds(const Request *request, const char *tag)
{
    const bool is_read = request_is_method(request, "GET") || request_is_method(request, "HEAD");
    return is_read && etag_list_has(request_header(request, "If-None-Match"), slice_from_string(tag));
}

Status
request_match(Call *call, const Request *request, Response *response, const char *tag, bool is_required)
{
    const Slice list = request_header(request, "If-Match");
    if (list.data == NULL) {
        return is_required
                   ? response_fail(call, response, 428, "If-Match with the resource's ETag is required here")
                   : STATUS_OK;
    }
    if (!etag_list_has(list, slice_from_string(tag))) {
        return response_fail(call, response, 412, "If-Match is '%.*s', but the resource is at '\"%s\"'",
            SLICE_PRINT(slice_part(list, 0, 128)), tag);
    }
    return STATUS_OK;
}
