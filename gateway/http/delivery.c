#include <assert.h>

#include "gateway/http/cors.h"
#include "gateway/http/exchange.h"
#include "gateway/http/headers.h"
#include "gateway/http/internals.h"
#include "gateway/http/problem.h"
#include "shared/base/text.h"
#include "shared/gzip/gzip.h"

enum {
    GZIP_SIZE_MIN = 1024,
    GZIP_SIZE_MAX_ON_LOOP = 32 * 1024, /* takes well under a millisecond */
    GZIP_SIZE_MAX_USUAL = 1024 * 1024, /* larger bodies are compressed fast rather than well */
};

static Slice
body_of(const Response *response)
{
    return response->borrowed.data != NULL ? response->borrowed : buffer_slice(&response->buffer);
}

static bool
is_not_modified(const Exchange *exchange)
{
    const Response *response = &exchange->response;
    if (response->etag == NULL || (response->status != 0 && response->status != 200)) {
        return false;
    }
    Slice quoted = slice_from_string(response->etag);
    Slice list = request_header(&exchange->request, "If-None-Match");
    bool is_read =
        request_is_method(&exchange->request, "GET") || request_is_method(&exchange->request, "HEAD");
    return is_read && etag_list_has(list, slice_part(quoted, 1, quoted.size - 2));
}

static bool
is_compressible(const Response *response)
{
    const char *type = response_header_get(response, "Content-Type");
    return type != NULL && response->stream == NULL &&
           response_header_get(response, "Content-Encoding") == NULL &&
           (slice_starts_with(slice_from_string(type), SLICE("application/json")) ||
               slice_starts_with(slice_from_string(type), SLICE("text/")) ||
               slice_ends_with(media_type_bare(slice_from_string(type)), SLICE("+json")));
}

static void
body_compress(Exchange *exchange, bool is_job_thread)
{
    Response *response = &exchange->response;
    Slice body = body_of(response);
    if (body.size < GZIP_SIZE_MIN || !is_compressible(response)) {
        return;
    }
    response_vary(response, "Accept-Encoding");
    if ((!is_job_thread && body.size > GZIP_SIZE_MAX_ON_LOOP) ||
        !accept_encoding(request_header(&exchange->request, "Accept-Encoding"), "gzip")) {
        return;
    }
    bool is_fast = !is_job_thread || body.size > GZIP_SIZE_MAX_USUAL;
    Buffer compressed = {0};
    if (!gzip_deflate(&compressed, body, is_fast ? GZIP_LEVEL_FAST : GZIP_LEVEL_USUAL)) {
        buffer_done(&compressed); /* the body is sent uncompressed */
        return;
    }
    const char *type = response_header_get(response, "Content-Type");
    response_take(response, type, &compressed);
    response_header(response, "Content-Encoding", "gzip");
    if (response->etag != NULL) {
        response->etag = text_format(response->arena, "W/%s", response->etag);
    }
}

void
delivery_render(Exchange *exchange, bool is_job_thread)
{
    if (exchange->is_rendered) {
        return;
    }
    exchange->is_rendered = true;
    Response *response = &exchange->response;
    if (exchange->status == STATUS_OK && (response->has_failed || !buffer_is_ok(&response->buffer))) {
        exchange->status = call_fail_memory(&exchange->call, "the response");
    }
    if (exchange->status != STATUS_OK) {
        stream_close(&exchange->stream, false);
        response->stream = NULL;
        response->has_failed = false;
        problem_write(&exchange->call, exchange->request.path, response);
    } else if (is_not_modified(exchange)) {
        response_clear_body(response);
        response_status(response, 304);
    }
    if (response->status == 0) {
        response_status(response, 200);
    }
    body_compress(exchange, is_job_thread);
    cors_apply(&exchange->server->options.origins, &exchange->request, response);
}

void
exchange_render(Exchange *exchange)
{
    delivery_render(exchange, true);
}

typedef void (*HeaderEmit)(void *target, const char *name, const char *value);

