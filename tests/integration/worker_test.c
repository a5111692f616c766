/* A worker process alone: its methods over real HTTP/2. */
#include <signal.h>

#include "shared/base/text.h"
#include "shared/crypto/digest.h"
#include "shared/upstream/upstream.h"
#include "tests/support/await.h"

/* y = x·w + b, where w [2,2] and b [2] are constants. */
static const char partition[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"_Arg\",\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},\"index\":{\"i\":\"0\"}}},"
    "{\"name\":\"w\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"},{\"size\":\"2\"}]},"
    "\"floatVal\":[1,2,3,4]}}}},"
    "{\"name\":\"b\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"floatVal\":[10,20]}}}},"
    "{\"name\":\"xw\",\"op\":\"MatMul\",\"input\":[\"x\",\"w\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"y\",\"op\":\"Add\",\"input\":[\"xw\",\"b\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"r\",\"op\":\"_Retval\",\"input\":[\"y\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},"
    "\"index\":{\"i\":\"0\"}}}]}";

typedef struct Fixture {
    Process worker;
    Loop *loop;
    Upstream *upstream;
    Arena *arena;
    Call call;
} Fixture;

/* One call and its answer. */
typedef struct Answer {
    bool is_done;
    Status status;
    int http_status;
    char body[4096];
    Tensor output;
    WireStatus wire;
    char message[512];
    Arena *arena;
} Answer;

static void
take_frame(UpstreamCall *call, Frame *frame)
{
    Answer *answer = upstream_context(call);
    if (frame->kind == FRAME_TENSOR) {
        answer->output = frame->tensor;
        return;
    }
    if (frame->kind == FRAME_STATUS) {
        Call reading = {.arena = answer->arena};
        const char *json = text_copy(answer->arena, frame->json); /* outlives the frame */
        assert_non_null(json);
        assert_status(
            &reading, STATUS_OK, wire_status_read(&reading, slice_of(json, frame->json.size), &answer->wire));
        (void)snprintf(answer->message, sizeof answer->message, "%s", answer->wire.failure.message);
    }
}

static void
take_end(UpstreamCall *call, Status status, const char *message)
{
    Answer *answer = upstream_context(call);
    (void)message;
    answer->is_done = true;
    answer->status = status;
    answer->http_status = upstream_http_status(call);
    (void)snprintf(answer->body, sizeof answer->body, "%.*s", SLICE_PRINT(upstream_body(call)));
}

static const UpstreamEvents events = {.on_frame = take_frame, .on_done = take_end};

static int
setup(void **state)
{
    static const char *const arguments[] = {"--listen", "127.0.0.1:0", "--name", "w0", NULL};
    Fixture *fixture = calloc(1, sizeof *fixture);
    fixture->arena = arena_new(1 << 24);
    fixture->call.arena = fixture->arena;
    UpstreamOptions options = {.frames.tensor_size_max = 1 << 28};
    *state = fixture;
    if (!process_start(&fixture->worker, "sluice-worker", arguments) ||
        loop_new(&fixture->call, &fixture->loop) != STATUS_OK) {
        return -1;
    }
    fixture->upstream = upstream_new(fixture->loop, &options);
    return 0;
}

static int
teardown(void **state)
{
    Fixture *fixture = *state;
    upstream_free(fixture->upstream);
    loop_free(fixture->loop);
    int code = fixture->worker.pid == 0 ? 0 : process_stop(&fixture->worker, SIGTERM);
    arena_free(fixture->arena);
    free(fixture);
    return code;
}

static UpstreamCall *
begin_sized(Fixture *fixture, const char *method, const char *path, uint64_t body_size, Answer *answer)
{
    *answer = (Answer){.arena = fixture->arena};
    UpstreamHead head = {
        .method = method,
        .path = slice_from_string(path),
        .address = fixture->worker.address,
        .attempt = 1,
        .deadline_ms = 3 * AWAIT_MS,
        .tenant = SLICE("t"),
        .body_size = body_size,
    };
    UpstreamCall *call = upstream_begin(fixture->upstream, &head, &events, answer);
    assert_non_null(call);
    return call;
}

static UpstreamCall *
begin(Fixture *fixture, const char *method, const char *path, Answer *answer)
{
    return begin_sized(fixture, method, path, 0, answer);
}

static void
await_answer(Fixture *fixture, const Answer *answer)
{
    uint64_t end_ns = clock_monotonic_ns() + AWAIT_MS * CLOCK_NS_PER_MS;
    while (!answer->is_done) {
        assert_true(clock_monotonic_ns() < end_ns);
        loop_turn(fixture->loop, 100);
    }
}

static void
finish(Fixture *fixture, UpstreamCall *call, const Answer *answer)
{
    upstream_end(call);
    await_answer(fixture, answer);
}

static void
request(Fixture *fixture, const char *method, const char *path, const char *body, Answer *answer)
{
    UpstreamCall *call = begin(fixture, method, path, answer);
    if (body != NULL) {
        upstream_write_copy(call, slice_from_string(body));
    }
    finish(fixture, call, answer);
}

static const char *
digest_of(const char *text)
{
    static char hex[SHA256_HEX_SIZE];
    Sha256 digest;
    sha256(slice_from_string(text), &digest);
    sha256_to_hex(&digest, hex);
    return hex;
}

static void
put_partition(Fixture *fixture)
{
    char path[256];
    Answer answer;
    request(fixture, "PUT", "/worker/v1/sessions/s1", "{}", &answer);
    assert_int_equal(answer.http_status, 200);
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/s1/partitions/%s", digest_of(partition));
    request(fixture, "PUT", path, partition, &answer);
    assert_string_equal(answer.body, "{}");
    assert_int_equal(answer.http_status, 201);
}

static UpstreamCall *
begin_run(Fixture *fixture, bool is_partial, Answer *answer)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    WireRun run = {
        .partition = slice_from_string(digest_of(partition)),
        .session = SLICE("s1"),
        .attempt = 1,
        .feed_count = 1,
        .fetch_count = 1,
        .is_partial = is_partial,
    };
    UpstreamCall *call = begin(fixture, "POST", "/worker/v1/steps/stp_1:run", answer);
    wire_run_write(&json, &run);
    frame_write_json(&frame, FRAME_HEADER, buffer_slice(&json));
    upstream_write_copy(call, buffer_slice(&frame));
    return call;
}

