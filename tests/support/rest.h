/* HTTP requests as a user's program sends them (libcurl), for tests of the running gateway. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/buffer.h"

typedef struct RestRequest {
    const char *method;       /* NULL: GET */
    const char *url;          /* absolute */
    const char *content_type; /* NULL: application/json */
    Slice body;
    const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
    long timeout_ms;            /* 0: 20 s without a byte */
} RestRequest;

typedef struct RestResponse {
    int status;     /* 0: no reply came (curl_code says why) */
    int curl_code;  /* CURLcode */
    Buffer headers; /* raw, one a line */
    Buffer body;    /* NUL-terminated behind its size */
} RestResponse;

/* Sends one request on a connection of its own. Always fills the response; rest_response_done() frees it. */
void rest_send(const RestRequest *request, RestResponse *ret_response);
void rest_response_done(RestResponse *response);
#define AUTO_REST CLEANUP(rest_response_done) RestResponse

/* Returns the value of a header ("" when there is none), valid until the response is freed. */
const char *rest_header(RestResponse *response, const char *name);

/* Copies the string member `name` of the body's outermost object to `ret_value`. False when there is none. */
bool rest_member(const RestResponse *response, const char *name, char *ret_value, size_t size);

/* Returns the body as text, for assertions. */
const char *rest_text(RestResponse *response);
