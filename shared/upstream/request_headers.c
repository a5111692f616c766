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

static void
header_add_number(RequestHeaders *list, const char *name, uint64_t number, char text[NUMBER_TEXT_SIZE])
{
    if (number > 0) {
        const int size = snprintf(text, NUMBER_TEXT_SIZE, "%llu", (unsigned long long)number);
        header_add(list, name, slice_of(text, (size_t)size));
    }
}

void
request_headers_fill(
    RequestHeaders *ret_headers, const UpstreamHead *head, const char *address, const char *token)
{
    RequestHeaders *const list = ret_headers;
    list->count = 0;
    header_add(list, ":method", slice_from_string(head->method));
    header_add(list, ":scheme", SLICE("http"));
    header_add(list, ":authority", slice_from_string(address));
    header_add(list, ":path", head->path);
    header_add(list, WIRE_HEADER_VERSION, SLICE("1"));
    header_add(list, WIRE_HEADER_TOKEN, slice_from_string(token));
    header_add_number(list, WIRE_HEADER_DEADLINE, head->deadline_ms, list->deadline);
    header_add_number(list, WIRE_HEADER_ATTEMPT, (uint64_t)head->attempt, list->attempt);
    header_add_number(list, "content-length", head->body_size, list->body_size);
    header_add(list, WIRE_HEADER_REQUEST_ID, slice_from_string(head->request_id));
    header_add(list, WIRE_HEADER_INCARNATION, head->incarnation);
    header_add(list, WIRE_HEADER_TENANT, head->tenant);
    header_add(list, WIRE_HEADER_PUSH_TOKEN, head->push_token);
    header_add(list, WIRE_HEADER_SLOT, head->slot);
}
