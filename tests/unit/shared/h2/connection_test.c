#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/h2_pair.h"

static Call call;

static Probe *
only_server_probe(void)
{
    assert_int_equal(pair.probe_count[SERVER], 1);
    return &pair.probes[SERVER][0];
}

static void
a_request_is_answered_and_both_sides_close_ok(void **state)
{
    (void)state;
    pair_connect();
    Probe *client = pair_request("/echo", false);
    assert_int_equal(h2_stream_count(pair.connections[CLIENT]), 1);
    assert_true(h2_stream_write(client->stream, SLICE("hello "), pair_release, NULL));
    assert_true(h2_stream_write_copy(client->stream, SLICE("world")));
    assert_int_equal(h2_stream_queued(client->stream), 11);
    h2_stream_end(client->stream);
    PAIR_UNTIL(client->stream == NULL);
    const Probe *server = only_server_probe();
    assert_int_equal(client->status, 200);
    assert_int_equal(client->received, 11);
    assert_int_equal(server->received, 11);
    assert_string_equal(server->path, "/echo");
    assert_string_equal(client->log, "hdec");
    assert_string_equal(server->log, "hdec");
    assert_int_equal(client->reason, STATUS_OK);
    assert_int_equal(server->reason, STATUS_OK);
    assert_int_equal(pair.released, 1);
    assert_int_equal(h2_stream_count(pair.connections[CLIENT]), 0);
}

static bool
answer_without_body(Probe *probe, char event, Slice data)
{
    (void)data;
    H2Header header = {SLICE("x-answer"), SLICE("yes")};
    if (probe->side == SERVER && event == 'H') {
        h2_respond(probe->stream, 404, &header, 1, true);
    }
    return true;
}

static void
messages_without_body_end_with_their_headers(void **state)
{
    (void)state;
    pair.hook = answer_without_body;
    pair_connect();
    Probe *client = pair_request("/x", true);
    PAIR_UNTIL(client->stream == NULL);
    assert_string_equal(only_server_probe()->log, "Hec");
    assert_string_equal(client->log, "Hec");
    assert_int_equal(client->status, 404);
    assert_int_equal(client->header_count, 2);
    assert_int_equal(client->reason, STATUS_OK);
}

static void
requests_submitted_before_the_connection_stands_are_served(void **state)
{
    (void)state;
    assert_status(&call, STATUS_OK,
        h2_connect(&call, pair.loop, pair.address, &pair.options[CLIENT], &pair.connections[CLIENT]));
    Probe *client = pair_request("/early", false);
    assert_true(h2_stream_write_copy(client->stream, SLICE("early")));
    h2_stream_end(client->stream);
    PAIR_UNTIL(client->stream == NULL);
    assert_int_equal(client->reason, STATUS_OK);
    assert_int_equal(client->received, 5);
}

static void
thousands_of_concurrent_streams_are_all_answered(void **state)
{
    (void)state;
    enum { COUNT = PROBES_MAX };
    pair_connect();
    for (int index = 0; index < COUNT; index++) { /* more than the peer's limit of 1024, so that some wait */
        Probe *probe = pair_request("/many", false);
        assert_true(h2_stream_write_copy(probe->stream, slice_of("0123456789", (size_t)index % 11)));
        h2_stream_end(probe->stream);
    }
    assert_int_equal(h2_stream_count(pair.connections[CLIENT]), COUNT);
    PAIR_UNTIL(h2_stream_count(pair.connections[CLIENT]) == 0);
    assert_int_equal(pair.probe_count[SERVER], COUNT);
    for (int index = 0; index < COUNT; index++) {
        const Probe *probe = &pair.probes[CLIENT][index];
        assert_int_equal(probe->reason, STATUS_OK);
        assert_int_equal(probe->received, index % 11);
    }
}

static bool
count_concurrency(Probe *probe, char event, Slice data)
{
    (void)data;
    if (probe->side == SERVER && (event == 'h' || event == 'H')) {
        assert_true(h2_stream_count(probe->stream->connection) <= 8);
    }
    return false;
}

