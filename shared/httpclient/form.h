/* Requests as multipart/form-data, read from memory and files as they are sent. Inside shared/httpclient.
 *
 * Ownership: form_free() frees it, once the transfer is over.
 * Errors:    INVALID_ARGUMENT for a file that cannot be read, RESOURCE_EXHAUSTED. */
#pragma once

#include <curl/curl.h>

#include "shared/httpclient/http_client.h"

typedef struct Form Form;

MUST_USE Status form_new(
    Call *call, CURL *easy, const HttpClientPart *parts, size_t part_count, Form **ret_form);
void form_free(Form *form); /* NULL is allowed */
