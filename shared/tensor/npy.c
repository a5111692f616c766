#include "shared/tensor/npy.h"

#include <assert.h>

/* The parts of a file: magic, version (major, minor), header size (u16, or u32 from version 2 on), header,
 * elements. */
enum { MAGIC_SIZE = 6, VERSION_SIZE = 2, PREAMBLE_SIZE = 10, HEADER_ALIGNMENT = 64, HEADER_SIZE_MAX = 65535 };
static const char magic[MAGIC_SIZE] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

typedef struct Header {
    Slice descr;
    bool has_order;
    bool is_fortran;
    bool has_shape;
    Shape shape;
} Header;

static void
space_skip(Slice *text)
{
    while (text->size > 0 && (text->data[0] == ' ' || text->data[0] == '\n')) {
        *text = slice_part(*text, 1, text->size);
    }
}

static bool
token_take(Slice *text, const char *token)
{
    space_skip(text);
    Slice expected = slice_from_string(token);
    if (!slice_starts_with(*text, expected)) {
        return false;
    }
    *text = slice_part(*text, expected.size, text->size);
    return true;
}

static bool
quoted_take(Slice *text, Slice *ret_content)
{
    space_skip(text);
    if (text->size == 0 || (text->data[0] != '\'' && text->data[0] != '"')) {
        return false;
    }
    Slice behind = slice_part(*text, 1, text->size);
    size_t end = slice_find(behind, text->data[0]);
    if (end == behind.size) {
        return false;
    }
    *ret_content = slice_part(behind, 0, end);
    *text = slice_part(behind, end + 1, behind.size);
    return true;
}

/* Takes a dimension: "3", or "3L" as Python 2 wrote it. */
static bool
dim_take(Slice *text, int64_t *ret_dim)
{
    space_skip(text);
    size_t size = 0;
    while (size < text->size && text->data[size] >= '0' && text->data[size] <= '9') {
        size++;
    }
    if (!slice_to_int64(slice_part(*text, 0, size), ret_dim)) {
        return false;
    }
    *text = slice_part(*text, size, text->size);
    (void)token_take(text, "L");
    return true;
}

/* Takes a shape: "()", "(3,)", "(3, 4)". */
static bool
shape_take(Slice *text, Shape *ret_shape)
{
    Shape shape = shape_scalar();
    if (!token_take(text, "(")) {
        return false;
    }
    while (!token_take(text, ")")) {
        if (shape.rank == SHAPE_RANK_MAX || !dim_take(text, &shape.dims[shape.rank])) {
            return false;
        }
        shape.rank++;
        if (!token_take(text, ",")) {
            *ret_shape = shape;
            return shape.rank > 1 && token_take(text, ")");
        }
    }
    *ret_shape = shape;
    return true;
}

static Status
descr_take(Call *call, Slice *text, Header *header)
{
    space_skip(text);
    if (text->size > 0 && text->data[0] == '[') {
        return call_fail(call, STATUS_UNIMPLEMENTED, "a .npy file of records is not supported");
    }
    if (header->descr.data != NULL || !quoted_take(text, &header->descr)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the .npy header's 'descr' is not one string");
    }
    return STATUS_OK;
}

static Status
order_take(Call *call, Slice *text, Header *header)
{
    header->is_fortran = token_take(text, "True");
    if (header->has_order || (!header->is_fortran && !token_take(text, "False"))) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the .npy header's 'fortran_order' is not one True or False");
    }
    header->has_order = true;
    return STATUS_OK;
}

static Status
header_shape_take(Call *call, Slice *text, Header *header)
{
    if (header->has_shape || !shape_take(text, &header->shape)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the .npy header's 'shape' is not one tuple of at most %d sizes", SHAPE_RANK_MAX);
    }
    header->has_shape = true;
    return STATUS_OK;
}

static const struct {
    const char *name;
    Status (*take)(Call *call, Slice *text, Header *header);
} entries[] = {{"descr", descr_take}, {"fortran_order", order_take}, {"shape", header_shape_take}};

static Status
entry_take(Call *call, Slice *text, Header *header)
{
    Slice name = {0};
    if (!quoted_take(text, &name) || !token_take(text, ":")) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the .npy header is no dictionary");
    }
    for (size_t index = 0; index < COUNT_OF(entries); index++) {
        if (slice_equals_string(name, entries[index].name)) {
            return entries[index].take(call, text, header);
        }
    }
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "the .npy header has an unknown entry '%.*s'", SLICE_PRINT(name));
}

