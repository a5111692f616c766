/* Happy path: the listener is ready → socket_accept → h2_accept → each stream is a request (request.h). */
#include "worker/serve/server.h"

#include <sys/epoll.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "worker/serve/request.h"

typedef struct ServerConnection {
    ListLink link;
    WorkerLoop *loop;
    H2Connection *h2;
} ServerConnection;

/* --- Connections ---------------------------------------------------------------------------------------- */

static void
stream_on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    (void)is_last;
    const ServerConnection *const connection = h2_context(stream->connection);
    request_on_headers(connection->loop, stream, headers, count);
}

static void
connection_on_disconnect(H2Connection *h2, Status reason)
{
    (void)reason;
    ServerConnection *const connection = h2_context(h2);
    list_remove(&connection->link);
    memory_free(connection);
}

static const H2Handlers handlers = {
    .on_headers = stream_on_headers,
    .on_data = request_on_data,
    .on_end = request_on_end,
    .on_close = request_on_close,
    .on_disconnect = connection_on_disconnect,
};

/* --- The loop ------------------------------------------------------------------------------------------- */

static void
connection_accept(WorkerLoop *loop, int fd)
{
    ServerConnection *const connection = memory_new(1, sizeof *connection);
    if (connection == NULL) {
        socket_close(fd);
        return;
    }
    const H2Options options = {.handlers = &handlers, .context = connection, .stream_count_max = 4096};
    Call accepting = {0};
    connection->loop = loop;
    list_append(&loop->connections, &connection->link);
    if (h2_accept(&accepting, loop->loop, fd, &options, &connection->h2) != STATUS_OK) {
        list_remove(&connection->link);
        memory_free(connection);
    }
}

static void
listener_ready(Watch *watch, uint32_t events)
{
    (void)events;
    WorkerLoop *const loop = (WorkerLoop *)(void *)((char *)watch - offsetof(WorkerLoop, listener));
    for (int fd = socket_accept(watch->fd); fd >= 0; fd = socket_accept(watch->fd)) {
        connection_accept(loop, fd);
    }
}

/* Refuses new requests; those under way go on. */
static void
close_begin(WorkerLoop *loop)
{
    loop->is_closing = true;
    watch_close(&loop->listener);
    LIST_EACH(&loop->connections, link)
    {
        h2_shutdown(LIST_ITEM(link, ServerConnection, link)->h2);
    }
}

/* Steps that run here need their peers' pushes and pulls, on any loop, until the last one has ended. */
static bool
is_worker_idle(const Worker *worker)
{
    return atomic_load_relaxed(&worker->running_count) == 0 && step_table_live_count(worker->steps) == 0;
}

static void
drain_check(Timer *timer)
{
    enum { CHECK_MS = 20 };
    WorkerLoop *const loop = (WorkerLoop *)(void *)((char *)timer - offsetof(WorkerLoop, drained));
    const bool is_late = loop->grace_ms < CHECK_MS;
    if (!loop->is_closing && (is_late || is_worker_idle(loop->worker))) {
        close_begin(loop);
    }
    if (is_late || (loop->is_closing && loop->request_count == 0)) {
        loop_stop(loop->loop);
        return;
    }
    loop->grace_ms -= CHECK_MS;
    timer_set(loop->loop, timer, loop_now_ns(loop->loop) + CHECK_MS * CLOCK_NS_PER_MS);
}

static void
drain_begin(Task *task)
{
    WorkerLoop *const loop = (WorkerLoop *)(void *)((char *)task - offsetof(WorkerLoop, drain));
    drain_check(&loop->drained);
}

static void
sweep_due(Timer *timer)
{
    enum { SWEEP_MS = 5000 };
    WorkerLoop *const loop = (WorkerLoop *)(void *)((char *)timer - offsetof(WorkerLoop, sweep));
    step_table_sweep(loop->worker->steps, loop_now_ns(loop->loop));
    timer_set(loop->loop, timer, loop_now_ns(loop->loop) + SWEEP_MS * CLOCK_NS_PER_MS);
}

void
worker_loop_drain(WorkerLoop *loop, uint32_t grace_ms)
{
    loop->grace_ms = grace_ms;
    loop_post(loop->loop, &loop->drain);
}

static Status
listener_open(Call *call, WorkerLoop *loop, const char *address)
{
    int fd = -1;
    TRY(socket_listen(call, address, (ListenOptions){.is_shared = true}, &fd));
    const Status status = watch_open(call, &loop->listener, loop->loop, fd, EPOLLIN, listener_ready);
    if (status != STATUS_OK) {
        socket_close(fd);
    }
    return status;
}

Status
worker_loop_open(Call *call, Worker *worker, const char *address, WorkerLoop **ret_loop)
{
    WorkerLoop *const loop = memory_new(1, sizeof *loop);
    if (loop == NULL) {
        return call_fail_memory(call, "a loop");
    }
    loop->worker = worker;
    loop->listener.fd = -1;
    list_init(&loop->connections);
    list_init(&loop->requests);
    list_init(&loop->spare_requests);
    loop->drain.run = drain_begin;
    loop->drained.fire = drain_check;
    loop->sweep.fire = sweep_due;
    Status status = loop_new(call, &loop->loop);
    if (status == STATUS_OK) {
        status = listener_open(call, loop, address);
    }
    if (status != STATUS_OK) {
        worker_loop_close(loop);
        return status;
    }
    timer_set(loop->loop, &loop->sweep, loop_now_ns(loop->loop));
    *ret_loop = loop;
    return STATUS_OK;
}

void
worker_loop_disconnect(WorkerLoop *loop)
{
    LIST_EACH(&loop->connections, link)
    {
        h2_abort(LIST_ITEM(link, ServerConnection, link)->h2);
    }
    if (loop->listener.fd >= 0) {
        watch_close(&loop->listener);
        socket_close(loop->listener.fd);
        loop->listener.fd = -1;
    }
}

void
worker_loop_close(WorkerLoop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (loop->loop != NULL) {
        worker_loop_disconnect(loop);
        loop_free(loop->loop);
    }
    request_free_spares(loop);
    memory_free(loop);
}
