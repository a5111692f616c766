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
        UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = address, .deadline_ms = 1000};
        UpstreamCall *made = upstream_begin(upstream, &head, &events, NULL);
        assert_non_null(made);
        upstream_end(made);
        uint64_t until_ns = clock_monotonic_ns() + 10 * CLOCK_NS_PER_S;
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

static void
a_tensor_that_was_half_read_is_freed_with_its_call(void **state)
{
    static const UpstreamEvents events = {.on_done = on_done};
    (void)state;
    pair_open(server_answers_half);
    Upstream *upstream = upstream_new(
        pair.loop, &(UpstreamOptions){.frames = {.tensor_size_max = 1 << 20, .allocate = allocate_answer}});
    assert_non_null(upstream);
    UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = pair.address};
    UpstreamCall *call = upstream_begin(upstream, &head, &events, NULL);
    assert_non_null(call);
    upstream_end(call);
    done_count = 0;
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
    static const UpstreamEvents events = {.on_done = on_done};
    (void)state;
    pair_open(server_answers_half);
    Upstream *upstream = upstream_new(
        pair.loop, &(UpstreamOptions){.frames = {.tensor_size_max = 1 << 20, .allocate = allocate_nothing}});
    assert_non_null(upstream);
    UpstreamHead head = {.method = "GET", .path = SLICE("/"), .address = pair.address};
    UpstreamCall *call = upstream_begin(upstream, &head, &events, NULL);
    assert_non_null(call);
    upstream_end(call);
    done_count = 0;
    PAIR_UNTIL(done_count == 1);
    assert_int_equal(done_status, STATUS_RESOURCE_EXHAUSTED);
    upstream_free(upstream);
    pair_close();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(workers_that_are_gone_are_forgotten),
        CALL_TEST(a_tensor_that_was_half_read_is_freed_with_its_call),
        CALL_TEST(an_answer_that_finds_no_memory_is_no_fault_of_the_worker),
    };
    return cmocka_run_group_tests_name("upstream", tests, NULL, NULL);
}
