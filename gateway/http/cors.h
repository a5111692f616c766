/* Cross-origin requests of browsers (the Fetch standard's CORS protocol): an allow-list of origins, no
 * cookies. */
#pragma once

#include "gateway/http/options.h"
#include "gateway/http/request.h"
#include "gateway/http/response.h"

/* Checks an entry of the list: "*", or "scheme://host" or "scheme://host:port" as browsers write it.
 * INVALID_ARGUMENT for one that no browser would ever send, such as one with a path. */
MUST_USE Status cors_check_origin(Call *call, Slice origin);

/* Tells the browser on every reply whether its page's origin is admitted. */
void cors_apply(const Origins *origins, const Request *request, Response *response);

/* Answers an OPTIONS request that asks ahead for a method and headers. */
void cors_preflight(
    const Origins *origins, const Request *request, const char *allowed_methods, Response *response);
