/* The bytes of a hostile peer: each flood ends the connection with ENHANCE_YOUR_CALM, and half as much of
 * it does not. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/buffer.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/h2_pair.h"

enum {
    DATA,
    HEADERS,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    PUSH_PROMISE,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    CONTINUATION
};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { PROTOCOL_ERROR = 1, FLOW_CONTROL_ERROR = 3, REFUSED_STREAM = 7, CANCEL = 8, ENHANCE_YOUR_CALM = 11 };

static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

/* The connection of the hostile peer. */
static int fd;
static Buffer received;
static int counts[16]; /* frames received, by type */
static uint32_t reset_code;
static uint32_t goaway_code;

static uint32_t
read_uint(const char *bytes, size_t size)
{
    uint32_t value = 0;
    for (size_t index = 0; index < size; index++) {
        value = value << 8 | (uint8_t)bytes[index];
    }
    return value;
}

static void
take_frames(void)
{
    enum { HEAD = 9 };
    for (;;) {
        size_t size = received.size < HEAD ? SIZE_MAX - HEAD : read_uint(received.data, 3);
        if (received.size < HEAD + size) {
            return;
        }
        int type = received.data[3];
        assert_in_range(type, 0, CONTINUATION);
        counts[type]++;
        if (type == GOAWAY) {
            goaway_code = read_uint(received.data + HEAD + 4, 4);
        } else if (type == RST_STREAM) {
            reset_code = read_uint(received.data + HEAD, 4);
        }
        buffer_consume(&received, HEAD + size);
    }
}

static void
receive_all(void)
{
    char bytes[16384];
    ssize_t size;
    while ((size = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        buffer_append(&received, bytes, (size_t)size);
    }
    take_frames();
}

/* Sends all bytes; returns false when the server has closed the connection. */
static bool
send_all(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) {
            return false;
        }
        bytes += sent < 0 ? 0 : sent;
        size -= sent < 0 ? 0 : (size_t)sent;
        loop_turn(pair.loop, 0);
        receive_all();
    }
    return true;
}

static void
put_frame(Buffer *buffer, uint8_t type, uint8_t flags, uint32_t id, Slice payload)
{
    size_t size = payload.size;
    const char head[] = {(char)(size >> 16), (char)(size >> 8), (char)size, (char)type, (char)flags,
        (char)(id >> 24), (char)(id >> 16), (char)(id >> 8), (char)id};
    buffer_append(buffer, head, sizeof head);
    buffer_append_slice(buffer, payload);
}

static void
send_frame(uint8_t type, uint8_t flags, uint32_t id, Slice payload)
{
    AUTO_BUFFER frame = {.data = NULL};
    put_frame(&frame, type, flags, id, payload);
    (void)send_all(frame.data, frame.size);
}

/* A request ":method POST, :scheme http, :path /, :authority a" of the static table and literals. */
#define REQUEST                                                                                              \
    SLICE("\x83\x86\x84\x01\x01"                                                                             \
          "a")

static int
set_up(void **state)
{
    (void)state;
    pair_open(NULL);
    memset(counts, 0, sizeof counts);
    reset_code = UINT32_MAX;
    goaway_code = UINT32_MAX;
    buffer_clear(&received);
    fd = pair_connect_raw();
    assert_true(send_all(PREFACE, sizeof PREFACE - 1));
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    socket_close(fd);
    pair_close();
    buffer_done(&received);
    return 0;
}

static void
settle(void)
{
    pair_turns(20);
    receive_all();
}

static void
assert_calmed(void)
{
    PAIR_UNTIL(pair.disconnects[SERVER] == 1);
    receive_all();
    assert_int_equal(goaway_code, ENHANCE_YOUR_CALM);
    assert_int_equal(pair.reasons[SERVER], STATUS_RESOURCE_EXHAUSTED);
}

static void
assert_alive(void)
{
    settle();
    assert_int_equal(pair.disconnects[SERVER], 0);
    assert_int_equal(counts[GOAWAY], 0);
}

