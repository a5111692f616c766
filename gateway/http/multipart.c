/* A delimiter is CRLF "--" boundary, and a carriage return stands in it only at its beginning. Therefore
 * bytes that might begin a delimiter need not be kept: they are a prefix of the delimiter, and when the
 * next byte does not match, none of them but the first can begin another one. */
#include "gateway/http/multipart.h"

#include "gateway/http/multipart_header.h"

typedef enum Phase {
    PHASE_START,     /* the first delimiter, which has no CRLF before it */
    PHASE_DELIMITER, /* behind a delimiter: CRLF or "--" */
    PHASE_HEADER,
    PHASE_DATA,
    PHASE_EPILOGUE, /* behind the last delimiter: CRLF or nothing */
} Phase;

struct Multipart {
    MultipartOptions options;
    Phase phase;
    char delimiter[4 + MULTIPART_BOUNDARY_SIZE_MAX];
    size_t delimiter_size;
    size_t matched; /* bytes matched of the delimiter or of CRLF */
    size_t part_count;
    uint64_t position; /* offset of the next byte in the body */
    size_t header_size;
    size_t line_start;
    char header[MULTIPART_HEADER_SIZE_MAX];
};

static Status
fail_here(Call *call, const Multipart *multipart, const char *what)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT, "the multipart body: byte %llu, part %zu: %s",
        (unsigned long long)multipart->position, multipart->part_count, what);
}

static Slice
take_bytes(Multipart *multipart, Slice *piece, size_t size)
{
    Slice taken = slice_part(*piece, 0, size);
    *piece = slice_part(*piece, size, piece->size);
    multipart->position += size;
    return taken;
}

static Status
part_begin(Call *call, Multipart *multipart)
{
    if (multipart->part_count == multipart->options.part_count_max) {
        return call_fail(call, STATUS_OUT_OF_RANGE,
            "the multipart body has more than %zu parts: the limit %s", multipart->options.part_count_max,
            multipart->options.part_limit);
    }
    multipart->part_count++;
    multipart->header_size = 0;
    multipart->line_start = 0;
    multipart->phase = PHASE_HEADER;
    return STATUS_OK;
}

/* Reads the two bytes behind a delimiter: CRLF begins a part, "--" ends the body. */
static Status
delimiter_take(Call *call, Multipart *multipart, Slice *piece)
{
    const char *expected = multipart->matched == 0 ? "\r-" : multipart->header[0] == '\r' ? "\n\n" : "--";
    char byte = piece->data[0];
    if (byte != expected[0] && byte != expected[1]) {
        return fail_here(call, multipart, "behind a boundary stands neither a line end nor '--'");
    }
    (void)take_bytes(multipart, piece, 1);
    multipart->header[multipart->matched++] = byte;
    if (multipart->matched < 2) {
        return STATUS_OK;
    }
    multipart->matched = 0;
    if (byte == '\n') {
        return part_begin(call, multipart);
    }
    multipart->phase = PHASE_EPILOGUE;
    return STATUS_OK;
}

static Status
epilogue_take(Call *call, Multipart *multipart, Slice *piece)
{
    if (multipart->matched == 2 || piece->data[0] != "\r\n"[multipart->matched]) {
        return fail_here(call, multipart, "something follows the closing boundary");
    }
    (void)take_bytes(multipart, piece, 1);
    multipart->matched++;
    return STATUS_OK;
}

static Status
headers_end(Call *call, Multipart *multipart)
{
    MultipartPart part = {0};
    Slice lines = slice_of(multipart->header, multipart->line_start);
    const char *fault = multipart_header_read(call->arena, lines, &part);
    if (fault != NULL) {
        return fail_here(call, multipart, fault);
    }
    multipart->phase = PHASE_DATA;
    multipart->matched = 0;
    return multipart->options.events->on_part(call, multipart->options.context, &part);
}

static Status
header_take(Call *call, Multipart *multipart, Slice *piece)
{
    size_t end = slice_find(*piece, '\n');
    size_t size = end < piece->size ? end + 1 : end;
    if (size > sizeof multipart->header - multipart->header_size) {
        return call_fail(call, STATUS_OUT_OF_RANGE,
            "the multipart body: part %zu has more than %d bytes of headers", multipart->part_count,
            MULTIPART_HEADER_SIZE_MAX);
    }
    Slice taken = take_bytes(multipart, piece, size);
    memcpy(multipart->header + multipart->header_size, taken.data, taken.size);
    multipart->header_size += taken.size;
    if (end == size) {
        return STATUS_OK; /* the line is not complete yet */
    }
    Slice line =
        slice_of(multipart->header + multipart->line_start, multipart->header_size - multipart->line_start);
    if (!slice_ends_with(line, SLICE("\r\n"))) {
        return fail_here(call, multipart, "a header line ends without a carriage return");
    }
    if (line.size == 2) {
        return headers_end(call, multipart);
    }
    multipart->line_start = multipart->header_size;
    return STATUS_OK;
}

