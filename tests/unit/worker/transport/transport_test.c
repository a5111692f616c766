/* One step on slot 0; its peer on slot 1 is an HTTP/2 server of the test's own. */
#include "worker/transport/transport.h"

#include <pthread.h>

#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/h2_pair.h"

#define TO_PEER "/slot:0/device:CPU:0;/slot:1/device:CPU:0;edge_0;0:0"
#define FROM_PEER "/slot:1/device:CPU:0;/slot:0/device:CPU:0;edge_1;0:0"
#define LARGE_COUNT (PUSH_SIZE_MAX / sizeof(float) + 1)

static struct Peer {
    Rendezvous *rendezvous; /* of slot 1 */
    Buffer body;
    int request_count;
    int announce_count;
    uint64_t announced_size;
    const WireStatus *refusal; /* answer to every request; NULL: requests are served */
    bool is_silent;            /* it answers nothing */
    bool stops_halfway;        /* it answers pulls with half a tensor */
    Tensor pulled;             /* answer to a pull */
} peer;

static void
peer_take(Call *call, Frame *frame)
{
    if (frame->kind == FRAME_ANNOUNCE) {
        peer.announce_count++;
        peer.announced_size = frame->announced_size;
        return;
    }
    assert_status(call, STATUS_OK,
        rendezvous_deliver(call, peer.rendezvous, frame->name, &frame->tensor, frame->kind == FRAME_DEAD));
}

static void
peer_take_push(void)
{
    FrameLimits limits = {.tensor_size_max = PUSH_SIZE_MAX};
    FrameReader *reader = frame_reader_new(&limits);
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    Slice data = buffer_slice(&peer.body);
    bool is_complete = true;
    while (is_complete) {
        Frame frame;
        assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
        if (is_complete) {
            peer_take(&call, &frame);
        }
    }
    assert_true(frame_reader_is_between(reader));
    frame_reader_free(reader);
    peer.body.size = 0;
}

static void
peer_answer(H2Stream *stream, int status, const char *type, Slice body)
{
    const H2Header headers[] = {{SLICE("content-type"), slice_from_string(type)}};
    h2_respond(stream, status, headers, COUNT_OF(headers), false);
    (void)h2_stream_write_copy(stream, body);
    h2_stream_end(stream);
}

static void
peer_refuse(H2Stream *stream)
{
    AUTO_BUFFER json = {0};
    wire_status_write(&json, peer.refusal);
    peer_answer(
        stream, status_http_code(peer.refusal->failure.code), "application/json", buffer_slice(&json));
}

static void
peer_answer_pull(H2Stream *stream)
{
    AUTO_BUFFER frame = {0};
    frame_write_tensor_head(&frame, SLICE(FROM_PEER), &peer.pulled);
    Slice payload = frame_tensor_payload(&peer.pulled);
    buffer_append_slice(&frame, payload);
    buffer_append(&frame, "\0\0\0\0\0\0\0", frame_padding(payload.size));
    if (!peer.stops_halfway) {
        peer_answer(stream, 200, WIRE_CONTENT_TYPE_FRAMES, buffer_slice(&frame));
        return;
    }
    const H2Header headers[] = {{SLICE("content-type"), SLICE(WIRE_CONTENT_TYPE_FRAMES)}};
    h2_respond(stream, 200, headers, COUNT_OF(headers), false);
    (void)h2_stream_write_copy(stream, slice_part(buffer_slice(&frame), 0, frame.size / 2));
}

static void
peer_answer_request(Probe *probe, bool is_pull)
{
    peer.request_count++;
    if (peer.is_silent) {
        return;
    }
    if (peer.refusal != NULL) {
        peer_refuse(probe->stream);
    } else if (is_pull) {
        peer_answer_pull(probe->stream);
    } else {
        peer_take_push();
        peer_answer(probe->stream, 200, "application/json", SLICE("{}"));
    }
}

/* A pull is answered from its headers: it ends when its answer has come. */
static bool
peer_hook(Probe *probe, char event, Slice data)
{
    if (probe->side == SERVER && event == 'd') {
        buffer_append_slice(&peer.body, data);
        h2_stream_consume(probe->stream, data.size);
    }
    bool is_pull = strstr(probe->path, "/tensors/") != NULL;
    if (probe->side == SERVER && event == (is_pull ? 'h' : 'e')) {
        peer_answer_request(probe, is_pull);
    }
    return true;
}

