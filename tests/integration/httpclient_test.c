/* The HTTP client against the gateway's own server on loopback: one thread serves, the test asks. */
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/http/server.h"
#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/httpclient/http_client.h"
#include "tests/support/await.h"
#include "tests/support/http_servers.h"

enum { BODY_SIZE_MAX = 64 << 20, LARGE_SIZE = 5000000 };

static Status
echo(Call *call, const Request *request, Response *response)
{
    (void)call;
    Slice type = request_header(request, "Content-Type");
    response_header_format(response, "X-Type", "%.*s", SLICE_PRINT(type));
    buffer_append_slice(response_body(response, "application/octet-stream"), request->body);
    return STATUS_OK;
}
static const Handler echo_handler = {
    .operation_id = "echo", .method = "POST", .path = "/echo", .body_size_max = BODY_SIZE_MAX, .run = echo};

/* Answers with `size` zero bytes and the status that is asked for. */
static Status
zeros(Call *call, const Request *request, Response *response)
{
    uint64_t size = 0;
    uint64_t status = 0;
    TRY(request_query_uint64(call, request, "size", BODY_SIZE_MAX, &size));
    TRY(request_query_uint64(call, request, "status", 599, &status));
    response_status(response, (int)status);
    Buffer *body = response_body(response, "application/octet-stream");
    char *room = buffer_reserve(body, size);
    if (room == NULL) {
        return call_fail_memory(call, "zeros");
    }
    memset(room, 0, size);
    buffer_grow(body, size);
    return STATUS_OK;
}
static const Handler zeros_handler = {
    .operation_id = "zeros", .method = "GET", .path = "/zeros", .run = zeros};

static uint64_t waiting_count;
static uint64_t gone_count;

static void
wait_cancelled(Exchange *exchange, void *owner)
{
    (void)owner;
    atomic_add_acq_rel(&gone_count, 1);
    exchange_fail(exchange, call_fail(exchange_call(exchange), STATUS_CANCELLED, "the client went"));
}

static void
wait_start(Exchange *exchange)
{
    exchange_on_cancel(exchange, wait_cancelled, NULL);
    atomic_add_acq_rel(&waiting_count, 1);
}
static const Handler wait_handler = {
    .operation_id = "wait", .method = "GET", .path = "/wait", .start = wait_start};

static void
broken_drained(HttpStream *stream, void *owner)
{
    (void)stream;
    (void)owner;
}

static void
broken_closed(void *owner, bool is_complete)
{
    (void)owner;
    (void)is_complete;
}

/* Begins a chunked body and ends the connection without its last chunk. */
static void
broken_start(Exchange *exchange)
{
    static const HttpStreamEvents events = {.drained = broken_drained, .closed = broken_closed};
    HttpStream *stream = exchange_stream(exchange, "text/plain", &events, NULL);
    assert_true(http_stream_write(stream, SLICE("half of it"), NULL, NULL));
    http_stream_cut(stream);
    exchange_finish(exchange);
}
static const Handler broken_handler = {
    .operation_id = "broken", .method = "GET", .path = "/broken", .start = broken_start};

static Status
elsewhere(Call *call, const Request *request, Response *response)
{
    (void)call;
    (void)request;
    response_status(response, 302);
    response_header(response, "Location", "/zeros?size=7&status=200");
    return STATUS_OK;
}
static const Handler elsewhere_handler = {
    .operation_id = "elsewhere", .method = "GET", .path = "/elsewhere", .run = elsewhere};

static const Handler *const handlers[] = {
    &echo_handler, &zeros_handler, &wait_handler, &broken_handler, &elsewhere_handler, NULL};

enum { USUAL, SINGLE, IMPATIENT };

static int
servers_start(void **state)
{
    (void)state;
    static const HttpOptions options[] = {
        [USUAL] = {.handlers = handlers},
        [SINGLE] = {.handlers = handlers, .connections_per_address_max = 1},
        [IMPATIENT] = {.handlers = handlers, .idle_timeout_ms = 500}, /* closes idle connections */
    };
    return http_servers_start(options, COUNT_OF(options));
}

typedef struct Fixture {
    Call call;
    HttpClient *client;
    HttpClientResponse response;
    uint64_t received; /* bytes taken by the sink */
    size_t told;       /* how often progress was reported */
    HttpClientProgress progress;
} Fixture;

/* Reads zeros, a few at a time. */
static Status
zeros_read(Call *call, void *context, uint64_t offset, char *room, size_t size, size_t *ret_count)
{
    enum { PIECE = 10000 };
    (void)call;
    (void)context;
    assert_in_range(size, 1, LARGE_SIZE - offset);
    *ret_count = size < PIECE ? size : PIECE;
    memset(room, 0, *ret_count);
    return STATUS_OK;
}
static const HttpClientSource zeros_source = {.size = LARGE_SIZE, .read = zeros_read};

