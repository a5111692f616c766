/* The HTTP side on a loopback socket: one loop thread with two servers, one of them with short deadlines, and
 * test handlers; the tests are clients that send raw bytes. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/http/page.h"
#include "gateway/http/server.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/gzip/gzip.h"
#include "shared/json/writer.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { TIMEOUT_MS = 5000 };

/* --- Handlers ------------------------------------------------------------------------------------------- */

static void
hello(Exchange *exchange)
{
    JsonWriter writer = json_writer(response_json(exchange_response(exchange)));
    json_write_object_begin(&writer);
    json_member_string(&writer, "hello", "world");
    json_write_object_end(&writer);
    exchange_finish(exchange);
}
static const Handler hello_handler = {
    .operation_id = "hello", .method = "GET", .path = "/hello", .start = hello};

static Status
echo(Call *call, const Request *request, Response *response)
{
    (void)call;
    assert_non_null(request->job_context);
    buffer_append_slice(response_body(response, "application/octet-stream"), request->body);
    return STATUS_OK;
}
static const char *const echo_types[] = {"application/json", "application/octet-stream", NULL};
static const Handler echo_handler = {.operation_id = "echo",
    .method = "POST",
    .path = "/echo",
    .body_size_max = 1024 * 1024,
    .body_types = echo_types,
    .run = echo};

static Status
show(Call *call, const Request *request, Response *response)
{
    (void)call;
    const Slice item = request_parameter(request, "item");
    response_etag(response, "r1");
    buffer_append_format(response_json(response), "{\"item\":\"%.*s\"}", SLICE_PRINT(item));
    return STATUS_OK;
}
static const Handler show_handler = {
    .operation_id = "show", .method = "GET", .path = "/items/{item}", .access = ACCESS_TENANT, .run = show};

static Status
refuse(Call *call, const Request *request, Response *response)
{
    (void)request;
    (void)response;
    call_note(call, "#/node/3", "op '%s' is unknown", "Conv9D");
    return call_fail(call, STATUS_INVALID_ARGUMENT, "the graph has 1 fault");
}
static const Handler fail_handler = {.operation_id = "fail", .method = "GET", .path = "/fail", .run = refuse};

static Status
large(Call *call, const Request *request, Response *response)
{
    (void)call;
    (void)request;
    Buffer *const body = response_json(response);
    for (int index = 0; index < 1000; index++) {
        buffer_append_string(body, index == 0 ? "[0" : ",0");
    }
    buffer_append_string(body, "]");
    return STATUS_OK;
}
static const Handler large_handler = {
    .operation_id = "large", .method = "GET", .path = "/large", .run = large};

/* Lends bytes and counts when it gets them back. */
static uint64_t lent_count;

static void
lent_release(void *resource)
{
    (void)resource;
    __atomic_add_fetch(&lent_count, 1, __ATOMIC_SEQ_CST);
}

static char lent_bytes[3 * 1024 * 1024];

static void
lend(Exchange *exchange)
{
    response_borrow(exchange_response(exchange), "application/x-npy", slice_of(lent_bytes, sizeof lent_bytes),
        lent_release, NULL);
    exchange_finish(exchange);
}
static const Handler lend_handler = {.operation_id = "lend", .method = "GET", .path = "/lend", .start = lend};

/* Waits until it is cancelled, and notes when that was. */
static uint64_t waiting_count;
static uint64_t cancelled_at_ns;

static void
wait_cancelled(Exchange *exchange, void *owner)
{
    (void)owner;
    __atomic_store_n(&cancelled_at_ns, clock_monotonic_ns(), __ATOMIC_SEQ_CST);
    exchange_fail(exchange, call_fail(exchange_call(exchange), STATUS_CANCELLED, "the step was cancelled"));
}

static void
wait_start(Exchange *exchange)
{
    exchange_on_cancel(exchange, wait_cancelled, NULL);
    __atomic_add_fetch(&waiting_count, 1, __ATOMIC_SEQ_CST);
}
static const Handler wait_handler = {
    .operation_id = "wait", .method = "GET", .path = "/wait", .start = wait_start};

static Status
wait_on_job_thread(Call *call, const Request *request, Response *response)
{
    (void)request;
    (void)response;
    __atomic_add_fetch(&waiting_count, 1, __ATOMIC_SEQ_CST);
    Status status = STATUS_OK;
    while (status == STATUS_OK) {
        usleep(1000);
        status = call_check(call, clock_monotonic_ns());
    }
    __atomic_store_n(&cancelled_at_ns, clock_monotonic_ns(), __ATOMIC_SEQ_CST);
    return status;
}
static const Handler wait_job_handler = {
    .operation_id = "waitJob", .method = "GET", .path = "/wait-job", .run = wait_on_job_thread};

/* Streams `size` bytes in pieces, keeping at most a megabyte queued; aborts or leaves it open when asked to.
 */
enum { PIECE_SIZE = 128 * 1024, QUEUED_MAX = 1024 * 1024 };
static char stream_piece[PIECE_SIZE];
static uint64_t stream_queued_max;
static uint64_t stream_closed_count;
static uint64_t stream_released_count;

typedef struct Source {
    uint64_t left;
    uint64_t written;
    bool aborts;
    bool stays_open;
} Source;

static void
piece_released(void *resource)
{
    (void)resource;
    __atomic_add_fetch(&stream_released_count, 1, __ATOMIC_SEQ_CST);
}