/* Writes the feed [[1,2]], labelled with this type. */
static void
write_feed(UpstreamCall *call, Dtype dtype)
{
    AUTO_TENSOR x = {0};
    Shape shape = {.rank = 2, .dims = {1, 2}};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &x));
    ((float *)x.data)[0] = 1;
    ((float *)x.data)[1] = 2;
    x.dtype = dtype;
    upstream_write_tensor(call, SLICE("0"), &x);
}

static void
run_partition(Fixture *fixture, int feed_count, Answer *answer)
{
    UpstreamCall *call = begin_run(fixture, false, answer);
    for (int index = 0; index < feed_count; index++) {
        write_feed(call, DTYPE_FLOAT32);
    }
    finish(fixture, call, answer);
}

static void
status_tells_who_it_is_and_what_it_has(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    WireWorker worker;
    request(fixture, "GET", "/worker/v1/status", NULL, &answer);
    assert_int_equal(answer.http_status, 200);
    assert_status(
        &fixture->call, STATUS_OK, wire_worker_read(&fixture->call, slice_from_string(answer.body), &worker));
    assert_true(slice_equals_string(worker.name, "w0"));
    assert_true(slice_equals_string(worker.state, "serving"));
    assert_int_equal(worker.device_count, 1);
    assert_true(slice_equals_string(worker.devices[0].type, "CPU"));
}

static void
a_registered_partition_computes_x_times_w_plus_b(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    put_partition(fixture);
    run_partition(fixture, 1, &answer);
    assert_int_equal(answer.status, STATUS_OK);
    assert_string_equal(status_name(answer.wire.failure.code), "OK");
    assert_int_equal(answer.output.dtype, DTYPE_FLOAT32);
    assert_int_equal(tensor_element_count(&answer.output), 2);
    assert_true(((float *)answer.output.data)[0] == 17 && ((float *)answer.output.data)[1] == 30);
    tensor_unref(&answer.output);
}

