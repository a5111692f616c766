/* The headers with which a call to a worker begins. Threads: any. */
#pragma once

#include "shared/h2/h2.h"
#include "shared/upstream/upstream.h"

enum { NUMBER_TEXT_SIZE = 24 };

typedef struct RequestHeaders {
    H2Header headers[H2_HEADERS_MAX];
    size_t count;
    char deadline[NUMBER_TEXT_SIZE];
    char attempt[NUMBER_TEXT_SIZE];
    char body_size[NUMBER_TEXT_SIZE];
} RequestHeaders;

/* The headers point into `head`, `address`, `token` and the struct itself, which must not move. What `head`
 * leaves empty is left out. */
void request_headers_fill(
    RequestHeaders *ret_headers, const UpstreamHead *head, const char *address, const char *token);