static struct Near {
    Call call;
    Transport *transport;
    TransportStep *step;
    Rendezvous *rendezvous;
    Rendezvous *local; /* result of find_local() */
    int64_t local_slot;
    TransportWait wait;
    int settled_count;
} near;

static int64_t peer_version; /* of the worker protocol, that the peer is said to speak */

static Rendezvous *
find_local(void *context, Slice step, int64_t attempt, int64_t slot, Slice push_token)
{
    assert_ptr_equal(context, &near);
    assert_true(slice_equals_string(step, "s"));
    assert_int_equal(attempt, 3);
    assert_true(slice_equals_string(push_token, "token2"));
    near.local_slot = slot;
    return near.local == NULL ? NULL : rendezvous_ref(near.local);
}

static void
open_until(const char *address, uint64_t deadline_ns)
{
    TransportOptions options = {
        .upstream = {.frames.tensor_size_max = 1 << 24, .connect_timeout_ms = 1000},
        .incarnation = "here",
        .find_local = find_local,
        .context = &near,
    };
    WirePeer peers[] = {
        {.slot = 2, .address = SLICE("x:1"), .incarnation = SLICE("here"), .push_token = SLICE("token2")},
        {.slot = 1,
            .address = slice_from_string(address),
            .incarnation = SLICE("there"),
            .push_token = SLICE("token1"),
            .sender_count = 2,
            .version = peer_version},
    };
    WireRun run = {.attempt = 3, .slot = 0, .peers = peers, .peer_count = COUNT_OF(peers)};
    near = (struct Near){.call = {.arena = arena_new(1 << 20)}};
    near.transport = transport_new(pair.loop, &options);
    assert_non_null(near.transport);
    near.step = transport_step_new(near.transport, SLICE("s"), &run, deadline_ns);
    assert_non_null(near.step);
    RendezvousRemote remote = transport_step_remote(near.step);
    near.rendezvous = rendezvous_new(0, &remote);
    assert_non_null(near.rendezvous);
    transport_step_attach(near.step, near.rendezvous);
}

static void
open_at(const char *address)
{
    open_until(address, 0);
}

static int
set_up_with(int64_t version)
{
    pair_open(peer_hook);
    peer = (struct Peer){.rendezvous = rendezvous_new(1, NULL)};
    peer_version = version;
    open_at(pair.address);
    return 0;
}

static int
set_up(void **state)
{
    (void)state;
    return set_up_with(WIRE_VERSION_NEWEST);
}

static int
set_up_oldest(void **state)
{
    (void)state;
    return set_up_with(WIRE_VERSION_OLDEST);
}

static void
near_close(void)
{
    transport_step_detach(near.step);
    transport_step_unref(near.step);
    rendezvous_unref(near.rendezvous);
    rendezvous_unref(near.local);
    transport_free(near.transport);
    arena_free(near.call.arena);
}

static int
tear_down(void **state)
{
    (void)state;
    near_close();
    rendezvous_unref(peer.rendezvous);
    tensor_unref(&peer.pulled);
    buffer_done(&peer.body);
    pair_close();
    return 0;
}

static Tensor
floats(size_t count)
{
    Shape shape = {.rank = 1, .dims = {(int64_t)count}};
    Tensor tensor = {0};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    for (size_t index = 0; index < count; index++) {
        ((float *)tensor.data)[index] = (float)index;
    }
    return tensor;
}

static void
send_floats(const char *key, size_t count)
{
    AUTO_TENSOR tensor = floats(count);
    assert_status(&near.call, STATUS_OK,
        rendezvous_send(&near.call, near.rendezvous, slice_from_string(key), &tensor, false));
}

/* A value that the test waits for. */
typedef struct Awaited {
    RendezvousWaiter waiter;
    bool has_come;
    Status code;
    char error[ERROR_MESSAGE_SIZE];
    bool is_dead;
    Tensor tensor;
} Awaited;

static void
awaited_take(Awaited *awaited, RendezvousMessage *message)
{
    awaited->has_come = true;
    awaited->code = message->code;
    awaited->is_dead = message->is_dead;
    awaited->tensor = message->tensor;
    message->tensor = (Tensor){0};
    (void)snprintf(awaited->error, sizeof awaited->error, "%s", message->error == NULL ? "" : message->error);
}

static void
awaited_done(RendezvousWaiter *waiter, RendezvousMessage *message)
{
    awaited_take((Awaited *)(void *)waiter, message);
}

