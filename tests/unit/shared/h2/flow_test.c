/* Bodies of many MiB: windows, queues, releases; and the ends of connections. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/h2_pair.h"

enum { MIB = 1 << 20, WINDOW = MIB, BODY_SIZE = 64 * MIB, PIECE_SIZE = 300 * 1000 };

static Call call;
static char piece[PIECE_SIZE];

/* --- A sender that minds the queue, a receiver that checks every byte ----------------------------------- */

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
        const size_t left = transfer.size - transfer.written;
        const size_t size = left < PIECE_SIZE ? left : PIECE_SIZE;
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
        const size_t position = (transfer.verified + done) % PIECE_SIZE;
        const size_t run =
            PIECE_SIZE - position < data.size - done ? PIECE_SIZE - position : data.size - done;
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

static int
tear_down(void **state)
{
    (void)state;
    pair_close();
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
    const Probe *const client = pair_request("/large", true);
    PAIR_UNTIL(client->stream == NULL);
    assert_transferred(client);
}

static void
a_large_request_arrives_whole_with_a_bounded_queue(void **state)
{
    (void)state;
    pair.hook = upload;
    pair_connect();
    const Probe *const client = pair_request("/large", false);
    write_more(client->stream);
    PAIR_UNTIL(client->stream == NULL);
    assert_transferred(client);
}

