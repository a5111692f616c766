#include "tests/bench/stream.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/net/socket.h"
#include "tests/support/raw_http.h"

static void
give_up(const char *what)
{
    (void)fprintf(stderr, "stream: %s\n", what);
    exit(1);
}

static void *
buffer_new(size_t size)
{
    void *buffer = memory_new(1, size);
    if (buffer == NULL) {
        give_up("no memory left");
        abort();
    }
    return memset(buffer, 1, size); /* maps the pages before the clock runs */
}

static int
connect_reno(const char *address)
{
    int fd = raw_open(address);
    if (fd < 0) {
        give_up("no connection");
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", sizeof "reno" - 1);
    return fd;
}

static void
read_to_end(int fd, uint64_t start_ns, StreamResult *ret_result)
{
    char *buffer = buffer_new(STREAM_BUFFER_SIZE);
    uint64_t first_ns = 0;
    *ret_result = (StreamResult){.size = 0};
    for (ssize_t got = 1; got > 0;) {
        got = recv(fd, buffer, STREAM_BUFFER_SIZE, 0);
        if (first_ns == 0 && got > 0) {
            first_ns = clock_monotonic_ns();
            (void)snprintf(ret_result->head, sizeof ret_result->head, "%.*s", (int)got, buffer);
        }
        ret_result->size += got > 0 ? (size_t)got : 0;
    }
    uint64_t end_ns = clock_monotonic_ns();
    ret_result->first_byte_s = (double)(first_ns - start_ns) * 1e-9;
    ret_result->gigabytes_per_s = (double)ret_result->size / (double)(end_ns - first_ns);
    memory_free(buffer);
}

void
stream_read(const char *address, Slice request, StreamResult *ret_result)
{
    int fd = connect_reno(address);
    uint64_t start_ns = clock_monotonic_ns();
    if (request.size > 0) {
        raw_send(fd, request.data, request.size);
    }
    read_to_end(fd, start_ns, ret_result);
    (void)close(fd);
}

typedef struct Party {
    pthread_t thread;
    int listener;
    char address[ADDRESS_TEXT_SIZE];
    const char *source_address; /* where the relay reads */
    size_t size;                /* of the source, in bytes */
} Party;

static int
accept_blocking(int listener)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    (void)poll(&wait, 1, -1);
    int fd = socket_accept(listener);
    if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0) {
        give_up("no connection came in");
    }
    return fd;
}

static void
send_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        size_t piece = size < STREAM_BUFFER_SIZE ? size : STREAM_BUFFER_SIZE;
        ssize_t sent = send(fd, data, piece, MSG_NOSIGNAL);
        if (sent <= 0) {
            give_up("a peer closed too early");
        }
        data += sent;
        size -= (size_t)sent;
    }
}

static void *
run_source(void *context)
{
    const Party *source = context;
    char *data = buffer_new(source->size);
    int fd = accept_blocking(source->listener);
    send_all(fd, data, source->size);
    (void)close(fd);
    memory_free(data);
    return NULL;
}

static void *
run_relay(void *context)
{
    const Party *relay = context;
    char *buffer = buffer_new(STREAM_BUFFER_SIZE);
    int client = accept_blocking(relay->listener);
    int source = connect_reno(relay->source_address);
    for (ssize_t got = 1; got > 0;) {
        got = recv(source, buffer, STREAM_BUFFER_SIZE, 0);
        if (got > 0) {
            send_all(client, buffer, (size_t)got);
        }
    }
    (void)close(source);
    (void)close(client);
    memory_free(buffer);
    return NULL;
}

static void
party_start(Party *party, void *(*run)(void *context))
{
    Call call = {.arena = NULL};
    if (socket_listen(&call, "127.0.0.1:0", (ListenOptions){.backlog = 1}, &party->listener) != STATUS_OK) {
        give_up(call.error.message);
    }
    socket_local_address(party->listener, party->address);
    if (pthread_create(&party->thread, NULL, run, party) != 0) {
        give_up("no thread could be started");
    }
}

static void
party_end(Party *party)
{
    (void)pthread_join(party->thread, NULL);
    socket_close(party->listener);
}

void
stream_relay(size_t size, StreamResult *ret_result)
{
    Party source = {.size = size};
    party_start(&source, run_source);
    Party relay = {.source_address = source.address};
    party_start(&relay, run_relay);
    stream_read(relay.address, slice_of(NULL, 0), ret_result);
    party_end(&relay);
    party_end(&source);
    if (ret_result->size != size) {
        give_up("the relay lost bytes");
    }
}
