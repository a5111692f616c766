#include "shared/upstream/upstream.h"

#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"
#include "tests/support/h2_pair.h"

static int done_count;
static Status done_status;

static void
on_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)message;
    done_status = status;
    done_count++;
}

/* Nobody listens on these loopback addresses: each call fails, and its connection with it. */
static void
workers_that_are_gone_are_forgotten(void **state)
{
    enum { ADDRESSES = 1000, KEPT_MAX = 64 };
    static const UpstreamEvents events = {.on_done = on_done};
    Call *call = *state;
    Loop *loop = NULL;
    assert_status(call, STATUS_OK, loop_new(call, &loop));
    Upstream *upstream = upstream_new(loop, &(UpstreamOptions){0});
    assert_non_null(upstream);
    for (int index = 0; index < ADDRESSES; index++) {
        char address[32];
        (void)snprintf(address, sizeof address, "127.1.%d.%d:1", index / 250, 1 + index % 250);
        UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = address, .deadline_ms = 60000};
        UpstreamCall *made = upstream_begin(upstream, &head, &events, NULL);
        assert_non_null(made);
        upstream_end(made);
        uint64_t until_ns = clock_monotonic_ns() + 60 * CLOCK_NS_PER_S;
        while (done_count <= index && clock_monotonic_ns() < until_ns) {
            loop_turn(loop, 10);
        }
        assert_int_equal(done_count, index + 1);
        assert_int_equal(done_status, STATUS_UNAVAILABLE);
        assert_true(upstream_peer_count(upstream) <= KEPT_MAX);
    }
    upstream_free(upstream);
    loop_free(loop);
}

static TensorBuffer *answered; /* where the answer's tensor is read to */

static TensorBuffer *
allocate_answer(void *context, size_t size)
{
    (void)context;
    answered = tensor_buffer_new(size);
    return tensor_buffer_ref(answered);
}

/* Answers with a tensor's frame, of which the second half is missing. */
static bool
server_answers_half(Probe *probe, char event, Slice data)
{
    H2Header type = {.name = SLICE("content-type"), .value = SLICE(WIRE_CONTENT_TYPE_FRAMES)};
    (void)data;
    if (event == 'h' || event == 'H') {
        AUTO_BUFFER frame = {0};
        AUTO_TENSOR tensor = {0};
        Shape shape = {.rank = 1, .dims = {1024}};
        assert_true(tensor_new(DTYPE_INT64, &shape, &tensor));
        memset(tensor.data, 0, tensor_byte_size(&tensor));
        frame_write_tensor_head(&frame, SLICE("x"), &tensor);
        Slice payload = frame_tensor_payload(&tensor);
        h2_respond(probe->stream, 200, &type, 1, false);
        (void)h2_stream_write_copy(probe->stream, buffer_slice(&frame));
        (void)h2_stream_write_copy(probe->stream, slice_part(payload, 0, payload.size / 2));
    }
    return true;
}

/* Asks a server that sends a half of its tensor. */
static Upstream *
begin_half_answer(TensorBuffer *(*allocate)(void *context, size_t size))
{
    static const UpstreamEvents events = {.on_done = on_done};
    pair_open(server_answers_half);
    UpstreamOptions options = {.frames = {.tensor_size_max = 1 << 20, .allocate = allocate}};
    Upstream *upstream = upstream_new(pair.loop, &options);
    assert_non_null(upstream);
    UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = pair.address};
    UpstreamCall *call = upstream_begin(upstream, &head, &events, NULL);
    assert_non_null(call);
    upstream_end(call);
    done_count = 0;
    return upstream;
}

static void
a_tensor_that_was_half_read_is_freed_with_its_call(void **state)
{
    (void)state;
    Upstream *upstream = begin_half_answer(allocate_answer);
    PAIR_UNTIL(answered != NULL);
    h2_abort(pair.connections[SERVER]);
    PAIR_UNTIL(done_count == 1);
    assert_int_equal(done_status, STATUS_UNAVAILABLE);
    assert_int_equal(answered->reference_count, 1); /* ours alone */
    tensor_buffer_unref(answered);
    upstream_free(upstream);
    pair_close();
}

static TensorBuffer *
allocate_nothing(void *context, size_t size)
{
    (void)context;
    (void)size;
    return NULL;
}

static void
an_answer_that_finds_no_memory_is_no_fault_of_the_worker(void **state)
{
    (void)state;
    Upstream *upstream = begin_half_answer(allocate_nothing);
    PAIR_UNTIL(done_count == 1);
    assert_int_equal(done_status, STATUS_RESOURCE_EXHAUSTED);
    upstream_free(upstream);
    pair_close();
}

enum { PARTS_SIZE = 1 << 20, PARTS_WINDOW = 1 << 16 };

