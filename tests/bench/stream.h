/* Measures how fast a client receives a large answer, from its first byte to its last, over a raw connection
 * read 256 KiB at a time; and a plain relay between two connections to compare with. */
#pragma once

#include <stddef.h>

#include "shared/base/slice.h"

enum { STREAM_BUFFER_SIZE = 256 * 1024 };

typedef struct StreamResult {
    size_t size;            /* bytes, the head included */
    double first_byte_s;    /* from the request to the first byte */
    double gigabytes_per_s; /* from the first byte to the last */
    char head[512];         /* beginning of the answer, NUL-terminated */
} StreamResult;

/* Sends the request (with `Connection: close`; empty: none) and reads until the peer closes. */
void stream_read(const char *address, Slice request, StreamResult *ret_result);

/* Receives `size` bytes as client ← relay ← source, which are threads of this process with blocking
 * sockets, congestion control `reno` and 256 KiB buffers; reads like stream_read(). */
void stream_relay(size_t size, StreamResult *ret_result);
