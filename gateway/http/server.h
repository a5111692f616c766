/* The HTTP/1.1 server of the gateway, one a loop thread.
 *
 * Life of a request: the guards refuse heads that could be read in two ways (guards.h); the router finds
 * the handler; the announced size and type of the body and the credentials are checked, all before a
 * client that waits for "100 Continue" sends a byte; the body is received; the handler runs on the loop or
 * on a job thread; the reply goes out; one record goes to the log hook. internals.h names the file of each
 * stage.
 *
 * Ownership: the server owns its socket, its connections and their exchanges.
 * Threads:   everything on the loop's thread.
 * Errors:    http_server_new() says INVALID_ARGUMENT for routes that clash, UNAVAILABLE for a socket. */
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/http/options.h"
#include "shared/net/loop.h"
#include "shared/net/socket.h"

typedef struct HttpServer HttpServer;

/* Listens on `address` with SO_REUSEPORT, so that each loop has a socket of its own on one port. The
 * options are copied, what they point to is not. */
MUST_USE Status http_server_new(
    Call *call, Loop *loop, const char *address, const HttpOptions *options, HttpServer **ret_server);

void http_server_address(const HttpServer *server, char ret_text[ADDRESS_TEXT_SIZE]);

/* Counts requests that have arrived and are not wholly answered. */
size_t http_server_active(const HttpServer *server);

/* Stops accepting connections and closes the present ones with their next reply, or when idle. */
void http_server_drain(HttpServer *server);

/* Cancels all requests whose handlers are at work; each is answered, as far as its client reads. */
void http_server_dismiss(HttpServer *server);

/* Cancels all requests, turns the loop until they have ended, and closes. NULL is allowed. */
void http_server_free(HttpServer *server);
