#include "gateway/http/cors.h"

#include <ctype.h>

static bool
origin_is_admitted(const Origins *origins, Slice origin)
{
    for (size_t index = 0; index < origins->count; index++) {
        if (slice_equal(origin, origins->items[index]) || slice_equals_string(origins->items[index], "*")) {
            return origin.size > 0;
        }
    }
    return false;
}

/* Tells whether browsers write the text so behind "scheme://": in lower case, without a path or a user. */
static bool
is_authority(Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        char byte = text.data[index];
        if (byte <= ' ' || byte > '~' || isupper((unsigned char)byte) || strchr("/?#@\\*", byte) != NULL) {
            return false;
        }
    }
    return text.size > 0;
}

Status
cors_check_origin(Call *call, Slice origin)
{
    static const char *const schemes[] = {"http://", "https://"};
    if (slice_equals_string(origin, "*")) {
        return STATUS_OK;
    }
    for (size_t index = 0; index < COUNT_OF(schemes); index++) {
        Slice scheme = slice_from_string(schemes[index]);
        if (slice_starts_with(origin, scheme) && is_authority(slice_part(origin, scheme.size, origin.size))) {
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "'%.*s' is no origin: expected '*', or a scheme, host and port as browsers send them "
        "('https://dashboard.example', without a path)",
        SLICE_PRINT(slice_part(origin, 0, 256)));
}

void
cors_apply(const Origins *origins, const Request *request, Response *response)
{
    if (origins->count == 0) {
        return;
    }
    Slice origin = request_header(request, "Origin");
    response_vary(response, "Origin");
    if (origin_is_admitted(origins, origin)) {
        response_header_format(response, "Access-Control-Allow-Origin", "%.*s", SLICE_PRINT(origin));
        response_header(response, "Access-Control-Expose-Headers",
            "Accept-Ranges, Content-Range, ETag, Idempotent-Replayed, Link, Location, Preference-Applied, "
            "RateLimit, RateLimit-Policy, Retry-After, Upload-Length, Upload-Offset, WWW-Authenticate, "
            "X-Request-Id");
    }
}

void
cors_preflight(
    const Origins *origins, const Request *request, const char *allowed_methods, Response *response)
{
    if (!origin_is_admitted(origins, request_header(request, "Origin")) ||
        request_header(request, "Access-Control-Request-Method").data == NULL) {
        return;
    }
    response_header(response, "Access-Control-Allow-Methods", allowed_methods);
    response_header(response, "Access-Control-Allow-Headers",
        "Accept, Authorization, Content-Encoding, Content-Range, Content-Type, Idempotency-Key, If-Match, "
        "If-None-Match, Last-Event-ID, Prefer, Range, traceparent, X-Request-Id");
    response_header(response, "Access-Control-Max-Age", "600");
}