static Status
half_read(Call *call, void *context, uint64_t offset, char *room, size_t size, size_t *ret_count)
{
    return offset < LARGE_SIZE / 2 ? zeros_read(call, context, offset, room, size, ret_count)
                                   : call_fail(call, STATUS_ABORTED, "the source has dried up");
}
static const HttpClientSource half_source = {.size = LARGE_SIZE, .read = half_read};

static int
set_up(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){
        .call = {.arena = arena_new(1 << 20)},
        .client = http_client_new(&(HttpClientOptions){.connect_timeout_ms = 2000}),
    };
    *state = &fixture;
    return fixture.client == NULL;
}

static int
tear_down(void **state)
{
    Fixture *fixture = *state;
    http_client_response_done(&fixture->response);
    http_client_free(fixture->client);
    arena_free(fixture->call.arena);
    return 0;
}

/* Sends the request, which has everything but the URL. */
static Status
ask(Fixture *fixture, const char *address, const char *path, HttpClientRequest request)
{
    http_client_response_done(&fixture->response);
    request.url = text_format(fixture->call.arena, "http://%s%s", address, path);
    assert_non_null(request.url);
    return http_client_send(&fixture->call, fixture->client, &request, &fixture->response);
}

#define assert_answer(fixture, address, path, request)                                                       \
    do {                                                                                                     \
        assert_status(&(fixture)->call, STATUS_OK, ask(fixture, address, path, request));                    \
        assert_int_equal((fixture)->response.status, 200);                                                   \
    } while (0)

static Status
sink_take(Call *call, void *context, Slice piece)
{
    Fixture *fixture = context;
    fixture->received += piece.size;
    return fixture->received <= LARGE_SIZE ? STATUS_OK
                                           : call_fail(call, STATUS_ABORTED, "the sink has had enough");
}

static void
progress_note(void *context, const HttpClientProgress *progress)
{
    Fixture *fixture = context;
    fixture->told++;
    fixture->progress = *progress;
}

static const HttpClientEvents all_events = {.on_data = sink_take, .on_progress = progress_note};
static const HttpClientEvents progress_events = {.on_progress = progress_note};

static void *
cancel_soon(void *context)
{
    AWAIT(atomic_load_seq_cst(&waiting_count) > 0);
    call_cancel(context);
    return NULL;
}

static void
requests_follow_each_other_on_one_connection(void **state)
{
    Fixture *fixture = *state;
    for (int count = 0; count < 20; count++) {
        assert_answer(
            fixture, http_servers_address(SINGLE), "/zeros?size=10&status=200", (HttpClientRequest){0});
        assert_int_equal(fixture->response.body.size, 10);
    }
    AUTO_HTTP_CLIENT other = http_client_new(&(HttpClientOptions){0});
    HttpClient *first = TAKE(fixture->client);
    fixture->client = other;
    Status status =
        ask(fixture, http_servers_address(SINGLE), "/zeros?size=10&status=200", (HttpClientRequest){0});
    fixture->client = first;
    assert_true(status == STATUS_UNAVAILABLE || fixture->response.status == 503);
}

static void
bodies_go_up_from_memory_and_from_a_source(void **state)
{
    Fixture *fixture = *state;
    HttpClientRequest small = {.method = "POST", .content_type = "text/plain", .body = SLICE("some bytes")};
    assert_answer(fixture, http_servers_address(USUAL), "/echo", small);
    assert_string_equal(buffer_string(&fixture->response.body), "some bytes");
    assert_true(slice_equals_string(http_client_header(&fixture->response, "x-type"), "text/plain"));
    HttpClientRequest none = {.method = "POST"};
    assert_answer(fixture, http_servers_address(USUAL), "/echo", none);
    assert_int_equal(fixture->response.body.size, 0);
    assert_int_equal(http_client_header(&fixture->response, "X-Type").size, 0);
    HttpClientRequest large = {.method = "POST",
        .content_type = "application/octet-stream",
        .source = &zeros_source,
        .events = &progress_events,
        .context = fixture};
    assert_answer(fixture, http_servers_address(USUAL), "/echo", large);
    assert_int_equal(fixture->response.body.size, LARGE_SIZE);
    assert_int_equal(fixture->progress.sent, LARGE_SIZE);
    assert_int_equal(fixture->progress.send_total, LARGE_SIZE);
    assert_int_equal(fixture->progress.received, LARGE_SIZE);
}