static void
an_unknown_partition_is_told_by_its_reason(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    run_partition(fixture, 1, &answer);
    assert_string_equal(status_name(answer.wire.failure.code), "NOT_FOUND");
    assert_true(slice_equals_string(answer.wire.reason, "unknown_partition"));
}

static void
a_run_with_a_feed_missing_or_twice_is_refused(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    put_partition(fixture);
    run_partition(fixture, 0, &answer);
    assert_int_equal(answer.http_status, 400);
    assert_non_null(strstr(answer.body, "0 of 1 announced feeds have come"));
    run_partition(fixture, 2, &answer);
    assert_int_equal(answer.http_status, 400);
    assert_non_null(strstr(answer.body, "has come twice"));
}

/* Returns how many runs the worker has under way. */
static int64_t
running_count(Fixture *fixture)
{
    Answer answer;
    WireWorker worker;
    request(fixture, "GET", "/worker/v1/status", NULL, &answer);
    assert_status(
        &fixture->call, STATUS_OK, wire_worker_read(&fixture->call, slice_from_string(answer.body), &worker));
    return worker.running_count;
}

static void
await_running(Fixture *fixture, int64_t wanted)
{
    AWAIT(running_count(fixture) == wanted);
}

static void
a_partial_run_waits_for_its_feed_as_long_as_the_stream_is_open(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    put_partition(fixture);
    UpstreamCall *call = begin_run(fixture, true, &answer);
    await_running(fixture, 1);
    write_feed(call, DTYPE_FLOAT32);
    finish(fixture, call, &answer);
    assert_string_equal(status_name(answer.wire.failure.code), "OK");
    assert_true(((float *)answer.output.data)[0] == 17 && ((float *)answer.output.data)[1] == 30);
    tensor_unref(&answer.output);
    UpstreamCall *abandoned = begin_run(fixture, true, &answer);
    await_running(fixture, 1);
    upstream_cancel(abandoned);
    await_running(fixture, 0);
}

static uint64_t
memory_in_use(Fixture *fixture)
{
    Answer answer;
    WireWorker worker;
    request(fixture, "GET", "/worker/v1/status", NULL, &answer);
    assert_status(
        &fixture->call, STATUS_OK, wire_worker_read(&fixture->call, slice_from_string(answer.body), &worker));
    return (uint64_t)worker.devices[0].memory_in_use;
}

static void
a_feed_that_was_half_sent_is_freed_with_its_stream(void **state)
{
    enum { FEED_SIZE = 8 << 20 };
    Fixture *fixture = *state;
    Answer answer;
    AUTO_BUFFER head = {0};
    AUTO_TENSOR x = {0};
    Shape shape = {.rank = 1, .dims = {FEED_SIZE}};
    put_partition(fixture);
    uint64_t before = memory_in_use(fixture);
    UpstreamCall *call = begin_run(fixture, false, &answer);
    assert_true(tensor_new(DTYPE_UINT8, &shape, &x));
    frame_write_tensor_head(&head, SLICE("0"), &x);
    upstream_write_copy(call, buffer_slice(&head));
    upstream_write_copy(call, SLICE("a few bytes of it"));
    AWAIT(memory_in_use(fixture) >= before + FEED_SIZE);
    upstream_cancel(call);
    AWAIT(memory_in_use(fixture) == before);
}

/* Asks over a new connection, as a peer of a step would. Empty: nobody listens. */
static const char *
ask_anew(Fixture *fixture)
{
    static char state[16];
    Answer answer;
    WireWorker worker = {.state = SLICE("")};
    Upstream *kept = fixture->upstream;
    fixture->upstream = upstream_new(fixture->loop, &(UpstreamOptions){0});
    assert_non_null(fixture->upstream);
    request(fixture, "GET", "/worker/v1/status", NULL, &answer);
    upstream_free(fixture->upstream);
    fixture->upstream = kept;
    if (answer.status == STATUS_OK) {
        assert_status(&fixture->call, STATUS_OK,
            wire_worker_read(&fixture->call, slice_from_string(answer.body), &worker));
    }
    (void)snprintf(state, sizeof state, "%.*s", SLICE_PRINT(worker.state));
    return state;
}

