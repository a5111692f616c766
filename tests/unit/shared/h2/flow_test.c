/* Bodies of many MiB: windows, queues, releases. */
#include "tests/support/cmocka_all.h"
#include "tests/support/h2_pair.h"

enum { MIB = 1 << 20, WINDOW = MIB, BODY_SIZE = 64 * MIB, PIECE_SIZE = 300 * 1000 };

static char piece[PIECE_SIZE];

typedef struct Transfer {
    size_t size;
    size_t written;
    int writes;
    size_t queued_max;
    size_t verified;
    size_t unconsumed;
    size_t unconsumed_max;
    bool consumes_at_once;
} Transfer;

static Transfer transfer;

static void
write_more(H2Stream *stream)
{
    while (transfer.written < transfer.size && h2_stream_queued(stream) < H2_WRITE_HIGH) {
        size_t left = transfer.size - transfer.written;
        size_t size = left < PIECE_SIZE ? left : PIECE_SIZE;
        assert_true(h2_stream_write(stream, slice_of(piece, size), pair_release, NULL));
        transfer.written += size;
        transfer.writes++;
        if (h2_stream_queued(stream) > transfer.queued_max) {
            transfer.queued_max = h2_stream_queued(stream);
        }
    }
    if (transfer.written == transfer.size) {
        h2_stream_end(stream);
    }
}

static void
verify(H2Stream *stream, Slice data)
{
    for (size_t done = 0; done < data.size;) {
        size_t position = (transfer.verified + done) % PIECE_SIZE;
        size_t run = PIECE_SIZE - position < data.size - done ? PIECE_SIZE - position : data.size - done;
        assert_memory_equal(data.data + done, piece + position, run);
        done += run;
    }
    transfer.verified += data.size;
    transfer.unconsumed += data.size;
    if (transfer.unconsumed > transfer.unconsumed_max) {
        transfer.unconsumed_max = transfer.unconsumed;
    }
    if (transfer.consumes_at_once) {
        transfer.unconsumed -= data.size;
        h2_stream_consume(stream, data.size);
    }
}

static bool
download(Probe *probe, char event, Slice data)
{
    if (probe->side == CLIENT && event == 'd') {
        verify(probe->stream, data);
        return true;
    }
    if (probe->side == SERVER && (event == 'H' || event == 'w')) {
        if (event == 'H') {
            h2_respond(probe->stream, 200, NULL, 0, false);
        }
        write_more(probe->stream);
    }
    return probe->side == SERVER;
}

static bool
upload(Probe *probe, char event, Slice data)
{
    if (probe->side == SERVER && event == 'd') {
        verify(probe->stream, data);
        return true;
    }
    if (probe->side == CLIENT && event == 'w') {
        write_more(probe->stream);
    }
    return false;
}

static int
set_up(void **state)
{
    (void)state;
    for (size_t index = 0; index < PIECE_SIZE; index++) {
        piece[index] = (char)(index * 7 + index / 256);
    }
    transfer = (Transfer){.size = BODY_SIZE, .consumes_at_once = true};
    pair_open(NULL);
    return 0;
}

static void
assert_transferred(const Probe *client)
{
    assert_int_equal(client->reason, STATUS_OK);
    assert_int_equal(transfer.verified, BODY_SIZE);
    assert_int_equal(pair.released, transfer.writes);
    assert_true(transfer.queued_max < H2_WRITE_HIGH + PIECE_SIZE);
    assert_true(transfer.unconsumed_max <= WINDOW);
}

static void
a_large_answer_arrives_whole_with_a_bounded_queue(void **state)
{
    (void)state;
    pair.hook = download;
    pair_connect();
    const Probe *client = pair_request("/large", true);
    PAIR_UNTIL(client->stream == NULL);
    assert_transferred(client);
}

static void
a_large_request_arrives_whole_with_a_bounded_queue(void **state)
{
    (void)state;
    pair.hook = upload;
    pair_connect();
    const Probe *client = pair_request("/large", false);
    write_more(client->stream);
    PAIR_UNTIL(client->stream == NULL);
    assert_transferred(client);
}

static void
consume_slowly(H2Stream *stream)
{
    size_t size = transfer.unconsumed < 30000 ? transfer.unconsumed : 30000;
    transfer.unconsumed -= size;
    h2_stream_consume(stream, size);
}

