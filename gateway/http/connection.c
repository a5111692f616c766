/* A connection goes IDLE → HEAD → (BODY →) WORK → REPLY → IDLE …, and each phase has a deadline of ours.
 *
 * Its socket is watched twice: by libmicrohttpd, which reads and writes it, and by our loop, edge-triggered,
 * for the two things that libmicrohttpd does not tell: the first byte of a request, and, while it is
 * suspended, that the peer is gone. Half-closing counts as gone: who shuts down the sending side of a
 * connection before the reply is taken to have lost interest in it, as nginx and others do. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "gateway/http/internals.h"
#include "shared/base/memory.h"

enum { CUT_LINGER_MS = 1000 };

static const char head_timeout_reply[] =
    "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/problem+json\r\n"
    "Content-Length: 215\r\n\r\n"
    "{\"type\":\"/problems/deadline-exceeded\",\"title\":\"Request Timeout\",\"status\":408,"
    "\"detail\":\"the request's headers took too long\",\"code\":\"DEADLINE_EXCEEDED\",\"retryable\":true,"
    "\"error\":\"the request's headers took too long\"}\n";

void
connection_enter(Connection *connection, ConnectionPhase phase, uint64_t deadline_ns)
{
    connection->phase = phase;
    connection->deadline_ns = deadline_ns;
    Timer *const timer = &connection->timer;
    if (deadline_ns != 0 && (timer->due_ns == 0 || deadline_ns < timer->due_ns)) {
        timer_set(connection->server->loop, timer, deadline_ns);
    }
}

void
connection_suspend(Connection *connection)
{
    connection->is_suspended = true;
    MHD_suspend_connection(connection->mhd);
}

void
connection_resume(Connection *connection)
{
    if (connection->is_suspended) {
        connection->is_suspended = false;
        MHD_resume_connection(connection->mhd);
        server_run_soon(connection->server);
    }
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
    const int fd = connection->watch.fd;
    (void)send(fd, reply.data, reply.size, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
    connection_enter(connection, CONNECTION_CUT, server_after_ms(connection->server, CUT_LINGER_MS));
}

/* --- Deadlines ------------------------------------------------------------------------------------------ */

static void
expire_head(Connection *connection)
{
    connection_cut(connection, slice_of(head_timeout_reply, sizeof head_timeout_reply - 1));
}

static void
expire_body(Connection *connection)
{
    Exchange *const exchange = connection->exchange;
    exchange_cut(
        exchange, response_fail(&exchange->call, &exchange->response, 408,
                      "the body came too slowly: %llu bytes so far, at least %u bytes a second are needed",
                      (unsigned long long)exchange->received, connection->server->options.body_rate_min));
}

static void
expire_work(Connection *connection)
{
    connection_enter(connection, CONNECTION_WORK, 0);
    connection->exchange->is_overdue = true;
    exchange_cancel(connection->exchange);
}

static void (*const expire[])(Connection *) = {
    [CONNECTION_IDLE] = connection_shut,
    [CONNECTION_HEAD] = expire_head,
    [CONNECTION_BODY] = expire_body,
    [CONNECTION_WORK] = expire_work,
    [CONNECTION_REPLY] = connection_shut,
    [CONNECTION_CUT] = connection_shut,
};

static void
timer_fired(Timer *timer)
{
    Connection *const connection = LIST_ITEM(timer, Connection, timer);
    if (connection->deadline_ns == 0) {
        return;
    }
    if (loop_now_ns(connection->server->loop) < connection->deadline_ns) {
        timer_set(connection->server->loop, timer, connection->deadline_ns);
        return;
    }
    expire[connection->phase](connection);
}

/* --- Events of the socket ------------------------------------------------------------------------------- */

static void
peer_gone(Connection *connection)
{
    connection->is_gone = true;
    Exchange *const exchange = connection->exchange;
    if (exchange != NULL && connection->is_suspended) {
        exchange_cancel(exchange);
    }
}

static void
socket_ready(Watch *watch, uint32_t events)
{
    Connection *const connection = LIST_ITEM(watch, Connection, watch);
    if (connection->phase == CONNECTION_IDLE) {
        const HttpServer *const server = connection->server;
        connection_enter(
            connection, CONNECTION_HEAD, server_after_ms(server, server->options.head_timeout_ms));
    }
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        peer_gone(connection);
    }
}

/* --- Birth and death ------------------------------------------------------------------------------------ */

/* A client that reads slowly is not dead: what the socket layer allows a peer is too short here. */
static void
allow_slow_reader(int fd, uint32_t timeout_ms)
{
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

static void
connection_open(HttpServer *server, struct MHD_Connection *mhd, void **ret_context)
{
    Connection *const connection = memory_new(1, sizeof *connection);
    if (connection == NULL) {
        return; /* its requests get no exchange, and that ends it */
    }
    connection->server = server;
    connection->mhd = mhd;
    connection->timer.fire = timer_fired;
    const int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    Call call = {0};
    if (watch_open(&call, &connection->watch, server->loop, fd, EPOLLIN | EPOLLRDHUP | EPOLLET,
            socket_ready) != STATUS_OK) {
        memory_free(connection);
        return;
    }
    allow_slow_reader(fd, server->options.idle_timeout_ms);
    list_append(&server->connections, &connection->siblings);
    server->connection_count++;
    *ret_context = connection;
    connection_enter(connection, CONNECTION_HEAD, server_after_ms(server, server->options.head_timeout_ms));
}

static void
connection_close(Connection *connection)
{
    if (connection->exchange != NULL) {
        exchange_release(TAKE(connection->exchange));
    }
    watch_close(&connection->watch);
    timer_clear(connection->server->loop, &connection->timer);
    list_remove(&connection->siblings);
    connection->server->connection_count--;
    memory_free(connection);
}

void
connection_notify(
    void *server, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connection_open(server, mhd, context);
    } else if (*context != NULL) {
        connection_close(TAKE(*context));
    }
}