static void
a_worker_that_stops_stays_open_to_the_peers_of_a_run_that_it_has_accepted(void **state)
{
    enum { QUESTIONS = 10, PAUSE_MS = 30 }; /* a worker that stops asks every 20 ms whether it may close */
    Fixture *fixture = *state;
    Answer answer;
    put_partition(fixture);
    UpstreamCall *call = begin_run(fixture, false, &answer);
    await_running(fixture, 0); /* on the same connection: the header has been read */
    assert_int_equal(kill(fixture->worker.pid, SIGTERM), 0);
    AWAIT(strcmp(ask_anew(fixture), "serving") != 0);
    for (int index = 0; index < QUESTIONS; index++) {
        assert_string_equal(ask_anew(fixture), "draining");
        pause_ms(PAUSE_MS);
    }
    write_feed(call, DTYPE_FLOAT32);
    finish(fixture, call, &answer);
    assert_string_equal(status_name(answer.wire.failure.code), "OK");
    tensor_unref(&answer.output);
    assert_int_equal(process_stop(&fixture->worker, 0), 0); /* a second signal would end it at once */
}

/* A run that has begun ends with its body, and its STATUS frame says why. */
static void
a_wrong_body_of_a_partial_run_ends_it(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    put_partition(fixture);
    UpstreamCall *call = begin_run(fixture, true, &answer);
    finish(fixture, call, &answer);
    assert_string_equal(status_name(answer.wire.failure.code), "INVALID_ARGUMENT");
    assert_string_equal(answer.message, "0 of 1 announced feeds have come");
    call = begin_run(fixture, true, &answer);
    write_feed(call, DTYPE_INT32);
    finish(fixture, call, &answer);
    assert_string_equal(answer.message, "feed 0 must be of type float32, not int32");
    call = begin_run(fixture, true, &answer);
    upstream_write_copy(call, SLICE("this is no frame of any kind at all"));
    finish(fixture, call, &answer);
    assert_int_equal(answer.http_status, 200);
    assert_string_equal(status_name(answer.wire.failure.code), "INVALID_ARGUMENT");
    await_running(fixture, 0);
}

static void
a_body_that_is_not_its_digest_is_refused(void **state)
{
    Fixture *fixture = *state;
    char path[256];
    Answer answer;
    request(fixture, "PUT", "/worker/v1/sessions/s1", "{}", &answer);
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/s1/partitions/%s", digest_of("something else"));
    request(fixture, "PUT", path, partition, &answer);
    assert_int_equal(answer.http_status, 400);
    assert_non_null(strstr(answer.body, "the body's digest is"));
}

static void
put_blob(Fixture *fixture, const char *content, const char *sent, size_t told_size, Answer *answer)
{
    char path[256];
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", digest_of(content));
    UpstreamCall *call = begin_sized(fixture, "PUT", path, told_size, answer);
    upstream_write_copy(call, slice_from_string(sent));
    finish(fixture, call, answer);
}

static int
put_constants(Fixture *fixture)
{
    Answer answer;
    put_blob(fixture, "constants", "constants", 9, &answer);
    return answer.http_status;
}

static void
a_blob_is_taken_as_long_as_told_and_with_its_digest(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    put_blob(fixture, "constants", "constantS", 9, &answer);
    assert_int_equal(answer.http_status, 400);
    assert_non_null(strstr(answer.body, "the digest of the 9 bytes is"));
    put_blob(fixture, "constants", "constants", 0, &answer);
    assert_int_equal(answer.http_status, 429);
    assert_non_null(strstr(answer.body, "longer than 0 bytes"));
    put_blob(fixture, "constants", "constants", 10, &answer); /* HTTP/2 refuses a short body */
    assert_int_not_equal(answer.http_status, 200);
    AWAIT(put_constants(fixture) == 200); /* a thread still gives the short one up */
    put_blob(fixture, "", "", 0, &answer);
    assert_int_equal(answer.http_status, 200);
}

