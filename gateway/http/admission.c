/* Admission checks all that can be known from a request's head alone, each check before those that rely on
 * it:
 *   1. the guards, against heads that two programs could read in two ways;
 *   2. the target, and the request's identity for the log;
 *   3. the route, the announced body's type and size;
 *   4. the credentials, last, since looking them up costs most.
 * A refusal throws the announced body away, or closes the connection. A Content-Length that is no number
 * never comes this far. */
#include <assert.h>
#include <ctype.h>

#include "gateway/http/cors.h"
#include "gateway/http/exchange.h"
#include "gateway/http/headers.h"
#include "gateway/http/internals.h"
#include "shared/base/text.h"
#include "shared/telemetry/trace.h"

static enum MHD_Result
field_collect(void *owner, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value,
    size_t value_size)
{
    (void)kind;
    Exchange *exchange = owner;
    Request *request = &exchange->request;
    if (request->header_count == REQUEST_HEADERS_MAX) {
        exchange->has_too_many_fields = true;
        return MHD_NO;
    }
    request->headers[request->header_count++] =
        (Field){.name = slice_of(name, name_size), .value = slice_of(value, value_size)};
    return MHD_YES;
}

static void
values_trim(Request *request)
{
    for (size_t index = 0; index < request->header_count; index++) {
        request->headers[index].value = slice_trim(request->headers[index].value);
    }
}

static Status
check_sizes(Exchange *exchange, const Head *head)
{
    const HttpOptions *options = &exchange->server->options;
    if (exchange->line_size > options->target_size_max) {
        return response_fail(&exchange->call, &exchange->response, 414,
            "the request target has %zu bytes, at most %zu are allowed", exchange->line_size,
            options->target_size_max);
    }
    if (exchange->has_too_many_fields) {
        return response_fail(
            &exchange->call, &exchange->response, 431, "more than %d headers", REQUEST_HEADERS_MAX);
    }
    if (head_size(head) > options->head_size_max) {
        return response_fail(&exchange->call, &exchange->response, 431,
            "the header block has %zu bytes, at most %zu are allowed", head_size(head),
            options->head_size_max);
    }
    return STATUS_OK;
}