static void
source_write(HttpStream *stream, void *owner)
{
    Source *const source = owner;
    while (source->left > 0 && http_stream_queued(stream) < QUEUED_MAX) {
        const size_t size = source->left < PIECE_SIZE ? source->left : PIECE_SIZE;
        source->left -= size;
        assert_true(http_stream_write(stream, slice_of(stream_piece, size), piece_released, source));
        if (http_stream_queued(stream) > stream_queued_max) {
            stream_queued_max = http_stream_queued(stream);
        }
    }
    if (source->left == 0 && source->aborts) {
        http_stream_abort(stream);
    } else if (source->left == 0 && !source->stays_open) {
        http_stream_end(stream);
    }
}

static void
source_closed(void *owner, bool is_complete)
{
    Source *const source = owner;
    assert_int_equal(is_complete, !source->aborts && source->left == 0 && !source->stays_open);
    __atomic_store_n(&cancelled_at_ns, clock_monotonic_ns(), __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&stream_closed_count, 1, __ATOMIC_SEQ_CST);
}

static const HttpStreamEvents source_events = {.drained = source_write, .closed = source_closed};

static void
stream_start(Exchange *exchange)
{
    const Request *const request = exchange_request(exchange);
    Call *const call = exchange_call(exchange);
    Source *const source = arena_alloc(call->arena, sizeof *source);
    Status status = request_query_uint64(call, request, "size", UINT64_MAX, &source->left);
    if (status == STATUS_OK) {
        status = request_query_boolean(call, request, "aborts", &source->aborts);
    }
    if (status == STATUS_OK) {
        status = request_query_boolean(call, request, "open", &source->stays_open);
    }
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
        return;
    }
    HttpStream *const stream = exchange_stream(exchange, "application/octet-stream", &source_events, source);
    source_write(stream, source);
    exchange_finish(exchange);
    __atomic_add_fetch(&waiting_count, 1, __ATOMIC_SEQ_CST);
}
static const Handler stream_handler = {
    .operation_id = "stream", .method = "GET", .path = "/stream", .start = stream_start};

/* Counts what is uploaded without keeping it; a 'X' is refused. */
static Status
count_begin(Call *call, const Request *request, void **ret_state)
{
    (void)request;
    *ret_state = arena_alloc(call->arena, sizeof(uint64_t));
    return *ret_state == NULL ? call_fail_memory(call, "the upload") : STATUS_OK;
}

static Status
count_write(Call *call, void *state, Slice piece)
{
    *(uint64_t *)state += piece.size;
    return slice_find(piece, 'X') == piece.size
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "an 'X' is not allowed here");
}

static const BodySink count_sink = {.begin = count_begin, .write = count_write};

static const BodySink *
count_choose(const Request *request)
{
    (void)request;
    return &count_sink;
}

static void
upload_start(Exchange *exchange)
{
    buffer_append_uint64(response_body(exchange_response(exchange), "text/plain"),
        *(const uint64_t *)exchange_request(exchange)->sink_state);
    exchange_finish(exchange);
}
static const Handler upload_handler = {.operation_id = "upload",
    .method = "PUT",
    .path = "/upload",
    .access = ACCESS_TENANT,
    .body_size_max = 64 * 1024 * 1024,
    .start = upload_start,
    .sink = count_choose};

static const Handler *const handlers[] = {&hello_handler, &echo_handler, &show_handler, &fail_handler,
    &large_handler, &wait_handler, &wait_job_handler, &stream_handler, &upload_handler, &lend_handler, NULL};

/* --- Hooks ---------------------------------------------------------------------------------------------- */

/* "cached" is known at once, "stored" only to the blocking hook, all else to nobody. */
static AuthorizeAnswer
authorize(void *services, const Request *request, const Credentials *credentials, Principal *ret_principal)
{
    (void)services;
    (void)request;
    (void)ret_principal;
    if (slice_equals_string(credentials->secret, "cached")) {
        return AUTHORIZE_ALLOWED;
    }
    return credentials->scheme == CREDENTIALS_NONE ? AUTHORIZE_DENIED : AUTHORIZE_UNKNOWN;
}

static Status
authorize_blocking(Call *call, void *job_context, const Request *request, const Credentials *credentials,
    Principal *ret_principal)
{
    (void)request;
    (void)ret_principal;
    assert_non_null(job_context);
    return slice_equals_string(credentials->secret, "stored")
               ? STATUS_OK
               : call_fail(call, STATUS_UNAUTHENTICATED, "the key is not known");
}

static int log_status;
static uint64_t log_count;

static void
log_record(void *services, const RequestRecord *record)
{
    (void)services;
    __atomic_store_n(&log_status, record->http_status, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&log_count, 1, __ATOMIC_SEQ_CST);
}

/* --- The servers' thread -------------------------------------------------------------------------------- */

static Loop *loop;
static char usual[ADDRESS_TEXT_SIZE];
static char impatient[ADDRESS_TEXT_SIZE];
static pthread_t thread;
static pthread_barrier_t is_listening;

static Status
context_new(Call *call, void *owner, void **ret_context)
{
    (void)call;
    *ret_context = owner;
    return STATUS_OK;
}

static HttpServer *
serve(Call *call, JobPool *jobs, HttpOptions options, char ret_address[ADDRESS_TEXT_SIZE])
{
    HttpServer *server = NULL;
    options.handlers = handlers;
    options.jobs = jobs;
    options.authorize = authorize;
    options.authorize_blocking = authorize_blocking;
    options.log = log_record;
    assert_status(call, STATUS_OK, http_server_new(call, loop, "127.0.0.1:0", &options, &server));
    http_server_address(server, ret_address);
    return server;
}