/* Answers with one whole tensor of PARTS_SIZE bytes and a status, and ends. */
static bool
server_answers_large(Probe *probe, char event, Slice data)
{
    H2Header type = {.name = SLICE("content-type"), .value = SLICE(WIRE_CONTENT_TYPE_FRAMES)};
    (void)data;
    if (event == 'h' || event == 'H') {
        AUTO_BUFFER head = {0};
        AUTO_BUFFER status = {0};
        AUTO_TENSOR tensor = {0};
        Shape shape = {.rank = 1, .dims = {PARTS_SIZE}};
        assert_true(tensor_new(DTYPE_UINT8, &shape, &tensor));
        for (size_t index = 0; index < PARTS_SIZE; index++) {
            ((unsigned char *)tensor.data)[index] = (unsigned char)(index % 251);
        }
        frame_write_tensor_head(&head, SLICE("x"), &tensor);
        frame_write_json(&status, FRAME_STATUS, SLICE("{}"));
        h2_respond(probe->stream, 200, &type, 1, false);
        (void)h2_stream_write_copy(probe->stream, buffer_slice(&head));
        (void)h2_stream_write_copy(probe->stream, frame_tensor_payload(&tensor));
        (void)h2_stream_write_copy(probe->stream, buffer_slice(&status));
        h2_stream_end(probe->stream);
    }
    return true;
}

/* What a caller has seen of the large answer. */
static struct Parts {
    size_t heads;
    size_t bytes;
    size_t ends;
    size_t statuses;
    int done;
    Status status;
    bool pauses; /* at each piece */
    bool is_paused;
} parts;

static void
parts_on_part(UpstreamCall *call, const Frame *part)
{
    assert_false(parts.is_paused);
    parts.heads += part->part == FRAME_HEAD;
    parts.ends += part->part == FRAME_END;
    for (size_t index = 0; part->part == FRAME_PIECE && index < part->piece.size; index++) {
        assert_int_equal((unsigned char)part->piece.data[index], parts.bytes % 251);
        parts.bytes++;
    }
    if (parts.pauses) {
        parts.is_paused = true;
        upstream_pause(call);
    }
}

static void
parts_on_frame(UpstreamCall *call, Frame *frame)
{
    (void)call;
    assert_false(parts.is_paused);
    assert_int_equal(frame->kind, FRAME_STATUS);
    parts.statuses++;
}

static void
parts_on_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)message;
    parts.done++;
    parts.status = status;
}

static UpstreamCall *
parts_begin(Upstream **ret_upstream)
{
    static const UpstreamEvents events = {
        .on_frame = parts_on_frame, .on_part = parts_on_part, .on_done = parts_on_done};
    pair_open(server_answers_large);
    *ret_upstream = upstream_new(pair.loop,
        &(UpstreamOptions){.frames = {.tensor_size_max = PARTS_SIZE}, .window_size = PARTS_WINDOW});
    assert_non_null(*ret_upstream);
    UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = pair.address};
    UpstreamCall *call = upstream_begin(*ret_upstream, &head, &events, NULL);
    assert_non_null(call);
    upstream_end(call);
    parts = (struct Parts){.pauses = true};
    PAIR_UNTIL(parts.heads == 1);
    return call;
}

static void
parts_end(Upstream *upstream)
{
    upstream_free(upstream);
    pair_close();
}

static void
an_answer_that_is_paused_takes_no_more_than_its_window(void **state)
{
    Upstream *upstream = NULL;
    (void)state;
    UpstreamCall *call = parts_begin(&upstream);
    pair_turns(100);
    assert_true(h2_stream_queued(pair.probes[SERVER][0].stream) >= PARTS_SIZE - PARTS_WINDOW);
    upstream_pass(call);
    while (parts.done == 0) {
        pair_turns(3);
        parts.is_paused = false;
        upstream_resume(call);
        PAIR_UNTIL(parts.is_paused || parts.done > 0);
    }
    assert_int_equal(parts.status, STATUS_OK);
    assert_int_equal(parts.bytes, PARTS_SIZE);
    assert_int_equal(parts.ends, 1);
    assert_int_equal(parts.statuses, 1);
    parts_end(upstream);
}

static void
a_wide_window_lets_the_worker_send_ahead(void **state)
{
    Upstream *upstream = NULL;
    (void)state;
    UpstreamCall *call = parts_begin(&upstream);
    upstream_widen(call);
    PAIR_UNTIL(pair.probes[SERVER][0].stream == NULL ||
               h2_stream_queued(pair.probes[SERVER][0].stream) < PARTS_SIZE - 8L * PARTS_WINDOW);
    parts.pauses = false;
    parts.is_paused = false;
    upstream_pass(call);
    upstream_resume(call);
    PAIR_UNTIL(parts.done == 1);
    assert_int_equal(parts.status, STATUS_OK);
    assert_int_equal(parts.bytes, PARTS_SIZE);
    parts_end(upstream);
}