static Status
data_emit(Call *call, const Multipart *multipart, Slice bytes)
{
    return bytes.size == 0 ? STATUS_OK
                           : multipart->options.events->on_data(call, multipart->options.context, bytes);
}

/* Takes the bytes of the piece that continue the delimiter. */
static void
delimiter_match(Multipart *multipart, Slice *piece)
{
    size_t size = 0;
    while (size < piece->size && multipart->matched < multipart->delimiter_size &&
           piece->data[size] == multipart->delimiter[multipart->matched]) {
        size++;
        multipart->matched++;
    }
    (void)take_bytes(multipart, piece, size);
}

/* Returns how many bytes of the piece come before any byte that may begin a delimiter. */
static size_t
plain_size(const Multipart *multipart, Slice piece)
{
    const char *found = memmem(piece.data, piece.size, multipart->delimiter, multipart->delimiter_size);
    if (found != NULL) {
        return (size_t)(found - piece.data);
    }
    size_t tail_size =
        piece.size < multipart->delimiter_size - 1 ? piece.size : multipart->delimiter_size - 1;
    Slice tail = slice_part(piece, piece.size - tail_size, tail_size);
    size_t start = slice_find_last(tail, '\r');
    Slice rest = slice_part(tail, start, tail.size);
    return memcmp(rest.data, multipart->delimiter, rest.size) == 0 ? piece.size - rest.size : piece.size;
}

static Status
data_take(Call *call, Multipart *multipart, Slice *piece)
{
    if (multipart->matched == 0) {
        TRY(data_emit(call, multipart, take_bytes(multipart, piece, plain_size(multipart, *piece))));
    }
    delimiter_match(multipart, piece);
    if (multipart->matched == multipart->delimiter_size) {
        multipart->matched = 0;
        multipart->phase = PHASE_DELIMITER;
        return multipart->options.events->on_part_end(call, multipart->options.context);
    }
    if (piece->size > 0) {
        Slice held = slice_of(multipart->delimiter, multipart->matched);
        multipart->matched = 0;
        return data_emit(call, multipart, held);
    }
    return STATUS_OK;
}

static Status
start_take(Call *call, Multipart *multipart, Slice *piece)
{
    delimiter_match(multipart, piece);
    if (multipart->matched == multipart->delimiter_size) {
        multipart->matched = 0;
        multipart->phase = PHASE_DELIMITER;
    } else if (piece->size > 0) {
        return fail_here(call, multipart, "the body does not begin with the boundary");
    }
    return STATUS_OK;
}

Status
multipart_new(Call *call, const MultipartOptions *options, Multipart **ret_multipart)
{
    Multipart *multipart = arena_alloc(call->arena, sizeof *multipart);
    if (multipart == NULL) {
        return call_fail_memory(call, "a multipart body");
    }
    multipart->options = *options;
    multipart->delimiter_size = 4 + options->boundary.size;
    memcpy(multipart->delimiter, "\r\n--", 4);
    memcpy(multipart->delimiter + 4, options->boundary.data, options->boundary.size);
    multipart->matched = 2;
    *ret_multipart = multipart;
    return STATUS_OK;
}

Status
multipart_write(Call *call, Multipart *multipart, Slice piece)
{
    static Status (*const phases[])(Call *, Multipart *, Slice *) = {
        [PHASE_START] = start_take,
        [PHASE_DELIMITER] = delimiter_take,
        [PHASE_HEADER] = header_take,
        [PHASE_DATA] = data_take,
        [PHASE_EPILOGUE] = epilogue_take,
    };
    while (piece.size > 0) {
        TRY(phases[multipart->phase](call, multipart, &piece));
    }
    return STATUS_OK;
}

uint64_t
multipart_position(const Multipart *multipart)
{
    return multipart->position;
}

Status
multipart_end(Call *call, const Multipart *multipart)
{
    bool is_whole = multipart->phase == PHASE_EPILOGUE && multipart->matched != 1;
    return is_whole ? STATUS_OK : fail_here(call, multipart, "the body ends before its closing boundary");
}