static void
consume_slowly(H2Stream *stream)
{
    const size_t size = transfer.unconsumed < 30000 ? transfer.unconsumed : 30000;
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
    const Probe *const client = pair_request("/large", true);
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
    const Probe *const client = pair_request("/large", true);
    PAIR_UNTIL(transfer.verified == WINDOW);
    pair_turns(100);
    assert_int_equal(transfer.verified, WINDOW);
    assert_true(transfer.written < (size_t)H2_WRITE_HIGH + WINDOW + PIECE_SIZE);
    const Probe *const other = pair_request("/small", false); /* the connection is not held up */
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

/* Received and never consumed bytes of closed streams must not eat the connection's window. */
static void
streams_closed_unconsumed_leave_the_connection_usable(void **state)
{
    (void)state;
    enum { ROUNDS = 1100 }; /* more than the connection's window of 2^30 in all */
    transfer.consumes_at_once = false;
    transfer.size = MIB;
    pair.hook = download;
    pair_connect();
    for (int round = 0; round < ROUNDS; round++) {
        transfer = (Transfer){.size = MIB};
        const Probe *const client = pair_request("/round", true);
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
    const Probe *const large = pair_request("/large", true);
    PAIR_UNTIL(transfer.verified > MIB);
    for (int round = 0; round < 20; round++) {
        const Probe *const small = pair_request("/small", false);
        h2_stream_end(small->stream);
        const size_t before = transfer.verified;
        PAIR_UNTIL(small->stream == NULL);
        assert_true(large->stream != NULL);
        assert_true(
            transfer.verified - before < 8 * MIB); /* what may be ahead of it in the socket's buffers */
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
        const Probe *const client = pair_request("/large", false);
        write_more(client->stream);
        pair_turns(round);
        if (client->stream != NULL) {
            h2_stream_reset(client->stream, STATUS_CANCELLED);
        }
    }
    PAIR_UNTIL(pair.released == transfer.writes);
    PAIR_UNTIL(h2_stream_count(pair.connections[SERVER]) == 0);
}

/* --- Ends of connections -------------------------------------------------------------------------------- */

static bool
server_waits(Probe *probe, char event, Slice data)
{
    (void)event;
    (void)data;
    return probe->side == SERVER;
}

static void
a_refused_connection_ends_with_unavailable(void **state)
{
    (void)state;
    shutdown(pair.listener.fd, SHUT_RDWR);
    const Status status =
        h2_connect(&call, pair.loop, pair.address, &pair.options[CLIENT], &pair.connections[CLIENT]);
    if (status == STATUS_OK) {
        const Probe *const client = pair_request("/x", true);
        PAIR_UNTIL(pair.disconnects[CLIENT] == 1);
        assert_int_equal(client->reason, STATUS_UNAVAILABLE);
    } else {
        assert_int_equal(status, STATUS_UNAVAILABLE);
        assert_non_null(strstr(call.error.message, "Connection refused"));
    }
}

/* Linux tells the length of a listener's queue as its tcpi_unacked. */
static void
await_queued(int listener, uint32_t count)
{
    struct tcp_info info = {0};
    for (int turn = 0; info.tcpi_unacked < count && turn < 5000; turn++) {
        socklen_t size = sizeof info;
        assert_int_equal(getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
        (void)usleep(1000);
    }
    assert_true(info.tcpi_unacked >= count);
}

/* A listener whose queue is full (one more than its backlog) drops what knocks. */
static void
connecting_gives_up_after_its_timeout(void **state)
{
    (void)state;
    char address[ADDRESS_TEXT_SIZE];
    int fillers[3] = {-1, -1, -1};
    int listener = -1;
    assert_status(
        &call, STATUS_OK, socket_listen(&call, "127.0.0.1:0", (ListenOptions){.backlog = 1}, &listener));
    socket_local_address(listener, address);
    for (size_t index = 0; index < COUNT_OF(fillers); index++) {
        assert_status(&call, STATUS_OK, socket_connect(&call, address, &fillers[index]));
    }
    await_queued(listener, 2);
    pair.options[CLIENT].connect_timeout_ms = 30;
    const uint64_t start_ns = loop_now_ns(pair.loop); /* what timers count from: older than the clock */
    assert_status(&call, STATUS_OK,
        h2_connect(&call, pair.loop, address, &pair.options[CLIENT], &pair.connections[CLIENT]));
    const Probe *const client = pair_request("/x", true);
    PAIR_UNTIL(pair.disconnects[CLIENT] == 1);
    assert_int_equal(client->reason, STATUS_UNAVAILABLE);
    assert_int_equal(pair.reasons[CLIENT], STATUS_UNAVAILABLE);
    assert_true(clock_monotonic_ns() - start_ns >= 30 * CLOCK_NS_PER_MS);
    for (size_t index = 0; index < COUNT_OF(fillers); index++) {
        socket_close(fillers[index]);
    }
    socket_close(listener);
}

static void
a_silent_peer_is_lost_after_three_pings(void **state)
{
    (void)state;
    pair.options[SERVER].ping_interval_ms = 10;
    const int fd = pair_connect_raw(); /* sends nothing, answers nothing */
    const uint64_t start_ns = clock_monotonic_ns();
    PAIR_UNTIL(pair.disconnects[SERVER] == 1);
    const uint64_t waited_ms = (clock_monotonic_ns() - start_ns) / CLOCK_NS_PER_MS;
    assert_true(waited_ms >= 35 && waited_ms < 5000);
    assert_int_equal(pair.reasons[SERVER], STATUS_UNAVAILABLE);
    socket_close(fd);
}

static void
idle_peers_that_answer_pings_stay_connected(void **state)
{
    (void)state;
    pair.options[SERVER].ping_interval_ms = 2;
    pair.options[CLIENT].ping_interval_ms = 3;
    pair_connect();
    const uint64_t start_ns = clock_monotonic_ns();
    while (clock_monotonic_ns() - start_ns < 60 * CLOCK_NS_PER_MS) {
        loop_turn(pair.loop, 10);
    }
    assert_int_equal(pair.disconnects[CLIENT] + pair.disconnects[SERVER], 0);
}

static void
streams_of_a_server_that_dies_are_unavailable(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork(); /* it holds the listener, and never serves */
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        (void)close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    watch_close(&pair.listener);
    socket_close(pair.listener.fd);
    pair.listener.fd = -1;
    (void)close(ends[0]);
    assert_status(&call, STATUS_OK,
        h2_connect(&call, pair.loop, pair.address, &pair.options[CLIENT], &pair.connections[CLIENT]));
    const Probe *const client = pair_request("/x", false);
    assert_true(h2_stream_write(client->stream, slice_of(piece, 1000), pair_release, NULL));
    pair_turns(20);
    assert_non_null(client->stream);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    PAIR_UNTIL(pair.disconnects[CLIENT] == 1);
    assert_int_equal(client->reason, STATUS_UNAVAILABLE);
    assert_int_equal(pair.released, 1);
    (void)close(ends[1]);
}

static void
a_server_shutting_down_serves_what_it_has(void **state)
{
    (void)state;
    pair.hook = server_waits;
    pair_connect();
    const Probe *const client = pair_request("/x", false);
    PAIR_UNTIL(pair.probe_count[SERVER] == 1);
    h2_shutdown(pair.connections[SERVER]);
    h2_shutdown(pair.connections[SERVER]);
    const Probe *const on_its_way = pair_request("/y", true); /* crosses the first GOAWAY */
    PAIR_UNTIL(pair.probe_count[SERVER] == 2);
    pair_turns(20);
    assert_null(pair_request("/late", true));
    assert_int_equal(pair.disconnects[CLIENT] + pair.disconnects[SERVER], 0);
    for (int index = 0; index < 2; index++) {
        h2_respond(pair.probes[SERVER][index].stream, 200, NULL, 0, true);
    }
    h2_stream_end(client->stream);
    PAIR_UNTIL(pair.disconnects[CLIENT] + pair.disconnects[SERVER] == 2);
    assert_int_equal(client->reason, STATUS_OK);
    assert_int_equal(on_its_way->reason, STATUS_OK);
    assert_int_equal(pair.reasons[SERVER], STATUS_OK);
    assert_int_equal(pair.reasons[CLIENT], STATUS_UNAVAILABLE);
}

static void
an_idle_server_shuts_down_at_once(void **state)
{
    (void)state;
    pair_connect();
    h2_shutdown(pair.connections[SERVER]);
    PAIR_UNTIL(pair.disconnects[CLIENT] + pair.disconnects[SERVER] == 2);
    assert_int_equal(pair.reasons[SERVER], STATUS_OK);
}

static void
a_client_shutting_down_waits_for_its_answers(void **state)
{
    (void)state;
    pair_connect();
    const Probe *const client = pair_request("/x", false);
    h2_shutdown(pair.connections[CLIENT]);
    assert_null(pair_request("/late", true));
    pair_turns(20);
    assert_int_equal(pair.disconnects[CLIENT], 0);
    assert_true(h2_stream_write_copy(client->stream, SLICE("body")));
    h2_stream_end(client->stream);
    PAIR_UNTIL(pair.disconnects[CLIENT] + pair.disconnects[SERVER] == 2);
    assert_int_equal(client->reason, STATUS_OK);
    assert_int_equal(client->received, 4);
    assert_int_equal(pair.reasons[CLIENT], STATUS_OK);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_large_answer_arrives_whole_with_a_bounded_queue),
        T(a_large_request_arrives_whole_with_a_bounded_queue),
        T(a_slow_consumer_holds_at_most_a_window),
        T(a_sender_stalls_until_the_receiver_consumes),
        T(streams_closed_unconsumed_leave_the_connection_usable),
        T(a_small_request_beside_a_large_body_takes_few_turns),
        T(a_reset_while_bytes_wait_in_the_socket_releases_once),
        T(a_refused_connection_ends_with_unavailable),
        T(connecting_gives_up_after_its_timeout),
        T(a_silent_peer_is_lost_after_three_pings),
        T(idle_peers_that_answer_pings_stay_connected),
        T(streams_of_a_server_that_dies_are_unavailable),
        T(a_server_shutting_down_serves_what_it_has),
        T(an_idle_server_shuts_down_at_once),
        T(a_client_shutting_down_waits_for_its_answers),
    };
    return cmocka_run_group_tests_name("HTTP/2 flow", tests, NULL, NULL);
}
