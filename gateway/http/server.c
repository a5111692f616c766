/* The server turns libmicrohttpd once at the end of each turn of the loop: sockets that become ready,
 * timers that fire and results that arrive only ask for MHD_run(). libmicrohttpd's own epoll descriptor is
 * nested in the loop's. (Its own loop would stall when exactly 128·k events are ready: it waits again with
 * the full timeout.) */
#include "gateway/http/server.h"

#include <assert.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "gateway/http/internals.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/base/text.h"

enum {
    /* libmicrohttpd has one piece of memory a connection, for a request's head, its fields, pieces of its
     * body and the reply's head, and clears all of it for each request: a tenth of what a small step costs
     * the gateway. Therefore it is as large as the largest head and what must fit beside it. (256 KiB
     * would make a chunked stream only an eighth faster.) */
    MEMORY_BESIDE_HEAD = 16 * 1024,
    RUNS_PER_TURN = 4, /* more would make other events of the loop wait for large bodies */
    ACCEPTS_PER_TURN = 64,
    ACCEPTS_AT_END = 4096, /* more than a listener's backlog */
};

static const HttpOptions defaults = {
    .arena_size_max = (size_t)64 * 1024 * 1024,
    .target_size_max = (size_t)8 * 1024,
    .head_size_max = (size_t)32 * 1024,
    .inflated_ratio_max = 1000,
    .idempotency_key_size_max = 255,
    .connections_max = 10000,
    .deadline_ms = 60000,
    .head_timeout_ms = 10000,
    .idle_timeout_ms = 60000,
    .body_grace_ms = 10000,
    .body_rate_min = 1024,
};

static void
close_exchange(Exchange *exchange)
{
    list_remove(&exchange->head_link);
    windows_abandon(exchange);
    exchange_release(exchange);
}

static const ConnectionEvents connection_events = {
    .head_overdue = delivery_refuse_head,
    .body_overdue = reception_overdue,
    .work_overdue = exchange_overdue,
    .hung_up = exchange_cancel,
    .closed = close_exchange,
};

static const char overload_reply[] =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";

static void
run_soon(HttpServer *server)
{
    loop_defer(server->loop, &server->run);
}

/* Sets the timer to the earliest time that libmicrohttpd names. It moves forward only when it has fired,
 * since firing too early costs nothing. */
static void
schedule_next_run(HttpServer *server)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_NO) {
        return;
    }
    if (timeout_ms == 0) {
        run_soon(server);
        return;
    }
    uint64_t due_ns = loop_now_ns(server->loop) + timeout_ms * CLOCK_NS_PER_MS;
    if (server->timer.due_ns == 0 || due_ns < server->timer.due_ns) {
        timer_set(server->loop, &server->timer, due_ns);
    }
}

static bool
has_ready_sockets(const HttpServer *server)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    return MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0;
}

/* Runs libmicrohttpd a few times: it reads or writes a socket once a run, up to half of the connection's
 * memory. What a large body brings in a turn goes to the workers with one call. */
static void
run_daemon(Task *task)
{
    HttpServer *server = LIST_ITEM(task, HttpServer, run);
    int left = RUNS_PER_TURN;
    do {
        (void)MHD_run(server->daemon);
    } while (--left > 0 && has_ready_sockets(server));
    schedule_next_run(server);
}

static void
daemon_ready(Watch *watch, uint32_t events)
{
    (void)events;
    run_soon(LIST_ITEM(watch, HttpServer, daemon_watch));
}

static void
daemon_due(Timer *timer)
{
    run_soon(LIST_ITEM(timer, HttpServer, timer));
}

static void
connection_admit(HttpServer *server, int fd)
{
    if (server->connections.count >= server->options.connections_max) {
        (void)send(fd, overload_reply, sizeof overload_reply - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        socket_close(fd);
        return;
    }
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0) {
        socket_close(fd);
        return;
    }
    /* MHD_add_connection() closes the socket when it fails. */
    (void)MHD_add_connection(server->daemon, fd, (struct sockaddr *)&peer, size);
}

static void
accept_connections(HttpServer *server, int count_max)
{
    for (int count = 0; count < count_max; count++) {
        int fd = socket_accept(server->listener_fd);
        if (fd < 0) {
            break;
        }
        connection_admit(server, fd);
    }
    run_soon(server);
}

static void
listener_ready(Watch *watch, uint32_t events)
{
    (void)events;
    accept_connections(LIST_ITEM(watch, HttpServer, listener), ACCEPTS_PER_TURN);
}