static void
headers_emit(const Exchange *exchange, HeaderEmit emit, void *target)
{
    const Response *response = &exchange->response;
    emit(target, "X-Request-Id", exchange->call.request_id);
    if (response->etag != NULL) {
        emit(target, "ETag", response->etag);
    }
    for (size_t index = 0; index < response->header_count; index++) {
        emit(target, response->headers[index].name, response->headers[index].value);
    }
}

static void
emit_to_daemon(void *target, const char *name, const char *value)
{
    (void)MHD_add_response_header(target, name, value); /* fails without memory; the reply then lacks the
                                                         * header */
}

static struct MHD_Response *
response_make(Exchange *exchange)
{
    if (exchange->response.stream != NULL) {
        return stream_response(&exchange->stream);
    }
    Response *response = &exchange->response;
    Slice body = body_of(response);
    exchange->sent = request_is_method(&exchange->request, "HEAD") ? 0 : body.size;
    if (response->borrowed.data != NULL) {
        struct MHD_IoVec vector = {.iov_base = body.data, .iov_len = body.size};
        return MHD_create_response_from_iovec(&vector, 1, NULL, NULL);
    }
    return MHD_create_response_from_buffer(body.size, response->buffer.data, MHD_RESPMEM_PERSISTENT);
}

/* Returns whether the connection closes behind this reply. libmicrohttpd frames chunks itself and accepts
 * bare line feeds there, so no second request is taken from behind a chunked body (guards.h). */
static bool
must_close(const Exchange *exchange)
{
    return exchange->framing.is_chunked || exchange->server->is_draining;
}

enum MHD_Result
delivery_step(Exchange *exchange, Upload *upload)
{
    assert(exchange->phase == EXCHANGE_ENDED);

    (void)upload;
    delivery_render(exchange, false);
    struct MHD_Response *response = response_make(exchange);
    if (response == NULL) {
        return MHD_NO;
    }
    headers_emit(exchange, emit_to_daemon, response);
    if (must_close(exchange)) {
        emit_to_daemon(response, "Connection", "close");
    }
    exchange->phase = EXCHANGE_REPLYING;
    enum MHD_Result result =
        MHD_queue_response(exchange->connection->mhd, (unsigned)exchange->response.status, response);
    MHD_destroy_response(response);
    return result;
}

static void
emit_to_buffer(void *target, const char *name, const char *value)
{
    buffer_append_format(target, "%s: %s\r\n", name, value);
}

void
delivery_send_raw(Exchange *exchange)
{
    assert(exchange->phase == EXCHANGE_CUT && exchange->is_rendered);

    const Response *response = &exchange->response;
    Slice body = body_of(response);
    AUTO_BUFFER reply = {0};
    buffer_append_format(&reply, "HTTP/1.1 %d %s\r\n", response->status, http_status_title(response->status));
    headers_emit(exchange, emit_to_buffer, &reply);
    buffer_append_format(&reply, "Connection: close\r\nContent-Length: %zu\r\n\r\n", body.size);
    buffer_append_slice(&reply, body);
    exchange->sent = body.size;
    connection_cut(exchange->connection, buffer_slice(&reply));
}

void
delivery_refuse_head(Connection *connection)
{
    enum { REQUEST_TIMEOUT = 408 };
    Call call = {0};
    Status status =
        call_fail(&call, http_status_code(REQUEST_TIMEOUT), "the request's headers took too long");
    assert(status == STATUS_DEADLINE_EXCEEDED);
    AUTO_BUFFER document = {0};
    problem_write_document(&call, REQUEST_TIMEOUT, NULL, &document);
    AUTO_BUFFER reply = {0};
    buffer_append_format(&reply,
        "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
        REQUEST_TIMEOUT, http_status_title(REQUEST_TIMEOUT), problem_media_type, document.size);
    buffer_append_slice(&reply, buffer_slice(&document));
    connection_cut(connection, buffer_slice(&reply));
}
