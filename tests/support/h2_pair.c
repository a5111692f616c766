#include "tests/support/h2_pair.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"

Pair pair;

static Call call;

static void
note(Probe *probe, char event)
{
    size_t length = strlen(probe->log);
    bool is_repeated = length > 0 && probe->log[length - 1] == event && (event == 'd' || event == 'w');
    if (!is_repeated && length + 1 < sizeof probe->log) {
        probe->log[length] = event;
        probe->log[length + 1] = '\0';
    }
}

static bool
tell(Probe *probe, char event, Slice data)
{
    pair.events++;
    note(probe, event);
    return pair.hook != NULL && pair.hook(probe, event, data);
}

static Probe *
new_probe(Side side)
{
    assert_true(pair.probe_count[side] < PROBES_MAX);
    Probe *probe = &pair.probes[side][pair.probe_count[side]++];
    *probe = (Probe){.side = side};
    return probe;
}

static void
read_headers(Probe *probe, const H2Header *headers, size_t count)
{
    probe->header_count = count;
    for (size_t index = 0; index < count; index++) {
        const H2Header *header = &headers[index];
        if (slice_equals_string(header->name, ":path")) {
            (void)snprintf(probe->path, sizeof probe->path, "%.*s", SLICE_PRINT(header->value));
        } else if (slice_equals_string(header->name, ":status")) {
            uint64_t status = 0;
            assert_true(slice_to_uint64(header->value, &status));
            probe->status = (int)status;
        }
    }
}

static void
on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    bool is_server = stream->connection != pair.connections[CLIENT];
    Probe *probe = is_server ? new_probe(SERVER) : stream->context;
    if (is_server) {
        probe->stream = stream;
        stream->context = probe;
    }
    read_headers(probe, headers, count);
    if (!tell(probe, is_last ? 'H' : 'h', slice_of(NULL, 0)) && is_server) {
        h2_respond(stream, 200, NULL, 0, false);
    }
}

static void
on_data(H2Stream *stream, Slice data)
{
    Probe *probe = stream->context;
    probe->received += data.size;
    if (tell(probe, 'd', data)) {
        return;
    }
    h2_stream_consume(stream, data.size);
    if (probe->side == SERVER) {
        (void)h2_stream_write_copy(stream, data);
    }
}

static void
on_end(H2Stream *stream)
{
    Probe *probe = stream->context;
    if (!tell(probe, 'e', slice_of(NULL, 0)) && probe->side == SERVER) {
        h2_stream_end(stream);
    }
}

static void
on_writable(H2Stream *stream)
{
    (void)tell(stream->context, 'w', slice_of(NULL, 0));
}

static void
on_close(H2Stream *stream, Status reason)
{
    Probe *probe = stream->context;
    assert_ptr_equal(probe->stream, stream);
    probe->reason = reason;
    (void)tell(probe, 'c', slice_of(NULL, 0));
    probe->stream = NULL;
}

static void
on_disconnect(H2Connection *connection, Status reason)
{
    Side side = connection == pair.connections[CLIENT] ? CLIENT : SERVER;
    assert_ptr_equal(h2_context(connection), &pair);
    assert_int_equal(h2_stream_count(connection), 0);
    pair.events++;
    pair.disconnects[side]++;
    pair.reasons[side] = reason;
    if (connection ==
        pair.connections[side]) { /* a server may have a connection that it drains, and the next */
        pair.connections[side] = NULL;
    }
}

static const H2Handlers HANDLERS = {on_headers, on_data, on_end, on_writable, on_close, on_disconnect};

static void
on_acceptable(Watch *watch, uint32_t events)
{
    (void)events;
    int fd = socket_accept(watch->fd);
    if (fd >= 0 && pair.connections[SERVER] != NULL) {
        socket_close(fd);
    } else if (fd >= 0) {
        Status status = h2_accept(&call, pair.loop, fd, &pair.options[SERVER], &pair.connections[SERVER]);
        pair.disconnects[SERVER] += status == STATUS_OK ? 0 : 1;
    }
}

void
pair_open(PairHook hook)
{
    memset(&pair, 0, sizeof pair);
    pair.hook = hook;
    for (int side = 0; side < SIDES; side++) {
        pair.options[side] = (H2Options){.handlers = &HANDLERS, .context = &pair};
    }
    int fd = -1;
    assert_status(&call, STATUS_OK, loop_new(&call, &pair.loop));
    assert_status(&call, STATUS_OK, socket_listen(&call, "127.0.0.1:0", (ListenOptions){.backlog = 0}, &fd));
    socket_local_address(fd, pair.address);
    assert_status(&call, STATUS_OK, watch_open(&call, &pair.listener, pair.loop, fd, EPOLLIN, on_acceptable));
}

void
pair_connect(void)
{
    assert_status(&call, STATUS_OK,
        h2_connect(&call, pair.loop, pair.address, &pair.options[CLIENT], &pair.connections[CLIENT]));
    PAIR_UNTIL(pair.connections[SERVER] != NULL);
    pair_turns(10);
}

void
pair_close(void)
{
    for (int side = 0; side < SIDES; side++) {
        if (pair.connections[side] != NULL) {
            h2_abort(pair.connections[side]);
        }
        for (size_t index = 0; index < pair.probe_count[side]; index++) {
            const Probe *probe = &pair.probes[side][index];
            const char *close = strchr(probe->log, 'c');
            assert_null(probe->stream);
            assert_true(close != NULL && close[1] == '\0'); /* the close comes once, and last */
        }
    }
    socket_close(pair.listener.fd);
    watch_close(&pair.listener);
    loop_free(pair.loop);
}

int
pair_setup(void **state)
{
    (void)state;
    pair_open(NULL);
    return 0;
}

int
pair_teardown(void **state)
{
    (void)state;
    pair_close();
    return 0;
}

int
pair_connect_raw(void)
{
    int fd = -1;
    assert_status(&call, STATUS_OK, socket_connect(&call, pair.address, &fd));
    PAIR_UNTIL(pair.connections[SERVER] != NULL);
    return fd;
}

Probe *
pair_request(const char *path, bool is_last)
{
    const H2Header headers[] = {
        {SLICE(":method"), SLICE("POST")},
        {SLICE(":scheme"), SLICE("http")},
        {SLICE(":authority"), SLICE("test")},
        {SLICE(":path"), slice_from_string(path)},
    };
    Probe *probe = new_probe(CLIENT);
    H2Stream *stream = h2_request(pair.connections[CLIENT], headers, COUNT_OF(headers), is_last, NULL, probe);
    probe->stream = stream;
    if (stream == NULL) {
        pair.probe_count[CLIENT]--;
        return NULL;
    }
    return probe;
}

void
pair_release(void *owner)
{
    (void)owner;
    pair.released++;
}

void
pair_turns(int count)
{
    for (int turn = 0; turn < count; turn++) {
        loop_turn(pair.loop, 1);
    }
}