/* Sends `count` copies of one frame, many at a time. */
static void
send_many(int count, uint8_t type, uint8_t flags, uint32_t id, Slice payload)
{
    AUTO_BUFFER frames = {.data = NULL};
    for (int index = 0; index < 100; index++) {
        put_frame(&frames, type, flags, id, payload);
    }
    while (count > 0 && send_all(frames.data, frames.size)) {
        count -= 100;
    }
}

static void
a_flood_of_pings_is_ended(void **state)
{
    (void)state;
    send_many(500, PING, 0, 0, SLICE("12345678"));
    assert_alive();
    assert_int_equal(counts[PING], 500);
    send_many(50000, PING, 0, 0, SLICE("12345678"));
    assert_calmed();
}

static void
a_flood_of_ping_answers_is_ended(void **state)
{
    (void)state;
    send_many(50000, PING, ACK, 0, SLICE("12345678"));
    assert_calmed();
}

static void
a_flood_of_settings_is_ended(void **state)
{
    (void)state;
    send_many(500, SETTINGS, 0, 0, SLICE("\0\4\0\0\xff\xff"));
    assert_alive();
    send_many(50000, SETTINGS, 0, 0, SLICE("\0\4\0\0\xff\xff"));
    assert_calmed();
}

static void
settings_with_too_many_entries_are_ended(void **state)
{
    (void)state;
    char entries[33 * 6];
    for (size_t index = 0; index < 33; index++) {
        memcpy(entries + 6 * index, "\0\4\0\0\xff\xff", 6);
    }
    send_frame(SETTINGS, 0, 0, slice_of(entries, sizeof entries));
    assert_calmed();
}

static void
a_flood_of_empty_data_is_ended(void **state)
{
    (void)state;
    send_frame(HEADERS, END_HEADERS, 1, REQUEST);
    send_many(500, DATA, 0, 1, SLICE(""));
    assert_alive();
    send_many(50000, DATA, 0, 1, SLICE(""));
    assert_calmed();
    assert_int_equal(pair.probes[SERVER][0].reason, STATUS_RESOURCE_EXHAUSTED);
}

static void
a_flood_of_window_updates_is_ended(void **state)
{
    (void)state;
    send_many(5000, WINDOW_UPDATE, 0, 0, SLICE("\0\0\0\1"));
    assert_alive();
    send_many(50000, WINDOW_UPDATE, 0, 0, SLICE("\0\0\0\1"));
    assert_calmed();
}

static void
a_flood_of_priorities_is_ended(void **state)
{
    (void)state;
    send_many(500, PRIORITY, 0, 3, SLICE("\0\0\0\0\x10"));
    assert_alive();
    send_many(50000, PRIORITY, 0, 3, SLICE("\0\0\0\0\x10"));
    assert_calmed();
}

static void
send_rapid_resets(uint32_t first_id, int count)
{
    for (int index = 0; index < count && pair.disconnects[SERVER] == 0; index++) {
        AUTO_BUFFER frames = {.data = NULL};
        uint32_t id = first_id + 2 * (uint32_t)index;
        put_frame(&frames, HEADERS, END_HEADERS | END_STREAM, id, REQUEST);
        put_frame(&frames, RST_STREAM, 0, id, SLICE("\0\0\0\x8"));
        (void)send_all(frames.data, frames.size);
    }
}

static void
rapid_resets_are_ended(void **state)
{
    (void)state;
    send_rapid_resets(1, 500);
    assert_alive();
    send_rapid_resets(1001, 4000);
    assert_calmed();
    assert_true(pair.probe_count[SERVER] < 1400);
}

/* Provokes resets by the server (CVE-2025-8671): a window past 2^31 is a stream error. */
static void
provoked_resets_are_ended(void **state)
{
    (void)state;
    for (uint32_t id = 1; id < 800 && pair.disconnects[SERVER] == 0; id += 2) {
        AUTO_BUFFER frames = {.data = NULL};
        put_frame(&frames, HEADERS, END_HEADERS, id, REQUEST);
        put_frame(&frames, WINDOW_UPDATE, 0, id, SLICE("\x7f\xff\xff\xff"));
        (void)send_all(frames.data, frames.size);
    }
    assert_calmed();
    assert_int_equal(reset_code, FLOW_CONTROL_ERROR);
    assert_in_range(counts[RST_STREAM], 50, 60);
}