static Status
header_parse(Call *call, Slice text, Header *ret_header)
{
    Header header = {0};
    bool is_open = token_take(&text, "{");
    while (is_open && !token_take(&text, "}")) {
        TRY(entry_take(call, &text, &header));
        bool has_comma = token_take(&text, ",");
        space_skip(&text);
        is_open = has_comma || (text.size > 0 && text.data[0] == '}');
    }
    space_skip(&text);
    if (!is_open || text.size > 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the .npy header is no dictionary");
    }
    if (header.descr.data == NULL || !header.has_order || !header.has_shape) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the .npy header lacks one of 'descr', 'fortran_order', 'shape'");
    }
    *ret_header = header;
    return STATUS_OK;
}

/* Finds the sizes of the preamble and of the dictionary behind it; `bytes` has at least the preamble. */
static Status
header_measure(Call *call, Slice bytes, size_t *ret_start, size_t *ret_size)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    if (bytes.size < PREAMBLE_SIZE || memcmp(data, magic, MAGIC_SIZE) != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the bytes are no .npy file: the magic is missing");
    }
    unsigned version = data[MAGIC_SIZE];
    if (version < 1 || version > 3) {
        return call_fail(
            call, STATUS_UNIMPLEMENTED, "version %u of .npy files is not supported, 1 to 3 are", version);
    }
    size_t size_start = MAGIC_SIZE + VERSION_SIZE;
    size_t size_size = version == 1 ? 2 : 4;
    size_t header_size = 0;
    for (size_t index = 0; index < size_size && size_start + index < bytes.size; index++) {
        header_size |= (size_t)data[size_start + index] << (8 * index);
    }
    *ret_start = size_start + size_size;
    *ret_size = header_size;
    return STATUS_OK;
}

static Status
header_check(Call *call, size_t header_size)
{
    return header_size <= HEADER_SIZE_MAX
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "the .npy header has %zu bytes, at most %d are allowed", header_size, HEADER_SIZE_MAX);
}

static Status
fail_cut(Call *call, size_t header_size)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT, "the .npy header of %zu bytes is cut", header_size);
}

/* Splits the file into the header's dictionary and the elements. */
static Status
file_split(Call *call, Slice bytes, Slice *ret_header, Slice *ret_elements)
{
    size_t start = 0;
    size_t header_size = 0;
    TRY(header_measure(call, bytes, &start, &header_size));
    if (bytes.size < start || header_size > bytes.size - start) {
        return fail_cut(call, header_size);
    }
    TRY(header_check(call, header_size));
    *ret_header = slice_part(bytes, start, header_size);
    *ret_elements = slice_part(bytes, start + header_size, bytes.size);
    return STATUS_OK;
}

/* Copies elements in Fortran order, where the first index runs fastest, in the order of the target. */
static void
fortran_turn(const Shape *shape, size_t element_size, const char *source, char *target, size_t size)
{
    size_t strides[SHAPE_RANK_MAX] = {0};
    int64_t indexes[SHAPE_RANK_MAX] = {0};
    size_t stride = element_size;
    for (int axis = 0; axis < shape->rank; axis++) {
        strides[axis] = stride;
        stride *= (size_t)shape->dims[axis];
    }
    size_t offset = 0;
    for (size_t done = 0; done < size; done += element_size) {
        memcpy(target + done, source + offset, element_size);
        int axis = shape->rank - 1;
        offset += axis < 0 ? 0 : strides[axis];
        while (axis > 0 && ++indexes[axis] == shape->dims[axis]) {
            offset -= strides[axis] * (size_t)shape->dims[axis];
            indexes[axis] = 0;
            axis--;
            offset += strides[axis];
        }
    }
}

/* The elements as the header's dictionary describes them. */
typedef struct Elements {
    Dtype dtype;
    const Shape *shape;
    size_t size; /* bytes */
} Elements;

static Status
elements_measure(Call *call, const Header *header, size_t byte_size_max, Elements *ret_elements)
{
    char text[SHAPE_TEXT_SIZE];
    size_t size = 0;
    Dtype dtype = dtype_from_npy(header->descr);
    if (dtype == DTYPE_INVALID) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "the .npy type '%.*s' is not supported",
            SLICE_PRINT(slice_part(header->descr, 0, 32)));
    }
    if (!shape_byte_size(&header->shape, dtype, &size) || size > byte_size_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the .npy file's shape %s of %s has more than %zu bytes", shape_text(&header->shape, text),
            dtype_name(dtype), byte_size_max);
    }
    *ret_elements = (Elements){.dtype = dtype, .shape = &header->shape, .size = size};
    return STATUS_OK;
}

/* Refuses elements that are fewer or more than the shape has. */
static Status
fail_size(Call *call, const Elements *elements, size_t available, const char *more)
{
    char text[SHAPE_TEXT_SIZE];
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "the .npy file has %zu%s bytes of elements, but shape %s of %s has %zu", available, more,
        shape_text(elements->shape, text), dtype_name(elements->dtype), elements->size);
}

