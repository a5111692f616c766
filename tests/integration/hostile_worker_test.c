/* A gateway whose one worker answers nonsense, too much, or nothing: every step ends with a problem
 * document soon after its deadline at the latest, and the gateway lives on. */
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/h2/h2.h"
#include "shared/wire/frame.h"
#include "shared/wire/messages.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"

enum { STEP_TIMEOUT_MS = 400, ANSWER_MAX_MS = 10000, FLOOD_SIZE = 3 << 20 };

typedef struct Hostile Hostile;
typedef void (*Answer)(H2Stream *stream);

struct Hostile {
    Loop *loop;
    Watch listener;
    pthread_t thread;
    Answer answer; /* atomic; the answer to every request but polls */
};

static Hostile hostile;

static void
respond(H2Stream *stream, int status, const char *content_type)
{
    const H2Header headers[] = {{SLICE("content-type"), slice_from_string(content_type)}};
    h2_respond(stream, status, headers, COUNT_OF(headers), false);
}

static void
answer_document(H2Stream *stream, int status, const char *json)
{
    respond(stream, status, "application/json");
    (void)h2_stream_write_copy(stream, slice_from_string(json));
    h2_stream_end(stream);
}

static void
answer_frames(H2Stream *stream, Slice bytes)
{
    respond(stream, 200, WIRE_CONTENT_TYPE_FRAMES);
    (void)h2_stream_write_copy(stream, bytes);
    h2_stream_end(stream);
}

static void
says_nothing(H2Stream *stream)
{
    (void)stream;
}

static void
says_yes_in_json(H2Stream *stream)
{
    answer_document(stream, 200, "{}");
}

static void
refuses_with_ok(H2Stream *stream)
{
    answer_document(stream, 500, "{\"code\":\"OK\",\"message\":\"\"}");
}

static void
refuses_in_no_language(H2Stream *stream)
{
    answer_document(stream, 503, "<html>");
}

static void
asks_for_a_blob_of_nobody(H2Stream *stream)
{
    answer_document(stream, 412,
        "{\"code\":\"FAILED_PRECONDITION\",\"message\":\"\",\"reason\":\"missing_blobs\",\"missing_blobs\":["
        "\"00\"]}");
}

static void
ends_without_a_word(H2Stream *stream)
{
    answer_frames(stream, SLICE(""));
}

static void
sends_no_frames(H2Stream *stream)
{
    answer_frames(
        stream, SLICE("this is not a frame, and it is long enough to be taken for the head of one"));
}

static void
forgets_every_partition(H2Stream *stream)
{
    AUTO_BUFFER frame = {0};
    frame_write_json(&frame, FRAME_STATUS,
        SLICE("{\"code\":\"NOT_FOUND\",\"message\":\"\",\"reason\":\"unknown_partition\"}"));
    answer_frames(stream, buffer_slice(&frame));
}

static void
says_ok_without_outputs(H2Stream *stream)
{
    AUTO_BUFFER frame = {0};
    frame_write_json(&frame, FRAME_STATUS, SLICE("{\"code\":\"OK\",\"message\":\"\"}"));
    answer_frames(stream, buffer_slice(&frame));
}

static void
sends_half_a_frame(H2Stream *stream)
{
    AUTO_BUFFER frame = {0};
    frame_write_json(&frame, FRAME_STATUS, SLICE("{\"code\":\"OK\",\"message\":\"\"}"));
    answer_frames(stream, slice_part(buffer_slice(&frame), 0, frame.size / 2));
}

static void
sends_an_output_nobody_asked_for(H2Stream *stream)
{
    AUTO_BUFFER frame = {0};
    frame_write_dead(&frame, SLICE("99"));
    answer_frames(stream, buffer_slice(&frame));
}

/* Sends a frame that is consistent in itself, but of a size that nobody can hold. */
static void
announces_an_exabyte(H2Stream *stream)
{
    AUTO_BUFFER frame = {0};
    frame_write_dead(&frame, SLICE("0"));
    memset(frame.data + 8, 0x7f, frame.size > 40 ? 32 : frame.size - 8);
    answer_frames(stream, buffer_slice(&frame));
}

static void
floods(H2Stream *stream)
{
    static char flood[FLOOD_SIZE];
    respond(stream, 200, "application/json");
    (void)h2_stream_write(stream, slice_of(flood, sizeof flood), NULL, NULL);
    h2_stream_end(stream);
}

static void
begins_and_falls_silent(H2Stream *stream)
{
    AUTO_BUFFER frame = {0};
    frame_write_heartbeat(&frame);
    respond(stream, 200, WIRE_CONTENT_TYPE_FRAMES);
    (void)h2_stream_write_copy(stream, buffer_slice(&frame));
}

static void
resets(H2Stream *stream)
{
    h2_stream_reset(stream, STATUS_INTERNAL);
}

static void
answer_poll(H2Stream *stream)
{
    AUTO_BUFFER json = {0};
    WireDevice device = {
        .type = SLICE("CPU"), .isa = SLICE("avx2"), .thread_count = 1, .memory_limit = 1 << 30};
    WireWorker worker = {
        .name = SLICE("hostile"),
        .incarnation = SLICE("1122334455667788"),
        .state = SLICE("serving"),
        .devices = &device,
        .device_count = 1,
    };
    wire_worker_write(&json, &worker);
    respond(stream, 200, "application/json");
    (void)h2_stream_write_copy(stream, buffer_slice(&json));
    h2_stream_end(stream);
}

