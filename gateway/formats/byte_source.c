#include "gateway/formats/byte_source.h"

#include <assert.h>

#include "shared/base/clock.h"
#include "shared/base/crc32c.h"

ByteSpan
byte_span_part(ByteSpan span, uint64_t offset, uint64_t size)
{
    uint64_t start = offset < span.size ? offset : span.size;
    uint64_t left = span.size - start;
    return (ByteSpan){span.source, span.offset + start, size < left ? size : left};
}

/* Appends bytes of a source, wherever they are. */
static Status
read_source(Call *call, const ByteSource *source, uint64_t offset, size_t size, Buffer *ret_bytes)
{
    assert(offset <= source->size && size <= source->size - offset);
    if (source->memory != NULL) {
        buffer_append(ret_bytes, source->memory + offset, size);
    } else {
        size_t before = ret_bytes->size;
        TRY(source->read(call, source, offset, size, ret_bytes));
        assert(ret_bytes->has_failed || ret_bytes->size == before + size);
        (void)before;
    }
    return buffer_is_ok(ret_bytes) ? STATUS_OK : call_fail_memory(call, "a file's bytes");
}

static Status
copy_span(Call *call, Arena *arena, ByteSpan span, Slice *ret_bytes)
{
    AUTO_BUFFER bytes = {0};
    TRY(read_source(call, span.source, span.offset, (size_t)span.size, &bytes));
    char *copy = arena_alloc(arena, bytes.size + 1);
    if (copy == NULL) {
        return call_fail_memory(call, "a file's bytes");
    }
    memcpy(copy, bytes.size == 0 ? "" : bytes.data, bytes.size);
    *ret_bytes = slice_of(copy, bytes.size);
    return STATUS_OK;
}

Status
byte_span_get(Call *call, Arena *arena, ByteSpan span, size_t size_max, const char *what, Slice *ret_bytes)
{
    if (span.size > size_max) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "%s has %llu bytes, at most %zu", what,
            (unsigned long long)span.size, size_max);
    }
    if (span.source->memory != NULL) {
        *ret_bytes = slice_of(span.source->memory + span.offset, (size_t)span.size);
        return STATUS_OK;
    }
    return copy_span(call, arena, span, ret_bytes);
}

ByteReader
byte_reader(Call *call, ByteSpan span)
{
    assert(span.offset <= span.source->size && span.size <= span.source->size - span.offset);
    return (ByteReader){
        .call = call, .source = span.source, .position = span.offset, .end = span.offset + span.size};
}

void
byte_reader_done(ByteReader *reader)
{
    buffer_done(&reader->window);
}

/* Reads on to the next multiple of the window's size, which is where stored chunks end. */
static Status
fill_window(ByteReader *reader)
{
    uint64_t until = (reader->position / BYTE_WINDOW_SIZE + 1) * BYTE_WINDOW_SIZE;
    uint64_t end = until < reader->end ? until : reader->end;
    buffer_clear(&reader->window);
    reader->window_start = reader->position;
    return read_source(
        reader->call, reader->source, reader->position, (size_t)(end - reader->position), &reader->window);
}

Status
byte_reader_peek(ByteReader *reader, Slice *ret_bytes)
{
    uint64_t left = byte_reader_left(reader);
    if (reader->source->memory != NULL) {
        *ret_bytes = slice_of(reader->source->memory + reader->position, (size_t)left);
        return STATUS_OK;
    }
    uint64_t window_end = reader->window_start + reader->window.size;
    if (left > 0 && (reader->position < reader->window_start || reader->position >= window_end)) {
        TRY(fill_window(reader));
    }
    uint64_t at = reader->position - reader->window_start;
    *ret_bytes = left == 0 ? SLICE("") : slice_part(buffer_slice(&reader->window), (size_t)at, (size_t)left);
    return STATUS_OK;
}

void
byte_reader_skip(ByteReader *reader, uint64_t size)
{
    assert(size <= byte_reader_left(reader));
    reader->position += size;
}

static Status
fail_short(const ByteReader *reader)
{
    return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "the file is damaged: it ends too early");
}

/* Takes at most `size` bytes from memory. */
static Status
take_some(ByteReader *reader, uint64_t size, Slice *ret_bytes)
{
    TRY(byte_reader_peek(reader, ret_bytes));
    if (ret_bytes->size == 0) {
        return fail_short(reader);
    }
    size_t most = size < SIZE_MAX ? (size_t)size : SIZE_MAX;
    *ret_bytes = slice_part(*ret_bytes, 0, most);
    byte_reader_skip(reader, ret_bytes->size);
    return STATUS_OK;
}

Status
byte_reader_copy(ByteReader *reader, uint64_t size, Buffer *ret_bytes)
{
    while (size > 0) {
        Slice bytes;
        TRY(take_some(reader, size, &bytes));
        buffer_append_slice(ret_bytes, bytes);
        size -= bytes.size;
        if (!buffer_is_ok(ret_bytes)) {
            return STATUS_OK; /* whoever made the buffer knows whether memory or its limit is short */
        }
    }
    return STATUS_OK;
}

Status
byte_reader_varint(ByteReader *reader, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        Slice byte;
        TRY(take_some(reader, 1, &byte));
        value |= (uint64_t)(byte.data[0] & 0x7f) << shift;
        if ((byte.data[0] & 0x80) == 0) {
            *ret_value = value;
            return STATUS_OK;
        }
    }
    return call_fail(
        reader->call, STATUS_INVALID_ARGUMENT, "the file is damaged: a number has more than 10 bytes");
}

static Status
digest_bytes(ByteReader *reader, uint64_t size, bool with_crc32c, Sha256State *state, uint32_t *ret_crc32c)
{
    while (size > 0) {
        Slice bytes;
        TRY(call_check(reader->call, clock_monotonic_ns()));
        TRY(take_some(reader, size < BYTE_WINDOW_SIZE ? size : BYTE_WINDOW_SIZE, &bytes));
        sha256_update(state, bytes);
        *ret_crc32c = with_crc32c ? crc32c_extend(*ret_crc32c, bytes) : 0;
        size -= bytes.size;
    }
    return STATUS_OK;
}

Status
byte_reader_digest(ByteReader *reader, uint64_t size, bool with_crc32c, ByteDigest *ret_digest)
{
    ByteDigest digest = {.crc32c = 0};
    Sha256State *state = sha256_begin();
    if (state == NULL) {
        return call_fail_memory(reader->call, "a digest");
    }
    Status status = digest_bytes(reader, size, with_crc32c, state, &digest.crc32c);
    if (status != STATUS_OK) {
        sha256_abandon(state);
        return status;
    }
    sha256_end(state, &digest.sha256);
    *ret_digest = digest;
    return STATUS_OK;
}