static void
await_key(Rendezvous *rendezvous, const char *key, Awaited *awaited)
{
    RendezvousMessage message = {0};
    *awaited = (Awaited){.waiter = {.done = awaited_done}};
    if (rendezvous_receive(rendezvous, slice_from_string(key), &awaited->waiter, &message)) {
        awaited_take(awaited, &message);
    }
}

static void
assert_floats(const Tensor *tensor, size_t count)
{
    assert_int_equal(tensor->dtype, DTYPE_FLOAT32);
    assert_int_equal(tensor_byte_size(tensor), count * sizeof(float));
    for (size_t index = 0; index < count; index++) {
        assert_true(((const float *)tensor->data)[index] == (float)index);
    }
}

static void
a_small_value_is_pushed(void **state)
{
    (void)state;
    Awaited value;
    await_key(peer.rendezvous, TO_PEER, &value);
    send_floats(TO_PEER, 3);
    PAIR_UNTIL(value.has_come);
    assert_int_equal(value.code, STATUS_OK);
    assert_floats(&value.tensor, 3);
    assert_string_equal(pair.probes[SERVER][0].path, "/worker/v1/steps/s/tensors");
    tensor_unref(&value.tensor);
}

static void
values_of_one_turn_travel_in_one_request(void **state)
{
    (void)state;
    Awaited values[2];
    Awaited dead;
    send_floats(TO_PEER, 1);
    send_floats(TO_PEER, 2);
    assert_status(
        &near.call, STATUS_OK, rendezvous_send(&near.call, near.rendezvous, SLICE(TO_PEER "x"), NULL, true));
    await_key(peer.rendezvous, TO_PEER, &values[0]);
    await_key(peer.rendezvous, TO_PEER, &values[1]);
    await_key(peer.rendezvous, TO_PEER "x", &dead);
    PAIR_UNTIL(values[0].has_come && values[1].has_come && dead.has_come);
    assert_int_equal(peer.request_count, 1);
    assert_floats(&values[0].tensor, 1);
    assert_floats(&values[1].tensor, 2);
    assert_true(dead.is_dead);
    tensor_unref(&values[0].tensor);
    tensor_unref(&values[1].tensor);
}

static void
a_value_at_the_limit_is_pushed_and_a_larger_one_announced(void **state)
{
    (void)state;
    Awaited value;
    await_key(peer.rendezvous, TO_PEER, &value);
    send_floats(TO_PEER, LARGE_COUNT - 1);
    PAIR_UNTIL(value.has_come);
    assert_int_equal(peer.announce_count, 0);
    send_floats(TO_PEER, LARGE_COUNT);
    PAIR_UNTIL(peer.announce_count == 1);
    assert_int_equal(peer.announced_size, LARGE_COUNT * sizeof(float));
    assert_int_equal(rendezvous_parked_bytes(near.rendezvous), LARGE_COUNT * sizeof(float));
    tensor_unref(&value.tensor);
}

static void *
send_many(void *context)
{
    (void)context;
    for (int index = 0; index < 50; index++) {
        Call call = {0};
        AUTO_TENSOR tensor = floats(4);
        if (rendezvous_send(&call, near.rendezvous, SLICE(TO_PEER), &tensor, false) != STATUS_OK) {
            return &near;
        }
    }
    return NULL;
}

static void
values_may_be_sent_on_any_thread(void **state)
{
    (void)state;
    enum { THREADS = 2, VALUES = 50 * THREADS };
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_create(&threads[index], NULL, send_many, NULL), 0);
    }
    for (int index = 0; index < VALUES; index++) {
        Awaited value;
        await_key(peer.rendezvous, TO_PEER, &value);
        PAIR_UNTIL(value.has_come);
        assert_floats(&value.tensor, 4);
        tensor_unref(&value.tensor);
    }
    for (int index = 0; index < THREADS; index++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[index], &failed), 0);
        assert_null(failed);
    }
    assert_true(peer.request_count <= VALUES);
}

static void
an_announced_value_is_pulled_when_it_is_wanted(void **state)
{
    (void)state;
    Awaited value;
    peer.pulled = floats(LARGE_COUNT);
    assert_status(&near.call, STATUS_OK, rendezvous_announce(&near.call, near.rendezvous, SLICE(FROM_PEER)));
    pair_turns(5);
    assert_int_equal(peer.request_count, 0);
    await_key(near.rendezvous, FROM_PEER, &value);
    PAIR_UNTIL(value.has_come);
    assert_int_equal(value.code, STATUS_OK);
    assert_floats(&value.tensor, LARGE_COUNT);
    assert_int_equal(peer.request_count, 1);
    assert_string_equal(pair.probes[SERVER][0].path, "/worker/v1/steps/s/tensors/%2Fs");
    tensor_unref(&value.tensor);
}