static void
a_blob_comes_once_at_a_time_and_not_again(void **state)
{
    Fixture *fixture = *state;
    char path[256];
    Answer first;
    Answer answer;
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", digest_of("constants"));
    UpstreamCall *call = begin_sized(fixture, "PUT", path, 9, &first);
    upstream_write_copy(call, SLICE("const"));
    put_blob(fixture, "constants", "constants", 9, &answer);
    assert_int_equal(answer.http_status, 409);
    assert_non_null(strstr(answer.body, "\"reason\":\"blob_is_coming\""));
    upstream_write_copy(call, SLICE("ants"));
    finish(fixture, call, &first);
    assert_int_equal(first.http_status, 200);
    UpstreamCall *again = begin_sized(fixture, "PUT", path, 9, &answer);
    upstream_write_copy(again, SLICE("con")); /* more is not asked for */
    await_answer(fixture, &answer);
    assert_int_equal(answer.status, STATUS_OK);
    assert_int_equal(answer.http_status, 200);
}

static void
a_blob_is_given_to_peers_by_its_tenant(void **state)
{
    Fixture *fixture = *state;
    char path[256];
    Answer answer;
    put_blob(fixture, "constants", "constants", 9, &answer);
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", digest_of("constants"));
    request(fixture, "GET", path, NULL, &answer);
    assert_int_equal(answer.http_status, 200);
    assert_string_equal(answer.body, "constants");
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", digest_of("others"));
    request(fixture, "GET", path, NULL, &answer);
    assert_int_equal(answer.http_status, 404);
}

/* The first peer does not exist, and the second, which is this worker, does not have the blob. */
static void
a_blob_that_no_peer_gives_is_refused_and_may_come(void **state)
{
    Fixture *fixture = *state;
    char path[256];
    char body[256];
    Answer answer;
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s:fetch", digest_of("constants"));
    request(fixture, "POST", path, "{}", &answer);
    assert_int_equal(answer.http_status, 400);
    request(fixture, "POST", path, "{\"address\":\"127.0.0.1:1\",\"size\":9}", &answer);
    assert_int_equal(answer.http_status, 503);
    (void)snprintf(body, sizeof body, "{\"address\":\"%s\",\"size\":9}", fixture->worker.address);
    request(fixture, "POST", path, body, &answer);
    assert_int_equal(answer.http_status, 503);
    assert_non_null(strstr(answer.body, "the peer answers 404"));
    AWAIT(put_constants(fixture) == 200);
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s:fetch", digest_of("constants"));
    request(fixture, "POST", path, body, &answer); /* it is here already */
    assert_int_equal(answer.http_status, 200);
}

static void
a_blob_that_is_broken_off_may_come_again(void **state)
{
    Fixture *fixture = *state;
    char path[256];
    Answer answer;
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", digest_of("constants"));
    UpstreamCall *call = begin_sized(fixture, "PUT", path, 9, &answer);
    upstream_write_copy(call, SLICE("const"));
    await_running(fixture, 0); /* a question on the same connection: the bytes have come */
    upstream_cancel(call);
    AWAIT(put_constants(fixture) == 200);
}

/* Begins a request of slot 1 of step stp_2 for a value of slot 0, or with one. */
static UpstreamCall *
begin_tensor(Fixture *fixture, const char *method, const char *path, uint64_t deadline_ms, Answer *answer)
{
    *answer = (Answer){.arena = fixture->arena};
    UpstreamHead head = {
        .method = method,
        .path = slice_from_string(path),
        .address = fixture->worker.address,
        .attempt = 1,
        .deadline_ms = deadline_ms,
        .push_token = SLICE("token"),
        .slot = SLICE("0"),
    };
    UpstreamCall *call = upstream_begin(fixture->upstream, &head, &events, answer);
    assert_non_null(call);
    return call;
}

