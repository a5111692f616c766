#include "gateway/http/response.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "gateway/http/characters.h"
#include "shared/base/text.h"

typedef struct StatusInfo {
    int http_status;
    Status code;
    const char *title;
} StatusInfo;

static const StatusInfo infos[] = {
    {400, STATUS_INVALID_ARGUMENT, "Bad Request"},
    {401, STATUS_UNAUTHENTICATED, "Unauthorized"},
    {403, STATUS_PERMISSION_DENIED, "Forbidden"},
    {404, STATUS_NOT_FOUND, "Not Found"},
    {405, STATUS_UNIMPLEMENTED, "Method Not Allowed"},
    {406, STATUS_INVALID_ARGUMENT, "Not Acceptable"},
    {408, STATUS_DEADLINE_EXCEEDED, "Request Timeout"},
    {409, STATUS_ABORTED, "Conflict"},
    {410, STATUS_NOT_FOUND, "Gone"},
    {411, STATUS_INVALID_ARGUMENT, "Length Required"},
    {412, STATUS_FAILED_PRECONDITION, "Precondition Failed"},
    {413, STATUS_OUT_OF_RANGE, "Content Too Large"},
    {414, STATUS_OUT_OF_RANGE, "URI Too Long"},
    {415, STATUS_INVALID_ARGUMENT, "Unsupported Media Type"},
    {416, STATUS_OUT_OF_RANGE, "Range Not Satisfiable"},
    {422, STATUS_INVALID_ARGUMENT, "Unprocessable Content"},
    {428, STATUS_FAILED_PRECONDITION, "Precondition Required"},
    {429, STATUS_RESOURCE_EXHAUSTED, "Too Many Requests"},
    {431, STATUS_OUT_OF_RANGE, "Request Header Fields Too Large"},
    {499, STATUS_CANCELLED, "Client Closed Request"},
    {500, STATUS_INTERNAL, "Internal Server Error"},
    {501, STATUS_UNIMPLEMENTED, "Not Implemented"},
    {502, STATUS_UNAVAILABLE, "Bad Gateway"},
    {503, STATUS_UNAVAILABLE, "Service Unavailable"},
    {504, STATUS_DEADLINE_EXCEEDED, "Gateway Timeout"},
};

static const StatusInfo *
info_find(int http_status)
{
    for (size_t index = 0; index < COUNT_OF(infos); index++) {
        if (infos[index].http_status == http_status) {
            return &infos[index];
        }
    }
    return NULL;
}

const char *
http_status_title(int http_status)
{
    const StatusInfo *info = info_find(http_status);
    return info == NULL ? "Error" : info->title;
}

Status
http_status_code(int http_status)
{
    const StatusInfo *info = info_find(http_status);
    return info == NULL ? STATUS_INTERNAL : info->code;
}

void
response_begin(Response *response, Arena *arena)
{
    Buffer buffer = response->buffer; /* its memory serves the next reply too */
    buffer_clear(&buffer);
    *response = (Response){.arena = arena, .buffer = buffer};
}

static void
borrowed_drop(Response *response)
{
    if (response->release != NULL) {
        response->release(response->resource);
    }
    response->borrowed = (Slice){0};
    response->release = NULL;
    response->resource = NULL;
}

void
response_done(Response *response)
{
    borrowed_drop(response);
    buffer_done(&response->buffer);
}

void
response_status(Response *response, int http_status)
{
    response->status = http_status;
}

static ResponseHeader *
header_slot(Response *response, const char *name)
{
    for (size_t index = 0; index < response->header_count; index++) {
        if (strcasecmp(response->headers[index].name, name) == 0) {
            return &response->headers[index];
        }
    }
    return response->header_count < RESPONSE_HEADERS_MAX ? &response->headers[response->header_count++]
                                                         : NULL;
}

static void
header_put(Response *response, const char *name, const char *value)
{
    ResponseHeader *header = header_slot(response, name);
    if (header == NULL || value == NULL || !character_all(slice_from_string(value), CHARACTER_VALUE)) {
        response->has_failed = true;
        value = "";
    }
    if (header != NULL) {
        *header = (ResponseHeader){.name = name, .value = value};
    }
}

void
response_header(Response *response, const char *name, const char *value)
{
    header_put(response, name, text_copy(response->arena, slice_from_string(value)));
}

void
response_header_format(Response *response, const char *name, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bool fits = length >= 0 && (size_t)length < sizeof text;
    header_put(response, name, fits ? text_copy(response->arena, slice_of(text, (size_t)length)) : NULL);
}

void
response_header_remove(Response *response, const char *name)
{
    size_t kept = 0;
    for (size_t index = 0; index < response->header_count; index++) {
        if (strcasecmp(response->headers[index].name, name) != 0) {
            response->headers[kept++] = response->headers[index];
        }
    }
    response->header_count = kept;
}

const char *
response_header_get(const Response *response, const char *name)
{
    for (size_t index = 0; index < response->header_count; index++) {
        if (strcasecmp(response->headers[index].name, name) == 0) {
            return response->headers[index].value;
        }
    }
    return NULL;
}

void
response_vary(Response *response, const char *header)
{
    const char *present = response_header_get(response, "Vary");
    if (present == NULL) {
        response_header(response, "Vary", header);
    } else {
        response_header_format(response, "Vary", "%s, %s", present, header);
    }
}

void
response_etag(Response *response, const char *tag)
{
    assert(tag != NULL);

    response->etag = text_format(response->arena, "\"%s\"", tag);
    response->has_failed = response->has_failed || response->etag == NULL;
}

Buffer *
response_body(Response *response, const char *content_type)
{
    borrowed_drop(response);
    buffer_clear(&response->buffer);
    header_put(response, "Content-Type", content_type);
    return &response->buffer;
}

Buffer *
response_json(Response *response)
{
    return response_body(response, "application/json");
}

void
response_take(Response *response, const char *content_type, Buffer *buffer)
{
    assert(buffer != &response->buffer);

    borrowed_drop(response);
    buffer_done(&response->buffer);
    response->buffer = *buffer;
    *buffer = (Buffer){0};
    response_header(response, "Content-Type", content_type);
}

void
response_borrow(
    Response *response, const char *content_type, Slice bytes, ArenaRelease release, void *resource)
{
    borrowed_drop(response);
    buffer_clear(&response->buffer);
    response->borrowed = bytes;
    response->release = release;
    response->resource = resource;
    response_header(response, "Content-Type", content_type);
}

/* The answer to a range behind the end names the size (RFC 9110 15.5.17). */
enum { HTTP_UNSATISFIABLE = 416 };

void
response_clear_body(Response *response)
{
    borrowed_drop(response);
    buffer_clear(&response->buffer);
    size_t kept = 0;
    for (size_t index = 0; index < response->header_count; index++) {
        const char *name = response->headers[index].name;
        bool is_kept = response->status == HTTP_UNSATISFIABLE && strcasecmp(name, "Content-Range") == 0;
        if (is_kept || strncasecmp(name, "Content-", sizeof "Content-" - 1) != 0) {
            response->headers[kept++] = response->headers[index];
        }
    }
    response->header_count = kept;
}
