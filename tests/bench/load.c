/* The order of events: all connections are opened, and each sends one request. Whenever a reply is whole, its
 * time is noted and the next request is sent. When the time is over, replies that are under way are awaited,
 * and the times are sorted. */
#include "tests/bench/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "tests/support/raw_http.h"

enum { REPLY_SIZE_MAX = 32 * 1024, SAMPLES_MAX = 8 << 20, EVENTS_MAX = 64, STALL_MS = 10000 };

typedef struct Connection {
    int fd;
    uint64_t sent_ns;
    size_t size;
    char reply[REPLY_SIZE_MAX];
} Connection;

typedef struct Run {
    const Load *load;
    int epoll_fd;
    int open_count; /* requests under way */
    uint64_t end_ns;
    uint64_t sent_count;
    uint64_t count;
    uint32_t *samples_ns;
    Connection *connections;
} Run;

static void
give_up(const char *what, const Connection *connection)
{
    (void)fprintf(stderr, "load: %s: %.*s\n", what, (int)connection->size, connection->reply);
    exit(1);
}

static void
send_next(Run *run, Connection *connection)
{
    Slice request = run->load->request;
    connection->size = 0;
    connection->sent_ns = clock_monotonic_ns();
    if (send(connection->fd, request.data, request.size, MSG_NOSIGNAL) != (ssize_t)request.size) {
        give_up("a request could not be sent", connection);
    }
    run->sent_count++;
    run->open_count++;
}

static bool
has_time(const Run *run)
{
    return clock_monotonic_ns() < run->end_ns &&
           (run->load->count_max == 0 || run->sent_count < run->load->count_max);
}

/* Only one request is under way on a connection, so the reply ends where the bytes end. */
static bool
reply_is_whole(const Connection *connection)
{
    static const char last_chunk[] = "\r\n0\r\n\r\n";
    const char *reply = connection->reply;
    const char *body = strstr(reply, "\r\n\r\n");
    if (body == NULL) {
        return false;
    }
    size_t head_size = (size_t)(body + 4 - reply);
    const char *length = strcasestr(reply, "\r\nContent-Length: ");
    if (length != NULL && length < body) {
        return connection->size >= head_size + strtoul(length + 18, NULL, 10);
    }
    return connection->size >= sizeof last_chunk - 1 &&
           strcmp(reply + connection->size - (sizeof last_chunk - 1), last_chunk) == 0;
}

static void
check_reply(const Load *load, const Connection *connection)
{
    int status = connection->size > 12 ? (int)strtol(connection->reply + 9, NULL, 10) : 0;
    if (status != load->status || strstr(connection->reply, load->expected) == NULL) {
        give_up("not the expected reply", connection);
    }
}

static void
receive(Run *run, Connection *connection)
{
    size_t room = sizeof connection->reply - 1 - connection->size;
    ssize_t got = recv(connection->fd, connection->reply + connection->size, room, 0);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0) {
        give_up("a connection was closed", connection);
    }
    connection->size += (size_t)got;
    connection->reply[connection->size] = '\0';
    if (!reply_is_whole(connection)) {
        return;
    }
    uint64_t took_ns = clock_monotonic_ns() - connection->sent_ns;
    check_reply(run->load, connection);
    if (run->count < SAMPLES_MAX) {
        run->samples_ns[run->count] = (uint32_t)(took_ns < UINT32_MAX ? took_ns : UINT32_MAX);
    }
    run->count++;
    run->open_count--;
    if (has_time(run)) {
        send_next(run, connection);
    }
}

static void
connect_all(Run *run)
{
    for (int index = 0; index < run->load->connection_count; index++) {
        Connection *connection = &run->connections[index];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        connection->fd = raw_open(run->load->address);
        if (connection->fd < 0 || fcntl(connection->fd, F_SETFL, O_NONBLOCK) != 0 ||
            epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) != 0) {
            give_up("no connection", connection);
        }
    }
}

static void
turn(Run *run)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(run->epoll_fd, events, EVENTS_MAX, STALL_MS);
    if (count == 0) {
        give_up("no reply for ten seconds", &run->connections[0]);
    }
    for (int index = 0; index < count; index++) {
        receive(run, events[index].data.ptr);
    }
}

static int
compare_samples(const void *left, const void *right)
{
    uint32_t first = *(const uint32_t *)left;
    uint32_t second = *(const uint32_t *)right;
    return (first > second) - (first < second);
}

static void
summarize(Run *run, uint64_t start_ns, LoadResult *ret_result)
{
    uint64_t count = run->count < SAMPLES_MAX ? run->count : SAMPLES_MAX;
    ret_result->count = run->count;
    ret_result->seconds = (double)(clock_monotonic_ns() - start_ns) * 1e-9;
    qsort(run->samples_ns, count, sizeof run->samples_ns[0], compare_samples);
    ret_result->p50_us = count == 0 ? 0 : run->samples_ns[count / 2] * 1e-3;
    ret_result->p99_us = count == 0 ? 0 : run->samples_ns[count * 99 / 100] * 1e-3;
}

void
load_run(const Load *load, LoadResult *ret_result)
{
    Run run = {.load = load, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    run.samples_ns = memory_new(SAMPLES_MAX, sizeof *run.samples_ns);
    run.connections = memory_new((size_t)load->connection_count, sizeof *run.connections);
    if (run.epoll_fd < 0 || run.samples_ns == NULL || run.connections == NULL) {
        (void)fprintf(stderr, "load: no memory or descriptor left\n");
        exit(1);
    }
    connect_all(&run);
    uint64_t start_ns = clock_monotonic_ns();
    run.end_ns = start_ns + load->duration_ms * CLOCK_NS_PER_MS;
    for (int index = 0; index < load->connection_count && has_time(&run); index++) {
        send_next(&run, &run.connections[index]);
    }
    while (run.open_count > 0) {
        turn(&run);
    }
    summarize(&run, start_ns, ret_result);
    for (int index = 0; index < load->connection_count; index++) {
        (void)close(run.connections[index].fd);
    }
    (void)close(run.epoll_fd);
    memory_free(run.samples_ns);
    memory_free(run.connections);
}
