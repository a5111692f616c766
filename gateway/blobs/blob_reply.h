/* Replies with a blob's bytes, whole or the range that the request asks for (RFC 9110 14), while it is read
 * (blob_send.h). HEAD gets the same headers.
 *
 * Ownership: the exchange is kept until its last piece has been sent or dropped.
 * Threads:   the loop's; the store is read on job threads.
 * Errors:    416 for a range behind the end; those of blob_send.h. */
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/http/tenant_memory.h"

typedef struct BlobReplyOptions {
    const char *content_type;
    Slice magic;        /* what the blob must begin with, to be found at all; empty: nothing */
    const char *noun;   /* of the message when it is not found: "there is no <noun> '…'" */
    bool shows_uploads; /* HEAD says of an unfinished upload how far it has come: 204, Upload-Offset */
} BlobReplyOptions;

/* Answers the request, whose parameter {sha256} names the blob, and ends the exchange. */
void blob_reply(Exchange *exchange, TenantMemory *memory, const BlobReplyOptions *options);