/* Asks for a value of the peer, and breaks the connection when half of it, or nothing, has come. */
static void
lose_pull(Awaited *value, bool stops_halfway)
{
    peer.stops_halfway = stops_halfway;
    peer.is_silent = !stops_halfway;
    assert_status(&near.call, STATUS_OK, rendezvous_announce(&near.call, near.rendezvous, SLICE(FROM_PEER)));
    await_key(near.rendezvous, FROM_PEER, value);
    PAIR_UNTIL(peer.request_count == 1);
    pair_turns(20);
    assert_false(value->has_come);
    h2_abort(pair.connections[SERVER]);
    peer.stops_halfway = false;
    peer.is_silent = false;
}

static void
a_pull_whose_answer_is_lost_is_repeated(void **state)
{
    (void)state;
    for (int stops_halfway = 0; stops_halfway < 2; stops_halfway++) {
        Awaited value;
        peer.request_count = 0;
        peer.pulled = floats(LARGE_COUNT);
        lose_pull(&value, stops_halfway);
        PAIR_UNTIL(value.has_come);
        assert_int_equal(value.code, STATUS_OK);
        assert_floats(&value.tensor, LARGE_COUNT);
        assert_int_equal(peer.request_count, 2);
        assert_null(transport_step_lost_peer(near.step));
        tensor_unref(&value.tensor);
        tensor_unref(&peer.pulled);
    }
}

/* Pulls a value that the peer answers when the request has come, as `asked` tells, and takes it. */
static void
pull_of_a_slow_peer(const char *asked)
{
    Awaited value;
    const Probe *pull = &pair.probes[SERVER][0];
    peer.pulled = floats(LARGE_COUNT);
    peer.is_silent = true;
    assert_status(&near.call, STATUS_OK, rendezvous_announce(&near.call, near.rendezvous, SLICE(FROM_PEER)));
    await_key(near.rendezvous, FROM_PEER, &value);
    PAIR_UNTIL(peer.request_count == 1);
    pair_turns(20);
    char log[sizeof pull->log];
    (void)snprintf(log, sizeof log, "%s", pull->log);
    peer_answer_pull(pull->stream);
    PAIR_UNTIL(value.has_come && pull->stream == NULL);
    assert_floats(&value.tensor, LARGE_COUNT);
    tensor_unref(&value.tensor);
    assert_string_equal(log, asked);
    assert_non_null(strchr(pull->log, 'e'));
    assert_int_equal(pull->reason, STATUS_OK);
}

static void
a_pull_ends_when_its_answer_has_come(void **state)
{
    (void)state;
    pull_of_a_slow_peer("h");
}

static void
a_peer_of_the_first_version_is_told_at_once_that_a_pull_has_ended(void **state)
{
    (void)state;
    pull_of_a_slow_peer("he");
}

static void
a_pull_that_is_lost_with_its_transport_is_not_repeated(void **state)
{
    (void)state;
    Awaited value;
    peer.is_silent = true;
    assert_status(&near.call, STATUS_OK, rendezvous_announce(&near.call, near.rendezvous, SLICE(FROM_PEER)));
    await_key(near.rendezvous, FROM_PEER, &value);
    PAIR_UNTIL(peer.request_count == 1);
    transport_free(near.transport);
    near.transport = NULL;
    assert_true(value.has_come);
    assert_int_equal(value.code, STATUS_UNAVAILABLE);
    pair_turns(20);
    assert_int_equal(peer.request_count, 1);
}

static void
a_pull_that_is_refused_ends_the_step(void **state)
{
    (void)state;
    Awaited value;
    peer.refusal = &(WireStatus){.failure = failure_of(STATUS_ABORTED, (Slice){0}, "this step is over")};
    assert_status(&near.call, STATUS_OK, rendezvous_announce(&near.call, near.rendezvous, SLICE(FROM_PEER)));
    await_key(near.rendezvous, FROM_PEER, &value);
    PAIR_UNTIL(value.has_come);
    assert_int_equal(value.code, STATUS_ABORTED);
    assert_non_null(strstr(value.error, "this step is over"));
}

