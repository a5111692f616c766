/* A large answer at the client: how fast it comes in from its first byte to its last, over a raw connection
 * read 256 KiB at a time; and the peer to compare with, a plain relay between two connections. */
#pragma once

#include <stddef.h>

#include "shared/base/slice.h"

enum { STREAM_BUFFER_SIZE = 256 * 1024 };

typedef struct StreamResult {
    size_t size;            /* bytes, with the head */
    double first_byte_s;    /* from the request to the first byte */
    double gigabytes_per_s; /* from the first byte to the last */
    char head[512];         /* how the answer begins, NUL-terminated */
} StreamResult;

/* Sends the request (with `Connection: close`; empty: none) and reads until the peer closes. */
void stream_read(const char *address, Slice request, StreamResult *ret_result);

/* client ← relay ← source, both threads of this process with blocking sockets, congestion control `reno` and
 * 256 KiB buffers; the source sends `size` bytes that lie in memory. Reads it as stream_read() does. */
void stream_relay(size_t size, StreamResult *ret_result);