static void *
thread_run(void *argument)
{
    (void)argument;
    AUTO_ARENA arena = arena_new(1024 * 1024);
    Call call = {.arena = arena};
    JobPool *jobs = NULL;
    static int owner;
    const JobPoolOptions job_options = {.thread_count = 2, .context_new = context_new, .owner = &owner};
    static const char *const origins[] = {"https://dashboard.example", NULL};
    const HttpOptions usual_options = {.origins = origins};
    const HttpOptions impatient_options = {.head_timeout_ms = 200,
        .idle_timeout_ms = 300,
        .body_grace_ms = 200,
        .body_rate_min = 1000,
        .deadline_ms = 300};
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    assert_status(&call, STATUS_OK, job_pool_new(&call, &job_options, &jobs));
    HttpServer *const first = serve(&call, jobs, usual_options, usual);
    HttpServer *const second = serve(&call, jobs, impatient_options, impatient);
    pthread_barrier_wait(&is_listening);
    loop_run(loop);
    http_server_free(second);
    http_server_free(first);
    job_pool_free(jobs);
    return NULL;
}

static int
servers_start(void **state)
{
    (void)state;
    pthread_barrier_init(&is_listening, NULL, 2);
    return pthread_create(&thread, NULL, thread_run, NULL) != 0 || pthread_barrier_wait(&is_listening) > 0;
}

static int
servers_stop(void **state)
{
    (void)state;
    loop_stop(loop);
    const int joined = pthread_join(thread, NULL);
    loop_free(loop);
    return joined;
}

static char reply[RAW_REPLY_SIZE];

static int
ask(const char *request)
{
    return raw_exchange(usual, request, strlen(request), reply);
}

/* Until the counter, which another thread raises, has passed `before`. */
static void
wait_for(const uint64_t *counter, uint64_t before)
{
    for (int count = 0; count < TIMEOUT_MS && __atomic_load_n(counter, __ATOMIC_SEQ_CST) <= before; count++) {
        usleep(1000);
    }
    assert_true(__atomic_load_n(counter, __ATOMIC_SEQ_CST) > before);
}

/* --- Plain requests ------------------------------------------------------------------------------------- */