static Status
elements_check(Call *call, const Tensor *tensor)
{
    return tensor_is_valid(tensor)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "a bool of the .npy file is neither 0 nor 1");
}

Status
npy_read(Call *call, Slice bytes, size_t byte_size_max, Tensor *ret_tensor)
{
    assert(ret_tensor != NULL);
    Slice header_text = {0};
    Slice data = {0};
    Header header = {0};
    Elements elements = {0};
    AUTO_TENSOR tensor = {0};
    TRY(file_split(call, bytes, &header_text, &data));
    TRY(header_parse(call, header_text, &header));
    TRY(elements_measure(call, &header, byte_size_max, &elements));
    if (elements.size != data.size) {
        return fail_size(call, &elements, data.size, "");
    }
    if (!tensor_new(elements.dtype, &header.shape, &tensor)) {
        return call_fail_memory(call, "a .npy file's elements");
    }
    if (header.is_fortran) {
        fortran_turn(&header.shape, dtype_size(tensor.dtype), data.data, tensor.data, data.size);
    } else if (data.size > 0) {
        memcpy(tensor.data, data.data, data.size);
    }
    TRY(elements_check(call, &tensor));
    *ret_tensor = tensor_ref(&tensor);
    return STATUS_OK;
}

/* Finds how many bytes the header lacks, as far as is known yet; 0 when it is complete. */
static Status
header_missing(Call *call, Slice bytes, size_t *ret_missing)
{
    size_t start = PREAMBLE_SIZE;
    size_t size = 0;
    if (bytes.size >= PREAMBLE_SIZE) {
        TRY(header_measure(call, bytes, &start, &size));
    }
    if (bytes.size < start) {
        *ret_missing = start - bytes.size;
        return STATUS_OK;
    }
    TRY(header_check(call, size));
    *ret_missing = start + size - bytes.size;
    return STATUS_OK;
}

static Status
head_finish(Call *call, NpyHead *head, size_t byte_size_max)
{
    Slice text = {0};
    Slice nothing = {0};
    Header header = {0};
    Elements elements = {0};
    TRY(file_split(call, buffer_slice(&head->bytes), &text, &nothing));
    TRY(header_parse(call, text, &header));
    TRY(elements_measure(call, &header, byte_size_max, &elements));
    head->described = (Tensor){.dtype = elements.dtype, .shape = header.shape};
    head->is_fortran = header.is_fortran;
    return STATUS_OK;
}

Status
npy_head_write(Call *call, NpyHead *head, Slice *piece, size_t byte_size_max)
{
    size_t missing = 0;
    if (head->described.dtype != DTYPE_INVALID) {
        return STATUS_OK;
    }
    TRY(header_missing(call, buffer_slice(&head->bytes), &missing));
    while (missing > 0 && piece->size > 0) {
        Slice taken = slice_part(*piece, 0, missing);
        *piece = slice_part(*piece, taken.size, piece->size);
        buffer_append_slice(&head->bytes, taken);
        if (!buffer_is_ok(&head->bytes)) {
            return call_fail_memory(call, "a .npy header");
        }
        TRY(header_missing(call, buffer_slice(&head->bytes), &missing));
    }
    return missing > 0 ? STATUS_OK : head_finish(call, head, byte_size_max);
}

Status
npy_head_end(Call *call, const NpyHead *head)
{
    size_t start = 0;
    size_t size = 0;
    if (head->described.dtype != DTYPE_INVALID) {
        return STATUS_OK;
    }
    TRY(header_measure(call, buffer_slice(&head->bytes), &start, &size));
    return fail_cut(call, size);
}

void
npy_head_done(NpyHead *head)
{
    buffer_done(&head->bytes);
    *head = (NpyHead){0};
}

static Elements
elements_of(const NpyHead *head)
{
    size_t size = tensor_byte_size(&head->described);
    return (Elements){.dtype = head->described.dtype, .shape = &head->described.shape, .size = size};
}

/* Checks that a piece behind `count` bytes of elements is not too much. */
static Status
check_room(Call *call, const NpyHead *head, size_t count, size_t piece_size)
{
    Elements expected = elements_of(head);
    return piece_size <= expected.size - count ? STATUS_OK
                                               : fail_size(call, &expected, count + piece_size, " or more");
}

static Status
check_whole(Call *call, const NpyHead *head, size_t count)
{
    TRY(npy_head_end(call, head));
    Elements expected = elements_of(head);
    return count == expected.size ? STATUS_OK : fail_size(call, &expected, count, "");
}

void
npy_reader_done(NpyReader *reader)
{
    npy_head_done(&reader->head);
    tensor_unref(&reader->tensor);
    *reader = (NpyReader){0};
}

