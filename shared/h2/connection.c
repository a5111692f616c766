/* A session on a socket.
 *
 * The happy path: the socket is readable, its bytes go through the session, the user's handlers queue
 * answers, and the session asks to write: a task deferred to the end of the turn fills the output once and
 * sends it with one call. What does not fit waits for the socket (is_blocked) or, past the budget of the
 * turn, for the next turn.
 *
 * The ends: the peer closes or is silent, the session fails, the user aborts, or both sides have said all.
 * Each of these finishes the session; the outermost session_leave() then closes streams, tells
 * on_disconnect and frees everything. */
#include "shared/h2/h2.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/h2/session.h"
#include "shared/net/socket.h"

enum {
    READ_SIZE = 128 * 1024,
    WRITE_BUDGET = 256 * 1024,
    PING_INTERVAL_MS = 2000,
    PINGS_UNANSWERED_MAX = 3,
    CONNECT_TIMEOUT_MS = 1000,
};

struct H2Connection {
    Session session; /* first: a Session of ours is at the address of its connection */
    Loop *loop;
    int fd;
    Watch watch;
    Task flush;
    Timer timer; /* the time-out while connecting, then the next PING */
    uint64_t ping_interval_ns;
    uint64_t received_at_ping;
    unsigned pings_unanswered;
    bool is_connecting;
    bool is_blocked; /* the socket takes no more for now */
    void *context;
    char *buffer;
};

static H2Connection *
connection_of_session(Session *session)
{
    return (H2Connection *)(void *)session;
}

#define CONNECTION_OF(pointer, member) LIST_ITEM(pointer, H2Connection, member)

static void
connection_free(H2Connection *connection)
{
    loop_undefer(connection->loop, &connection->flush);
    timer_clear(connection->loop, &connection->timer);
    watch_close(&connection->watch);
    socket_close(connection->fd);
    session_done(&connection->session);
    memory_free(connection->buffer);
    memory_free(connection);
}

static bool send_output(H2Connection *connection);

static void
on_finished(Session *session)
{
    H2Connection *connection = connection_of_session(session);
    Status reason = session->reason;
    if (!connection->is_connecting) {
        (void)send_output(connection); /* the last words, if the socket takes them */
    }
    session_close_streams(session, reason == STATUS_OK ? STATUS_UNAVAILABLE : reason);
    if (session->handlers->on_disconnect != NULL) {
        session->handlers->on_disconnect(connection, reason);
    }
    connection_free(connection);
}

static void
on_wants_write(Session *session)
{
    H2Connection *connection = connection_of_session(session);
    loop_defer(connection->loop, &connection->flush);
}

static const SessionHooks session_hooks = {.wants_write = on_wants_write, .finished = on_finished};