static void
a_peer_that_refuses_ends_the_step_with_its_reason(void **state)
{
    (void)state;
    Awaited value;
    char expected[ERROR_MESSAGE_SIZE];
    peer.refusal =
        &(WireStatus){.failure = failure_of(STATUS_PERMISSION_DENIED, (Slice){0}, "wrong push token")};
    await_key(near.rendezvous, FROM_PEER, &value);
    send_floats(TO_PEER, 1);
    PAIR_UNTIL(value.has_come);
    assert_int_equal(value.code, STATUS_PERMISSION_DENIED);
    (void)snprintf(expected, sizeof expected, "slot 1 at %s: wrong push token", pair.address);
    assert_string_equal(value.error, expected);
    assert_null(transport_step_lost_peer(near.step));
}

static void
a_peer_that_is_gone_ends_the_step(void **state)
{
    (void)state;
    int fd = -1;
    char address[ADDRESS_TEXT_SIZE];
    Awaited value;
    near_close();
    Call call = {0};
    assert_status(&call, STATUS_OK, socket_listen(&call, "127.0.0.1:0", (ListenOptions){.backlog = 0}, &fd));
    socket_local_address(fd, address);
    socket_close(fd);
    open_at(address);
    await_key(near.rendezvous, FROM_PEER, &value);
    send_floats(TO_PEER, 1);
    PAIR_UNTIL(value.has_come);
    assert_int_equal(value.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(value.error, address));
    assert_string_equal(transport_step_lost_peer(near.step), address);
}

static void
pulls_and_pushes_to_a_peer_that_is_silent_end_after_the_deadline(void **state)
{
    (void)state;
    for (int pulls = 0; pulls < 2; pulls++) {
        Awaited value;
        near_close();
        peer.is_silent = true;
        open_until(pair.address, loop_now_ns(pair.loop) + 50 * CLOCK_NS_PER_MS);
        await_key(near.rendezvous, FROM_PEER, &value);
        if (pulls) {
            assert_status(
                &near.call, STATUS_OK, rendezvous_announce(&near.call, near.rendezvous, SLICE(FROM_PEER)));
        } else {
            send_floats(TO_PEER, 1);
        }
        PAIR_UNTIL(value.has_come);
        assert_int_equal(value.code, STATUS_UNAVAILABLE);
        assert_non_null(strstr(value.error, "did not answer in time"));
    }
    assert_int_equal(peer.request_count, 2);
}

static void
a_pull_that_is_lost_twice_ends_the_step(void **state)
{
    (void)state;
    Awaited value;
    lose_pull(&value, true);
    peer.is_silent = true;
    PAIR_UNTIL(peer.request_count == 2);
    h2_abort(pair.connections[SERVER]);
    PAIR_UNTIL(value.has_come);
    assert_int_equal(value.code, STATUS_UNAVAILABLE);
    assert_string_equal(transport_step_lost_peer(near.step), pair.address);
    pair_turns(20);
    assert_int_equal(peer.request_count, 2);
}

/* The peer may have taken some of its values: they would come twice. */
static void
a_push_that_is_lost_ends_the_step_and_is_not_repeated(void **state)
{
    (void)state;
    Awaited value;
    peer.is_silent = true;
    await_key(near.rendezvous, FROM_PEER, &value);
    send_floats(TO_PEER, 1);
    PAIR_UNTIL(peer.request_count == 1);
    h2_abort(pair.connections[SERVER]);
    PAIR_UNTIL(value.has_come);
    pair_turns(20);
    assert_int_equal(peer.request_count, 1);
    assert_int_equal(value.code, STATUS_UNAVAILABLE);
    assert_string_equal(transport_step_lost_peer(near.step), pair.address);
}

static void
a_key_for_nobody_is_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "/slot:0/device:CPU:0;/slot:7/device:CPU:0;edge_0;0:0", "/slot:0/device:CPU:0;/slot:x/d;edge_0;0:0"};
    for (size_t index = 0; index < COUNT_OF(keys); index++) {
        AUTO_TENSOR tensor = floats(1);
        RendezvousRemote remote = transport_step_remote(near.step);
        assert_int_equal(
            remote.send(remote.context, &near.call, slice_from_string(keys[index]), &tensor, false),
            STATUS_INTERNAL);
        assert_non_null(tensor.data);
    }
}