static void
exchange_tensor(
    Fixture *fixture, const char *method, const char *path, Slice body, uint64_t deadline_ms, Answer *answer)
{
    UpstreamCall *call = begin_tensor(fixture, method, path, deadline_ms, answer);
    upstream_write_copy(call, body);
    finish(fixture, call, answer);
}

/* The caller ends a call a second after its deadline, in which a slow machine may not answer. */
static void
a_value_that_does_not_come_is_waited_for_until_the_deadline(void **state)
{
    enum { DEADLINE_MS = 100, TRIES = 5 };
    Fixture *fixture = *state;
    Answer answer;
    AUTO_BUFFER frame = {0};
    frame_write_dead(&frame, SLICE("here"));
    exchange_tensor(
        fixture, "POST", "/worker/v1/steps/stp_2/tensors", buffer_slice(&frame), AWAIT_MS, &answer);
    assert_int_equal(answer.http_status, 200);
    for (int tries = 0; answer.http_status != 504 && tries < TRIES; tries++) {
        exchange_tensor(
            fixture, "GET", "/worker/v1/steps/stp_2/tensors/absent", slice_of(NULL, 0), DEADLINE_MS, &answer);
    }
    assert_int_equal(answer.http_status, 504);
    assert_non_null(strstr(answer.body, "DEADLINE_EXCEEDED"));
    assert_non_null(strstr(answer.body, "no value came for 'absent' before the deadline"));
    exchange_tensor(
        fixture, "GET", "/worker/v1/steps/stp_2/tensors/here", slice_of(NULL, 0), DEADLINE_MS, &answer);
    assert_int_equal(answer.http_status, 200);
}

enum { LOST_COUNT = 32 * 1024, LOST_WINDOW = 16 * 1024 };

static void
push_numbers(Fixture *fixture, const char *key)
{
    Answer answer;
    AUTO_TENSOR tensor = {0};
    AUTO_BUFFER frame = {0};
    Shape shape = {.rank = 1, .dims = {LOST_COUNT}};
    assert_true(tensor_new(DTYPE_INT32, &shape, &tensor));
    for (int32_t index = 0; index < LOST_COUNT; index++) {
        ((int32_t *)tensor.data)[index] = index;
    }
    frame_write_tensor_head(&frame, slice_from_string(key), &tensor);
    buffer_append_slice(&frame, frame_tensor_payload(&tensor));
    exchange_tensor(
        fixture, "POST", "/worker/v1/steps/stp_2/tensors", buffer_slice(&frame), AWAIT_MS, &answer);
    assert_int_equal(answer.http_status, 200);
}

static void
assert_numbers(Tensor *tensor)
{
    assert_int_equal(tensor_byte_size(tensor), LOST_COUNT * sizeof(int32_t));
    for (int32_t index = 0; index < LOST_COUNT; index++) {
        assert_int_equal(((const int32_t *)tensor->data)[index], index);
    }
    tensor_unref(tensor);
}

/* Connects anew, where an answer may have so many bytes under way. */
static void
reconnect(Fixture *fixture, uint32_t window_size)
{
    UpstreamOptions options = {.frames.tensor_size_max = 1 << 28, .window_size = window_size};
    upstream_free(fixture->upstream);
    fixture->upstream = upstream_new(fixture->loop, &options);
    assert_non_null(fixture->upstream);
}

#define LOST_PATH "/worker/v1/steps/stp_2/tensors/numbers"

/* The first two askers read a window of it and are gone. */
static void
a_value_whose_answer_was_lost_is_handed_out_again(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    push_numbers(fixture, "numbers");
    for (int lost = 0; lost < 2; lost++) {
        reconnect(fixture, LOST_WINDOW);
        UpstreamCall *call = begin_tensor(fixture, "GET", LOST_PATH, AWAIT_MS, &answer);
        upstream_end_last(call);
        upstream_pause(call);
        await_running(fixture, 0); /* a question on the same connection: the worker has seen the pull */
        assert_false(answer.is_done);
        reconnect(fixture, 0);
        assert_int_equal(answer.status, STATUS_UNAVAILABLE);
    }
    upstream_end_last(begin_tensor(fixture, "GET", LOST_PATH, AWAIT_MS, &answer));
    await_answer(fixture, &answer);
    assert_int_equal(answer.http_status, 200);
    assert_numbers(&answer.output);
}