static Status
guard_head(Exchange *exchange)
{
    Request *request = &exchange->request;
    Call *call = &exchange->call;
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(exchange->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    Head head = {
        .size = size == NULL ? 0 : size->header_size,
        .method = request->method,
        .target = exchange->line,
        .target_size = exchange->line_size,
        .version = exchange->version,
        .fields = request->headers,
        .field_count = request->header_count,
    };
    if (!exchange->has_too_many_fields) {
        TRY(guard_layout(call, &head));
    }
    TRY(check_sizes(exchange, &head));
    TRY(guard_fields(call, request->headers, request->header_count));
    values_trim(request);
    TRY(guard_host(call, request, exchange->version));
    return guard_framing(call, request, exchange->version, &exchange->framing);
}

static Status
guard_target(Exchange *exchange, Target *ret_target)
{
    Request *request = &exchange->request;
    Call *call = &exchange->call;
    if (request->target.data == NULL) {
        return call_fail_memory(call, "the request's target");
    }
    TRY(target_parse(call, request->target, ret_target));
    request->path = ret_target->path;
    return query_parse(call, target_query(request->target), request->query, &request->query_count);
}

static void
take_identity(Exchange *exchange)
{
    Slice id = request_header(&exchange->request, "X-Request-Id");
    if (request_id_is_valid(id)) {
        memcpy(exchange->call.request_id, id.data, id.size);
        exchange->call.request_id[id.size] = '\0';
    }
    Slice traceparent = request_header(&exchange->request, "traceparent");
    TraceContext trace;
    if (traceparent.size > 0 && trace_parse(traceparent, &trace)) {
        exchange->request.traceparent = traceparent;
    }
}

static void
answer_options(Exchange *exchange)
{
    char allow[ROUTE_ALLOW_SIZE];
    route_allow(exchange->route, allow);
    response_status(&exchange->response, 204);
    response_header(&exchange->response, "Allow", allow);
    cors_preflight(&exchange->server->options.origins, &exchange->request, allow, &exchange->response);
    exchange_finish(exchange);
}

static const Handler options_handler = {.operation_id = "options",
    .method = "OPTIONS",
    .path = "*",
    .access = ACCESS_PUBLIC,
    .start = answer_options};

static Status
find_handler(Exchange *exchange, const Target *target)
{
    Request *request = &exchange->request;
    exchange->route = router_find(exchange->server->router, target->segments, target->segment_count,
        request->parameters, &request->parameter_count);
    if (exchange->route == NULL) {
        return call_fail(&exchange->call, STATUS_NOT_FOUND, "there is nothing at '%.*s'",
            SLICE_PRINT(slice_part(target->path, 0, 256)));
    }
    request->handler = request_is_method(request, "OPTIONS")
                           ? &options_handler
                           : route_handler(exchange->route, request->method);
    if (request->handler == NULL) {
        char allow[ROUTE_ALLOW_SIZE];
        route_allow(exchange->route, allow);
        response_header(&exchange->response, "Allow", allow);
        return response_fail(&exchange->call, &exchange->response, 405, "'%.*s' takes %s, not %.16s",
            SLICE_PRINT(slice_part(target->path, 0, 256)), allow, request->method);
    }
    return STATUS_OK;
}

static Status
take_media_type(Exchange *exchange)
{
    Slice bare = media_type_bare(request_header(&exchange->request, "Content-Type"));
    char *lower = text_copy(exchange->call.arena, bare);
    if (lower == NULL) {
        return call_fail_memory(&exchange->call, "the media type");
    }
    for (size_t index = 0; index < bare.size; index++) {
        lower[index] = (char)tolower((unsigned char)lower[index]);
    }
    exchange->request.media_type = slice_of(lower, bare.size);
    return STATUS_OK;
}

/* Takes a body without a type for the first type that the operation names. */
static Status
check_media_type(Exchange *exchange)
{
    TRY(take_media_type(exchange));
    const char *const *types = exchange->request.handler->body_types;
    Slice *sent = &exchange->request.media_type;
    if (types == NULL) {
        return STATUS_OK;
    }
    if (sent->size == 0) {
        *sent = slice_from_string(types[0]);
        return STATUS_OK;
    }
    for (const char *const *type = types; *type != NULL; type++) {
        if (slice_equals_string(*sent, *type)) {
            return STATUS_OK;
        }
    }
    return response_fail(&exchange->call, &exchange->response, 415,
        "Content-Type is '%.*s', this operation takes '%s'%s", SLICE_PRINT(slice_part(*sent, 0, 128)),
        types[0], types[1] == NULL ? "" : " and others");
}

static Status
check_coding(Exchange *exchange)
{
    Slice coding = request_header(&exchange->request, "Content-Encoding");
    bool is_plain = coding.size == 0 || slice_equal_ignoring_case(coding, SLICE("identity"));
    exchange->is_gzip = slice_equal_ignoring_case(coding, SLICE("gzip"));
    bool is_whole = exchange->sink == NULL && exchange->taker == NULL;
    if (is_plain || (exchange->is_gzip && is_whole)) {
        return STATUS_OK;
    }
    response_header(&exchange->response, "Accept-Encoding", is_whole ? "gzip" : "identity");
    return response_fail(&exchange->call, &exchange->response, 415,
        "Content-Encoding is '%.*s', which is not taken here", SLICE_PRINT(slice_part(coding, 0, 64)));
}

/* Returns the least of the limits of the handler, its sink and the settings. What a taker takes is never
 * held. */
static size_t
find_body_size_max(const Exchange *exchange)
{
    const HttpOptions *options = &exchange->server->options;
    bool has_own = exchange->sink != NULL && exchange->sink->size_max != 0;
    size_t buffered = exchange->taker != NULL ? SIZE_MAX : exchange->request.handler->body_size_max;
    size_t own = has_own ? exchange->sink->size_max : buffered;
    size_t set = options->body_size_max == NULL ? SIZE_MAX
                                                : options->body_size_max(options->parts, &exchange->request);
    return set < own ? set : own;
}

static Status
check_idempotency_key(Exchange *exchange)
{
    uint32_t size_max = exchange->server->options.idempotency_key_size_max;
    Slice key;
    TRY(idempotency_key_parse(&exchange->call, request_header(&exchange->request, "Idempotency-Key"), &key));
    if (key.size > size_max) {
        return call_fail(&exchange->call, STATUS_INVALID_ARGUMENT,
            "Idempotency-Key has %zu bytes, at most %u are allowed", key.size, size_max);
    }
    return STATUS_OK;
}

static const BodyTaker *
find_taker(const Exchange *exchange)
{
    const Handler *handler = exchange->request.handler;
    return handler->taker == NULL ? NULL : handler->taker(&exchange->request);
}

static Status
check_body(Exchange *exchange)
{
    const Framing *framing = &exchange->framing;
    const Handler *handler = exchange->request.handler;
    if (framing->content_length == 0 && !framing->is_chunked) {
        exchange->taker = find_taker(exchange);
        return STATUS_OK;
    }
    if (handler->body_size_max == 0) {
        return response_fail(&exchange->call, &exchange->response, 413, "this operation takes no body");
    }
    TRY(check_media_type(exchange));
    exchange->taker = find_taker(exchange);
    exchange->sink = handler->sink == NULL ? NULL : handler->sink(&exchange->request);
    exchange->body_size_max = find_body_size_max(exchange);
    if (framing->content_length > exchange->body_size_max) {
        return response_fail(&exchange->call, &exchange->response, 413,
            "the body has %llu bytes, this operation takes at most %zu",
            (unsigned long long)framing->content_length, exchange->body_size_max);
    }
    return check_coding(exchange);
}

static Status
admit_request(Exchange *exchange, const Target *target)
{
    TRY(find_handler(exchange, target));
    TRY(check_idempotency_key(exchange));
    TRY(check_body(exchange));
    return authorization_begin(exchange);
}

/* Replies in libmicrohttpd's first call, which closes the connection behind the reply. */
static enum MHD_Result
reply_and_close(Exchange *exchange, Status status)
{
    exchange->status = status;
    exchange->phase = EXCHANGE_ENDED;
    connection_enter(exchange->connection, CONNECTION_REPLY, 0);
    return delivery_step(exchange, NULL);
}

static bool
is_all_digits(Slice text)
{
    size_t count = 0;
    while (count < text.size && isdigit((unsigned char)text.data[count])) {
        count++;
    }
    return text.size > 0 && count == text.size;
}

/* Tells what is wrong with a length that does not fit into 64 bits, or is no number: the former is refused as
 * any length above a limit is. */
static Status
fail_length(Exchange *exchange, Slice length)
{
    enum { SHOWN_MAX = 64 };
    Slice part = slice_part(length, 0, SHOWN_MAX);
    if (is_all_digits(length)) {
        return response_fail(&exchange->call, &exchange->response, 413,
            "Content-Length '%.*s' is more than any body may have", SLICE_PRINT(part));
    }
    return call_fail(&exchange->call, STATUS_INVALID_ARGUMENT,
        "Content-Length '%.*s' is no decimal number of bytes", SLICE_PRINT(part));
}

bool
admission_refuse_length(Exchange *exchange)
{
    assert(exchange->phase == EXCHANGE_HEAD);

    static const Slice name = {"Content-Length", sizeof "Content-Length" - 1};
    struct MHD_Connection *mhd = exchange->connection->mhd;
    Slice length = {0};
    uint64_t number = 0;
    bool is_whole = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) != NULL;
    bool is_refused = is_whole &&
                      MHD_lookup_connection_value_n(mhd, MHD_HEADER_KIND, name.data, name.size, &length.data,
                          &length.size) == MHD_YES &&
                      !slice_to_uint64(length, &number);
    if (!is_refused) {
        return false;
    }
    reception_cut(exchange, fail_length(exchange, length));
    return true;
}

enum MHD_Result
admission_step(Exchange *exchange, Upload *upload)
{
    assert(exchange->phase == EXCHANGE_HEAD);

    (void)upload;
    if (exchange->connection->phase == CONNECTION_CUT) {
        return MHD_NO;
    }
    (void)MHD_get_connection_values_n(exchange->connection->mhd, MHD_HEADER_KIND, field_collect, exchange);
    Target target = {0};
    Status guarded = guard_head(exchange);
    if (guarded == STATUS_OK) {
        guarded = guard_target(exchange, &target);
    }
    if (guarded != STATUS_OK) {
        return reply_and_close(exchange, guarded);
    }
    take_identity(exchange);
    Status admitted = admit_request(exchange, &target);
    if (admitted != STATUS_OK && exchange->framing.expects_continue) {
        return reply_and_close(exchange, admitted);
    }
    reception_begin(exchange, admitted);
    return MHD_YES;
}
