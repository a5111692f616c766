/* What browsers of other origins may do (the Fetch standard's CORS protocol): an allow-list, no cookies. */
#pragma once

#include "gateway/http/request.h"
#include "gateway/http/response.h"

/* On every reply: tells the browser when its page's origin is admitted. `origins` may be NULL: none is. */
void cors_apply(const char *const *origins, const Request *request, Response *response);

/* On a reply to OPTIONS that asks ahead for a method and headers. */
void cors_preflight(
    const char *const *origins, const Request *request, const char *allowed_methods, Response *response);
