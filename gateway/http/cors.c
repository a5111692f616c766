#include "gateway/http/cors.h"

static bool
origin_is_admitted(const char *const *origins, Slice origin)
{
    for (; origins != NULL && *origins != NULL; origins++) {
        if (slice_equals_string(origin, *origins) || strcmp(*origins, "*") == 0) {
            return origin.size > 0;
        }
    }
    return false;
}

void
cors_apply(const char *const *origins, const Request *request, Response *response)
{
    if (origins == NULL) {
        return;
    }
    Slice origin = request_header(request, "Origin");
    response_vary(response, "Origin");
    if (origin_is_admitted(origins, origin)) {
        response_header_format(response, "Access-Control-Allow-Origin", "%.*s", SLICE_PRINT(origin));
        response_header(response, "Access-Control-Expose-Headers",
            "Content-Range, ETag, Link, Location, Preference-Applied, RateLimit, RateLimit-Policy, "
            "Retry-After, Upload-Length, Upload-Offset, X-Request-Id");
    }
}

void
cors_preflight(
    const char *const *origins, const Request *request, const char *allowed_methods, Response *response)
{
    if (!origin_is_admitted(origins, request_header(request, "Origin")) ||
        request_header(request, "Access-Control-Request-Method").data == NULL) {
        return;
    }
    response_header(response, "Access-Control-Allow-Methods", allowed_methods);
    response_header(response, "Access-Control-Allow-Headers",
        "Accept, Authorization, Content-Range, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
        "Last-Event-ID, Prefer, Range, traceparent, X-Request-Id");
    response_header(response, "Access-Control-Max-Age", "600");
}
