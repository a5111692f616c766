#include "tests/support/http_site.h"

#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/json/writer.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"

HttpSiteSeen http_site_seen;
char http_site_reply[RAW_REPLY_SIZE];

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
    Slice item = request_parameter(request, "item");
    response_etag(response, "r1");
    buffer_append_format(response_json(response), "{\"item\":\"%.*s\"}", SLICE_PRINT(item));
    return STATUS_OK;
}
static const Handler show_handler = {.operation_id = "show",
    .method = "GET",
    .path = "/items/{item}",
    .access = ACCESS_TENANT,
    .takes_tickets = true,
    .run = show};

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
    Buffer *body = response_json(response);
    for (int index = 0; index < 1000; index++) {
        buffer_append_string(body, index == 0 ? "[0" : ",0");
    }
    buffer_append_string(body, "]");
    return STATUS_OK;
}
static const Handler large_handler = {
    .operation_id = "large", .method = "GET", .path = "/large", .run = large};

/* Counts bytes that were lent and have been given back. */
static void
lent_release(void *resource)
{
    (void)resource;
    atomic_add_acq_rel(&http_site_seen.lent, 1);
}

char http_site_lent[HTTP_SITE_LENT_SIZE];

static void
lend(Exchange *exchange)
{
    response_borrow(exchange_response(exchange), "application/x-npy",
        slice_of(http_site_lent, sizeof http_site_lent), lent_release, NULL);
    exchange_finish(exchange);
}
static const Handler lend_handler = {.operation_id = "lend", .method = "GET", .path = "/lend", .start = lend};

/* Notes when a waiting request is cancelled. */
static void
wait_cancelled(Exchange *exchange, void *owner)
{
    (void)owner;
    atomic_store_seq_cst(&http_site_seen.cancelled_at_ns, clock_monotonic_ns());
    exchange_fail(exchange, call_fail(exchange_call(exchange), STATUS_CANCELLED, "the step was cancelled"));
}

static void
wait_start(Exchange *exchange)
{
    exchange_on_cancel(exchange, wait_cancelled, NULL);
    atomic_add_acq_rel(&http_site_seen.waiting, 1);
}
static const Handler wait_handler = {
    .operation_id = "wait", .method = "GET", .path = "/wait", .start = wait_start};

static Status
wait_on_job_thread(Call *call, const Request *request, Response *response)
{
    (void)request;
    (void)response;
    atomic_add_acq_rel(&http_site_seen.waiting, 1);
    Status status = STATUS_OK;
    while (status == STATUS_OK) {
        usleep(1000);
        status = call_check(call, clock_monotonic_ns());
    }
    atomic_store_seq_cst(&http_site_seen.cancelled_at_ns, clock_monotonic_ns());
    return status;
}
static const Handler wait_job_handler = {
    .operation_id = "waitJob", .method = "GET", .path = "/wait-job", .run = wait_on_job_thread};

/* A stream of `size` bytes in pieces, with at most a megabyte queued; it can abort or stay open at its
 * end. */
static char stream_piece[HTTP_SITE_PIECE_SIZE];

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
    atomic_add_acq_rel(&http_site_seen.stream_released, 1);
}