static void
a_start_handler_answers_on_the_loop(void **state)
{
    (void)state;
    assert_int_equal(ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_non_null(strstr(reply, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(reply, "X-Request-Id: "));
    assert_non_null(strstr(reply, "\r\n\r\n{\"hello\":\"world\"}"));
}

static void
a_run_handler_answers_from_a_job_thread(void **state)
{
    (void)state;
    assert_int_equal(ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nbytes"), 200);
    assert_non_null(strstr(reply, "\r\n\r\nbytes"));
}

static void
a_client_request_id_comes_back_when_it_is_sane(void **state)
{
    (void)state;
    (void)ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc-1.2_3\r\n\r\n");
    assert_non_null(strstr(reply, "X-Request-Id: abc-1.2_3\r\n"));
    (void)ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\r\n\r\n");
    assert_null(strstr(reply, "X-Request-Id: a b\r\n"));
}

static void
errors_are_problem_documents(void **state)
{
    (void)state;
    assert_int_equal(ask("GET /fail HTTP/1.1\r\nHost: x\r\nX-Request-Id: r1\r\n\r\n"), 400);
    assert_non_null(strstr(reply, "Content-Type: application/problem+json\r\n"));
    assert_non_null(strstr(reply,
        "{\"type\":\"/problems/invalid-argument\",\"title\":\"Bad Request\",\"status\":400,"
        "\"detail\":\"the graph has 1 fault\",\"instance\":\"/fail\",\"code\":\"INVALID_ARGUMENT\","
        "\"request_id\":\"r1\",\"retryable\":false,"
        "\"errors\":[{\"pointer\":\"#/node/3\",\"detail\":\"op 'Conv9D' is unknown\"}],"
        "\"error\":\"the graph has 1 fault\"}"));
}

static void
unknown_paths_and_methods_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(ask("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
    assert_int_equal(ask("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n"), 405);
    assert_non_null(strstr(reply, "Allow: POST, OPTIONS\r\n"));
    assert_int_equal(ask("TRACE /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 405);
}

static void
options_and_head_need_no_handler(void **state)
{
    (void)state;
    assert_int_equal(ask("OPTIONS /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 204);
    assert_non_null(strstr(reply, "Allow: GET, HEAD, OPTIONS\r\n"));
    const int fd = raw_open(usual);
    raw_send_text(fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const long size = raw_drain(fd, reply, sizeof reply - 1, TIMEOUT_MS);
    assert_true(size > 0);
    reply[size] = '\0';
    assert_non_null(strstr(reply, "HTTP/1.1 200 OK"));
    assert_non_null(strstr(reply, "Content-Length: 17\r\n"));
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
    close(fd);
}

static void
an_allowed_origin_may_ask_from_a_browser(void **state)
{
    (void)state;
    assert_int_equal(ask("OPTIONS /hello HTTP/1.1\r\nHost: x\r\nOrigin: https://dashboard.example\r\n"
                         "Access-Control-Request-Method: GET\r\n\r\n"),
        204);
    assert_non_null(strstr(reply, "Access-Control-Allow-Origin: https://dashboard.example\r\n"));
    assert_non_null(strstr(reply, "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n"));
    assert_int_equal(ask("GET /hello HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\n\r\n"), 200);
    assert_null(strstr(reply, "Access-Control-Allow-Origin"));
}

static void
a_known_etag_gives_304(void **state)
{
    (void)state;
    assert_int_equal(
        ask("GET /items/a%20b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cached\r\n\r\n"), 200);
    assert_non_null(strstr(reply, "ETag: \"r1\"\r\n"));
    assert_non_null(strstr(reply, "{\"item\":\"a b\"}"));
    assert_int_equal(ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cached\r\n"
                         "If-None-Match: \"r0\", W/\"r1\"\r\n\r\n"),
        304);
    assert_non_null(strstr(reply, "ETag: \"r1\"\r\n"));
}

static void
large_json_is_sent_as_gzip_when_accepted(void **state)
{
    (void)state;
    assert_int_equal(ask("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_null(strstr(reply, "Content-Encoding"));
    assert_non_null(strstr(reply, "Vary: Accept-Encoding"));
    assert_int_equal(ask("GET /large HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"), 200);
    assert_non_null(strstr(reply, "Content-Encoding: gzip\r\n"));
}

/* --- Credentials ---------------------------------------------------------------------------------------- */

static void
credentials_are_asked_for_and_checked(void **state)
{
    (void)state;
    assert_int_equal(ask("GET /items/a HTTP/1.1\r\nHost: x\r\n\r\n"), 401);
    assert_non_null(strstr(reply, "WWW-Authenticate: Bearer realm=\"sluice\""));
    assert_int_equal(ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Digest x\r\n\r\n"), 401);
    assert_int_equal(ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n"), 401);
    assert_int_equal(ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stored\r\n\r\n"), 200);
    /* base64 of "id:stored" */
    assert_int_equal(
        ask("GET /items/a HTTP/1.1\r\nHost: x\r\nAuthorization: Basic aWQ6c3RvcmVk\r\n\r\n"), 200);
    assert_int_equal(ask("GET /items/a?ticket=stored HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

static void
a_body_waits_for_credentials_that_are_not_cached(void **state)
{
    (void)state;
    assert_int_equal(ask("PUT /upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stored\r\n"
                         "Content-Length: 5\r\n\r\nbytes"),
        200);
    assert_non_null(strstr(reply, "\r\n\r\n5"));
    assert_int_equal(ask("PUT /upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n"
                         "Content-Length: 5\r\n\r\nbytes"),
        401);
}

/* --- Guards (each way that two programs could read one request differently) ----------------------------- */

typedef struct Smuggled {
    const char *what;
    Slice request;
    int status;
} Smuggled;

#define REQUEST(text)                                                                                        \
    {                                                                                                        \
        .data = (text), .size = sizeof(text) - 1                                                             \
    }

static const Smuggled smuggled[] = {
    {"two lengths",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400},
    {"length and chunked",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        400},
    {"another coding",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 400},
    {"an unknown coding",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 400},
    {"two hosts", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n"), 400},
    {"no host", REQUEST("GET /hello HTTP/1.1\r\n\r\n"), 400},
    {"two keys",
        REQUEST(
            "GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"),
        400},
    {"two types",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Type: a/c\r\n"
                "Content-Length: 1\r\n\r\na"),
        400},
    {"two idempotency keys",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n"
                "Content-Length: 1\r\n\r\na"),
        400},
    {"space before the colon", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc"),
        400},
    {"tab before the colon", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAccept\t: a\r\n\r\n"), 400},
    {"a folded line", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAccept: a\r\n b\r\nX: y\r\n\r\n"), 400},
    {"a folded last line", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAccept: a\r\n\tb\r\n\r\n"), 400},
    {"NUL in a value",
        REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\0b\r\nX: y\r\n\r\n"), 400},
    {"NUL in the last value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\0b\r\n\r\n"),
        400},
    {"NUL at a value's end", REQUEST("GET /hello HTTP/1.1\r\nHost: x\0\r\nX: y\r\n\r\n"), 400},
    {"NUL in a name", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX\0Y: y\r\n\r\n"), 400},
    {"NUL in the target", REQUEST("GET /hello\0x HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a control byte in a value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX: a\x01z\r\n\r\n"), 400},
    {"a bare CR in a value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n"), 400},
    {"DEL in a value", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\nX: a\x7f\r\n\r\n"), 400},
    {"an empty name", REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n"), 400},
    {"bare LF everywhere", REQUEST("GET /hello HTTP/1.1\nHost: x\nX: y\n\n"), 400},
    {"bare LF behind the request line", REQUEST("GET /hello HTTP/1.1\nHost: x\r\n\r\n"), 400},
    {"bare LF among the headers", REQUEST("GET /hello HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"), 400},
    {"a request behind a bare LF",
        REQUEST("GET /hello HTTP/1.1\r\nHost: x\r\n\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a signed length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc"), 400},
    {"a negative length", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc"), 400},
    {"a length list", REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc"), 400},
    {"an overflowing length",
        REQUEST("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabc"), 413},
    {"absolute form", REQUEST("GET http://x/hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded NUL", REQUEST("GET /hello%00 HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded slash", REQUEST("GET /items%2fa HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded backslash", REQUEST("GET /items%5Ca HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a backslash", REQUEST("GET /items\\a HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"dot segments", REQUEST("GET /items/../hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"encoded dot segments", REQUEST("GET /items/%2e%2E/hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"non-ASCII", REQUEST("GET /h\xc3\xa4llo HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"an encoded line end", REQUEST("GET /hello%0d%0a HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"half an escape", REQUEST("GET /hello%2 HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
    {"a query name twice", REQUEST("GET /hello?a=1&a=2 HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
};

static void
what_can_be_read_in_two_ways_is_refused_and_closes(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(smuggled); index++) {
        const int fd = raw_open(usual);
        raw_send(fd, smuggled[index].request.data, smuggled[index].request.size);
        const int status = raw_reply(fd, reply, TIMEOUT_MS);
        if (status != smuggled[index].status) {
            fail_msg("%s: status %d, expected %d", smuggled[index].what, status, smuggled[index].status);
        }
        /* libmicrohttpd 0.9.75 sends the head of its own refusals twice. */
        if (raw_drain(fd, reply, sizeof reply, TIMEOUT_MS) < 0) {
            fail_msg("%s: the connection stays open", smuggled[index].what);
        }
        close(fd);
    }
}

static void
what_is_unusual_but_clear_is_taken(void **state)
{
    (void)state;
    assert_int_equal(ask("GET /hello HTTP/1.1\r\nHost: x\r\nEmpty:\r\nSpaces:  \t a b \t \r\n\r\n"), 200);
    assert_int_equal(ask("\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(ask("GET /hello? HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(ask("GET /hello?a=%41&b=x+y&c HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Latin: \xe9\r\n\r\n"), 200);
    assert_int_equal(ask("GET /hello HTTP/1.0\r\n\r\n"), 200);
}

/* --- Limits --------------------------------------------------------------------------------------------- */

static int
ask_padded(const char *before, size_t padding, const char *behind)
{
    const size_t size = strlen(before) + padding + strlen(behind);
    char *const request = memory_new(1, size + 1);
    memcpy(request, before, strlen(before));
    memset(request + strlen(before), 'a', padding);
    memcpy(request + strlen(before) + padding, behind, strlen(behind));
    const int status = raw_exchange(usual, request, size, reply);
    memory_free(request);
    return status;
}

static void
targets_and_heads_have_limits(void **state)
{
    (void)state;
    assert_int_equal(ask_padded("GET /hello?a=", 8192 - 9, " HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(ask_padded("GET /hello?a=", 8193 - 9, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    assert_int_equal(ask_padded("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", 32 * 1024 - 29, "\r\n\r\n"), 200);
    assert_int_equal(ask_padded("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", 32 * 1024 - 28, "\r\n\r\n"), 431);
    assert_int_equal(ask_padded("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", 300 * 1024, "\r\n\r\n"), 431);
}

/* All that libmicrohttpd keeps in a connection's memory at once. */
static void
the_largest_head_of_the_most_fields_leaves_room_for_a_body_and_a_reply(void **state)
{
    (void)state;
    enum { BODY_SIZE = 20000, HEAD_SIZE = 32 * 1024, LINE_SIZE = 500 };
    static char body[BODY_SIZE];
    static const char opening[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 20000";
    AUTO_BUFFER request = {0};
    memset(body, 'b', sizeof body);
    buffer_append_string(&request, opening);
    for (int field = 2; field < REQUEST_HEADERS_MAX; field++) {
        const size_t used = request.size - strlen("POST ");
        const size_t size = field + 1 < REQUEST_HEADERS_MAX ? LINE_SIZE : HEAD_SIZE - used;
        buffer_append_format(&request, "\r\nX-%02d: %0*d", field, (int)size - 8, 0);
    }
    buffer_append_string(&request, "\r\n\r\n");
    buffer_append(&request, body, sizeof body);
    assert_int_equal(raw_exchange(usual, request.data, request.size, reply), 200);
    assert_non_null(strstr(reply, "bbbb"));
}

static void
bodies_have_limits_known_from_the_head(void **state)
{
    (void)state;
    assert_int_equal(
        ask_padded("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", 60000, ""), 200);
    assert_int_equal(ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n"), 413);
    assert_int_equal(ask("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"), 413);
    assert_int_equal(
        ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\na"), 415);
    assert_int_equal(
        ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\na"), 415);
}

static void
a_small_refused_body_keeps_the_connection(void **state)
{
    (void)state;
    const int fd = raw_open(usual);
    raw_send_text(fd, "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
                      "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 404);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
    close(fd);
}

static void
a_client_that_expects_continue_is_refused_before_its_body(void **state)
{
    (void)state;
    const int fd = raw_open(usual);
    raw_send_text(
        fd, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n");
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 413);
    assert_true(raw_is_closed(fd, TIMEOUT_MS));
    close(fd);
    const int other = raw_open(usual);
    raw_send_text(
        other, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_int_equal(raw_reply(other, reply, TIMEOUT_MS), 100);
    raw_send_text(other, "abc");
    assert_int_equal(raw_reply(other, reply, TIMEOUT_MS), 200);
    close(other);
}

/* --- Bodies --------------------------------------------------------------------------------------------- */

static void
a_chunked_body_is_taken_and_ends_the_connection(void **state)
{
    (void)state;
    const int fd = raw_open(usual);
    raw_send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
    assert_non_null(strstr(reply, "\r\n\r\nabcde"));
    assert_true(raw_is_closed(fd, TIMEOUT_MS));
    close(fd);
}

static void
a_chunked_body_over_the_limit_is_cut_with_413(void **state)
{
    (void)state;
    enum { SIZE = 1024 * 1024 + 1 };
    const int fd = raw_open(usual);
    raw_send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n");
    char *const body = memory_new(1, SIZE);
    raw_send(fd, body, SIZE);
    memory_free(body);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 413);
    assert_true(raw_is_closed(fd, TIMEOUT_MS));
    close(fd);
}

static void
a_sink_takes_a_body_piece_by_piece_and_may_refuse(void **state)
{
    (void)state;
    static const char head[] = "PUT /upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cached\r\n";
    enum { SIZE = 4 * 1024 * 1024 };
    const int fd = raw_open(usual);
    raw_send_text(fd, head);
    raw_send_text(fd, "Content-Length: 4194304\r\n\r\n");
    char *const body = memory_new(1, SIZE);
    raw_send(fd, body, SIZE);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
    assert_non_null(strstr(reply, "\r\n\r\n4194304"));
    raw_send_text(fd, head);
    raw_send_text(fd, "Content-Length: 4194304\r\n\r\n");
    body[100] = 'X';
    raw_send(fd, body, SIZE);
    memory_free(body);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 400);
    assert_non_null(strstr(reply, "an 'X' is not allowed here"));
    close(fd);
}

static void
a_gzip_body_is_inflated_within_the_limit(void **state)
{
    (void)state;
    for (size_t size = 1024 * 1024; size <= 1024 * 1024 + 1; size++) {
        char *const plain = memory_new(1, size);
        AUTO_BUFFER packed = {0};
        assert_true(gzip_deflate(&packed, slice_of(plain, size), GZIP_LEVEL_USUAL));
        AUTO_BUFFER request = {0};
        buffer_append_format(&request,
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
            packed.size);
        buffer_append_slice(&request, buffer_slice(&packed));
        const int fd = raw_open(usual);
        raw_send(fd, request.data, request.size);
        raw_send_text(fd, "");
        char head[16];
        assert_int_equal(raw_drain(fd, head, sizeof head - 1, TIMEOUT_MS), sizeof head - 1);
        head[sizeof head - 1] = '\0';
        assert_string_equal(head, size == 1024 * 1024 ? "HTTP/1.1 200 OK" : "HTTP/1.1 413 Co");
        close(fd);
        memory_free(plain);
    }
}

/* --- Many requests on one connection -------------------------------------------------------------------- */

static void
pipelined_requests_are_answered_in_order(void **state)
{
    (void)state;
    const int fd = raw_open(usual);
    for (int count = 0; count < 20; count++) {
        raw_send_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /fail HTTP/1.1\r\nHost: x\r\n\r\n"
                          "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    }
    for (int count = 0; count < 20; count++) {
        assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
        assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 400);
        assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
        assert_non_null(strstr(reply, "\r\n\r\nabc"));
    }
    close(fd);
}

static void
every_request_is_logged_once(void **state)
{
    (void)state;
    usleep(20 * 1000); /* the requests of the test before */
    const uint64_t before = __atomic_load_n(&log_count, __ATOMIC_SEQ_CST);
    assert_int_equal(ask("GET /fail HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
    wait_for(&log_count, before);
    assert_int_equal(__atomic_load_n(&log_status, __ATOMIC_SEQ_CST), 400);
    assert_int_equal(__atomic_load_n(&log_count, __ATOMIC_SEQ_CST), before + 1);
}

/* --- Clients that go ------------------------------------------------------------------------------------ */

static void
assert_hang_up_is_seen(const char *request)
{
    const uint64_t before = __atomic_load_n(&waiting_count, __ATOMIC_SEQ_CST);
    __atomic_store_n(&cancelled_at_ns, 0, __ATOMIC_SEQ_CST);
    const int fd = raw_open(usual);
    raw_send_text(fd, request);
    wait_for(&waiting_count, before);
    usleep(20 * 1000);
    const uint64_t gone_ns = clock_monotonic_ns();
    close(fd);
    wait_for(&cancelled_at_ns, 0);
    const uint64_t seen_ns = __atomic_load_n(&cancelled_at_ns, __ATOMIC_SEQ_CST);
    assert_true(seen_ns - gone_ns < 200 * CLOCK_NS_PER_MS);
}

static void
a_hang_up_cancels_at_once(void **state)
{
    (void)state;
    assert_hang_up_is_seen("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_hang_up_is_seen("GET /wait-job HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_hang_up_is_seen("GET /stream?size=10&open HTTP/1.1\r\nHost: x\r\n\r\n");
}

static void
a_client_that_half_closes_is_taken_as_gone(void **state)
{
    (void)state;
    __atomic_store_n(&cancelled_at_ns, 0, __ATOMIC_SEQ_CST);
    const int fd = raw_open(usual);
    raw_send_text(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(fd, SHUT_WR);
    wait_for(&cancelled_at_ns, 0);
    close(fd);
}

/* --- Clients that dawdle -------------------------------------------------------------------------------- */

/* Sends a byte each 20 ms until the server has had enough. */
static void
assert_dawdling_is_cut(const char *start, const char *rest, int status)
{
    const int fd = raw_open(impatient);
    raw_send_text(fd, start);
    const uint64_t begin_ns = clock_monotonic_ns();
    int got = -1;
    for (const char *next = rest; *next != '\0' && got == -1; next++) {
        raw_send(fd, next, 1);
        got = raw_reply(fd, reply, 20);
    }
    assert_int_equal(got, status);
    assert_true(clock_monotonic_ns() - begin_ns < 2 * CLOCK_NS_PER_S);
    assert_true(raw_is_closed(fd, TIMEOUT_MS));
    close(fd);
}

static const char fifty_bytes[] = "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee";

static void
slow_headers_are_cut_however_steady(void **state)
{
    (void)state;
    assert_dawdling_is_cut("GET /hello HTTP/1.1\r\nHost: x\r\nX: ", fifty_bytes, 408);
}

static void
slow_bodies_are_cut_however_steady(void **state)
{
    (void)state;
    assert_dawdling_is_cut("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", fifty_bytes, 408);
}

static void
idle_connections_are_closed(void **state)
{
    (void)state;
    const int fd = raw_open(impatient);
    raw_send_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
    assert_true(raw_is_closed(fd, 2000));
    close(fd);
}

static void
a_deadline_ends_a_handler_with_504(void **state)
{
    (void)state;
    static const char *const paths[] = {"/wait", "/wait-job"};
    for (size_t index = 0; index < COUNT_OF(paths); index++) {
        const int fd = raw_open(impatient);
        raw_send_text(fd, "GET ");
        raw_send_text(fd, paths[index]);
        raw_send_text(fd, " HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 504);
        assert_non_null(strstr(reply, "\"code\":\"DEADLINE_EXCEEDED\""));
        close(fd);
    }
}

/* --- Streams -------------------------------------------------------------------------------------------- */

static void
a_stream_is_chunked_and_waits_for_its_reader(void **state)
{
    (void)state;
    enum { SIZE = 32 * 1024 * 1024 };
    const uint64_t closed = __atomic_load_n(&stream_closed_count, __ATOMIC_SEQ_CST);
    stream_queued_max = 0;
    stream_released_count = 0;
    const int fd = raw_open(usual);
    raw_send_text(fd, "GET /stream?size=33554432 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    usleep(100 * 1000); /* the socket fills, the writer must stop */
    const uint64_t released = __atomic_load_n(&stream_released_count, __ATOMIC_SEQ_CST);
    assert_true(released < SIZE / PIECE_SIZE);
    char *const all = memory_new(1, SIZE + SIZE / 8);
    const long size = raw_drain(fd, all, SIZE + SIZE / 8, TIMEOUT_MS);
    assert_true(size > SIZE);
    assert_memory_equal(all + size - 5, "0\r\n\r\n", 5);
    memory_free(all);
    wait_for(&stream_closed_count, closed);
    assert_true(stream_queued_max <= QUEUED_MAX + PIECE_SIZE);
    assert_int_equal(stream_released_count, SIZE / PIECE_SIZE);
    close(fd);
}

static void
a_lent_body_is_sent_whole_and_given_back(void **state)
{
    (void)state;
    for (size_t index = 0; index < sizeof lent_bytes; index++) {
        lent_bytes[index] = (char)(index * index >> 5);
    }
    const uint64_t before = __atomic_load_n(&lent_count, __ATOMIC_SEQ_CST);
    const int fd = raw_open(usual);
    raw_send_text(fd, "GET /lend HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    char *const all = memory_new(1, sizeof lent_bytes + 1024);
    const long size = raw_drain(fd, all, sizeof lent_bytes + 1024, TIMEOUT_MS);
    assert_true(size > (long)sizeof lent_bytes);
    assert_memory_equal(all + size - sizeof lent_bytes, lent_bytes, sizeof lent_bytes);
    memory_free(all);
    wait_for(&lent_count, before);
    close(fd);
}

static void
an_aborted_stream_ends_without_its_last_chunk(void **state)
{
    (void)state;
    const int fd = raw_open(usual);
    raw_send_text(fd, "GET /stream?size=300000&aborts HTTP/1.1\r\nHost: x\r\n\r\n");
    static char all[512 * 1024];
    const long size = raw_drain(fd, all, sizeof all, TIMEOUT_MS);
    assert_true(size >= 0);
    assert_true(size < 5 || memcmp(all + size - 5, "0\r\n\r\n", 5) != 0);
    close(fd);
}

/* --- A server's own life: on a loop that the test itself turns ------------------------------------------ */

typedef struct Alone {
    Call call;
    Loop *loop;
    HttpServer *server;
    char address[ADDRESS_TEXT_SIZE];
} Alone;

static void
alone_open(Alone *alone, uint32_t connections_max)
{
    *alone = (Alone){0};
    const HttpOptions options = {.handlers = handlers, .connections_max = connections_max};
    assert_status(&alone->call, STATUS_OK, loop_new(&alone->call, &alone->loop));
    assert_status(&alone->call, STATUS_OK,
        http_server_new(&alone->call, alone->loop, "127.0.0.1:0", &options, &alone->server));
    http_server_address(alone->server, alone->address);
}

static void
turn(const Alone *alone)
{
    for (int count = 0; count < 20; count++) {
        loop_turn(alone->loop, 1);
    }
}

static void
a_server_without_job_threads_says_503(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 0);
    const int fd = raw_open(alone.address);
    raw_send_text(fd, "GET /fail HTTP/1.1\r\nHost: x\r\n\r\n");
    turn(&alone);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 503);
    assert_non_null(strstr(reply, "Retry-After: 1\r\n"));
    close(fd);
    http_server_free(alone.server);
    loop_free(alone.loop);
}

static void
connections_beyond_the_limit_get_503(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 1);
    const int first = raw_open(alone.address);
    const int second = raw_open(alone.address);
    turn(&alone);
    assert_int_equal(raw_reply(second, reply, TIMEOUT_MS), 503);
    raw_send_text(first, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    turn(&alone);
    assert_int_equal(raw_reply(first, reply, TIMEOUT_MS), 200);
    close(first);
    close(second);
    http_server_free(alone.server);
    loop_free(alone.loop);
}

static void
a_draining_server_answers_and_then_closes(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 0);
    const int idle = raw_open(alone.address);
    const int busy = raw_open(alone.address);
    raw_send_text(idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_send_text(busy, "GET /hello HTTP/1.1\r\nHost: x\r\n");
    turn(&alone);
    assert_int_equal(raw_reply(idle, reply, TIMEOUT_MS), 200);
    http_server_drain(alone.server);
    raw_send_text(busy, "\r\n");
    turn(&alone);
    assert_true(raw_is_closed(idle, TIMEOUT_MS));
    assert_int_equal(raw_reply(busy, reply, TIMEOUT_MS), 200);
    assert_non_null(strstr(reply, "Connection: close\r\n"));
    assert_true(raw_is_closed(busy, TIMEOUT_MS));
    assert_int_equal(http_server_active(alone.server), 0);
    close(idle);
    close(busy);
    http_server_free(alone.server);
    loop_free(alone.loop);
}

static void
freeing_a_server_cancels_what_is_in_flight(void **state)
{
    (void)state;
    Alone alone;
    alone_open(&alone, 0);
    static const char *const requests[] = {"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /stream?size=10&open HTTP/1.1\r\nHost: x\r\n\r\n", "GET /hel",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"};
    int fds[COUNT_OF(requests)];
    for (size_t index = 0; index < COUNT_OF(requests); index++) {
        fds[index] = raw_open(alone.address);
        raw_send_text(fds[index], requests[index]);
    }
    turn(&alone);
    assert_int_equal(http_server_active(alone.server), 3);
    const uint64_t closed = __atomic_load_n(&stream_closed_count, __ATOMIC_SEQ_CST);
    http_server_free(alone.server);
    assert_int_equal(__atomic_load_n(&stream_closed_count, __ATOMIC_SEQ_CST), closed + 1);
    for (size_t index = 0; index < COUNT_OF(requests); index++) {
        assert_true(raw_drain(fds[index], reply, sizeof reply, TIMEOUT_MS) >= 0);
        close(fds[index]);
    }
    loop_free(alone.loop);
}

static void
an_address_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    Alone alone = {0};
    const HttpOptions options = {.handlers = handlers};
    assert_status(&alone.call, STATUS_OK, loop_new(&alone.call, &alone.loop));
    assert_status(&alone.call, STATUS_INVALID_ARGUMENT,
        http_server_new(&alone.call, alone.loop, "nonsense", &options, &alone.server));
    assert_null(alone.server);
    loop_free(alone.loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_handler_answers_on_the_loop),
        cmocka_unit_test(a_run_handler_answers_from_a_job_thread),
        cmocka_unit_test(a_client_request_id_comes_back_when_it_is_sane),
        cmocka_unit_test(errors_are_problem_documents),
        cmocka_unit_test(unknown_paths_and_methods_are_told_apart),
        cmocka_unit_test(options_and_head_need_no_handler),
        cmocka_unit_test(an_allowed_origin_may_ask_from_a_browser),
        cmocka_unit_test(a_known_etag_gives_304),
        cmocka_unit_test(large_json_is_sent_as_gzip_when_accepted),
        cmocka_unit_test(credentials_are_asked_for_and_checked),
        cmocka_unit_test(a_body_waits_for_credentials_that_are_not_cached),
        cmocka_unit_test(what_can_be_read_in_two_ways_is_refused_and_closes),
        cmocka_unit_test(what_is_unusual_but_clear_is_taken),
        cmocka_unit_test(targets_and_heads_have_limits),
        cmocka_unit_test(the_largest_head_of_the_most_fields_leaves_room_for_a_body_and_a_reply),
        cmocka_unit_test(bodies_have_limits_known_from_the_head),
        cmocka_unit_test(a_small_refused_body_keeps_the_connection),
        cmocka_unit_test(a_client_that_expects_continue_is_refused_before_its_body),
        cmocka_unit_test(a_chunked_body_is_taken_and_ends_the_connection),
        cmocka_unit_test(a_chunked_body_over_the_limit_is_cut_with_413),
        cmocka_unit_test(a_sink_takes_a_body_piece_by_piece_and_may_refuse),
        cmocka_unit_test(a_gzip_body_is_inflated_within_the_limit),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(every_request_is_logged_once),
        cmocka_unit_test(a_hang_up_cancels_at_once),
        cmocka_unit_test(a_client_that_half_closes_is_taken_as_gone),
        cmocka_unit_test(slow_headers_are_cut_however_steady),
        cmocka_unit_test(slow_bodies_are_cut_however_steady),
        cmocka_unit_test(idle_connections_are_closed),
        cmocka_unit_test(a_deadline_ends_a_handler_with_504),
        cmocka_unit_test(a_stream_is_chunked_and_waits_for_its_reader),
        cmocka_unit_test(a_lent_body_is_sent_whole_and_given_back),
        cmocka_unit_test(an_aborted_stream_ends_without_its_last_chunk),
        cmocka_unit_test(a_server_without_job_threads_says_503),
        cmocka_unit_test(connections_beyond_the_limit_get_503),
        cmocka_unit_test(a_draining_server_answers_and_then_closes),
        cmocka_unit_test(freeing_a_server_cancels_what_is_in_flight),
        cmocka_unit_test(an_address_that_cannot_be_read_is_refused),
    };
    return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