static void
the_stream_limit_is_kept(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    pair.hook = count_concurrency;
    pair.options[SERVER].stream_count_max = 8;
    pair_connect();
    for (int index = 0; index < COUNT; index++) {
        assert_non_null(pair_request("/many", true));
    }
    PAIR_UNTIL(h2_stream_count(pair.connections[CLIENT]) == 0);
    for (int index = 0; index < COUNT; index++) {
        assert_int_equal(pair.probes[CLIENT][index].reason, STATUS_OK);
    }
}

static void
as_many_headers_as_allowed_arrive(void **state)
{
    (void)state;
    pair_connect();
    H2Header headers[H2_HEADERS_MAX] = {
        {SLICE(":method"), SLICE("POST")},
        {SLICE(":scheme"), SLICE("http")},
        {SLICE(":authority"), SLICE("test")},
        {SLICE(":path"), SLICE("/x")},
    };
    for (size_t index = 4; index < H2_HEADERS_MAX; index++) {
        headers[index] = (H2Header){SLICE("x-more"), SLICE("value")};
    }
    Probe *at_limit = pair_request("/ok", true);
    PAIR_UNTIL(at_limit->stream == NULL);
    H2Stream *stream =
        h2_request(pair.connections[CLIENT], headers, H2_HEADERS_MAX, true, NULL, &pair.probes[CLIENT][1]);
    pair.probes[CLIENT][1] = (Probe){.stream = stream, .side = CLIENT};
    pair.probe_count[CLIENT] = 2;
    PAIR_UNTIL(pair.probes[CLIENT][1].stream == NULL);
    assert_int_equal(pair.probes[CLIENT][1].reason, STATUS_OK);
    assert_int_equal(pair.probes[SERVER][1].header_count, H2_HEADERS_MAX);
}

static bool
server_waits(Probe *probe, char event, Slice data)
{
    (void)event;
    (void)data;
    return probe->side == SERVER;
}

static void
reset_by(Side side, Status given, Status seen)
{
    pair.hook = server_waits;
    pair_connect();
    Probe *client = pair_request("/wait", false);
    assert_true(h2_stream_write(client->stream, SLICE("x"), pair_release, NULL));
    PAIR_UNTIL(pair.probe_count[SERVER] == 1 && pair.probes[SERVER][0].received == 1);
    Probe *near = side == CLIENT ? client : only_server_probe();
    Probe *far = side == CLIENT ? only_server_probe() : client;
    h2_stream_reset(near->stream, given);
    assert_null(near->stream); /* outside of a callback the stream closes at once */
    assert_int_equal(near->reason, given);
    PAIR_UNTIL(far->stream == NULL);
    assert_int_equal(far->reason, seen);
    assert_int_equal(pair.released, 1);
    pair.hook = NULL;
    Probe *next = pair_request("/next", true); /* the connection still serves */
    PAIR_UNTIL(next->stream == NULL);
    assert_int_equal(next->reason, STATUS_OK);
}

static void
a_client_that_gives_up_cancels_at_the_server(void **state)
{
    (void)state;
    reset_by(CLIENT, STATUS_CANCELLED, STATUS_CANCELLED);
}

static void
a_deadline_passed_is_a_cancel_for_the_peer(void **state)
{
    (void)state;
    reset_by(CLIENT, STATUS_DEADLINE_EXCEEDED, STATUS_CANCELLED);
}

static void
a_server_may_refuse(void **state)
{
    (void)state;
    reset_by(SERVER, STATUS_UNAVAILABLE, STATUS_UNAVAILABLE);
}

static void
a_server_may_fail(void **state)
{
    (void)state;
    reset_by(SERVER, STATUS_DATA_LOSS, STATUS_INTERNAL);
}

static void
a_server_may_be_exhausted(void **state)
{
    (void)state;
    reset_by(SERVER, STATUS_RESOURCE_EXHAUSTED, STATUS_RESOURCE_EXHAUSTED);
}

