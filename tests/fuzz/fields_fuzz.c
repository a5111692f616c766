/* Fuzzes header fields, one "name:value" a line, as libmicrohttpd hands them over: fields that pass the
 * guards frame their body in one way. */
#include <assert.h>

#include "gateway/http/guards.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_fields(Slice lines, Request *request)
{
    Slice line;
    while (request->header_count < REQUEST_HEADERS_MAX && slice_split(&lines, '\n', &line)) {
        size_t colon = slice_find(line, ':');
        request->headers[request->header_count++] =
            (Field){.name = slice_part(line, 0, colon), .value = slice_part(line, colon + 1, line.size)};
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    Request request = {0};
    Framing framing = {0};
    assert(arena != NULL);
    read_fields(slice_of(data, size), &request);
    if (guard_fields(&call, request.headers, request.header_count) == STATUS_OK &&
        guard_host(&call, &request, "HTTP/1.1") == STATUS_OK &&
        guard_framing(&call, &request, "HTTP/1.1", &framing) == STATUS_OK) {
        assert(request_header(&request, "Host").data != NULL);
        assert(!framing.is_chunked || framing.content_length == 0);
    }
    return 0;
}