static void
a_flood_of_continuations_is_ended(void **state)
{
    (void)state;
    send_frame(HEADERS, 0, 1, REQUEST);
    send_many(2000, CONTINUATION, 0, 1, SLICE("\0\1x\1y"));
    assert_calmed();
    assert_int_equal(pair.probe_count[SERVER], 0);
}

/* Puts one long field into the dynamic table and names it again and again: 3 KiB for each byte. */
static void
send_bomb(size_t references)
{
    AUTO_BUFFER block = {.data = NULL};
    char value[3000];
    memset(value, 'y', sizeof value);
    buffer_append_slice(&block, REQUEST);
    buffer_append(&block, "\x40\1x\x7f\xb9\x16", 6); /* of length 3000 */
    buffer_append(&block, value, sizeof value);
    for (size_t index = 0; index < references; index++) {
        buffer_append_byte(&block, (char)0xbe);
    }
    send_frame(HEADERS, END_HEADERS | END_STREAM, 1, buffer_slice(&block));
}

static void
a_header_list_within_the_limit_is_served(void **state)
{
    (void)state;
    send_bomb(9);
    assert_alive();
    assert_int_equal(pair.probe_count[SERVER], 1);
    assert_int_equal(pair.probes[SERVER][0].header_count, 14);
}

static void
a_header_list_past_the_limit_is_ended(void **state)
{
    (void)state;
    send_bomb(10);
    assert_calmed();
    assert_int_equal(pair.probe_count[SERVER], 0);
}

static void
one_header_too_many_resets_its_stream_only(void **state)
{
    (void)state;
    AUTO_BUFFER block = {.data = NULL};
    buffer_append_slice(&block, REQUEST);
    for (int index = 4; index < H2_HEADERS_MAX; index++) {
        buffer_append(&block, "\0\1x\1y", 5);
    }
    send_frame(HEADERS, END_HEADERS | END_STREAM, 1, buffer_slice(&block));
    assert_alive();
    assert_int_equal(pair.probe_count[SERVER], 1);
    buffer_append(&block, "\0\1x\1y", 5);
    send_frame(HEADERS, END_HEADERS | END_STREAM, 3, buffer_slice(&block));
    assert_alive();
    assert_int_equal(pair.probe_count[SERVER], 1);
    assert_int_equal(reset_code, ENHANCE_YOUR_CALM);
    send_frame(HEADERS, END_HEADERS | END_STREAM, 5, REQUEST);
    assert_alive();
    assert_int_equal(pair.probe_count[SERVER], 2);
}

static void
a_broken_request_is_reset_unseen(void **state)
{
    (void)state;
    send_frame(HEADERS, END_HEADERS | END_STREAM, 1, SLICE("\x83\x86")); /* without a path */
    assert_alive();
    assert_int_equal(reset_code, PROTOCOL_ERROR);
    assert_int_equal(pair.probe_count[SERVER], 0);
}

static void
open_streams(uint32_t count)
{
    AUTO_BUFFER frames = {.data = NULL};
    for (uint32_t index = 0; index < count; index++) {
        put_frame(&frames, HEADERS, END_HEADERS, 2 * index + 1, REQUEST);
    }
    (void)send_all(frames.data, frames.size);
    settle();
}

static void
streams_past_the_limit_are_refused(void **state)
{
    (void)state;
    open_streams(1025);
    assert_alive();
    assert_int_equal(pair.probe_count[SERVER], 1024);
    assert_int_equal(counts[RST_STREAM], 1);
    assert_int_equal(reset_code, REFUSED_STREAM);
}

static void
a_flood_of_refused_streams_is_ended(void **state)
{
    (void)state;
    open_streams(10000);
    assert_calmed();
    assert_int_equal(pair.probe_count[SERVER], 1024);
}

