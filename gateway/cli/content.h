/* The bytes that are sent to the gateway: files, and bytes around them, one behind another. They are read
 * where they are needed, and never held, so that there may be any number of them. A file that changes
 * meanwhile is noticed: what was read first and what is read later must be of one state.
 *
 * Ownership: content_done() closes what is open; the list lives in the call's arena, with added bytes
 *            borrowed.
 * Threads:   one.
 * Errors:    INVALID_ARGUMENT names the file and what is wrong with it. */
#pragma once

#include <time.h>

#include "gateway/formats/byte_source.h"
#include "shared/httpclient/http_client.h"

typedef struct ContentPart {
    uint64_t offset; /* in the content */
    uint64_t size;
    const char *path; /* NULL: `bytes` */
    const char *bytes;
    uint64_t device; /* these four tell whether the file is the one that was added */
    uint64_t inode;
    struct timespec modified;
    struct timespec changed;
} ContentPart;

typedef struct Content {
    ContentPart *parts;
    size_t count;
    size_t capacity;
    uint64_t size;
    int fd; /* of the file that was read last; meaningful when fd_part is not NULL */
    const ContentPart *fd_part;
} Content;

MUST_USE Status content_add_file(Call *call, Content *content, const char *path);
MUST_USE Status content_add_bytes(Call *call, Content *content, Slice bytes);
void content_done(Content *content);
#define AUTO_CONTENT CLEANUP(content_done) Content

/* Reads at least one and at most `size` bytes from `offset` on, which lie inside. */
MUST_USE Status content_read(
    Call *call, Content *content, uint64_t offset, char *room, size_t size, size_t *ret_count);

/* Fails when a file is not what it was when it was added. */
MUST_USE Status content_check(Call *call, const Content *content);

/* Returns the content as importers read it; the source borrows it. */
ByteSource content_byte_source(Content *content);
