/* Fuzzes HTTP/2: the bytes of a hostile peer go into a session, without a socket. The first byte chooses:
 * bit 0, a client with two requests open instead of a server; bit 1, the server's preface before the
 * bytes; the rest, the size of the pieces that arrive. Every stream must close once and every release come
 * once, whatever the bytes. */
#include <assert.h>
#include <stdlib.h>

#include "shared/h2/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WRITE_BUDGET = 256 * 1024 };

static int streams;
static int owed; /* releases to come */
static bool is_gone;

static void
release_one(void *owner)
{
    (void)owner;
    owed--;
}

static void
write_one(H2Stream *stream, Slice data)
{
    owed++;
    (void)h2_stream_write(stream, data, release_one, NULL);
}

static void
on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    size_t sum = is_last ? 1 : 0;
    for (size_t index = 0; index < count; index++) { /* every byte is read, for the sanitizers */
        for (size_t position = 0; position < headers[index].name.size; position++) {
            sum += (uint8_t)headers[index].name.data[position];
        }
        for (size_t position = 0; position < headers[index].value.size; position++) {
            sum += (uint8_t)headers[index].value.data[position];
        }
    }
    if (stream->context != NULL) { /* a stream of the client */
        return;
    }
    streams++;
    static char large[100 * 1024];
    h2_respond(stream, 200, NULL, 0, sum % 7 == 0);
    write_one(stream, slice_of(large, sum % 3 == 0 ? sizeof large : 10));
    if (sum % 11 == 0) {
        h2_stream_reset(stream, STATUS_CANCELLED);
    }
}

static void
on_data(H2Stream *stream, Slice data)
{
    (void)h2_stream_write_copy(stream, data);
    if (data.size % 5 != 0) {
        h2_stream_consume(stream, data.size);
    }
}

static void
on_end(H2Stream *stream)
{
    h2_stream_end(stream);
}

static void
on_close(H2Stream *stream, Status reason)
{
    (void)stream;
    (void)reason;
    streams--;
}

static const H2Handlers HANDLERS = {
    .on_headers = on_headers, .on_data = on_data, .on_end = on_end, .on_close = on_close};

static void
on_wants_write(Session *session)
{
    (void)session;
}

static void
on_finished(Session *session)
{
    session_close_streams(session, session->reason);
    session_done(session);
    is_gone = true;
}

static const SessionHooks HOOKS = {.wants_write = on_wants_write, .finished = on_finished};

static void
open_requests(Session *session)
{
    const H2Header headers[] = {
        {SLICE(":method"), SLICE("POST")},
        {SLICE(":scheme"), SLICE("http")},
        {SLICE(":authority"), SLICE("a")},
        {SLICE(":path"), SLICE("/")},
    };
    for (int count = 0; count < 2; count++) {
        H2Stream *stream = session_request(session, headers, COUNT_OF(headers), false, NULL, &streams);
        assert(stream != NULL);
        streams++;
        write_one(stream, SLICE("body"));
    }
}

static void
step(Session *session, Slice bytes, uint64_t now_ns)
{
    session_enter(session);
    session_receive(session, bytes, now_ns);
    session_fill(session, WRITE_BUDGET);
    output_advance(&session->output, session->output.size);
    if (session_is_over(session)) {
        session_finish(session, STATUS_OK);
    }
    session_leave(session);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    static Session session;
    Call call = {.arena = NULL};
    bool is_client = (data[0] & 1) != 0;
    SessionOptions options = {.handlers = &HANDLERS, .hooks = &HOOKS, .is_server = !is_client, .now_ns = 1};
    is_gone = false;
    if (session_init(&call, &session, &options) != STATUS_OK) {
        abort();
    }
    if (is_client) {
        open_requests(&session);
    }
    uint64_t now_ns = 1;
    if ((data[0] & 2) != 0 && !is_client) {
        step(&session, SLICE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), now_ns);
    }
    size_t piece = (size_t)(data[0] >> 2) * 16 + 1;
    for (size_t position = 1; position < size && !is_gone; position += piece) {
        size_t left = size - position;
        step(&session, slice_of(data + position, left < piece ? left : piece), now_ns++);
    }
    if (!is_gone) {
        session_enter(&session);
        session_finish(&session, STATUS_UNAVAILABLE);
        session_leave(&session);
    }
    assert(streams == 0 && owed == 0 && is_gone);
    return 0;
}
