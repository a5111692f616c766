#include "shared/h2/output.h"

#include <assert.h>

#include "shared/base/memory.h"

/* A smaller piece costs less as a copy than as a vector of its own. */
enum { COPY_SIZE_MAX = 1024, PIECES_FIRST = 64 };

struct Piece {
    Segment *segment; /* NULL: the next bytes of `copied` */
    const char *data;
    size_t size;
};

void
output_done(Output *output)
{
    output_advance(output, output->size);
    buffer_done(&output->copied);
    memory_free(output->pieces);
    output->pieces = NULL;
}

static Piece *
add_piece(Output *output)
{
    if (output->piece_count == output->piece_capacity) {
        size_t capacity = output->piece_capacity == 0 ? PIECES_FIRST : 2 * output->piece_capacity;
        Piece *grown = memory_resize(output->pieces, capacity * sizeof(Piece));
        if (grown == NULL) {
            return NULL;
        }
        output->pieces = grown;
        output->piece_capacity = capacity;
    }
    assert(output->pieces != NULL);
    Piece *piece = &output->pieces[output->piece_count++];
    *piece = (Piece){.segment = NULL};
    return piece;
}

static Piece *
last_piece(const Output *output)
{
    return output->piece_count > output->piece_first ? &output->pieces[output->piece_count - 1] : NULL;
}

bool
output_copy(Output *output, const void *data, size_t size)
{
    Piece *last = last_piece(output);
    Piece *piece = last == NULL || last->segment != NULL ? add_piece(output) : last;
    buffer_append(&output->copied, data, size);
    if (piece == NULL || !buffer_is_ok(&output->copied)) {
        return false;
    }
    piece->size += size;
    output->size += size;
    return true;
}

bool
output_add(Output *output, Segment *segment, size_t size)
{
    assert(size <= segment->size - segment->sent);
    const char *data = segment->data + segment->sent;
    if (size <= COPY_SIZE_MAX) {
        segment->sent += size;
        return output_copy(output, data, size);
    }
    Piece *piece = add_piece(output);
    if (piece == NULL) {
        return false;
    }
    *piece = (Piece){.segment = segment_ref(segment), .data = data, .size = size};
    segment->sent += size;
    output->size += size;
    return true;
}

size_t
output_gather(const Output *output, struct iovec ret_vectors[OUTPUT_VECTORS_MAX])
{
    const char *copied = output->copied.data + output->copied_sent;
    size_t count = 0;
    for (size_t index = output->piece_first; index < output->piece_count && count < OUTPUT_VECTORS_MAX;
         index++) {
        const Piece *piece = &output->pieces[index];
        const char *data = piece->segment == NULL ? copied : piece->data;
        copied += piece->segment == NULL ? piece->size : 0;
        ret_vectors[count++] = (struct iovec){.iov_base = output_mutable(data), .iov_len = piece->size};
    }
    return count;
}

/* Reuses the memory of copied bytes once all have left; that comes often, since the session fills an empty
 * output only. */
static void
restart_when_empty(Output *output)
{
    if (output->size == 0) {
        buffer_clear(&output->copied);
        output->copied_sent = 0;
        output->piece_first = 0;
        output->piece_count = 0;
    }
}

void
output_advance(Output *output, size_t size)
{
    assert(size <= output->size);

    output->size -= size;
    while (size > 0) {
        Piece *piece = &output->pieces[output->piece_first];
        size_t part = size < piece->size ? size : piece->size;
        size -= part;
        piece->size -= part;
        if (piece->segment == NULL) {
            output->copied_sent += part;
        } else {
            piece->data += part;
        }
        if (piece->size > 0) {
            break;
        }
        output->piece_first++;
        if (piece->segment != NULL) {
            segment_unref(output->store, piece->segment);
        }
    }
    restart_when_empty(output);
}