static void
a_value_that_was_read_or_is_wanted_no_more_is_not_kept(void **state)
{
    enum { DEADLINE_MS = 100 };
    Fixture *fixture = *state;
    Answer answer;
    reconnect(fixture, LOST_WINDOW);
    for (int gives_up = 0; gives_up < 2; gives_up++) {
        push_numbers(fixture, "numbers");
        UpstreamCall *call = begin_tensor(fixture, "GET", LOST_PATH, AWAIT_MS, &answer);
        upstream_end_last(call);
        if (gives_up) {
            upstream_pause(call);
            await_running(fixture, 0);
            upstream_cancel(call);
        }
        await_answer(fixture, &answer);
        assert_int_equal(answer.status, gives_up ? STATUS_CANCELLED : STATUS_OK);
        tensor_unref(&answer.output);
        exchange_tensor(fixture, "GET", LOST_PATH, slice_of(NULL, 0), DEADLINE_MS, &answer);
        assert_int_not_equal(answer.http_status, 200);
        assert_null(answer.output.data);
    }
}

static void
a_partition_needs_a_session_with_a_lease(void **state)
{
    Fixture *fixture = *state;
    char path[256];
    Answer answer;
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/nobody/partitions/%s", digest_of(partition));
    request(fixture, "PUT", path, partition, &answer);
    assert_int_equal(answer.http_status, 404);
}

static void
unknown_methods_and_malformed_frames_are_refused(void **state)
{
    Fixture *fixture = *state;
    Answer answer;
    request(fixture, "GET", "/worker/v1/nothing", NULL, &answer);
    assert_int_equal(answer.http_status, 404);
    request(fixture, "POST", "/worker/v1/steps/stp_1:run", "this is no frame, but long enough to be one",
        &answer);
    assert_int_equal(answer.http_status, 400);
    request(fixture, "POST", "/worker/v1/steps/stp_1:run", "short", &answer);
    assert_int_equal(answer.http_status, 400);
}

#define WORKER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKER_TEST(status_tells_who_it_is_and_what_it_has),
        WORKER_TEST(a_registered_partition_computes_x_times_w_plus_b),
        WORKER_TEST(an_unknown_partition_is_told_by_its_reason),
        WORKER_TEST(a_run_with_a_feed_missing_or_twice_is_refused),
        WORKER_TEST(a_partial_run_waits_for_its_feed_as_long_as_the_stream_is_open),
        WORKER_TEST(a_feed_that_was_half_sent_is_freed_with_its_stream),
        WORKER_TEST(a_worker_that_stops_stays_open_to_the_peers_of_a_run_that_it_has_accepted),
        WORKER_TEST(a_wrong_body_of_a_partial_run_ends_it),
        WORKER_TEST(a_body_that_is_not_its_digest_is_refused),
        WORKER_TEST(a_blob_is_taken_as_long_as_told_and_with_its_digest),
        WORKER_TEST(a_blob_comes_once_at_a_time_and_not_again),
        WORKER_TEST(a_blob_is_given_to_peers_by_its_tenant),
        WORKER_TEST(a_blob_that_no_peer_gives_is_refused_and_may_come),
        WORKER_TEST(a_blob_that_is_broken_off_may_come_again),
        WORKER_TEST(a_value_that_does_not_come_is_waited_for_until_the_deadline),
        WORKER_TEST(a_value_whose_answer_was_lost_is_handed_out_again),
        WORKER_TEST(a_value_that_was_read_or_is_wanted_no_more_is_not_kept),
        WORKER_TEST(a_partition_needs_a_session_with_a_lease),
        WORKER_TEST(unknown_methods_and_malformed_frames_are_refused),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
