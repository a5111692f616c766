#include "shared/upstream/request_headers.h"

#include <assert.h>
#include <stdio.h>

static void
header_add(RequestHeaders *list, const char *name, Slice value)
{
    assert(list->count < H2_HEADERS_MAX);
    if (value.size > 0) {
        list->headers[list->count++] = (H2Header){.name = slice_from_string(name), .value = value};
    }
}

void
request_headers_fill(
    RequestHeaders *ret_headers, const UpstreamHead *head, const char *address, const char *token)
{
    RequestHeaders *list = ret_headers;
    const int deadline_size =
        snprintf(list->deadline, sizeof list->deadline, "%llu", (unsigned long long)head->deadline_ms);
    const int attempt_size = snprintf(list->attempt, sizeof list->attempt, "%lld", (long long)head->attempt);
    list->count = 0;
    header_add(list, ":method", slice_from_string(head->method));
    header_add(list, ":scheme", SLICE("http"));
    header_add(list, ":authority", slice_from_string(address));
    header_add(list, ":path", head->path);
    header_add(list, WIRE_HEADER_VERSION, SLICE("1"));
    header_add(list, WIRE_HEADER_TOKEN, slice_from_string(token));
    header_add(list, WIRE_HEADER_DEADLINE,
        slice_of(list->deadline, head->deadline_ms == 0 ? 0 : (size_t)deadline_size));
    header_add(
        list, WIRE_HEADER_ATTEMPT, slice_of(list->attempt, head->attempt == 0 ? 0 : (size_t)attempt_size));
    header_add(list, WIRE_HEADER_REQUEST_ID, slice_from_string(head->request_id));
    header_add(list, WIRE_HEADER_INCARNATION, head->incarnation);
    header_add(list, WIRE_HEADER_TENANT, head->tenant);
    header_add(list, WIRE_HEADER_PUSH_TOKEN, head->push_token);
    header_add(list, WIRE_HEADER_SLOT, head->slot);
}