static void
a_slow_consumer_holds_at_most_a_window(void **state)
{
    (void)state;
    transfer.consumes_at_once = false;
    pair.hook = download;
    pair_connect();
    const Probe *client = pair_request("/large", true);
    while (client->stream != NULL) {
        loop_turn(pair.loop, transfer.unconsumed == 0 ? 100 : 0);
        if (client->stream != NULL) {
            consume_slowly(client->stream);
        }
    }
    assert_transferred(client);
    assert_true(transfer.unconsumed_max > WINDOW / 2);
}

static void
a_sender_stalls_until_the_receiver_consumes(void **state)
{
    (void)state;
    transfer.consumes_at_once = false;
    pair.hook = download;
    pair_connect();
    const Probe *client = pair_request("/large", true);
    PAIR_UNTIL(transfer.verified == WINDOW);
    pair_turns(100);
    assert_int_equal(transfer.verified, WINDOW);
    assert_true(transfer.written < (size_t)H2_WRITE_HIGH + WINDOW + PIECE_SIZE);
    const Probe *other = pair_request("/small", false); /* the connection is not held up */
    pair.hook = NULL;
    h2_stream_end(other->stream);
    PAIR_UNTIL(other->stream == NULL);
    assert_int_equal(other->reason, STATUS_OK);
    pair.hook = download;
    h2_stream_consume(client->stream, WINDOW);
    PAIR_UNTIL(transfer.verified == 2 * WINDOW);
    h2_stream_reset(client->stream, STATUS_CANCELLED);
    PAIR_UNTIL(pair.probes[SERVER][0].stream == NULL);
    assert_int_equal(pair.released, transfer.writes);
}

/* Bytes that were received for a closed stream and never consumed must not use up the connection's window. */
static void
streams_closed_unconsumed_leave_the_connection_usable(void **state)
{
    (void)state;
    enum { ROUNDS = 1100 }; /* together more than the connection's window of 2^30 */
    transfer.consumes_at_once = false;
    transfer.size = MIB;
    pair.hook = download;
    pair_connect();
    for (int round = 0; round < ROUNDS; round++) {
        transfer = (Transfer){.size = MIB};
        const Probe *client = pair_request("/round", true);
        PAIR_UNTIL(client->stream == NULL);
        assert_int_equal(transfer.verified, MIB);
    }
}

static bool
two_sizes(Probe *probe, char event, Slice data)
{
    return strcmp(probe->path, "/small") == 0 || (probe->side == CLIENT && probe != &pair.probes[CLIENT][0])
               ? false
               : download(probe, event, data);
}

static void
a_small_request_beside_a_large_body_takes_few_turns(void **state)
{
    (void)state;
    pair.hook = two_sizes;
    pair_connect();
    const Probe *large = pair_request("/large", true);
    PAIR_UNTIL(transfer.verified > MIB);
    for (int round = 0; round < 20; round++) {
        const Probe *small = pair_request("/small", false);
        h2_stream_end(small->stream);
        size_t before = transfer.verified;
        PAIR_UNTIL(small->stream == NULL);
        assert_true(large->stream != NULL);
        assert_true(transfer.verified - before < 8 * MIB); /* the sockets' buffers may hold as much */
    }
    PAIR_UNTIL(large->stream == NULL);
    assert_transferred(large);
}

static bool
upload_unverified(Probe *probe, char event, Slice data)
{
    return probe->side == CLIENT && upload(probe, event, data);
}

static void
a_reset_while_bytes_wait_in_the_socket_releases_once(void **state)
{
    (void)state;
    pair.hook = upload_unverified;
    transfer.size = SIZE_MAX / 2;
    pair_connect();
    for (int round = 0; round < 50; round++) {
        const Probe *client = pair_request("/large", false);
        write_more(client->stream);
        pair_turns(round);
        if (client->stream != NULL) {
            h2_stream_reset(client->stream, STATUS_CANCELLED);
        }
    }
    PAIR_UNTIL(pair.released == transfer.writes);
    PAIR_UNTIL(h2_stream_count(pair.connections[SERVER]) == 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, pair_teardown)
    const struct CMUnitTest tests[] = {
        T(a_large_answer_arrives_whole_with_a_bounded_queue),
        T(a_large_request_arrives_whole_with_a_bounded_queue),
        T(a_slow_consumer_holds_at_most_a_window),
        T(a_sender_stalls_until_the_receiver_consumes),
        T(streams_closed_unconsumed_leave_the_connection_usable),
        T(a_small_request_beside_a_large_body_takes_few_turns),
        T(a_reset_while_bytes_wait_in_the_socket_releases_once),
    };
    return cmocka_run_group_tests_name("HTTP/2 flow", tests, NULL, NULL);
}