static void
a_step_that_ended_sends_nothing_more_and_hears_nothing(void **state)
{
    (void)state;
    peer.refusal = &(WireStatus){.failure = failure_of(STATUS_ABORTED, (Slice){0}, "over")};
    send_floats(TO_PEER, 1);
    transport_step_detach(near.step);
    PAIR_UNTIL(peer.request_count == 1);
    pair_turns(10);
    Awaited value;
    await_key(near.rendezvous, FROM_PEER, &value);
    assert_false(value.has_come);
    assert_true(rendezvous_forget(near.rendezvous, &value.waiter));
}

static void
note_settled(TransportWait *wait)
{
    assert_ptr_equal(wait, &near.wait);
    near.settled_count++;
}

static void
a_step_has_settled_when_its_peers_have_what_it_sent(void **state)
{
    (void)state;
    near.wait.done = note_settled;
    assert_true(transport_step_settle(near.step, &near.wait));
    send_floats(TO_PEER, 1);
    assert_false(transport_step_settle(near.step, &near.wait));
    PAIR_UNTIL(near.settled_count > 0);
    pair_turns(20);
    assert_int_equal(near.settled_count, 1);
    assert_int_equal(peer.request_count, 1);
    assert_true(transport_step_settle(near.step, &near.wait));
    assert_int_equal(transport_step_failure(near.step).code, STATUS_OK);
}