static void
a_source_that_fails_ends_the_request(void **state)
{
    Fixture *fixture = *state;
    HttpClientRequest request = {
        .method = "POST", .content_type = "application/octet-stream", .source = &half_source};
    assert_status(
        &fixture->call, STATUS_ABORTED, ask(fixture, http_servers_address(USUAL), "/echo", request));
    assert_string_equal(fixture->call.error.message, "the source has dried up");
}

static void
an_answer_may_go_into_a_sink(void **state)
{
    Fixture *fixture = *state;
    HttpClientRequest request = {.events = &all_events, .context = fixture};
    assert_answer(fixture, http_servers_address(USUAL), "/zeros?size=5000000&status=200", request);
    assert_int_equal(fixture->received, LARGE_SIZE);
    assert_int_equal(fixture->response.body.size, 0);
    assert_status(&fixture->call, STATUS_ABORTED,
        ask(fixture, http_servers_address(USUAL), "/zeros?size=1&status=200", request));
    assert_string_equal(fixture->call.error.message, "the sink has had enough");
}

static void
only_a_success_goes_into_the_sink(void **state)
{
    Fixture *fixture = *state;
    HttpClientRequest request = {.events = &all_events, .context = fixture};
    assert_status(&fixture->call, STATUS_OK, ask(fixture, http_servers_address(USUAL), "/nowhere", request));
    assert_int_equal(fixture->response.status, 404);
    assert_int_equal(fixture->received, 0);
    assert_non_null(strstr(buffer_string(&fixture->response.body), "\"code\":\"NOT_FOUND\""));
}

static void
an_answer_above_its_limit_is_refused(void **state)
{
    Fixture *fixture = *state;
    HttpClientRequest request = {.response_size_max = 1000};
    assert_answer(fixture, http_servers_address(USUAL), "/zeros?size=1000&status=200", request);
    assert_status(&fixture->call, STATUS_OUT_OF_RANGE,
        ask(fixture, http_servers_address(USUAL), "/zeros?size=1001&status=200", request));
    assert_string_equal(fixture->call.error.message, "the answer is larger than 1000 bytes");
}

static void
redirects_are_not_followed(void **state)
{
    Fixture *fixture = *state;
    assert_status(&fixture->call, STATUS_OK,
        ask(fixture, http_servers_address(USUAL), "/elsewhere", (HttpClientRequest){0}));
    assert_int_equal(fixture->response.status, 302);
}

static void
a_connection_that_died_while_idle_is_replaced(void **state)
{
    Fixture *fixture = *state;
    HttpClientRequest upload = {
        .method = "POST", .content_type = "application/octet-stream", .source = &zeros_source};
    for (int count = 0; count < 3; count++) {
        assert_answer(fixture, http_servers_address(IMPATIENT), "/echo", upload);
        assert_int_equal(fixture->response.body.size, LARGE_SIZE);
        pause_ms(1250);
    }
}

static void
a_request_waits_no_longer_than_its_times(void **state)
{
    Fixture *fixture = *state;
    uint64_t begin_ns = clock_monotonic_ns();
    assert_status(&fixture->call, STATUS_DEADLINE_EXCEEDED,
        ask(fixture, http_servers_address(USUAL), "/wait", (HttpClientRequest){.timeout_ms = 200}));
    fixture->call.deadline_ns = clock_monotonic_ns() + 200 * CLOCK_NS_PER_MS;
    assert_status(&fixture->call, STATUS_DEADLINE_EXCEEDED,
        ask(fixture, http_servers_address(USUAL), "/wait", (HttpClientRequest){0}));
    assert_status(&fixture->call, STATUS_DEADLINE_EXCEEDED,
        ask(fixture, http_servers_address(USUAL), "/wait", (HttpClientRequest){0}));
    uint64_t elapsed_ms = (clock_monotonic_ns() - begin_ns) / CLOCK_NS_PER_MS;
    fixture->call.deadline_ns = 0;
    assert_answer(fixture, http_servers_address(USUAL), "/zeros?size=1&status=200", (HttpClientRequest){0});
    assert_status(&fixture->call, STATUS_DEADLINE_EXCEEDED, /* uses the connection that was kept */
        ask(fixture, http_servers_address(USUAL), "/wait", (HttpClientRequest){.timeout_ms = 5}));
    assert_in_range(elapsed_ms, 400, AWAIT_MS);
}

static void
a_stalled_request_is_given_up(void **state)
{
    Fixture *fixture = *state;
    assert_status(&fixture->call, STATUS_DEADLINE_EXCEEDED,
        ask(fixture, http_servers_address(USUAL), "/wait", (HttpClientRequest){.stall_timeout_ms = 1000}));
}