static void
every_concurrent_stream_may_be_cancelled_at_once(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    pair.hook = server_waits;
    pair_connect();
    for (int index = 0; index < COUNT; index++) {
        assert_non_null(pair_request("/wait", false));
    }
    PAIR_UNTIL(pair.probe_count[SERVER] == COUNT);
    for (int index = 0; index < COUNT; index++) {
        h2_stream_reset(pair.probes[CLIENT][index].stream, STATUS_CANCELLED);
    }
    PAIR_UNTIL(h2_stream_count(pair.connections[SERVER]) == 0);
    assert_int_equal(pair.disconnects[SERVER], 0);
    assert_int_equal(pair.probes[SERVER][COUNT - 1].reason, STATUS_CANCELLED);
}

static void
a_request_cancelled_before_it_was_sent_never_reaches_the_server(void **state)
{
    (void)state;
    pair_connect();
    Probe *client = pair_request("/never", false);
    assert_true(h2_stream_write(client->stream, SLICE("x"), pair_release, NULL));
    h2_stream_reset(client->stream, STATUS_CANCELLED);
    assert_null(client->stream);
    assert_int_equal(pair.released, 1);
    pair_turns(20);
    assert_int_equal(pair.probe_count[SERVER], 0);
    assert_int_equal(pair.disconnects[CLIENT], 0);
}

static void
writing_to_a_closed_side_fails_and_releases(void **state)
{
    (void)state;
    pair_connect();
    Probe *client = pair_request("/x", false);
    h2_stream_end(client->stream);
    assert_false(h2_stream_write(client->stream, SLICE("late"), pair_release, NULL));
    assert_int_equal(pair.released, 1);
    assert_false(h2_stream_write_copy(client->stream, SLICE("late")));
    PAIR_UNTIL(client->stream == NULL);
}

static void
an_empty_write_is_released_at_once(void **state)
{
    (void)state;
    pair_connect();
    Probe *client = pair_request("/x", false);
    assert_true(h2_stream_write(client->stream, SLICE(""), pair_release, NULL));
    assert_true(h2_stream_write_copy(client->stream, SLICE("")));
    assert_int_equal(pair.released, 1);
    h2_stream_end(client->stream);
    PAIR_UNTIL(client->stream == NULL);
    assert_int_equal(client->reason, STATUS_OK);
}

static Side acting_side;
static char acting_event;
static bool is_reset; /* else the connection is aborted */

static void
act(Probe *probe)
{
    if (is_reset) {
        h2_stream_reset(probe->stream, STATUS_CANCELLED);
        assert_non_null(probe->stream); /* inside of a handler the stream closes later */
        h2_stream_reset(probe->stream, STATUS_INTERNAL);
    } else {
        h2_abort(probe->stream->connection);
        h2_abort(probe->stream->connection);
    }
    (void)h2_stream_write_copy(probe->stream, SLICE("more")); /* may have any outcome */
    h2_stream_consume(probe->stream, 0);
    h2_stream_end(probe->stream);
}

static bool
act_on_event(Probe *probe, char event, Slice data)
{
    (void)data;
    bool is_mine =
        probe->side == acting_side && (event == acting_event || (event == 'H' && acting_event == 'h'));
    if (is_mine) {
        act(probe);
    }
    return is_mine;
}

static void
release_and_act(void *owner)
{
    pair_release(NULL);
    if (acting_event == 'r' && pair.connections[CLIENT] != NULL) {
        (void)owner;
        h2_abort(pair.connections[CLIENT]);
    }
}

static char large_body[300 * 1024];

static void
run_with_action(Side side, char event, bool with_reset)
{
    acting_side = side;
    acting_event = event;
    is_reset = with_reset;
    pair_open(act_on_event);
    pair_connect();
    for (int count = 0; count < 4; count++) {
        Probe *probe = pair_request("/x", false);
        assert_true(
            h2_stream_write(probe->stream, slice_of(large_body, sizeof large_body), release_and_act, probe));
        h2_stream_end(probe->stream);
    }
    PAIR_UNTIL((pair.connections[CLIENT] == NULL || h2_stream_count(pair.connections[CLIENT]) == 0) &&
               (pair.connections[SERVER] == NULL || h2_stream_count(pair.connections[SERVER]) == 0));
    pair_close();
    assert_int_equal(pair.released, 4);
    assert_int_equal(pair.disconnects[CLIENT], 1);
    assert_int_equal(pair.disconnects[SERVER], 1);
}

