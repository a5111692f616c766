/* TCP sockets as this project wants them: non-blocking, close-on-exec, TCP_NODELAY, congestion control
 * `reno` on loopback (bbr paces there; reference: half the bandwidth), keep-alive with TCP_USER_TIMEOUT.
 *
 * Errors: INVALID_ARGUMENT for an address that cannot be read; UNAVAILABLE with errno's text otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/call.h"
#include "shared/base/slice.h"

enum { ADDRESS_TEXT_SIZE = 64 };

/* Addresses are "127.0.0.1:8080", "[::1]:0", "name:8080"; port 0 lets the kernel choose. Looking a name up
 * waits for the resolver: threads that serve a loop pass numbers. */
typedef struct ListenOptions {
    bool is_shared; /* SO_REUSEPORT: one socket a loop on the same port */
    int backlog;    /* 0: 1024 */
} ListenOptions;

MUST_USE Status socket_listen(Call *call, const char *address, ListenOptions options, int *ret_fd);

/* Returns the next waiting connection, or -1 when there is none (or no descriptor left for it). Its peer
 * must read steadily: 3 s without taking any bytes end it (TCP_USER_TIMEOUT). */
int socket_accept(int listener_fd);

/* Starts connecting; the descriptor becomes writable when it is done or has failed (socket_error). */
MUST_USE Status socket_connect(Call *call, const char *address, int *ret_fd);

int socket_error(int fd); /* pending errno of a connection attempt, 0 when it succeeded */

/* Writes the local address as "host:port", with the port the kernel chose. */
void socket_local_address(int fd, char ret_text[ADDRESS_TEXT_SIZE]);
void socket_close(int fd); /* -1 is allowed */

/* Tells whether the host is 127.0.0.0/8, ::1 or "localhost"; nothing is looked up. */
bool address_is_loopback(const char *address);

/* Tells whether the host is 0.0.0.0 or ::, which stand for all addresses of a machine. */
bool address_is_any(const char *address);
