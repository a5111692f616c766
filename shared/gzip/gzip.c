#include "shared/gzip/gzip.h"

#include <assert.h>
#include <limits.h>

#define ZLIB_CONST /* input is not written to */
#include <zlib.h>

#include "shared/base/memory.h"

enum {
    WINDOW_BITS = 15 + 16, /* +16: gzip framing, not zlib's own */
    MEMORY_LEVEL = 8,
    PIECE_SIZE = 64 * 1024,
    PIECE_SIZE_FIRST = 4 * 1024,
};

static voidpf
zlib_allocate(voidpf owner, uInt count, uInt size)
{
    (void)owner;
    return memory_new(count, size);
}

static void
zlib_release(voidpf owner, voidpf memory)
{
    (void)owner;
    memory_free(memory);
}

/* Hands input over to zlib, which counts in 32 bits: more than that goes in parts. */
static void
feed_input(z_stream *stream, Slice *rest)
{
    if (stream->avail_in == 0 && rest->size > 0) {
        size_t part = rest->size < UINT_MAX ? rest->size : UINT_MAX;
        stream->next_in = (const Bytef *)rest->data;
        stream->avail_in = (uInt)part;
        *rest = slice_of(rest->data + part, rest->size - part);
    }
}

static int
deflate_piece(z_stream *stream, Buffer *output, bool is_last)
{
    char *room = buffer_reserve(output, PIECE_SIZE);
    if (room == NULL) {
        return Z_MEM_ERROR;
    }
    stream->next_out = (Bytef *)room;
    stream->avail_out = PIECE_SIZE;
    int result = deflate(stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    buffer_grow(output, PIECE_SIZE - stream->avail_out);
    return result;
}

bool
gzip_deflate(Buffer *output, Slice input, int level)
{
    assert(level >= Z_BEST_SPEED && level <= Z_BEST_COMPRESSION);

    z_stream stream = {.zalloc = zlib_allocate, .zfree = zlib_release};
    if (deflateInit2(&stream, level, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    int result = Z_OK;
    while (result == Z_OK) {
        feed_input(&stream, &input);
        result = deflate_piece(&stream, output, input.size == 0);
    }
    (void)deflateEnd(&stream);
    return result == Z_STREAM_END;
}

typedef enum Outcome {
    OUTCOME_MORE,
    OUTCOME_DONE,
    OUTCOME_CUT,
    OUTCOME_INVALID,
    OUTCOME_TOO_LARGE,
    OUTCOME_NO_MEMORY
} Outcome;

typedef struct Inflation {
    z_stream stream;
    Slice rest;
    size_t size_left; /* bytes that may still come out */
    Buffer *output;
} Inflation;

static Outcome
member_end(Inflation *inflation)
{
    if (inflation->stream.avail_in == 0 && inflation->rest.size == 0) {
        return OUTCOME_DONE;
    }
    return inflateReset(&inflation->stream) == Z_OK ? OUTCOME_MORE : OUTCOME_INVALID;
}

/* Translates zlib's result. There is always room for output, so that Z_BUF_ERROR can only mean that the
 * input has ended. */
static Outcome
inflate_outcome(Inflation *inflation, int result)
{
    switch (result) {
    case Z_OK:
        return OUTCOME_MORE;
    case Z_STREAM_END:
        return member_end(inflation);
    case Z_BUF_ERROR:
        return OUTCOME_CUT;
    case Z_MEM_ERROR:
        return OUTCOME_NO_MEMORY;
    default:
        return OUTCOME_INVALID;
    }
}

static Outcome
inflate_piece(Inflation *inflation)
{
    /* One byte of room more than is left tells "just fits" from "too large". */
    size_t usual = inflation->output->size < PIECE_SIZE ? PIECE_SIZE_FIRST : PIECE_SIZE;
    size_t size = inflation->size_left < usual ? inflation->size_left + 1 : usual;
    char *room = buffer_reserve(inflation->output, size);
    if (room == NULL) {
        return OUTCOME_NO_MEMORY;
    }
    feed_input(&inflation->stream, &inflation->rest);
    inflation->stream.next_out = (Bytef *)room;
    inflation->stream.avail_out = (uInt)size;
    int result = inflate(&inflation->stream, Z_NO_FLUSH);
    size_t made = size - inflation->stream.avail_out;
    if (made > inflation->size_left) {
        return OUTCOME_TOO_LARGE;
    }
    buffer_grow(inflation->output, made);
    inflation->size_left -= made;
    return inflate_outcome(inflation, result);
}

static Status
outcome_status(Call *call, Outcome outcome, size_t size_max)
{
    switch (outcome) {
    case OUTCOME_MORE:
    case OUTCOME_DONE:
        return STATUS_OK;
    case OUTCOME_TOO_LARGE:
        return call_fail(
            call, STATUS_OUT_OF_RANGE, "the gzip data inflate to more than the %zu bytes allowed", size_max);
    case OUTCOME_NO_MEMORY:
        return call_fail_memory(call, "inflating gzip data");
    case OUTCOME_CUT:
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the gzip data end early");
    case OUTCOME_INVALID:
        break;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "the data are not valid gzip");
}

size_t
gzip_announced_size(Slice input)
{
    enum { MEMBER_SIZE_MIN = 18, TRAILER_SIZE = 4 };
    size_t size = 0;
    for (size_t index = 0; input.size >= MEMBER_SIZE_MIN && index < TRAILER_SIZE; index++) {
        unsigned char byte = (unsigned char)input.data[input.size - TRAILER_SIZE + index];
        size |= (size_t)byte << (8 * index);
    }
    return size;
}

Status
gzip_inflate(Call *call, Slice input, size_t size_max, Buffer *output)
{
    Inflation inflation = {.stream = {.zalloc = zlib_allocate, .zfree = zlib_release},
        .rest = input,
        .size_left = size_max,
        .output = output};
    if (inflateInit2(&inflation.stream, WINDOW_BITS) != Z_OK) {
        return call_fail_memory(call, "inflating gzip data");
    }
    Outcome outcome = OUTCOME_MORE;
    while (outcome == OUTCOME_MORE) {
        outcome = inflate_piece(&inflation);
    }
    (void)inflateEnd(&inflation.stream);
    return outcome_status(call, outcome, size_max);
}
