/* libcurl's outcomes in our words. Inside shared/httpclient. */
#pragma once

#include <curl/curl.h>

#include "shared/base/status.h"

typedef struct CurlMeaning {
    Status status;
    const char *text; /* continues "http://host:port …" */
} CurlMeaning;

/* `code` is not CURLE_OK. `was_connected`: a timeout after that is the request's, before it the connection's.
 */
CurlMeaning curl_meaning(CURLcode code, bool was_connected);
