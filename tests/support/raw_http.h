/* An HTTP client that sends exactly the bytes it is given, also those that no proper client would send. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { RAW_REPLY_SIZE = 64 * 1024 };

int raw_open(const char *address); /* "127.0.0.1:4711" */

/* Opens one whose socket takes little by itself: what its owner does not read stays with the peer. */
int raw_open_narrow(const char *address);
void raw_send(int fd, const void *bytes, size_t size);
void raw_send_text(int fd, const char *text);

/* Reads one reply whose Content-Length is known (or that has no body) into ret_reply, NUL-terminated. Returns
 * its status; 0 when the connection ends before a whole reply; -1 when `timeout_ms` pass. */
int raw_reply(int fd, char ret_reply[RAW_REPLY_SIZE], int timeout_ms);

/* Reads until the peer closes; returns the count of bytes read, or -1 when `timeout_ms` pass. */
long raw_drain(int fd, char *buffer, size_t size, int timeout_ms);
bool raw_is_closed(int fd, int timeout_ms);

/* Sends one request on a connection of its own and reads the reply. */
int raw_exchange(const char *address, const void *bytes, size_t size, char ret_reply[RAW_REPLY_SIZE]);
