#include "shared/net/socket.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that is gone is noticed within 5 s: by the user timeout while sending, else after 2 s and 3
 * probes. */
enum { BACKLOG = 1024, KEEP_IDLE_S = 2, KEEP_INTERVAL_S = 1, KEEP_COUNT = 3, USER_TIMEOUT_MS = 3000 };
enum { HOST_SIZE = 256, PORT_SIZE = sizeof "65535" };

typedef struct HostPort {
    char host[HOST_SIZE];
    char port[PORT_SIZE];
} HostPort;

static bool
is_port(Slice text)
{
    uint64_t port = 0;
    return text.size < PORT_SIZE && slice_to_uint64(text, &port) && port <= UINT16_MAX;
}

/* Splits "host:port" or "[host]:port"; an IPv6 host needs its brackets. */
static bool
split_address(Slice address, HostPort *ret_parts)
{
    size_t colon = slice_find_last(address, ':');
    Slice host = slice_part(address, 0, colon);
    Slice port = slice_part(address, colon + 1, address.size);
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']') {
        host = slice_part(host, 1, host.size - 2);
    } else if (slice_find(host, ':') < host.size) {
        return false;
    }
    if (colon == address.size || host.size == 0 || host.size >= HOST_SIZE || !is_port(port)) {
        return false;
    }
    (void)snprintf(ret_parts->host, sizeof ret_parts->host, "%.*s", SLICE_PRINT(host));
    (void)snprintf(ret_parts->port, sizeof ret_parts->port, "%.*s", SLICE_PRINT(port));
    return true;
}

static bool
sockaddr_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) != 0;
        return is_mapped ? v6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET
                         : IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
    }
    return false;
}

bool
address_is_loopback(const char *address)
{
    HostPort parts;
    if (!split_address(slice_from_string(address), &parts)) {
        return false;
    }
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, parts.host, &v4.sin_addr) == 1) {
        return sockaddr_is_loopback((const struct sockaddr *)&v4);
    }
    if (inet_pton(AF_INET6, parts.host, &v6.sin6_addr) == 1) {
        return sockaddr_is_loopback((const struct sockaddr *)&v6);
    }
    return strcmp(parts.host, "localhost") == 0;
}

bool
address_is_any(const char *address)
{
    HostPort parts;
    struct in_addr v4;
    struct in6_addr v6;
    if (!split_address(slice_from_string(address), &parts)) {
        return false;
    }
    return (inet_pton(AF_INET, parts.host, &v4) == 1 && v4.s_addr == INADDR_ANY) ||
           (inet_pton(AF_INET6, parts.host, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6));
}

static Status
address_resolve(Call *call, const char *address, int flags, struct addrinfo **ret_found)
{
    HostPort parts;
    if (!split_address(slice_from_string(address), &parts)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'%s' is not an address: 'host:port' or '[ipv6]:port' is", address);
    }
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = flags | AI_NUMERICSERV | AI_NUMERICHOST,
    };
    int failure = getaddrinfo(parts.host, parts.port, &hints, ret_found);
    if (failure == EAI_NONAME) {
        hints.ai_flags = flags | AI_NUMERICSERV;
        failure = getaddrinfo(parts.host, parts.port, &hints, ret_found);
    }
    if (failure != 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "cannot resolve '%s': %s", address,
            failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure));
    }
    return STATUS_OK;
}

static void
addrinfo_freep(struct addrinfo **found)
{
    if (*found != NULL) {
        freeaddrinfo(*found);
    }
}
#define AUTO_ADDRINFO CLEANUP(addrinfo_freep) struct addrinfo *

static void
set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* Sets options that make a connection better; none is worth refusing one. */
static void
tune_connection(int fd, const struct sockaddr *peer)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
    if (sockaddr_is_loopback(peer)) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    }
}

static int
open_socket(const struct addrinfo *found)
{
    return socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, found->ai_protocol);
}

static bool
try_listen(int fd, const struct addrinfo *found, ListenOptions options)
{
    int backlog = options.backlog == 0 ? BACKLOG : options.backlog;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (options.is_shared) {
        set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    }
    return bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, backlog) == 0;
}

Status
socket_listen(Call *call, const char *address, ListenOptions options, int *ret_fd)
{
    AUTO_ADDRINFO found = NULL;
    TRY(address_resolve(call, address, AI_PASSIVE, &found));
    assert(found != NULL);
    int fd = open_socket(found);
    if (fd < 0 || !try_listen(fd, found, options)) {
        int cause = errno;
        socket_close(fd);
        return call_fail(call, STATUS_UNAVAILABLE, "cannot listen on '%s': %s", address, strerror(cause));
    }
    *ret_fd = fd;
    return STATUS_OK;
}

/* Tells whether an error belongs to one connection, which died while it waited (accept(2)). */
static bool
concerns_one_connection(int cause)
{
    return cause == EINTR || cause == ECONNABORTED || cause == EPROTO || cause == ENETDOWN ||
           cause == ENETUNREACH || cause == EHOSTUNREACH || cause == EHOSTDOWN || cause == ENOPROTOOPT ||
           cause == ENONET || cause == EOPNOTSUPP;
}

int
socket_accept(int listener_fd)
{
    assert(listener_fd >= 0);

    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    int fd;
    do {
        socklen_t size = sizeof peer;
        fd = accept4(listener_fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && concerns_one_connection(errno));
    if (fd >= 0) {
        tune_connection(fd, (const struct sockaddr *)&peer);
    }
    return fd;
}

Status
socket_connect(Call *call, const char *address, int *ret_fd)
{
    AUTO_ADDRINFO found = NULL;
    TRY(address_resolve(call, address, 0, &found));
    assert(found != NULL);
    int fd = open_socket(found);
    if (fd < 0) {
        return call_fail(
            call, STATUS_UNAVAILABLE, "no socket to connect to '%s': %s", address, strerror(errno));
    }
    tune_connection(fd, found->ai_addr);
    /* An interrupted connect goes on by itself. */
    if (connect(fd, found->ai_addr, found->ai_addrlen) < 0 && errno != EINPROGRESS && errno != EINTR) {
        int cause = errno;
        socket_close(fd);
        return call_fail(call, STATUS_UNAVAILABLE, "cannot connect to '%s': %s", address, strerror(cause));
    }
    *ret_fd = fd;
    return STATUS_OK;
}

int
socket_error(int fd)
{
    int cause = 0;
    socklen_t size = sizeof cause;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &size) < 0 ? errno : cause;
}

void
socket_local_address(int fd, char ret_text[ADDRESS_TEXT_SIZE])
{
    struct sockaddr_storage local = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof local;
    char host[INET6_ADDRSTRLEN] = "";
    char port[PORT_SIZE] = "";
    ret_text[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&local, &size) < 0 ||
        getnameinfo((const struct sockaddr *)&local, size, host, sizeof host, port, sizeof port,
            NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return;
    }
    const char *opening = local.ss_family == AF_INET6 ? "[" : "";
    const char *closing = local.ss_family == AF_INET6 ? "]" : "";
    (void)snprintf(ret_text, ADDRESS_TEXT_SIZE, "%s%s%s:%s", opening, host, closing, port);
}

void
socket_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd); /* never repeated on EINTR: Linux has closed the descriptor by then */
    }
}