static void
a_cancelled_request_hangs_up_at_once(void **state)
{
    Fixture *fixture = *state;
    pthread_t canceller;
    HttpClientRequest request = {.events = &progress_events, .context = fixture};
    atomic_store_seq_cst(&waiting_count, 0);
    atomic_store_seq_cst(&gone_count, 0);
    assert_int_equal(pthread_create(&canceller, NULL, cancel_soon, &fixture->call), 0);
    uint64_t begin_ns = clock_monotonic_ns();
    assert_status(
        &fixture->call, STATUS_CANCELLED, ask(fixture, http_servers_address(USUAL), "/wait", request));
    assert_true(clock_monotonic_ns() - begin_ns < AWAIT_MS * CLOCK_NS_PER_MS);
    assert_int_equal(pthread_join(canceller, NULL), 0);
    assert_true(fixture->told > 0);
    AWAIT(atomic_load_seq_cst(&gone_count) > 0);
}

static void
an_answer_that_was_cut_is_told_from_a_whole_one(void **state)
{
    Fixture *fixture = *state;
    assert_status(&fixture->call, STATUS_DATA_LOSS,
        ask(fixture, http_servers_address(USUAL), "/broken", (HttpClientRequest){0}));
    assert_int_equal(fixture->response.status, 200);
    assert_string_equal(buffer_string(&fixture->response.body), "half of it");
}

/* Returns a socket that has an address and does not listen: until it is closed nobody else can have the
 * address, and connections to it are refused. */
static int
deaf_socket(char ret_address[ADDRESS_TEXT_SIZE])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(ret_address, ADDRESS_TEXT_SIZE, "127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

static void
what_cannot_be_reached_says_why(void **state)
{
    Fixture *fixture = *state;
    char address[ADDRESS_TEXT_SIZE];
    char expected[256];
    int deaf = deaf_socket(address);
    assert_status(&fixture->call, STATUS_UNAVAILABLE, ask(fixture, address, "/x?y", (HttpClientRequest){0}));
    (void)close(deaf);
    (void)snprintf(expected, sizeof expected, "'http://%s' cannot be reached: Connection refused", address);
    assert_string_equal(fixture->call.error.message, expected);
}

static void
a_password_in_an_address_is_not_repeated(void **state)
{
    Fixture *fixture = *state;
    char address[ADDRESS_TEXT_SIZE];
    int deaf = deaf_socket(address);
    HttpClientRequest request = {.url = text_format(fixture->call.arena, "http://user:hunter2@%s/", address)};
    assert_status(&fixture->call, STATUS_UNAVAILABLE,
        http_client_send(&fixture->call, fixture->client, &request, &fixture->response));
    (void)close(deaf);
    assert_null(strstr(fixture->call.error.message, "hunter2"));
}

static void
what_is_no_request_is_not_sent(void **state)
{
    Fixture *fixture = *state;
    static const char *const two_lines[] = {"A: b\r\nC: d", NULL};
    static const struct {
        HttpClientRequest request;
        const char *message;
    } cases[] = {
        {{.url = "ftp://127.0.0.1/"}, "is no http or https address"},
        {{.url = "http://"}, "is no address"},
        {{.url = "http://127.0.0.1:1/", .headers = two_lines}, "a header holds a line end"},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        assert_status(&fixture->call, STATUS_INVALID_ARGUMENT,
            http_client_send(&fixture->call, fixture->client, &cases[index].request, &fixture->response));
        if (strstr(fixture->call.error.message, cases[index].message) == NULL) {
            fail_msg("'%s' is not in: %s", cases[index].message, fixture->call.error.message);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_follow_each_other_on_one_connection),
        TEST(bodies_go_up_from_memory_and_from_a_source),
        TEST(a_source_that_fails_ends_the_request),
        TEST(an_answer_may_go_into_a_sink),
        TEST(only_a_success_goes_into_the_sink),
        TEST(an_answer_above_its_limit_is_refused),
        TEST(redirects_are_not_followed),
        TEST(a_connection_that_died_while_idle_is_replaced),
        TEST(a_request_waits_no_longer_than_its_times),
        TEST(a_stalled_request_is_given_up),
        TEST(a_cancelled_request_hangs_up_at_once),
        TEST(an_answer_that_was_cut_is_told_from_a_whole_one),
        TEST(what_cannot_be_reached_says_why),
        TEST(a_password_in_an_address_is_not_repeated),
        TEST(what_is_no_request_is_not_sent),
    };
    return cmocka_run_group_tests_name("httpclient", tests, servers_start, http_servers_stop);
}