static void
set_blocked(H2Connection *connection, bool is_blocked)
{
    connection->is_blocked = is_blocked;
    watch_change(&connection->watch, is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Sends what waits. Returns false when something is left: the socket is full, or gone. */
static bool
send_output(H2Connection *connection)
{
    Output *output = &connection->session.output;
    while (output->size > 0) {
        struct iovec vectors[OUTPUT_VECTORS_MAX];
        struct msghdr message = {
            .msg_iov = vectors,
            .msg_iovlen = output_gather(output, vectors),
        };
        ssize_t sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL);
        if (sent >= 0) {
            output_advance(output, (size_t)sent);
        } else if (errno == EAGAIN) {
            set_blocked(connection, true);
            return false;
        } else if (errno != EINTR) {
            session_finish(&connection->session, STATUS_UNAVAILABLE);
            return false;
        }
    }
    return true;
}

static void
finish_when_over(Session *session)
{
    if (session_is_over(session)) {
        Status without_error = session->is_shutting_down ? STATUS_OK : STATUS_UNAVAILABLE;
        session_finish(session, session->reason == STATUS_OK ? without_error : session->reason);
    }
}

/* Sends an output that is not empty first: the session fills only an empty one. */
static void
flush_output(Task *task)
{
    H2Connection *connection = CONNECTION_OF(task, flush);
    Session *session = &connection->session;
    session_enter(session);
    if (!connection->is_connecting && !connection->is_blocked && send_output(connection)) {
        session_fill(session, WRITE_BUDGET);
        if (send_output(connection) && session_has_more(session)) {
            loop_defer(connection->loop, &connection->flush);
        }
    }
    finish_when_over(session);
    session_leave(session);
}

static void
read_input(H2Connection *connection)
{
    Session *session = &connection->session;
    ssize_t size;
    do {
        size = recv(connection->fd, connection->buffer, READ_SIZE, 0);
    } while (size < 0 && errno == EINTR);
    if (size > 0) {
        session_receive(session, slice_of(connection->buffer, (size_t)size), loop_now_ns(connection->loop));
        finish_when_over(session);
    } else if (size == 0 || errno != EAGAIN) {
        session_finish(session, session->is_shutting_down ? STATUS_OK : STATUS_UNAVAILABLE);
    }
}

static void
on_ready(Watch *watch, uint32_t events)
{
    H2Connection *connection = CONNECTION_OF(watch, watch);
    session_enter(&connection->session);
    if ((events & EPOLLOUT) != 0 && connection->is_blocked) {
        set_blocked(connection, false);
        loop_defer(connection->loop, &connection->flush);
    }
    if ((events & ~(uint32_t)EPOLLOUT) != 0) {
        read_input(connection);
    }
    session_leave(&connection->session);
}

/* Ends the connection after PINGS_UNANSWERED_MAX silent intervals. Any byte is a sign of life; a PING asks
 * for one. */
static void
on_ping_due(Timer *timer)
{
    H2Connection *connection = CONNECTION_OF(timer, timer);
    Session *session = &connection->session;
    session_enter(session);
    if (session->received != connection->received_at_ping) {
        connection->received_at_ping = session->received;
        connection->pings_unanswered = 0;
    }
    if (connection->pings_unanswered == PINGS_UNANSWERED_MAX) {
        session_finish(session, STATUS_UNAVAILABLE);
    } else {
        connection->pings_unanswered++;
        session_ping(session);
        timer_set(connection->loop, timer, loop_now_ns(connection->loop) + connection->ping_interval_ns);
    }
    session_leave(session);
}

static void
start_session(H2Connection *connection)
{
    connection->is_connecting = false;
    connection->watch.ready = on_ready;
    connection->timer.fire = on_ping_due;
    timer_set(
        connection->loop, &connection->timer, loop_now_ns(connection->loop) + connection->ping_interval_ns);
    watch_change(&connection->watch, EPOLLIN);
    loop_defer(connection->loop, &connection->flush);
}

static void
on_connected(Watch *watch, uint32_t events)
{
    (void)events;
    H2Connection *connection = CONNECTION_OF(watch, watch);
    session_enter(&connection->session);
    if (socket_error(connection->fd) == 0) {
        start_session(connection);
    } else {
        session_finish(&connection->session, STATUS_UNAVAILABLE);
    }
    session_leave(&connection->session);
}

/* Ends the attempt, unless the connection stands or was refused meanwhile: timers fire in front of watches,
 * and a process that was held up for longer than the time-out sees both at once. */
static void
on_connect_timeout(Timer *timer)
{
    H2Connection *connection = CONNECTION_OF(timer, timer);
    struct pollfd socket = {.fd = connection->fd, .events = POLLOUT};
    if (poll(&socket, 1, 0) > 0) {
        on_connected(&connection->watch, EPOLLOUT);
        return;
    }
    session_enter(&connection->session);
    session_finish(&connection->session, STATUS_UNAVAILABLE);
    session_leave(&connection->session);
}

static uint64_t
duration_ns(uint32_t wanted_ms, uint32_t default_ms)
{
    return (wanted_ms == 0 ? default_ms : wanted_ms) * CLOCK_NS_PER_MS;
}

/* Takes the socket over, also when it fails. */
static Status
connection_new(
    Call *call, Loop *loop, int fd, const H2Options *options, bool is_server, H2Connection **ret_connection)
{
    H2Connection *connection = memory_new(1, sizeof *connection);
    char *buffer = memory_new_aligned(READ_SIZE);
    SessionOptions session_options = {
        .connection = connection,
        .handlers = options->handlers,
        .hooks = &session_hooks,
        .is_server = is_server,
        .stream_count_max = options->stream_count_max,
        .window_size = options->window_size,
        .now_ns = loop_now_ns(loop),
    };
    if (connection == NULL || buffer == NULL) {
        socket_close(fd);
        memory_free(buffer);
        memory_free(connection);
        return call_fail_memory(call, "an HTTP/2 connection");
    }
    connection->loop = loop;
    connection->fd = fd;
    connection->buffer = buffer;
    connection->context = options->context;
    connection->flush.run = flush_output;
    connection->ping_interval_ns = duration_ns(options->ping_interval_ms, PING_INTERVAL_MS);
    connection->is_connecting = !is_server;
    Status status = session_init(call, &connection->session, &session_options);
    if (status == STATUS_OK) {
        status = watch_open(call, &connection->watch, loop, fd, is_server ? EPOLLIN : EPOLLOUT,
            is_server ? on_ready : on_connected);
    }
    if (status != STATUS_OK) {
        connection_free(connection);
        return status;
    }
    *ret_connection = connection;
    return STATUS_OK;
}

Status
h2_accept(Call *call, Loop *loop, int fd, const H2Options *options, H2Connection **ret)
{
    assert(fd >= 0);

    TRY(connection_new(call, loop, fd, options, true, ret));
    start_session(*ret);
    return STATUS_OK;
}

Status
h2_connect(Call *call, Loop *loop, const char *address, const H2Options *options, H2Connection **ret)
{
    int fd = -1;
    TRY(socket_connect(call, address, &fd));
    TRY(connection_new(call, loop, fd, options, false, ret));
    (*ret)->timer.fire = on_connect_timeout;
    timer_set(loop, &(*ret)->timer,
        loop_now_ns(loop) + duration_ns(options->connect_timeout_ms, CONNECT_TIMEOUT_MS));
    return STATUS_OK;
}

void *
h2_context(const H2Connection *connection)
{
    return connection->context;
}

bool
h2_is_connected(const H2Connection *connection)
{
    return !connection->is_connecting;
}

size_t
h2_stream_count(const H2Connection *connection)
{
    return connection->session.stream_count;
}

void
h2_shutdown(H2Connection *connection)
{
    Session *session = &connection->session;
    session_enter(session);
    if (!session->is_shutting_down && !session->is_finished) {
        session_shutdown_begin(session);
    }
    session_leave(session);
}

void
h2_abort(H2Connection *connection)
{
    session_enter(&connection->session);
    session_finish(&connection->session, STATUS_UNAVAILABLE);
    session_leave(&connection->session);
}

H2Stream *
h2_request(H2Connection *connection, const H2Header *headers, size_t count, bool is_last,
    const H2Handlers *handlers, void *context)
{
    assert(headers != NULL && count <= H2_HEADERS_MAX);

    return session_request(&connection->session, headers, count, is_last, handlers, context);
}