static void
every_handler_may_abort_the_connection(void **state)
{
    (void)state;
    for (const char *event = "hdewcr"; *event != '\0'; event++) {
        run_with_action(CLIENT, *event, false);
        run_with_action(SERVER, *event, false);
    }
}

static void
every_handler_may_reset_its_stream(void **state)
{
    (void)state;
    for (const char *event = "hdew"; *event != '\0'; event++) {
        run_with_action(CLIENT, *event, true);
        run_with_action(SERVER, *event, true);
    }
}

static int chain_left;

static bool
chain_requests(Probe *probe, char event, Slice data)
{
    (void)data;
    if (probe->side == CLIENT && event == 'c' && chain_left-- > 0) {
        assert_non_null(pair_request("/chain", true));
    }
    return false;
}

static void
a_handler_may_open_the_next_request(void **state)
{
    (void)state;
    chain_left = 50;
    pair.hook = chain_requests;
    pair_connect();
    assert_non_null(pair_request("/chain", true));
    PAIR_UNTIL(pair.probe_count[CLIENT] == 51 && h2_stream_count(pair.connections[CLIENT]) == 0);
    assert_int_equal(pair.probes[CLIENT][50].reason, STATUS_OK);
}

static bool
no_request_while_closing(Probe *probe, char event, Slice data)
{
    (void)data;
    if (probe->side == CLIENT && event == 'c') {
        assert_null(pair_request("/late", true));
    }
    return probe->side == SERVER;
}

static void
an_abort_closes_all_before_it_returns(void **state)
{
    (void)state;
    pair.hook = no_request_while_closing;
    pair_connect();
    Probe *first = pair_request("/a", true);
    Probe *second = pair_request("/b", false);
    assert_true(h2_stream_write(second->stream, SLICE("x"), pair_release, NULL));
    pair_turns(5);
    h2_abort(pair.connections[CLIENT]);
    assert_int_equal(first->reason, STATUS_UNAVAILABLE);
    assert_int_equal(second->reason, STATUS_UNAVAILABLE);
    assert_int_equal(pair.released, 1);
    assert_int_equal(pair.disconnects[CLIENT], 1);
    PAIR_UNTIL(pair.disconnects[SERVER] == 1);
    assert_int_equal(pair.reasons[SERVER], STATUS_UNAVAILABLE);
    assert_int_equal(pair.probes[SERVER][0].reason, STATUS_UNAVAILABLE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR_TEST(a_request_is_answered_and_both_sides_close_ok),
        PAIR_TEST(messages_without_body_end_with_their_headers),
        PAIR_TEST(requests_submitted_before_the_connection_stands_are_served),
        PAIR_TEST(thousands_of_concurrent_streams_are_all_answered),
        PAIR_TEST(the_stream_limit_is_kept),
        PAIR_TEST(as_many_headers_as_allowed_arrive),
        PAIR_TEST(a_client_that_gives_up_cancels_at_the_server),
        PAIR_TEST(a_deadline_passed_is_a_cancel_for_the_peer),
        PAIR_TEST(a_server_may_refuse),
        PAIR_TEST(a_server_may_fail),
        PAIR_TEST(a_server_may_be_exhausted),
        PAIR_TEST(every_concurrent_stream_may_be_cancelled_at_once),
        PAIR_TEST(a_request_cancelled_before_it_was_sent_never_reaches_the_server),
        PAIR_TEST(writing_to_a_closed_side_fails_and_releases),
        PAIR_TEST(an_empty_write_is_released_at_once),
        cmocka_unit_test(every_handler_may_abort_the_connection),
        cmocka_unit_test(every_handler_may_reset_its_stream),
        PAIR_TEST(a_handler_may_open_the_next_request),
        PAIR_TEST(an_abort_closes_all_before_it_returns),
    };
    return cmocka_run_group_tests_name("HTTP/2 connection", tests, NULL, NULL);
}