/* Takes the header's bytes from the piece, and makes the tensor when the header is complete. */
static Status
reader_take_head(Call *call, NpyReader *reader, Slice *piece, size_t byte_size_max)
{
    const Tensor *described = &reader->head.described;
    TRY(npy_head_write(call, &reader->head, piece, byte_size_max));
    if (described->dtype != DTYPE_INVALID && reader->tensor.dtype == DTYPE_INVALID &&
        !tensor_new(described->dtype, &described->shape, &reader->tensor)) {
        return call_fail_memory(call, "a .npy file's elements");
    }
    return STATUS_OK;
}

Status
npy_reader_write(Call *call, NpyReader *reader, Slice piece, size_t byte_size_max)
{
    assert(reader != NULL);
    TRY(reader_take_head(call, reader, &piece, byte_size_max));
    if (piece.size == 0) {
        return STATUS_OK;
    }
    TRY(check_room(call, &reader->head, reader->filled, piece.size));
    memcpy((char *)reader->tensor.data + reader->filled, piece.data, piece.size);
    reader->filled += piece.size;
    return STATUS_OK;
}

static Status
reader_turn(Call *call, NpyReader *reader)
{
    Tensor turned = {0};
    if (!tensor_new(reader->tensor.dtype, &reader->tensor.shape, &turned)) {
        return call_fail_memory(call, "a .npy file's elements");
    }
    fortran_turn(&turned.shape, dtype_size(turned.dtype), reader->tensor.data, turned.data, reader->filled);
    tensor_unref(&reader->tensor);
    reader->tensor = turned;
    return STATUS_OK;
}

Status
npy_reader_end(Call *call, NpyReader *reader, Tensor *ret_tensor)
{
    TRY(check_whole(call, &reader->head, reader->filled));
    if (reader->head.is_fortran) {
        TRY(reader_turn(call, reader));
    }
    TRY(elements_check(call, &reader->tensor));
    *ret_tensor = tensor_ref(&reader->tensor);
    npy_reader_done(reader);
    return STATUS_OK;
}

void
npy_check_done(NpyCheck *check)
{
    npy_head_done(&check->head);
    *check = (NpyCheck){0};
}

Status
npy_check_write(Call *call, NpyCheck *check, Slice piece, size_t byte_size_max)
{
    TRY(npy_head_write(call, &check->head, &piece, byte_size_max));
    if (piece.size == 0) {
        return STATUS_OK;
    }
    TRY(check_room(call, &check->head, check->seen, piece.size));
    Tensor elements = {.dtype = check->head.described.dtype, .shape = shape_vector((int64_t)piece.size)};
    elements.data = without_const(piece.data); /* only read */
    check->seen += piece.size;
    return elements.dtype == DTYPE_BOOL ? elements_check(call, &elements) : STATUS_OK;
}

Status
npy_check_end(Call *call, const NpyCheck *check)
{
    return check_whole(call, &check->head, check->seen);
}

Status
npy_write_header(Call *call, const Tensor *tensor, Buffer *buffer)
{
    assert(tensor->shape.rank >= 0 && tensor->shape.rank <= SHAPE_RANK_MAX);
    const char *descr = dtype_npy(tensor->dtype);
    if (*descr == '\0') {
        return call_fail(
            call, STATUS_UNIMPLEMENTED, "a .npy file cannot hold %s elements", dtype_name(tensor->dtype));
    }
    size_t start = buffer->size;
    buffer_append(buffer, magic, sizeof magic);
    buffer_append(buffer, "\x01\x00\x00\x00", 4);
    buffer_append_format(buffer, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int axis = 0; axis < tensor->shape.rank; axis++) {
        buffer_append_format(buffer, axis == 0 ? "%ld," : " %ld,", (long)tensor->shape.dims[axis]);
    }
    /* A tuple of one dimension keeps its comma; a longer one loses the last. */
    buffer->size -= tensor->shape.rank > 1 && buffer_is_ok(buffer) ? 1 : 0;
    buffer_append_string(buffer, "), }");
    while (buffer_is_ok(buffer) && (buffer->size - start) % HEADER_ALIGNMENT != HEADER_ALIGNMENT - 1) {
        buffer_append_byte(buffer, ' ');
    }
    buffer_append_byte(buffer, '\n');
    if (!buffer_is_ok(buffer)) {
        return call_fail_memory(call, "a .npy header");
    }
    size_t header_size = buffer->size - start - PREAMBLE_SIZE;
    buffer->data[start + PREAMBLE_SIZE - 2] = (char)(header_size & 0xff);
    buffer->data[start + PREAMBLE_SIZE - 1] = (char)(header_size >> 8 & 0xff);
    return STATUS_OK;
}
