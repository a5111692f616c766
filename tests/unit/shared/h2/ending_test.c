/* Tests of how connections end: refused, too slow, silent, dead, or shut down by either side. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/h2_pair.h"

static Call call;

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
    Status status =
        h2_connect(&call, pair.loop, pair.address, &pair.options[CLIENT], &pair.connections[CLIENT]);
    if (status == STATUS_OK) {
        const Probe *client = pair_request("/x", true);
        PAIR_UNTIL(pair.disconnects[CLIENT] == 1);
        assert_int_equal(client->reason, STATUS_UNAVAILABLE);
    } else {
        assert_int_equal(status, STATUS_UNAVAILABLE);
        assert_non_null(strstr(call.error.message, "Connection refused"));
    }
}

/* Waits for a number of connections in a listener's queue, which Linux tells as its tcpi_unacked. */
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

/* A listener whose queue is full (one more than its backlog) ignores new connections. */
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
    uint64_t start_ns = loop_now_ns(pair.loop); /* timers count from here; older than the clock */
    assert_status(&call, STATUS_OK,
        h2_connect(&call, pair.loop, address, &pair.options[CLIENT], &pair.connections[CLIENT]));
    const Probe *client = pair_request("/x", true);
    PAIR_UNTIL(pair.disconnects[CLIENT] == 1);
    assert_int_equal(client->reason, STATUS_UNAVAILABLE);
    assert_int_equal(pair.reasons[CLIENT], STATUS_UNAVAILABLE);
    assert_true(clock_monotonic_ns() - start_ns >= 30 * CLOCK_NS_PER_MS);
    for (size_t index = 0; index < COUNT_OF(fillers); index++) {
        socket_close(fillers[index]);
    }
    socket_close(listener);
}

/* The kernel makes the connection while the process is stopped, or has no core, for longer than the time-out.
 */
static void
a_connection_that_stands_is_not_given_up_because_nobody_looked_in_time(void **state)
{
    (void)state;
    pair.options[CLIENT].connect_timeout_ms = 1;
    assert_status(&call, STATUS_OK,
        h2_connect(&call, pair.loop, pair.address, &pair.options[CLIENT], &pair.connections[CLIENT]));
    (void)usleep(5000);
    const Probe *client = pair_request("/x", true);
    PAIR_UNTIL(client->stream == NULL);
    assert_int_equal(client->reason, STATUS_OK);
    assert_int_equal(pair.disconnects[CLIENT], 0);
}

/* Timers count from the loop's last look at the clock, which is before the connection is made. */
static void
a_silent_peer_is_lost_after_three_pings(void **state)
{
    (void)state;
    pair.options[SERVER].ping_interval_ms = 10;
    uint64_t start_ns = loop_now_ns(pair.loop);
    int fd = pair_connect_raw(); /* sends nothing, answers nothing */
    PAIR_UNTIL(pair.disconnects[SERVER] == 1);
    assert_true(clock_monotonic_ns() - start_ns >= 40 * CLOCK_NS_PER_MS);
    assert_int_equal(pair.reasons[SERVER], STATUS_UNAVAILABLE);
    socket_close(fd);
}

/* Answers the pings among the whole frames that have come (RFC 9113 6.7); returns how many there were. */
static int
answer_pings(int fd)
{
    enum { HEAD = 9, TYPE = 3, FLAGS = 4, PING = 6, ACK = 1, PING_SIZE = HEAD + 8 };
    uint8_t frames[1024];
    int count = 0;
    ssize_t at = 0;
    ssize_t size = recv(fd, frames, sizeof frames, MSG_DONTWAIT);
    for (; at < size; at += HEAD + (frames[at] << 16) + (frames[at + 1] << 8) + frames[at + 2]) {
        if (frames[at + TYPE] == PING && (frames[at + FLAGS] & ACK) == 0) {
            frames[at + FLAGS] |= ACK;
            assert_int_equal(send(fd, frames + at, PING_SIZE, MSG_NOSIGNAL), PING_SIZE);
            count++;
        }
    }
    assert_true(size < 0 || at == size);
    return count;
}

static void
a_peer_that_does_nothing_but_answer_pings_is_not_lost(void **state)
{
    (void)state;
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    enum { PINGS = 20 };
    pair.options[SERVER].ping_interval_ms = 2;
    int fd = pair_connect_raw();
    int answered = 0;
    assert_int_equal(send(fd, preface, sizeof preface - 1, MSG_NOSIGNAL), sizeof preface - 1);
    while (answered < PINGS && pair.disconnects[SERVER] == 0) {
        loop_turn(pair.loop, 100);
        answered += answer_pings(fd);
    }
    assert_int_equal(pair.disconnects[SERVER], 0);
    socket_close(fd);
}

/* Each side pings the other. The longest turn of the loop takes far less than the three intervals after
 * which a peer is lost. */
static void
idle_peers_stay_connected(void **state)
{
    (void)state;
    pair.options[SERVER].ping_interval_ms = 100;
    pair.options[CLIENT].ping_interval_ms = 100;
    pair_connect();
    uint64_t start_ns = clock_monotonic_ns();
    while (clock_monotonic_ns() - start_ns < 500 * CLOCK_NS_PER_MS) {
        loop_turn(pair.loop, 100);
    }
    assert_int_equal(pair.disconnects[CLIENT] + pair.disconnects[SERVER], 0);
}

static void
streams_of_a_server_that_dies_are_unavailable(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork(); /* holds the listener and never serves */
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
    const Probe *client = pair_request("/x", false);
    assert_true(h2_stream_write(client->stream, SLICE("body"), pair_release, NULL));
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
    const Probe *client = pair_request("/x", false);
    PAIR_UNTIL(pair.probe_count[SERVER] == 1);
    h2_shutdown(pair.connections[SERVER]);
    h2_shutdown(pair.connections[SERVER]);
    const Probe *on_its_way = pair_request("/y", true); /* crosses the first GOAWAY */
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
    const Probe *client = pair_request("/x", false);
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
    const struct CMUnitTest tests[] = {
        PAIR_TEST(a_refused_connection_ends_with_unavailable),
        PAIR_TEST(connecting_gives_up_after_its_timeout),
        PAIR_TEST(a_connection_that_stands_is_not_given_up_because_nobody_looked_in_time),
        PAIR_TEST(a_silent_peer_is_lost_after_three_pings),
        PAIR_TEST(a_peer_that_does_nothing_but_answer_pings_is_not_lost),
        PAIR_TEST(idle_peers_stay_connected),
        PAIR_TEST(streams_of_a_server_that_dies_are_unavailable),
        PAIR_TEST(a_server_shutting_down_serves_what_it_has),
        PAIR_TEST(an_idle_server_shuts_down_at_once),
        PAIR_TEST(a_client_shutting_down_waits_for_its_answers),
    };
    return cmocka_run_group_tests_name("HTTP/2 ends", tests, NULL, NULL);
}
