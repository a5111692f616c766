#include "gateway/formats/tar.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/text.h"

/* Offsets of a header's fields. */
enum {
    NAME_SIZE = 100,
    MODE = 100,
    SIZE = 124,
    SIZE_SIZE = 12,
    CHECKSUM = 148,
    CHECKSUM_SIZE = 8,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_SIZE = 155,
};

static Slice
text_field(Slice header, size_t offset, size_t size)
{
    Slice field = slice_part(header, offset, size);
    return slice_part(field, 0, slice_find(field, '\0'));
}

/* Reads a field of octal digits, which may have blanks around them. */
static bool
number_field(Slice header, size_t offset, size_t size, uint64_t *ret_number)
{
    Slice text = slice_trim(text_field(header, offset, size));
    uint64_t number = 0;
    for (size_t index = 0; index < text.size; index++) {
        if (text.data[index] < '0' || text.data[index] > '7' || number >> 60 != 0) {
            return false;
        }
        number = number * 8 + (uint64_t)(text.data[index] - '0');
    }
    *ret_number = number;
    return true;
}

/* Returns the sum of all bytes, in which those of the sum itself count as blanks. */
static uint64_t
header_sum(Slice header)
{
    uint64_t sum = 0;
    for (size_t index = 0; index < TAR_BLOCK_SIZE; index++) {
        bool is_sum = index >= CHECKSUM && index < CHECKSUM + CHECKSUM_SIZE;
        sum += is_sum ? ' ' : (unsigned char)header.data[index];
    }
    return sum;
}

static bool
is_header(Slice header)
{
    uint64_t sum = 0;
    return header.size == TAR_BLOCK_SIZE && slice_equals_string(slice_part(header, MAGIC, 5), "ustar") &&
           number_field(header, CHECKSUM, CHECKSUM_SIZE, &sum) && sum == header_sum(header);
}

bool
tar_is(Slice bytes)
{
    return is_header(slice_part(bytes, 0, TAR_BLOCK_SIZE));
}

static bool
is_end(Slice header)
{
    for (size_t index = 0; index < header.size; index++) {
        if (header.data[index] != '\0') {
            return false;
        }
    }
    return true;
}

/* Takes "path" from pax's records "<size> <key>=<value>
 * "; without one *name is unchanged. */
static void
pax_path(Slice records, Slice *name)
{
    while (records.size > 0) {
        size_t blank = slice_find(records, ' ');
        uint64_t size = 0;
        if (!slice_to_uint64(slice_part(records, 0, blank), &size) || size <= blank + 1 ||
            size > records.size) {
            return;
        }
        Slice record = slice_part(records, blank + 1, (size_t)size - blank - 2);
        if (slice_starts_with(record, SLICE("path="))) {
            *name = slice_part(record, 5, SIZE_MAX);
        }
        records = slice_part(records, (size_t)size, SIZE_MAX);
    }
}

static Status
header_name(Call *call, Slice header, Slice *ret_name)
{
    Slice name = text_field(header, 0, NAME_SIZE);
    Slice prefix = text_field(header, PREFIX, PREFIX_SIZE);
    *ret_name = name;
    if (prefix.size == 0) {
        return STATUS_OK;
    }
    const char *text = text_format(call->arena, "%.*s/%.*s", SLICE_PRINT(prefix), SLICE_PRINT(name));
    *ret_name = slice_from_string(text);
    return text == NULL ? call_fail_memory(call, "an archive's names") : STATUS_OK;
}

static Status
next_entry(Call *call, TarReader *reader, Slice *ret_header, Slice *ret_content)
{
    uint64_t size = 0;
    Slice header = slice_part(reader->rest, 0, TAR_BLOCK_SIZE);
    if (!is_header(header) || !number_field(header, SIZE, SIZE_SIZE, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the archive is damaged: a header is none");
    }
    if (size > reader->rest.size - TAR_BLOCK_SIZE) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the archive is damaged: a file reaches past its end");
    }
    *ret_header = header;
    *ret_content = slice_part(reader->rest, TAR_BLOCK_SIZE, (size_t)size);
    size_t blocks = ((size_t)size + TAR_BLOCK_SIZE - 1) / TAR_BLOCK_SIZE;
    reader->rest = slice_part(reader->rest, (blocks + 1) * TAR_BLOCK_SIZE, SIZE_MAX);
    return STATUS_OK;
}

static Slice
without_dot(Slice name)
{
    return slice_starts_with(name, SLICE("./")) ? slice_part(name, 2, SIZE_MAX) : name;
}

Status
tar_next(Call *call, TarReader *reader, TarFile *ret_file, bool *ret_found)
{
    assert(reader != NULL && ret_file != NULL && ret_found != NULL);
    Slice long_name = {.size = 0};
    *ret_found = false;
    while (!is_end(slice_part(reader->rest, 0, TAR_BLOCK_SIZE))) {
        Slice header;
        TarFile file;
        TRY(next_entry(call, reader, &header, &file.content));
        char type = header.data[TYPE];
        if (type == 'L') {
            long_name = slice_part(file.content, 0, slice_find(file.content, '\0'));
        } else if (type == 'x') {
            pax_path(file.content, &long_name);
        } else if (type == '0' || type == '\0') {
            TRY(header_name(call, header, &file.name));
            file.name = without_dot(long_name.size > 0 ? long_name : file.name);
            *ret_file = file;
            *ret_found = true;
            return STATUS_OK;
        } else {
            long_name.size = 0;
        }
    }
    return STATUS_OK;
}

bool
tar_header(Slice name, uint64_t size, char ret_header[TAR_BLOCK_SIZE])
{
    if (name.size > NAME_SIZE) {
        return false;
    }
    memset(ret_header, 0, TAR_BLOCK_SIZE);
    memcpy(ret_header, name.data, name.size); /* a name of full length has no NUL */
    /* The fields are mode, owner and group; then size and time. */
    (void)snprintf(ret_header + MODE, 25, "0000644%c0000000%c0000000", '\0', '\0');
    (void)snprintf(ret_header + SIZE, 25, "%011llo%c00000000000", (unsigned long long)size, '\0');
    ret_header[TYPE] = '0';
    (void)snprintf(ret_header + MAGIC, 9, "ustar%c00", '\0');
    uint64_t sum = header_sum(slice_of(ret_header, TAR_BLOCK_SIZE));
    (void)snprintf(ret_header + CHECKSUM, CHECKSUM_SIZE, "%06llo", (unsigned long long)sum);
    return size >> 33 == 0;
}
