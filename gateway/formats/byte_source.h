/* Bytes of any size that are read at an offset: a body in memory, or a stored file of which a window of some
 * MiB is held at a time. Importers that must not hold a whole model read it through this.
 *
 * Ownership: a source is borrowed; a reader's window is freed by byte_reader_done().
 * Threads:   one at a time.
 * Errors:    those of the source; INVALID_ARGUMENT where bytes end too early. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/crypto/digest.h"

typedef struct ByteSource ByteSource;

struct ByteSource {
    uint64_t size;
    /* Appends exactly these bytes, which lie inside the source. */
    Status (*read)(Call *call, const ByteSource *source, uint64_t offset, size_t size, Buffer *ret_bytes);
    void *context;
    const char *memory; /* all bytes, when they are in memory; `read` is not used then */
};

static inline ByteSource
byte_source_of(Slice bytes)
{
    return (ByteSource){.size = bytes.size, .memory = bytes.size == 0 ? "" : bytes.data};
}

/* Some bytes of a source, such as a file in an archive. */
typedef struct ByteSpan {
    const ByteSource *source;
    uint64_t offset;
    uint64_t size;
} ByteSpan;

/* Returns at most `size` bytes of the span, from `offset` on. */
ByteSpan byte_span_part(ByteSpan span, uint64_t offset, uint64_t size);

/* Reads a whole span of at most `size_max` bytes; one in memory is not copied, others go into `arena`.
 * OUT_OF_RANGE, naming `what`, when it is larger. */
MUST_USE Status byte_span_get(
    Call *call, Arena *arena, ByteSpan span, size_t size_max, const char *what, Slice *ret_bytes);

/* Stores of objects answer a request in some 10 ms, whatever its size; chunks of PostgreSQL end where windows
 * do. */
enum { BYTE_WINDOW_SIZE = 8 << 20 };

/* Reads a span from its start to its end. */
typedef struct ByteReader {
    Call *call;
    const ByteSource *source;
    uint64_t position; /* in the source */
    uint64_t end;
    Buffer window;
    uint64_t window_start;
} ByteReader;

ByteReader byte_reader(Call *call, ByteSpan span);
void byte_reader_done(ByteReader *reader);
#define AUTO_BYTE_READER CLEANUP(byte_reader_done) ByteReader

/* Returns bytes that are in memory now, at least one unless the end is reached, without going on. They stay
 * until the next call. */
MUST_USE Status byte_reader_peek(ByteReader *reader, Slice *ret_bytes);

/* Goes on by `size` bytes, which must be there. */
void byte_reader_skip(ByteReader *reader, uint64_t size);

static inline uint64_t
byte_reader_left(const ByteReader *reader)
{
    return reader->end - reader->position;
}

/* Appends the next `size` bytes. */
MUST_USE Status byte_reader_copy(ByteReader *reader, uint64_t size, Buffer *ret_bytes);

/* Reads a number of protobuf's wire format. */
MUST_USE Status byte_reader_varint(ByteReader *reader, uint64_t *ret_value);

/* The digests by which bytes that are not kept are known. */
typedef struct ByteDigest {
    Sha256 sha256;
    uint32_t crc32c; /* when it is asked for */
} ByteDigest;

/* Reads `size` bytes for their digest alone. */
MUST_USE Status byte_reader_digest(
    ByteReader *reader, uint64_t size, bool with_crc32c, ByteDigest *ret_digest);
