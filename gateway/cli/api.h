/* Sends requests to the gateway. A refusal becomes the Call's error, as the gateway explained it, and an
 * exit code.
 *
 * Ownership: the caller frees the reply with http_client_response_done().
 * Errors:    the code of the problem document; http_client.h says which when the gateway cannot be
 * reached. */
#pragma once

#include "gateway/cli/command.h"
#include "gateway/cli/progress.h"
#include "shared/crypto/digest.h"

enum { API_PATH_SIZE = 512, API_REPLY_SIZE_MAX = 1 << 30, API_STALL_TIMEOUT_MS = 120 * 1000 };

typedef struct ApiRequest {
    const char *method;       /* NULL: GET */
    const char *path;         /* "/api/v1/…" */
    const char *content_type; /* NULL with a body: application/json */
    Slice body;
    const HttpClientSource *source; /* instead of `body`, read as it is sent; NULL: none */
    const HttpClientPart *parts;    /* a form instead of either; NULL: none */
    size_t part_count;
    const char *const *headers; /* further headers, NULL-terminated; NULL: none */
    uint64_t timeout_ms;        /* 0: as long as bytes move */
    const char *save_path;      /* a 2xx answer's body goes into this file; NULL: into the reply */
    const Sha256 *digest;       /* what that file must have; NULL: anything */
    const char *label;          /* shown on a terminal while the request runs; NULL: nothing is shown */
    bool takes_any_status;      /* an answer that is not 2xx is no failure */
    Progress *progress;         /* the caller's, which is shown instead and goes on; NULL: none */
} ApiRequest;

/* Sends a request and returns OK for a 2xx answer. The document of a refusal is printed as it came when
 * the command was asked for JSON and fails with it. */
MUST_USE Status api_send(Cli *cli, const ApiRequest *request, HttpClientResponse *ret_reply);

/* Sends a GET. */
MUST_USE Status api_get(Cli *cli, const char *path, HttpClientResponse *ret_reply);

#define AUTO_REPLY AUTO_HTTP_CLIENT_RESPONSE
