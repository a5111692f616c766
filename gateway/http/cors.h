/* Cross-origin requests of browsers (the Fetch standard's CORS protocol): an allow-list of origins, no
 * cookies. */
#pragma once

#include "gateway/http/request.h"
#include "gateway/http/response.h"

/* Tells the browser on every reply whether its page's origin is admitted. `origins` NULL admits none. */
void cors_apply(const char *const *origins, const Request *request, Response *response);

/* Answers an OPTIONS request that asks ahead for a method and headers. */
void cors_preflight(
    const char *const *origins, const Request *request, const char *allowed_methods, Response *response);
