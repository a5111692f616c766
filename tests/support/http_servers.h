/* HTTP servers of one test program: one loop thread serves all of them on loopback, two job threads work
 * for them; the tests are their clients.
 *
 * Threads: the tests' own; handlers run on the loop's and the job threads. */
#pragma once

#include "gateway/http/server.h"

/* Set up and tear down a group of tests; 0 when that worked. Job threads are added to the options. */
int http_servers_start(const HttpOptions *options, size_t count);
int http_servers_stop(void **state);

/* Returns the address of the server with the options at `index`. */
const char *http_servers_address(size_t index);

/* Waits until the counter, which another thread raises, has passed `before`. */
void http_servers_wait(const uint64_t *counter, uint64_t before);
