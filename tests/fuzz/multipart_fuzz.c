/* Fuzzes a form's body with the boundary "b", whole and byte by byte: both read the same. */
#include <assert.h>

#include "gateway/http/multipart.h"
#include "shared/base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Status
on_part(Call *call, void *context, const MultipartPart *part)
{
    (void)call;
    assert(part->name.size > 0);
    buffer_append_format(context, "[%.*s|%.*s]", SLICE_PRINT(part->name), SLICE_PRINT(part->media_type));
    return STATUS_OK;
}

static Status
on_data(Call *call, void *context, Slice piece)
{
    (void)call;
    assert(piece.size > 0);
    buffer_append_slice(context, piece);
    return STATUS_OK;
}

static Status
on_part_end(Call *call, void *context)
{
    (void)call;
    buffer_append_byte(context, ';');
    return STATUS_OK;
}

static Status
read_pieces(Call *call, Slice body, size_t piece_size, Buffer *ret_notes)
{
    static const MultipartEvents events = {
        .on_part = on_part, .on_data = on_data, .on_part_end = on_part_end};
    MultipartOptions options = {
        .boundary = SLICE("b"),
        .part_count_max = 4,
        .part_limit = "parts",
        .events = &events,
        .context = ret_notes,
    };
    Multipart *multipart = NULL;
    TRY(multipart_new(call, &options, &multipart));
    for (size_t start = 0; start < body.size; start += piece_size) {
        TRY(multipart_write(call, multipart, slice_part(body, start, piece_size)));
    }
    return multipart_end(call, multipart);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    AUTO_BUFFER whole = {0};
    AUTO_BUFFER bytes = {0};
    Call call = {.arena = arena};
    Slice body = slice_of(data, size);
    Status at_once = read_pieces(&call, body, size + 1, &whole);
    Status in_bytes = read_pieces(&call, body, 1, &bytes);
    assert(at_once == in_bytes);
    assert(slice_equal(buffer_slice(&whole), buffer_slice(&bytes)));
    Slice boundary;
    if (multipart_boundary(&call, body, &boundary) == STATUS_OK) {
        assert(boundary.size > 0 && boundary.size <= MULTIPART_BOUNDARY_SIZE_MAX);
    }
    return 0;
}
