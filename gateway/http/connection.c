/* A connection goes IDLE → HEAD → (BODY →) WORK → REPLY → IDLE …, and each phase has a deadline.
 *
 * Its socket is watched twice: by libmicrohttpd, which reads and writes it, and by the gateway's loop,
 * edge-triggered, for the two events that libmicrohttpd does not report: the first byte of a request, and the
 * peer's going while the connection is suspended. Half-closing counts as going: a client that shuts down its
 * sending side before the reply is taken to have lost interest in it, as nginx and others do. */
#include "gateway/http/connection.h"

#include <assert.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "shared/base/memory.h"

enum { CUT_LINGER_MS = 1000, UNSENT_SIZE_MAX = 256 * 1024 };

void
connection_enter(Connection *connection, ConnectionPhase phase, uint64_t deadline_ns)
{
    connection->phase = phase;
    connection->deadline_ns = deadline_ns;
    Timer *timer = &connection->timer;
    if (deadline_ns != 0 && (timer->due_ns == 0 || deadline_ns < timer->due_ns)) {
        timer_set(connection->owner->loop, timer, deadline_ns);
    }
}

void
connection_rest(Connection *connection)
{
    const Connections *owner = connection->owner;
    connection_enter(connection, CONNECTION_IDLE, deadline_after_ms(owner->loop, owner->idle_timeout_ms));
}

static void
await_head(Connection *connection)
{
    const Connections *owner = connection->owner;
    connection_enter(connection, CONNECTION_HEAD, deadline_after_ms(owner->loop, owner->head_timeout_ms));
}

void
connection_suspend(Connection *connection)
{
    assert(!connection->is_suspended);

    connection->is_suspended = true;
    MHD_suspend_connection(connection->mhd);
}

void
connection_resume(Connection *connection)
{
    if (connection->is_suspended) {
        connection->is_suspended = false;
        MHD_resume_connection(connection->mhd);
        loop_defer(connection->owner->loop, connection->owner->run_daemon);
    }
}

void
connection_look(Connection *connection)
{
    connection_suspend(connection);
    connection_resume(connection);
}

bool
connection_has_news(const Connection *connection)
{
    char byte = 0;
    return recv(connection->watch.fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0;
}

size_t
connection_unacknowledged(const Connection *connection)
{
    int size = 0;
    return ioctl(connection->watch.fd, SIOCOUTQ, &size) == 0 ? (size_t)size : 0;
}

void
connection_shut(Connection *connection)
{
    (void)shutdown(connection->watch.fd, SHUT_RDWR); /* libmicrohttpd reads the end and closes */
    connection_enter(connection, connection->phase, 0);
}

void
connection_cut(Connection *connection, Slice reply)
{
    assert(connection->phase != CONNECTION_CUT);

    int fd = connection->watch.fd;
    (void)send(fd, reply.data, reply.size, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
    connection_enter(connection, CONNECTION_CUT, deadline_after_ms(connection->owner->loop, CUT_LINGER_MS));
}

static void
expire_phase(Connection *connection)
{
    const ConnectionEvents *events = connection->owner->events;
    switch (connection->phase) {
    case CONNECTION_HEAD:
        events->head_overdue(connection);
        break;
    case CONNECTION_BODY:
        events->body_overdue(connection->exchange);
        break;
    case CONNECTION_WORK:
        connection_enter(connection, CONNECTION_WORK, 0);
        events->work_overdue(connection->exchange);
        break;
    case CONNECTION_IDLE:
    case CONNECTION_REPLY:
    case CONNECTION_CUT:
    default:
        connection_shut(connection);
        break;
    }
}

static void
timer_fired(Timer *timer)
{
    Connection *connection = LIST_ITEM(timer, Connection, timer);
    Loop *loop = connection->owner->loop;
    if (connection->deadline_ns == 0) {
        return;
    }
    if (loop_now_ns(loop) < connection->deadline_ns) {
        timer_set(loop, timer, connection->deadline_ns);
        return;
    }
    expire_phase(connection);
}

static void
socket_ready(Watch *watch, uint32_t events)
{
    Connection *connection = LIST_ITEM(watch, Connection, watch);
    if (connection->phase == CONNECTION_IDLE) {
        await_head(connection);
    }
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        connection->is_gone = true;
        if (connection->exchange != NULL && connection->is_suspended) {
            connection->owner->events->hung_up(connection->exchange);
        } else if (connection->phase == CONNECTION_BODY) {
            connection_look(connection);
        }
    }
}

/* A client that reads slowly is not dead: the socket layer's default patience with a peer is too short
 * here. */
static void
allow_slow_reader(int fd, uint32_t timeout_ms)
{
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

/* Bounds what the kernel keeps of a reply beyond what the peer's window has room for: by itself it takes
 * megabytes for a peer that reads nothing. */
static void
bound_unsent(int fd)
{
    int size = UNSENT_SIZE_MAX;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &size, sizeof size);
}

static void
connection_open(Connections *owner, struct MHD_Connection *mhd, void **ret_context)
{
    Connection *connection = memory_new(1, sizeof *connection);
    if (connection == NULL) {
        return;
    }
    connection->owner = owner;
    connection->mhd = mhd;
    connection->timer.fire = timer_fired;
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    Call call = {0};
    if (watch_open(&call, &connection->watch, owner->loop, fd, EPOLLIN | EPOLLRDHUP | EPOLLET,
            socket_ready) != STATUS_OK) {
        memory_free(connection);
        return;
    }
    allow_slow_reader(fd, owner->idle_timeout_ms);
    bound_unsent(fd);
    list_append(&owner->list, &connection->siblings);
    owner->count++;
    *ret_context = connection;
    await_head(connection);
}

static void
connection_close(Connection *connection)
{
    Connections *owner = connection->owner;
    assert(owner->count > 0);

    if (connection->exchange != NULL) {
        owner->events->closed(TAKE(connection->exchange));
    }
    watch_close(&connection->watch);
    timer_clear(owner->loop, &connection->timer);
    list_remove(&connection->siblings);
    owner->count--;
    memory_free(connection);
}

void
connection_notify(
    void *connections, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connection_open(connections, mhd, context);
    } else if (*context != NULL) {
        connection_close(TAKE(*context));
    }
}