static void
a_peer_that_breaks_the_limit_it_acknowledged_is_ended(void **state)
{
    (void)state;
    send_frame(SETTINGS, ACK, 0, SLICE(""));
    open_streams(1025);
    assert_int_equal(pair.probe_count[SERVER], 1024);
    assert_int_equal(pair.disconnects[SERVER], 1);
    assert_int_equal(goaway_code, PROTOCOL_ERROR);
}

static void
bytes_that_are_not_http2_are_refused(void **state)
{
    (void)state;
    socket_close(fd);
    PAIR_UNTIL(pair.disconnects[SERVER] == 1);
    fd = pair_connect_raw();
    (void)send_all("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 26);
    PAIR_UNTIL(pair.disconnects[SERVER] == 2);
    assert_int_equal(pair.reasons[SERVER], STATUS_INTERNAL);
    receive_all();
    assert_int_equal(goaway_code, PROTOCOL_ERROR);
}

static void
a_frame_larger_than_announced_is_refused(void **state)
{
    (void)state;
    (void)send_all("\1\0\1\0\0\0\0\0\1", 9); /* announces 65537 bytes of DATA */
    PAIR_UNTIL(pair.disconnects[SERVER] == 1);
    receive_all();
    assert_int_equal(goaway_code, 6); /* FRAME_SIZE_ERROR */
    assert_int_equal(pair.reasons[SERVER], STATUS_INTERNAL);
}

static void
a_request_that_drips_in_is_served(void **state)
{
    (void)state;
    AUTO_BUFFER frames = {.data = NULL};
    put_frame(&frames, HEADERS, END_HEADERS, 1, REQUEST);
    put_frame(&frames, DATA, END_STREAM, 1, SLICE("body"));
    for (size_t index = 0; index < frames.size; index++) {
        assert_true(send_all(frames.data + index, 1));
    }
    settle();
    assert_int_equal(pair.probes[SERVER][0].received, 4);
    assert_int_equal(pair.probes[SERVER][0].reason, STATUS_OK);
    assert_true(counts[DATA] >= 1);
}

static bool
server_holds(Probe *probe, char event, Slice data)
{
    (void)probe;
    (void)data;
    return event == 'd';
}

static void
a_body_past_the_window_is_reset(void **state)
{
    (void)state;
    static char body[16384];
    pair.hook = server_holds;
    send_frame(SETTINGS, ACK, 0, SLICE("")); /* the server's window counts from here */
    send_frame(HEADERS, END_HEADERS, 1, REQUEST);
    for (int index = 0; index < 64; index++) {
        send_frame(DATA, 0, 1, slice_of(body, sizeof body));
    }
    assert_alive();
    const Probe *probe = &pair.probes[SERVER][0];
    assert_int_equal(probe->received, 1 << 20);
    send_frame(DATA, 0, 1, SLICE("x"));
    settle();
    assert_int_equal(reset_code, FLOW_CONTROL_ERROR);
    assert_int_equal(probe->reason, STATUS_INTERNAL);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_flood_of_pings_is_ended),
        T(a_flood_of_ping_answers_is_ended),
        T(a_flood_of_settings_is_ended),
        T(settings_with_too_many_entries_are_ended),
        T(a_flood_of_empty_data_is_ended),
        T(a_flood_of_window_updates_is_ended),
        T(a_flood_of_priorities_is_ended),
        T(rapid_resets_are_ended),
        T(provoked_resets_are_ended),
        T(a_flood_of_continuations_is_ended),
        T(a_header_list_within_the_limit_is_served),
        T(a_header_list_past_the_limit_is_ended),
        T(one_header_too_many_resets_its_stream_only),
        T(a_broken_request_is_reset_unseen),
        T(streams_past_the_limit_are_refused),
        T(a_flood_of_refused_streams_is_ended),
        T(a_peer_that_breaks_the_limit_it_acknowledged_is_ended),
        T(bytes_that_are_not_http2_are_refused),
        T(a_frame_larger_than_announced_is_refused),
        T(a_request_that_drips_in_is_served),
        T(a_body_past_the_window_is_reset),
    };
    return cmocka_run_group_tests_name("HTTP/2 floods", tests, NULL, NULL);
}