/* The stream closes while the last bytes are held: the call is still there to be cancelled, or closed. */
static void
a_call_that_is_paused_behind_its_stream_can_be_given_up(void **state)
{
    for (int is_cancelled = 0; is_cancelled <= 1; is_cancelled++) {
        Upstream *upstream = NULL;
        (void)state;
        UpstreamCall *call = parts_begin(&upstream);
        upstream_widen(call);
        upstream_pass(call);
        while (pair.probes[SERVER][0].stream != NULL && parts.done == 0) {
            parts.is_paused = false;
            upstream_resume(call);
            PAIR_UNTIL(parts.is_paused || parts.done > 0);
            pair_turns(10);
        }
        assert_int_equal(parts.done, 0);
        assert_true(parts.bytes < PARTS_SIZE);
        if (is_cancelled) {
            upstream_cancel(call);
            PAIR_UNTIL(parts.done == 1);
            assert_int_equal(parts.status, STATUS_CANCELLED);
        }
        parts_end(upstream);
        assert_int_equal(parts.done, 1);
        assert_int_equal(parts.status, is_cancelled ? STATUS_CANCELLED : STATUS_UNAVAILABLE);
    }
}

static void
a_paused_call_hears_that_its_worker_is_lost(void **state)
{
    Upstream *upstream = NULL;
    (void)state;
    (void)parts_begin(&upstream);
    h2_abort(pair.connections[SERVER]);
    PAIR_UNTIL(parts.done == 1);
    assert_int_equal(parts.status, STATUS_UNAVAILABLE);
    parts_end(upstream);
}

/* Answers nothing by itself. */
static bool
server_waits(Probe *probe, char event, Slice data)
{
    (void)event;
    (void)data;
    return probe->side == SERVER;
}

static void
ask_server(Upstream *upstream)
{
    static const UpstreamEvents events = {.on_done = on_done};
    UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = pair.address};
    UpstreamCall *call = upstream_begin(upstream, &head, &events, NULL);
    assert_non_null(call);
    upstream_end(call);
}

/* The connection on which the worker drains goes on until its answer has come. */
static void
a_worker_that_drains_is_left_for_the_next_at_its_address(void **state)
{
    (void)state;
    pair_open(server_waits);
    Upstream *upstream = upstream_new(pair.loop, &(UpstreamOptions){0});
    assert_non_null(upstream);
    done_count = 0;
    ask_server(upstream);
    PAIR_UNTIL(pair.probe_count[SERVER] == 1);
    h2_shutdown(TAKE(pair.connections[SERVER])); /* so that the pair accepts a second one */
    pair_turns(20);
    ask_server(upstream);
    PAIR_UNTIL(pair.probe_count[SERVER] == 2);
    assert_int_equal(done_count, 0);
    for (int index = 0; index < 2; index++) {
        h2_respond(pair.probes[SERVER][index].stream, 200, NULL, 0, true);
        PAIR_UNTIL(done_count == index + 1);
        assert_int_equal(done_status, STATUS_OK);
    }
    upstream_free(upstream);
    pair_close();
}

/* A second process that drains at once leaves two connections: the request fails, the answers still come. */
static void
what_waits_on_a_connection_that_leaves_is_ended_with_the_upstream(void **state)
{
    (void)state;
    pair_open(server_waits);
    Upstream *upstream = upstream_new(pair.loop, &(UpstreamOptions){0});
    assert_non_null(upstream);
    done_count = 0;
    ask_server(upstream);
    PAIR_UNTIL(pair.probe_count[SERVER] == 1);
    h2_shutdown(TAKE(pair.connections[SERVER]));
    pair_turns(20);
    ask_server(upstream);
    PAIR_UNTIL(pair.probe_count[SERVER] == 2);
    h2_shutdown(TAKE(pair.connections[SERVER]));
    pair_turns(20);
    ask_server(upstream);
    PAIR_UNTIL(done_count == 1);
    assert_int_equal(done_status, STATUS_UNAVAILABLE);
    upstream_free(upstream);
    assert_int_equal(done_count, 3);
    PAIR_UNTIL(pair.disconnects[SERVER] == 2);
    pair_close();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(workers_that_are_gone_are_forgotten),
        CALL_TEST(a_tensor_that_was_half_read_is_freed_with_its_call),
        CALL_TEST(an_answer_that_finds_no_memory_is_no_fault_of_the_worker),
        cmocka_unit_test(an_answer_that_is_paused_takes_no_more_than_its_window),
        cmocka_unit_test(a_wide_window_lets_the_worker_send_ahead),
        cmocka_unit_test(a_call_that_is_paused_behind_its_stream_can_be_given_up),
        cmocka_unit_test(a_paused_call_hears_that_its_worker_is_lost),
        cmocka_unit_test(a_worker_that_drains_is_left_for_the_next_at_its_address),
        cmocka_unit_test(what_waits_on_a_connection_that_leaves_is_ended_with_the_upstream),
    };
    return cmocka_run_group_tests_name("upstream", tests, NULL, NULL);
}
