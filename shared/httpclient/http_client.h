/* HTTP requests to the outside world, one at a time. A client keeps its connections, so that requests to
 * one host follow each other on one of them. Bodies go both ways from and to memory or piece by piece; a
 * request stops when its Call is cancelled or its time is up, also while it waits for an answer. Redirects
 * are not followed, and nothing but http and https is spoken.
 *
 * Ownership: a client owns its connections. A response owns its bytes; http_client_response_done() frees
 *            them.
 * Threads:   a client, one thread at a time. Only call_cancel() comes from elsewhere, a signal included.
 * Errors:    OK when an answer came to its end, whatever its status. UNAVAILABLE when no connection could be
 *            made or it was lost before an answer; DATA_LOSS when the answer was cut short; CANCELLED and
 *            DEADLINE_EXCEEDED from the Call or the request's times; OUT_OF_RANGE for an answer above its
 *            limit; FAILED_PRECONDITION when TLS finds no trust; INVALID_ARGUMENT for a wrong URL, header or
 *            file; or the failure of a sink. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"

typedef struct HttpClient HttpClient;

enum { HTTP_CLIENT_RESPONSE_SIZE_MAX = 64 << 20, HTTP_CLIENT_HEADERS_SIZE_MAX = 256 * 1024 };

typedef struct HttpClientOptions {
    const char *user_agent;      /* NULL: none is sent */
    const char *certificates;    /* a file of trusted authorities (PEM); NULL: the system's */
    uint32_t connect_timeout_ms; /* 0: 10,000 */
} HttpClientOptions;

MUST_USE HttpClient *http_client_new(const HttpClientOptions *options);
void http_client_free(HttpClient *client); /* NULL is allowed */

/* Bytes of bodies so far; a total is 0 while it is unknown. */
typedef struct HttpClientProgress {
    uint64_t sent;
    uint64_t send_total;
    uint64_t received;
    uint64_t receive_total;
} HttpClientProgress;

typedef struct HttpClientEvents {
    /* Takes the next piece of a 2xx answer's body; a failure ends the request. NULL: into response->body. */
    MUST_USE Status (*on_data)(Call *call, void *context, Slice piece);
    /* Called about ten times a second and after each piece, also when nothing moved. NULL: not wanted. */
    void (*on_progress)(void *context, const HttpClientProgress *progress);
} HttpClientEvents;

/* A part of a form: `head`, then the content of the file. */
typedef struct HttpClientPart {
    const char *name;
    const char *content_type;
    Slice head;
    const char *path; /* NULL: no file */
} HttpClientPart;

/* A body that is read while it is sent, wherever it comes from. */
typedef struct HttpClientSource {
    uint64_t size;
    /* Reads at least one and at most `size` bytes from `offset` on, all of which lie inside; the same ones
     * again when a connection had to be replaced. A failure ends the request. */
    MUST_USE Status (*read)(
        Call *call, void *context, uint64_t offset, char *room, size_t size, size_t *ret_count);
    void *context;
} HttpClientSource;

/* AWS Signature Version 4 of a request, which libcurl makes (CURLOPT_AWS_SIGV4). libcurl 7.88 signs the query
 * as it stands in the URL: its parameters must be sorted, escaped, and each have a "="; it signs an empty
 * header that it does not send: the request must have a content type; and "x-amz-content-sha256" must be
 * among the headers. */
typedef struct HttpClientSigning {
    const char *scope; /* "aws:amz:<region>:<service>" */
    const char *key_id;
    const char *secret;
} HttpClientSigning;

typedef struct HttpClientRequest {
    const char *method; /* NULL: GET */
    const char *url;
    const char *content_type;       /* the body's; NULL: not sent */
    const char *const *headers;     /* more, "Name: value", NULL-terminated; NULL: none */
    Slice body;                     /* data NULL: none */
    const HttpClientSource *source; /* the body is read from here; NULL: it is `body` */
    const HttpClientPart *parts;    /* the body is a form of these, read as it is sent; NULL: the above */
    size_t part_count;
    size_t response_size_max;         /* limit of the body in memory; 0: HTTP_CLIENT_RESPONSE_SIZE_MAX */
    uint64_t timeout_ms;              /* the whole request's; 0: only the Call's deadline */
    uint64_t stall_timeout_ms;        /* time without a byte either way, in whole seconds; 0: none */
    const HttpClientSigning *signing; /* NULL: not signed */
    const HttpClientEvents *events;   /* NULL: none */
    void *context;                    /* the events' */
} HttpClientRequest;

typedef struct HttpClientResponse {
    int status;     /* the HTTP status */
    Buffer headers; /* as they came, a line each */
    Buffer body;    /* with on_data: only the body of an answer that is not 2xx */
} HttpClientResponse;

/* Sends and waits for the end. The response is filled as far as it came, on failure too. */
MUST_USE Status http_client_send(
    Call *call, HttpClient *client, const HttpClientRequest *request, HttpClientResponse *ret_response);
void http_client_response_done(HttpClientResponse *response);

/* Returns the value of the first header of this name; data is NULL when there is none. */
Slice http_client_header(const HttpClientResponse *response, const char *name);

static inline void
http_client_freep(HttpClient **client)
{
    http_client_free(*client);
}
#define AUTO_HTTP_CLIENT CLEANUP(http_client_freep) HttpClient *
#define AUTO_HTTP_CLIENT_RESPONSE CLEANUP(http_client_response_done) HttpClientResponse