static void
on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    (void)is_last;
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(headers[index].name, ":path") &&
            slice_equals_string(headers[index].value, "/worker/v1/status")) {
            answer_poll(stream);
            return;
        }
    }
    atomic_load_acquire (&hostile.answer)(stream);
}

static void
on_data(H2Stream *stream, Slice data)
{
    h2_stream_consume(stream, data.size);
}

static void
on_close(H2Stream *stream, Status reason)
{
    (void)stream;
    (void)reason;
}

static void
listener_ready(Watch *watch, uint32_t events)
{
    static const H2Handlers handlers = {.on_headers = on_headers, .on_data = on_data, .on_close = on_close};
    H2Options options = {.handlers = &handlers};
    (void)events;
    for (int fd = socket_accept(watch->fd); fd >= 0; fd = socket_accept(watch->fd)) {
        Call accepting = {0};
        H2Connection *connection = NULL;
        (void)!h2_accept(&accepting, hostile.loop, fd, &options, &connection);
    }
}

static void *
serve(void *context)
{
    (void)context;
    loop_run(hostile.loop);
    return NULL;
}

static int
setup(void **state)
{
    static Cluster cluster;
    char address[ADDRESS_TEXT_SIZE];
    int fd = -1;
    Call call = {0};
    void *database = NULL;
    if (database_setup(&database) != 0) {
        return -1;
    }
    cluster.database = database;
    (void)snprintf(cluster.conninfo, sizeof cluster.conninfo, "%s", cluster.database->conninfo);
    hostile.answer = says_nothing;
    assert_int_equal(socket_listen(&call, "127.0.0.1:0", (ListenOptions){0}, &fd), STATUS_OK);
    socket_local_address(fd, address);
    assert_int_equal(loop_new(&call, &hostile.loop), STATUS_OK);
    assert_int_equal(
        watch_open(&call, &hostile.listener, hostile.loop, fd, EPOLLIN, listener_ready), STATUS_OK);
    assert_int_equal(pthread_create(&hostile.thread, NULL, serve, NULL), 0);
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--database", cluster.conninfo, "--workers",
        address, "--auth", "off", NULL};
    *state = &cluster;
    return process_start(&cluster.gateway, "sluice-gateway", arguments) ? 0 : -1;
}

/* The connections of the hostile worker are not closed: they end with this process. */
static int
teardown(void **state)
{
    Cluster *cluster = *state;
    void *database = cluster->database;
    int code = process_stop(&cluster->gateway, SIGTERM);
    loop_stop(hostile.loop);
    (void)pthread_join(hostile.thread, NULL);
    return database_teardown(&database) == 0 && code == 0 ? 0 : -1;
}

static bool
has_worker(Cluster *cluster)
{
    AUTO_REST workers;
    cluster_send(cluster, "GET", "/api/v1/workers", NULL, &workers);
    return strstr(rest_text(&workers), "\"state\":\"serving\"") != NULL;
}

static void
whatever_a_worker_answers_the_step_ends_in_time_with_a_reason(void **state)
{
    static const struct {
        const char *name;
        Answer answer;
    } cases[] = {
        {"says_nothing", says_nothing},
        {"says_yes_in_json", says_yes_in_json},
        {"refuses_with_ok", refuses_with_ok},
        {"refuses_in_no_language", refuses_in_no_language},
        {"asks_for_a_blob_of_nobody", asks_for_a_blob_of_nobody},
        {"ends_without_a_word", ends_without_a_word},
        {"sends_no_frames", sends_no_frames},
        {"forgets_every_partition", forgets_every_partition},
        {"says_ok_without_outputs", says_ok_without_outputs},
        {"sends_half_a_frame", sends_half_a_frame},
        {"sends_an_output_nobody_asked_for", sends_an_output_nobody_asked_for},
        {"announces_an_exabyte", announces_an_exabyte},
        {"floods", floods},
        {"begins_and_falls_silent", begins_and_falls_silent},
        {"resets", resets},
    };
    Cluster *cluster = *state;
    char body[128];
    AWAIT(has_worker(cluster));
    cluster_session(cluster, "{}");
    cluster_graph(cluster,
        "{\"node\":[{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
        "{\"name\":\"y\",\"op\":\"Add\",\"input\":[\"x\",\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}");
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":%d}}", STEP_TIMEOUT_MS);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_REST response = {0};
        atomic_store_release(&hostile.answer, cases[index].answer);
        uint64_t started_ns = clock_monotonic_ns();
        cluster_step(cluster, body, &response);
        uint64_t elapsed_ms = (clock_monotonic_ns() - started_ns) / CLOCK_NS_PER_MS;
        if (response.status < 400 || elapsed_ms > ANSWER_MAX_MS ||
            strcmp(rest_header(&response, "Content-Type"), "application/problem+json") != 0) {
            fail_msg("%s: %d after %llu ms: %s", cases[index].name, response.status,
                (unsigned long long)elapsed_ms, rest_text(&response));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            whatever_a_worker_answers_the_step_ends_in_time_with_a_reason, setup, teardown),
    };
    return cmocka_run_group_tests_name("hostile_worker", tests, NULL, NULL);
}
