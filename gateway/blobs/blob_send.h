/* Sends a stored blob, or what is written from it, as the body of a reply, while it is read: a job thread
 * reads a piece, the socket takes it, and only then the next one is read.
 *
 * What a reply holds is claimed from the memory for outputs: little for a reader that reads slowly or not at
 * all, more for a fast one. A reply that finds no room waits before its first piece.
 *
 * Ownership: the exchange is kept until its last piece has been sent or dropped.
 * Threads:   the loop's; reading and writing happen on job threads.
 * Errors:    a blob that cannot be read further cuts the reply, so that the client knows. */
#pragma once

#include "gateway/blobs/byte_range.h"
#include "gateway/http/exchange.h"
#include "gateway/http/tenant_memory.h"
#include "gateway/store/blobs.h"

/* Writes bytes of a blob as something else, and behind the last ones (no bytes) its end, on a job thread. The
 * buffer may fail. */
typedef void (*BlobWrite)(void *writer, Slice bytes, Buffer *text);

typedef struct BlobSend {
    const char *content_type;
    TenantId tenant;
    Sha256 digest;
    ByteRange range;     /* the bytes that are sent */
    uint64_t whole_size; /* they are a part of so many, and the reply says so (206); 0: they are all */
    TenantMemory *memory;
    Slice head;      /* sent in front of them; lives in the exchange's arena */
    BlobWrite write; /* NULL: the bytes are sent as they are, and their size is announced */
    void *writer;    /* lives in the exchange's arena */
    bool is_head;    /* a HEAD request: nothing is sent but the headers */
} BlobSend;

/* Ends the exchange, whose response has its status and headers. */
void blob_send(Exchange *exchange, const BlobSend *send);