static void *
begin_exchange(void *server, const char *target, struct MHD_Connection *mhd)
{
    Connection *connection = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (connection == NULL || connection->phase == CONNECTION_CUT) {
        return NULL;
    }
    Exchange *exchange = exchange_take(server, connection);
    if (exchange == NULL) {
        return NULL;
    }
    connection->exchange = exchange;
    list_append(&exchange->server->heads, &exchange->head_link);
    exchange->line = target;
    exchange->line_size = strlen(target);
    if (exchange->line_size <= exchange->server->options.target_size_max) {
        Slice line = slice_of(target, exchange->line_size);
        exchange->request.target = slice_of(text_copy(exchange->call.arena, line), line.size);
    }
    return exchange;
}

static enum MHD_Result
close_step(Exchange *exchange, Upload *upload)
{
    (void)exchange;
    (void)upload;
    return MHD_NO;
}

static enum MHD_Result (*const steps[])(Exchange *exchange, Upload *upload) = {
    [EXCHANGE_HEAD] = admission_step,
    [EXCHANGE_BODY] = reception_step,
    [EXCHANGE_AUTHORIZING] = close_step, /* suspended: never called */
    [EXCHANGE_QUEUED] = close_step,      /* suspended: never called */
    [EXCHANGE_TAKING] = close_step,      /* suspended: never called */
    [EXCHANGE_WORKING] = close_step,     /* suspended: never called */
    [EXCHANGE_ENDED] = delivery_step,
    [EXCHANGE_REPLYING] = close_step, /* libmicrohttpd has a reply: never called */
    [EXCHANGE_REFUSED] = reception_step_refused,
    [EXCHANGE_CUT] = reception_step_cut,
};

/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter): libmicrohttpd's signature */
static enum MHD_Result
access_exchange(void *server, struct MHD_Connection *mhd, const char *url, const char *method,
    const char *version, const char *upload, size_t *upload_size, void **context)
{
    (void)server;
    (void)mhd;
    (void)url; /* decoded by other rules than target.c's */
    Exchange *exchange = *context;
    if (exchange == NULL) {
        return MHD_NO;
    }
    if (exchange->phase == EXCHANGE_HEAD) {
        list_remove(&exchange->head_link);
        exchange->request.method = method;
        exchange->version = version;
    }
    Upload piece = {.data = upload, .size = upload_size};
    return steps[exchange->phase](exchange, &piece);
}
/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

static void
complete_exchange(
    void *server, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code)
{
    (void)server;
    (void)mhd;
    Exchange *exchange = *context;
    if (exchange == NULL) {
        return;
    }
    Connection *connection = exchange->connection;
    exchange->is_sent = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
    connection->exchange = NULL;
    *context = NULL;
    close_exchange(exchange);
    if (connection->phase != CONNECTION_CUT) {
        connection_rest(connection);
    }
}

/* Looks for the request that libmicrohttpd has just refused by itself, when it complains of one. Were it let
 * go on, it would send the head of its refusal twice (version 0.9.75); no other callback comes before that.
 */
static void
daemon_complained(void *context, const char *format, va_list arguments)
{
    HttpServer *server = context;
    (void)format;
    (void)arguments;
    LIST_EACH(&server->heads, link)
    {
        Exchange *exchange = LIST_ITEM(link, Exchange, head_link);
        if (admission_refuse_length(exchange)) {
            list_remove(&exchange->head_link);
            return;
        }
    }
}

static void
options_complete(HttpOptions *options)
{
#define DEFAULT(member) options->member = options->member == 0 ? defaults.member : options->member
    DEFAULT(arena_size_max);
    DEFAULT(target_size_max);
    DEFAULT(head_size_max);
    DEFAULT(inflated_ratio_max);
    DEFAULT(idempotency_key_size_max);
    DEFAULT(connections_max);
    DEFAULT(deadline_ms);
    DEFAULT(head_timeout_ms);
    DEFAULT(idle_timeout_ms);
    DEFAULT(body_grace_ms);
    DEFAULT(body_rate_min);
#undef DEFAULT
}

static Status
daemon_open(Call *call, HttpServer *server)
{
    const HttpOptions *options = &server->options;
    unsigned int stall_timeout_s = (options->idle_timeout_ms + 999) / 1000;
    unsigned int flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG;
    server->daemon = MHD_start_daemon(flags, 0, NULL, NULL, access_exchange, server,
        MHD_OPTION_EXTERNAL_LOGGER, daemon_complained, server, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        options->head_size_max + MEMORY_BESIDE_HEAD, MHD_OPTION_CONNECTION_LIMIT, options->connections_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, options->connections_per_address_max,
        MHD_OPTION_CONNECTION_TIMEOUT, stall_timeout_s, MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, server,
        MHD_OPTION_NOTIFY_COMPLETED, complete_exchange, server, MHD_OPTION_NOTIFY_CONNECTION,
        connection_notify, &server->connections, MHD_OPTION_END);
    if (server->daemon == NULL) {
        return call_fail(call, STATUS_UNAVAILABLE, "libmicrohttpd does not start");
    }
    int epoll_fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return watch_open(call, &server->daemon_watch, server->loop, epoll_fd, EPOLLIN, daemon_ready);
}