static void
source_write(HttpStream *stream, void *owner)
{
    Source *source = owner;
    while (source->left > 0 && http_stream_queued(stream) < HTTP_SITE_QUEUED_MAX) {
        size_t size = source->left < HTTP_SITE_PIECE_SIZE ? source->left : HTTP_SITE_PIECE_SIZE;
        source->left -= size;
        assert_true(http_stream_write(stream, slice_of(stream_piece, size), piece_released, source));
        if (http_stream_queued(stream) > http_site_seen.stream_queued_max) {
            atomic_store_seq_cst(&http_site_seen.stream_queued_max, http_stream_queued(stream));
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
    Source *source = owner;
    assert_int_equal(is_complete, !source->aborts && source->left == 0 && !source->stays_open);
    atomic_store_seq_cst(&http_site_seen.cancelled_at_ns, clock_monotonic_ns());
    atomic_add_acq_rel(&http_site_seen.stream_closed, 1);
}

static const HttpStreamEvents source_events = {.drained = source_write, .closed = source_closed};

static void
stream_start(Exchange *exchange)
{
    const Request *request = exchange_request(exchange);
    Call *call = exchange_call(exchange);
    Source *source = arena_alloc(call->arena, sizeof *source);
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
    HttpStream *stream = exchange_stream(exchange, "application/octet-stream", &source_events, source);
    source_write(stream, source);
    exchange_finish(exchange);
    atomic_add_acq_rel(&http_site_seen.waiting, 1);
}
static const Handler stream_handler = {
    .operation_id = "stream", .method = "GET", .path = "/stream", .start = stream_start};

/* Counts an uploaded body without keeping it; an 'X' in it is refused. */
static Status
count_begin(Exchange *exchange, void **ret_state)
{
    Call *call = exchange_call(exchange);
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

/* Takes a body in windows, and sums its bytes; an 'X' in it is refused. */
typedef struct Sum {
    uint64_t size;
    uint64_t sum;
} Sum;

static Status
sum_begin(Call *call, const Request *request, Response *response, void **ret_state)
{
    assert_non_null(request_header(request, "Host").data);
    assert_non_null(response);
    Sum *sum = memory_new(1, sizeof *sum);
    *ret_state = sum;
    atomic_add_acq_rel(&http_site_seen.windows_begun, 1);
    return sum == NULL ? call_fail_memory(call, "a sum") : STATUS_OK;
}

static Status
sum_take(Call *call, JobContext *job_context, void *state, Slice window)
{
    Sum *sum = state;
    assert_non_null(job_context);
    AWAIT(!atomic_load_seq_cst(&http_site_seen.windows_are_held));
    for (size_t index = 0; index < window.size; index++) {
        sum->sum += (unsigned char)window.data[index] * (sum->size + index + 1);
    }
    sum->size += window.size;
    atomic_add_acq_rel(&http_site_seen.windows_taken, window.size);
    return slice_find(window, 'X') == window.size
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "an 'X' is not allowed here");
}

static void
sum_end(JobContext *job_context, void *state)
{
    assert_non_null(job_context);
    memory_free(state);
    atomic_add_acq_rel(&http_site_seen.windows_ended, 1);
}

static const BodyTaker sum_taker = {
    .window_size = HTTP_SITE_WINDOW_SIZE, .begin = sum_begin, .take = sum_take, .end = sum_end};

static const BodyTaker *
sum_choose(const Request *request)
{
    (void)request;
    return &sum_taker;
}

static Status
sum_run(Call *call, const Request *request, Response *response)
{
    (void)call;
    const Sum *sum = request->sink_state;
    assert_int_equal(request->body.size, 0);
    buffer_append_format(response_body(response, "text/plain"), "%llu bytes, sum %llu",
        (unsigned long long)sum->size, (unsigned long long)sum->sum);
    return STATUS_OK;
}
static const Handler sum_handler = {.operation_id = "sum",
    .method = "PUT",
    .path = "/sum",
    .access = ACCESS_TENANT,
    .body_size_max = 256 * 1024 * 1024,
    .run = sum_run,
    .taker = sum_choose};

const Handler *const http_site_handlers[] = {&sum_handler, &hello_handler, &echo_handler, &show_handler,
    &fail_handler, &large_handler, &wait_handler, &wait_job_handler, &stream_handler, &upload_handler,
    &lend_handler, NULL};

/* Knows the key "cached" at once, and "stale" for one that must be looked up again. */
static AuthorizeAnswer
authorize(
    const Parts *parts, const Request *request, const Credentials *credentials, Principal *ret_principal)
{
    (void)parts;
    (void)request;
    (void)ret_principal;
    if (slice_equals_string(credentials->secret, "cached")) {
        return AUTHORIZE_ALLOWED;
    }
    if (credentials->scheme == CREDENTIALS_NONE) {
        return AUTHORIZE_DENIED;
    }
    atomic_add_acq_rel(&http_site_seen.keys_asked, 1);
    return slice_equals_string(credentials->secret, "stale") ? AUTHORIZE_STALE : AUTHORIZE_UNKNOWN;
}

/* Finds the keys "stored" and "stale", and notes how the keys came. */
static void
authorize_blocking(const Parts *parts, JobContext *job_context, AuthorizeItem *items, size_t count)
{
    (void)parts;
    bool was_unknown = false;
    assert_non_null(job_context);
    atomic_add_acq_rel(&http_site_seen.key_look_ups, 1);
    while (atomic_load_acquire(&http_site_seen.keys_are_held)) {
        pause_ms(1);
    }
    for (size_t index = 0; index < count; index++) {
        bool is_stale = slice_equals_string(items[index].credentials->secret, "stale");
        bool is_stored = slice_equals_string(items[index].credentials->secret, "stored");
        atomic_add_acq_rel(&http_site_seen.stale_behind_unknown, is_stale && was_unknown);
        was_unknown = was_unknown || !is_stale;
        items[index].status = is_stale || is_stored ? STATUS_OK
                                                    : call_fail(items[index].call, STATUS_UNAUTHENTICATED,
                                                          "the key is not known");
    }
}

static void
log_record(Parts *parts, const RequestRecord *record)
{
    (void)parts;
    atomic_store_seq_cst(&http_site_seen.log_status, record->http_status);
    atomic_add_acq_rel(&http_site_seen.logged, 1);
}

int
http_site_start(void **state)
{
    (void)state;
    static const Slice origins[] = {{.data = "https://dashboard.example", .size = 25}};
    static HttpOptions options[] = {
        {.origins = {.items = origins, .count = COUNT_OF(origins)}},
        /* A busy machine needs this long to send a request in one piece. */
        {.head_timeout_ms = 1000,
            .idle_timeout_ms = 1000,
            .body_grace_ms = 1000,
            .body_rate_min = 1000,
            .deadline_ms = 1000},
    };
    for (size_t index = 0; index < COUNT_OF(options); index++) {
        options[index].handlers = http_site_handlers;
        options[index].authorize = authorize;
        options[index].authorize_blocking = authorize_blocking;
        options[index].log = log_record;
    }
    return http_servers_start(options, COUNT_OF(options));
}

const char *
http_site_usual(void)
{
    return http_servers_address(0);
}

const char *
http_site_impatient(void)
{
    return http_servers_address(1);
}

int
http_site_ask(const char *request)
{
    return raw_exchange(http_site_usual(), request, strlen(request), http_site_reply);
}
