#include "gateway/resources/paging.h"

#include <assert.h>
#include <string.h>

#include "shared/base/base64.h"
#include "shared/base/text.h"

enum { TOKEN_VERSION = 1, SCOPE_SIZE = 8, HEAD_SIZE = 1 + SCOPE_SIZE, TOKEN_SIZE_MAX = 1024 };

/* Adds a text to an FNV-1a hash, which need not be secret: it only tells a stale token from a fresh one. */
static uint64_t
hash_add(uint64_t hash, Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        hash = (hash ^ (unsigned char)text.data[index]) * 0x100000001b3U;
    }
    return (hash ^ 0xff) * 0x100000001b3U; /* no byte of UTF-8: it separates the texts */
}

static bool
is_paging(Slice name)
{
    return slice_equals_string(name, "page_token") || slice_equals_string(name, "page_size");
}

/* Hashes the path and the query but for the page's own parameters, in whatever order those come. */
static uint64_t
scope_hash(const Request *request)
{
    uint64_t hash = hash_add(0xcbf29ce484222325U, request->path);
    for (size_t index = 0; index < request->query_count; index++) {
        Field field = request->query[index];
        if (!is_paging(field.name)) {
            hash += hash_add(hash_add(0xcbf29ce484222325U, field.name), field.value);
        }
    }
    return hash;
}

static const char *
token_encode(Arena *arena, Slice bytes)
{
    char *text = arena_alloc(arena, base64_encoded_size(bytes.size) + 1);
    if (text == NULL) {
        return NULL;
    }
    base64_encode(bytes, text);
    size_t size = base64_encoded_size(bytes.size);
    while (size > 0 && text[size - 1] == '=') {
        size--;
    }
    text[size] = '\0';
    for (char *character = text; *character != '\0'; character++) {
        *character = (char)(*character == '+' ? '-' : *character == '/' ? '_' : *character);
    }
    return text;
}

/* Decodes base64url without padding; data NULL when the token is none. */
static Slice
token_decode(Arena *arena, Slice token)
{
    size_t size = 0;
    char *bytes = base64_decoded_size(token, &size) ? arena_alloc(arena, size + 1) : NULL;
    return bytes != NULL && base64_decode(token, bytes) ? slice_of(bytes, size) : (Slice){0};
}

static void
head_write(uint64_t scope, unsigned char ret_head[HEAD_SIZE])
{
    ret_head[0] = TOKEN_VERSION;
    for (size_t index = 0; index < SCOPE_SIZE; index++) {
        ret_head[1 + index] = (unsigned char)(scope >> (8 * index));
    }
}

static Status
token_parse(Call *call, const Request *request, Slice token, Slice *ret_after)
{
    Slice bytes = token.size <= TOKEN_SIZE_MAX ? token_decode(call->arena, token) : (Slice){0};
    unsigned char head[HEAD_SIZE];
    head_write(scope_hash(request), head);
    if (bytes.data == NULL || bytes.size <= HEAD_SIZE || bytes.data[0] != TOKEN_VERSION) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "page_token is none of ours");
    }
    if (memcmp(bytes.data, head, HEAD_SIZE) != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "page_token belongs to another list: only page_size may change from page to page");
    }
    *ret_after = slice_part(bytes, HEAD_SIZE, bytes.size);
    return STATUS_OK;
}

Status
page_parse(Call *call, const Request *request, PageQuery *ret_page)
{
    uint64_t size = 0;
    TRY(request_query_uint64(call, request, "page_size", INT32_MAX, &size));
    PageQuery page = {.size = size == 0                    ? PAGE_QUERY_SIZE_DEFAULT
                              : size < PAGE_QUERY_SIZE_MAX ? (uint32_t)size
                                                           : PAGE_QUERY_SIZE_MAX};
    Slice token = request_query(request, "page_token");
    if (token.size > 0) {
        TRY(token_parse(call, request, token, &page.after));
    }
    *ret_page = page;
    return STATUS_OK;
}

static void
parameter_append(Buffer *link, Slice text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t index = 0; index < text.size; index++) {
        unsigned char byte = (unsigned char)text.data[index];
        bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= 'a' && byte <= 'z') || byte == '-' || byte == '_' || byte == '.';
        if (is_plain) {
            buffer_append_byte(link, (char)byte);
        } else {
            const char coded[] = {'%', digits[byte >> 4], digits[byte & 15]};
            buffer_append(link, coded, sizeof coded);
        }
    }
}

/* Writes the Link header: the same request with the new token. */
static void
link_write(const Request *request, Response *response, const char *token)
{
    AUTO_BUFFER link = {0};
    buffer_append_byte(&link, '<');
    buffer_append_slice(&link, request->path);
    buffer_append_string(&link, "?page_token=");
    buffer_append_string(&link, token);
    for (size_t index = 0; index < request->query_count; index++) {
        if (!slice_equals_string(request->query[index].name, "page_token")) {
            buffer_append_byte(&link, '&');
            parameter_append(&link, request->query[index].name);
            buffer_append_byte(&link, '=');
            parameter_append(&link, request->query[index].value);
        }
    }
    buffer_append_string(&link, ">; rel=\"next\"");
    const char *text = buffer_string(&link);
    if (text != NULL) {
        response_header(response, "Link", text);
    }
}

const char *
page_token(Call *call, const Request *request, Response *response, Slice key)
{
    unsigned char *bytes = arena_alloc(call->arena, HEAD_SIZE + key.size);
    if (bytes == NULL) {
        return NULL;
    }
    head_write(scope_hash(request), bytes);
    memcpy(bytes + HEAD_SIZE, key.data, key.size);
    const char *token = token_encode(call->arena, slice_of(bytes, HEAD_SIZE + key.size));
    if (token != NULL) {
        link_write(request, response, token);
    }
    return token;
}

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

JsonWriter
paging_begin(Response *response, const char *name)
{
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_write_name(&writer, name);
    json_write_array_begin(&writer);
    return writer;
}

void
paging_end_at(Call *call, const Request *request, Response *response, JsonWriter *writer, Slice last)
{
    json_write_array_end(writer);
    const char *token = last.size == 0 ? "" : page_token(call, request, response, last);
    json_member_string(writer, "next_page_token", token);
    json_write_object_end(writer);
}

void
paging_end(Call *call, const Request *request, Response *response, JsonWriter *writer, const Uuid *last)
{
    Slice key = {0};
    if (last != NULL) {
        key = slice_of(last->bytes, sizeof last->bytes);
    }
    paging_end_at(call, request, response, writer, key);
}