static Status
server_open(Call *call, HttpServer *server, const char *address)
{
    TRY(router_new(call, server->options.handlers, &server->router));
    TRY(socket_listen(call, address, (ListenOptions){.is_shared = true}, &server->listener_fd));
    socket_local_address(server->listener_fd, server->address);
    TRY(daemon_open(call, server));
    return watch_open(call, &server->listener, server->loop, server->listener_fd, EPOLLIN, listener_ready);
}

Status
http_server_new(
    Call *call, Loop *loop, const char *address, const HttpOptions *options, HttpServer **ret_server)
{
    assert(loop != NULL && options->handlers != NULL);

    HttpServer *server = memory_new(1, sizeof *server);
    if (server == NULL) {
        return call_fail_memory(call, "an HTTP server");
    }
    server->loop = loop;
    server->options = *options;
    options_complete(&server->options);
    server->listener_fd = -1;
    server->run.run = run_daemon;
    server->timer.fire = daemon_due;
    server->connections = (Connections){
        .loop = loop,
        .events = &connection_events,
        .run_daemon = &server->run,
        .head_timeout_ms = server->options.head_timeout_ms,
        .idle_timeout_ms = server->options.idle_timeout_ms,
    };
    list_init(&server->connections.list);
    list_init(&server->heads);
    authorizations_open(server);
    random_bytes(server->id_seed, sizeof server->id_seed);
    Status status = server_open(call, server, address);
    if (status != STATUS_OK) {
        http_server_free(server);
        return status;
    }
    *ret_server = server;
    return STATUS_OK;
}

void
http_server_address(const HttpServer *server, char ret_text[ADDRESS_TEXT_SIZE])
{
    memcpy(ret_text, server->address, ADDRESS_TEXT_SIZE);
}

size_t
http_server_active(const HttpServer *server)
{
    return server->active_count;
}

/* The kernel has taken connections that nobody has accepted yet; closing the listener would reset them, with
 * the requests that their clients have sent already. */
static void
close_listener(HttpServer *server)
{
    if (server->daemon != NULL) {
        accept_connections(server, ACCEPTS_AT_END);
    }
    watch_close(&server->listener);
    socket_close(server->listener_fd);
    server->listener_fd = -1;
}

void
http_server_drain(HttpServer *server)
{
    server->is_draining = true;
    if (server->listener_fd >= 0) {
        close_listener(server);
    }
    LIST_EACH(&server->connections.list, link)
    {
        Connection *connection = LIST_ITEM(link, Connection, siblings);
        if (connection->phase == CONNECTION_IDLE && !connection_has_news(connection)) {
            connection_shut(connection);
        }
    }
}

void
http_server_dismiss(HttpServer *server)
{
    LIST_EACH(&server->connections.list, link)
    {
        Connection *connection = LIST_ITEM(link, Connection, siblings);
        if (connection->is_suspended) {
            exchange_dismiss(connection->exchange);
        }
    }
}

/* Cancels all handlers and waits until they have ended, since a job thread may be at work in an exchange.
 * Replies are sent only as far as sockets take them meanwhile. */
static void
connections_end(HttpServer *server)
{
    while (!list_is_empty(&server->connections.list) || server->active_count > 0) {
        LIST_EACH(&server->connections.list, link)
        {
            Connection *connection = LIST_ITEM(link, Connection, siblings);
            if (connection->is_suspended) {
                exchange_cancel(connection->exchange);
            }
            connection_shut(connection);
        }
        run_soon(server); /* libmicrohttpd cleans up closed connections when it is run, and no event asks
                           * for that */
        loop_turn(server->loop, 10);
    }
}

void
http_server_free(HttpServer *server)
{
    if (server == NULL) {
        return;
    }
    http_server_drain(server);
    if (server->daemon != NULL) {
        connections_end(server);
        watch_close(&server->daemon_watch);
        MHD_stop_daemon(server->daemon);
    }
    authorizations_close(server);
    timer_clear(server->loop, &server->timer);
    loop_undefer(server->loop, &server->run);
    while (server->free_exchanges != NULL) {
        exchange_free(server);
    }
    router_free(server->router);
    memory_free(server);
}