/* Its run has ended, and its rendezvous has nobody left whom an abort would reach. */
static void
a_step_learns_that_its_peer_refuses_what_it_sent_at_its_end(void **state)
{
    (void)state;
    char expected[ERROR_MESSAGE_SIZE];
    peer.refusal = &(WireStatus){.failure = failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no room")};
    transport_step_detach(near.step);
    RendezvousRemote remote = transport_step_remote(near.step);
    near.wait.done = note_settled;
    AUTO_TENSOR tensor = floats(1);
    assert_status(
        &near.call, STATUS_OK, remote.send(remote.context, &near.call, SLICE(TO_PEER), &tensor, false));
    assert_false(transport_step_settle(near.step, &near.wait));
    PAIR_UNTIL(near.settled_count > 0);
    Failure failure = transport_step_failure(near.step);
    (void)snprintf(expected, sizeof expected, "slot 1 at %s: no room", pair.address);
    assert_int_equal(failure.code, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(failure.message, expected);
}

static void
a_step_learns_that_what_it_sent_is_lost(void **state)
{
    (void)state;
    peer.is_silent = true;
    near.wait.done = note_settled;
    send_floats(TO_PEER, 1);
    assert_false(transport_step_settle(near.step, &near.wait));
    PAIR_UNTIL(peer.request_count == 1);
    assert_int_equal(near.settled_count, 0);
    h2_abort(pair.connections[SERVER]);
    PAIR_UNTIL(near.settled_count > 0);
    assert_int_equal(transport_step_failure(near.step).code, STATUS_UNAVAILABLE);
    assert_string_equal(transport_step_lost_peer(near.step), pair.address);
}

static void
a_step_that_nobody_waits_for_is_forgotten(void **state)
{
    (void)state;
    near.wait.done = note_settled;
    send_floats(TO_PEER, 1);
    assert_false(transport_step_settle(near.step, &near.wait));
    transport_step_forget(near.step);
    PAIR_UNTIL(peer.request_count == 1);
    pair_turns(20);
    assert_int_equal(near.settled_count, 0);
}

#define TO_LOCAL "/slot:0/device:CPU:0;/slot:2/device:CPU:0;edge_0;0:0"

static void
a_slot_of_this_process_gets_the_pointer(void **state)
{
    (void)state;
    Awaited value;
    near.local = rendezvous_new(2, NULL);
    Tensor tensor = floats(LARGE_COUNT);
    const void *data = tensor.data;
    assert_status(
        &near.call, STATUS_OK, rendezvous_send(&near.call, near.rendezvous, SLICE(TO_LOCAL), &tensor, false));
    await_key(near.local, TO_LOCAL, &value);
    assert_true(value.has_come);
    assert_ptr_equal(value.tensor.data, data);
    assert_int_equal(near.local_slot, 2);
    assert_int_equal(peer.request_count, 0);
    tensor_unref(&value.tensor);
}

static void
a_slot_of_this_process_that_has_ended_is_told(void **state)
{
    (void)state;
    AUTO_TENSOR tensor = floats(1);
    assert_int_equal(
        rendezvous_send(&near.call, near.rendezvous, SLICE(TO_LOCAL), &tensor, false), STATUS_ABORTED);
    assert_string_equal(near.call.error.message, "slot 2 of this step has ended");
}

static void
without_memory_for_a_message_the_sender_keeps_its_value(void **state)
{
    (void)state;
    AUTO_TENSOR tensor = floats(1);
    RendezvousRemote remote = transport_step_remote(near.step);
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    Status status = remote.send(remote.context, &near.call, SLICE(TO_PEER), &tensor, false);
    fail_alloc_at = 0;
    assert_int_equal(status, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(tensor.data);
}

/* Pulls a value while the allocation of this number fails (0: none). Returns how many there were; the
 * receiver has been told something in any case. */
static size_t
pull_with_failure_at(size_t number)
{
    Awaited value;
    assert_int_equal(set_up(NULL), 0);
    peer.pulled = floats(LARGE_COUNT);
    assert_status(&near.call, STATUS_OK, rendezvous_announce(&near.call, near.rendezvous, SLICE(FROM_PEER)));
    await_key(near.rendezvous, FROM_PEER, &value);
    PAIR_UNTIL(peer.request_count == 1);
    fail_alloc_count = 0;
    fail_alloc_at = number;
    PAIR_UNTIL(value.has_come);
    fail_alloc_at = 0;
    size_t count = fail_alloc_count;
    assert_true(value.code == STATUS_OK || value.code == STATUS_RESOURCE_EXHAUSTED);
    assert_true(number > 0 || value.code == STATUS_OK);
    tensor_unref(&value.tensor);
    assert_int_equal(tear_down(NULL), 0);
    return count;
}

/* The last allocation of a pull is the rendezvous's own, for the value that has come. */
static void
without_memory_for_a_pulled_value_its_receiver_is_told(void **state)
{
    (void)state;
    size_t last = pull_with_failure_at(0);
    assert_true(last > 0);
    assert_int_equal(pull_with_failure_at(last), last);
}

#define TRANSPORT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TRANSPORT_TEST(a_small_value_is_pushed),
        TRANSPORT_TEST(values_of_one_turn_travel_in_one_request),
        TRANSPORT_TEST(a_value_at_the_limit_is_pushed_and_a_larger_one_announced),
        TRANSPORT_TEST(values_may_be_sent_on_any_thread),
        TRANSPORT_TEST(an_announced_value_is_pulled_when_it_is_wanted),
        TRANSPORT_TEST(a_pull_that_is_refused_ends_the_step),
        TRANSPORT_TEST(a_peer_that_refuses_ends_the_step_with_its_reason),
        TRANSPORT_TEST(a_peer_that_is_gone_ends_the_step),
        TRANSPORT_TEST(pulls_and_pushes_to_a_peer_that_is_silent_end_after_the_deadline),
        TRANSPORT_TEST(a_pull_whose_answer_is_lost_is_repeated),
        TRANSPORT_TEST(a_pull_ends_when_its_answer_has_come),
        cmocka_unit_test_setup_teardown(
            a_peer_of_the_first_version_is_told_at_once_that_a_pull_has_ended, set_up_oldest, tear_down),
        TRANSPORT_TEST(a_pull_that_is_lost_with_its_transport_is_not_repeated),
        TRANSPORT_TEST(a_pull_that_is_lost_twice_ends_the_step),
        TRANSPORT_TEST(a_push_that_is_lost_ends_the_step_and_is_not_repeated),
        TRANSPORT_TEST(a_key_for_nobody_is_refused),
        TRANSPORT_TEST(a_step_that_ended_sends_nothing_more_and_hears_nothing),
        TRANSPORT_TEST(a_step_has_settled_when_its_peers_have_what_it_sent),
        TRANSPORT_TEST(a_step_learns_that_its_peer_refuses_what_it_sent_at_its_end),
        TRANSPORT_TEST(a_step_learns_that_what_it_sent_is_lost),
        TRANSPORT_TEST(a_step_that_nobody_waits_for_is_forgotten),
        TRANSPORT_TEST(a_slot_of_this_process_gets_the_pointer),
        TRANSPORT_TEST(a_slot_of_this_process_that_has_ended_is_told),
        TRANSPORT_TEST(without_memory_for_a_message_the_sender_keeps_its_value),
        cmocka_unit_test(without_memory_for_a_pulled_value_its_receiver_is_told),
    };
    return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
