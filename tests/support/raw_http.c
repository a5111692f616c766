#include "tests/support/raw_http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIMEOUT_MS = 60000, NARROW_SIZE = 8192 };

static void
connect_to(int fd, const char *address)
{
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((in_port_t)strtoul(strrchr(address, ':') + 1, NULL, 10)),
    };
    int connected = connect(fd, (const struct sockaddr *)&peer, sizeof peer);
    assert(connected == 0);
}

int
raw_open(const char *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connect_to(fd, address);
    return fd;
}

int
raw_open_narrow(const char *address)
{
    int size = NARROW_SIZE;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size); /* the window is told when it connects */
    connect_to(fd, address);
    return fd;
}

void
raw_send(int fd, const void *bytes, size_t size)
{
    const char *rest = bytes;
    while (size > 0) {
        ssize_t sent = send(fd, rest, size, MSG_NOSIGNAL);
        if (sent < 0) {
            return; /* the server has closed: the reply tells why */
        }
        rest += sent;
        size -= (size_t)sent;
    }
}

void
raw_send_text(int fd, const char *text)
{
    raw_send(fd, text, strlen(text));
}

/* Receives bytes; returns their count, 0 at the end, -1 when the time has passed. */
static ssize_t
receive(int fd, char *buffer, size_t size, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, timeout_ms) <= 0) {
        return -1;
    }
    ssize_t received = recv(fd, buffer, size, 0);
    return received < 0 ? 0 : received; /* a reset is an end too */
}

static size_t
body_size(const char *head)
{
    static const char name[] = "\nContent-Length:";
    const char *found = strcasestr(head, name);
    return found == NULL ? 0 : strtoul(found + sizeof name - 1, NULL, 10);
}

int
raw_reply(int fd, char ret_reply[RAW_REPLY_SIZE], int timeout_ms)
{
    size_t size = 0;
    size_t wanted = 0;
    ret_reply[0] = '\0';
    while (wanted == 0 || size < wanted) {
        /* The head is read a byte at a time, since bytes behind the body belong to the next reply. */
        size_t step = wanted == 0 ? 1 : wanted - size;
        assert(size + step < RAW_REPLY_SIZE);
        ssize_t received = receive(fd, ret_reply + size, step, timeout_ms);
        if (received <= 0) {
            return (int)received;
        }
        size += (size_t)received;
        ret_reply[size] = '\0';
        bool has_head = wanted == 0 && size >= 4 && memcmp(ret_reply + size - 4, "\r\n\r\n", 4) == 0;
        wanted = has_head ? size + body_size(ret_reply) : wanted;
    }
    return (int)strtol(ret_reply + strlen("HTTP/1.1 "), NULL, 10);
}

long
raw_drain(int fd, char *buffer, size_t size, int timeout_ms)
{
    size_t total = 0;
    while (total < size) {
        ssize_t received = receive(fd, buffer + total, size - total, timeout_ms);
        if (received < 0) {
            return -1;
        }
        if (received == 0) {
            break;
        }
        total += (size_t)received;
    }
    return (long)total;
}

bool
raw_is_closed(int fd, int timeout_ms)
{
    char byte;
    return receive(fd, &byte, 1, timeout_ms) == 0;
}

int
raw_exchange(const char *address, const void *bytes, size_t size, char ret_reply[RAW_REPLY_SIZE])
{
    int fd = raw_open(address);
    raw_send(fd, bytes, size);
    int status = raw_reply(fd, ret_reply, TIMEOUT_MS);
    close(fd);
    return status;
}
