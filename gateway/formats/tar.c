#include "gateway/formats/tar.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/text.h"

/* Offsets of a header's fields, and sizes. */
enum {
    NAME_SIZE = 100,
    MODE = 100,
    SIZE = 124,
    SIZE_SIZE = 12,
    TIME = 136,
    CHECKSUM = 148,
    CHECKSUM_SIZE = 8,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_SIZE = 155,
    LARGE_NUMBER = 0x80,
    EXTENSION_SIZE_MAX = 1 << 20,
    NAME_SHOWN = 128,
};

static Slice
text_field(Slice header, size_t offset, size_t size)
{
    Slice field = slice_part(header, offset, size);
    return slice_part(field, 0, slice_find(field, '\0'));
}

/* Reads a number of more than its field's octal digits, as GNU's tar writes it: a byte 0x80, then the number,
 * its highest byte first. */
static bool
large_number(Slice field, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t index = 1; index < field.size; index++) {
        if (number >> 55 != 0) {
            return false;
        }
        number = number << 8 | (unsigned char)field.data[index];
    }
    *ret_number = number;
    return true;
}

/* Reads a field of octal digits, which may have blanks around them. */
static bool
number_field(Slice header, size_t offset, size_t size, uint64_t *ret_number)
{
    Slice field = slice_part(header, offset, size);
    if ((unsigned char)field.data[0] == LARGE_NUMBER) {
        return large_number(field, ret_number);
    }
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

/* The properties that pax's records give the next file. */
typedef struct PaxRecords {
    Slice path; /* "": they do not say */
    bool has_size;
    uint64_t size;
    bool is_sparse;
} PaxRecords;

/* Reads records "<size> <key>=<value>\n", up to the first that is none. */
static PaxRecords
read_records(Slice records)
{
    PaxRecords read = {.path = SLICE("")};
    while (records.size > 0) {
        size_t blank = slice_find(records, ' ');
        uint64_t size = 0;
        if (!slice_to_uint64(slice_part(records, 0, blank), &size) || size <= blank + 1 ||
            size > records.size) {
            return read;
        }
        Slice record = slice_part(records, blank + 1, (size_t)size - blank - 2);
        if (slice_starts_with(record, SLICE("path="))) {
            read.path = slice_part(record, 5, SIZE_MAX);
        } else if (slice_starts_with(record, SLICE("size="))) {
            read.has_size = slice_to_uint64(slice_part(record, 5, SIZE_MAX), &read.size);
        } else if (slice_starts_with(record, SLICE("GNU.sparse."))) {
            read.is_sparse = true;
        }
        records = slice_part(records, (size_t)size, SIZE_MAX);
    }
    return read;
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

/* Says what the block at `position` is that is no header. */
static Status
fail_header(Call *call, Slice block, uint64_t position)
{
    static const struct {
        Slice mark;
        const char *name;
    } programs[] = {
        {{"\x1f\x8b", 2}, "gzip"},
        {{"BZh", 3}, "bzip2"},
        {{"\xfd"
          "7zXZ",
             5},
            "xz"},
        {{"\x28\xb5\x2f\xfd", 4}, "zstd"},
    };
    for (size_t index = 0; index < COUNT_OF(programs); index++) {
        if (slice_starts_with(block, programs[index].mark)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "the archive is compressed with %s: send it unpacked", programs[index].name);
        }
    }
    if (slice_starts_with(block, SLICE("PK\x03\x04"))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the archive is a zip file: send a tar");
    }
    return position == 0
               ? call_fail(call, STATUS_INVALID_ARGUMENT, "the bytes are no tar archive")
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "the archive is damaged: there is no header at byte %llu", (unsigned long long)position);
}

/* The records that stand before a file, and the file. */
typedef struct Entry {
    Slice header;
    ByteSpan content;
} Entry;

static Status
next_entry(Call *call, TarReader *reader, const PaxRecords *records, Entry *ret_entry)
{
    uint64_t size = 0;
    Entry entry;
    ByteSpan first = byte_span_part(reader->rest, 0, TAR_BLOCK_SIZE);
    TRY(byte_span_get(call, call->arena, first, TAR_BLOCK_SIZE, "a header", &entry.header));
    if (!is_header(entry.header) || !number_field(entry.header, SIZE, SIZE_SIZE, &size)) {
        return fail_header(call, entry.header, reader->rest.offset);
    }
    size = records->has_size ? records->size : size;
    if (size > reader->rest.size - TAR_BLOCK_SIZE) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the archive is damaged: a file reaches past its end");
    }
    entry.content = byte_span_part(reader->rest, TAR_BLOCK_SIZE, size);
    uint64_t blocks = size / TAR_BLOCK_SIZE + (size % TAR_BLOCK_SIZE == 0 ? 0 : 1);
    reader->rest = byte_span_part(reader->rest, (blocks + 1) * TAR_BLOCK_SIZE, UINT64_MAX);
    *ret_entry = entry;
    return STATUS_OK;
}

static Slice
without_dot(Slice name)
{
    return slice_starts_with(name, SLICE("./")) ? slice_part(name, 2, SIZE_MAX) : name;
}

/* Reads an entry that tells of the next file. */
static Status
read_extension(Call *call, const Entry *entry, PaxRecords *records)
{
    Slice text;
    TRY(byte_span_get(call, call->arena, entry->content, EXTENSION_SIZE_MAX, "a name in the archive", &text));
    if (entry->header.data[TYPE] == 'L') {
        records->path = slice_part(text, 0, slice_find(text, '\0'));
    } else {
        *records = read_records(text);
    }
    return STATUS_OK;
}

static Status
at_end(Call *call, const TarReader *reader, bool *ret_is_end)
{
    Slice block;
    ByteSpan first = byte_span_part(reader->rest, 0, TAR_BLOCK_SIZE);
    TRY(byte_span_get(call, call->arena, first, TAR_BLOCK_SIZE, "a header", &block));
    *ret_is_end = is_end(block);
    return STATUS_OK;
}

/* Returns why a file of this type cannot be read; NULL: it can, or is none. */
static const char *
fault_of_type(char type, const PaxRecords *records)
{
    switch (type) {
    case '1':
    case '2':
        return "is a link: make the archive with 'tar --dereference --hard-dereference'";
    case 'S':
        return "is a sparse file: make the archive without --sparse";
    case 'M':
        return "goes on from another volume: make the archive without --multi-volume";
    default:
        return records->is_sparse ? "is a sparse file: make the archive without --sparse" : NULL;
    }
}

/* Reads the name of an entry, and whether it is a regular file. */
static Status
read_file(Call *call, const Entry *entry, const PaxRecords *records, TarFile *ret_file, bool *ret_is_file)
{
    Slice name;
    char type = entry->header.data[TYPE];
    const char *fault = fault_of_type(type, records);
    TRY(header_name(call, entry->header, &name));
    name = without_dot(records->path.size > 0 ? records->path : name);
    if (fault != NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the archive's '%.*s' %s",
            SLICE_PRINT(slice_part(name, 0, NAME_SHOWN)), fault);
    }
    *ret_file = (TarFile){.name = name, .content = entry->content};
    *ret_is_file = type == '0' || type == '\0' || type == '7'; /* 7: contiguous on its disk */
    return STATUS_OK;
}

Status
tar_next(Call *call, TarReader *reader, TarFile *ret_file, bool *ret_found)
{
    assert(reader != NULL && ret_file != NULL && ret_found != NULL);
    PaxRecords records = {.path = SLICE("")};
    bool is_over = false;
    *ret_found = false;
    TRY(at_end(call, reader, &is_over));
    while (!is_over && !*ret_found) {
        Entry entry = {0};
        TRY(next_entry(call, reader, &records, &entry));
        assert(entry.header.size == TAR_BLOCK_SIZE);
        char type = entry.header.data[TYPE];
        if (type == 'L' || type == 'x') {
            TRY(read_extension(call, &entry, &records));
        } else if (type != 'K') { /* the long name of what a link names */
            TRY(read_file(call, &entry, &records, ret_file, ret_found));
            records = (PaxRecords){.path = SLICE("")};
        }
        TRY(*ret_found ? STATUS_OK : at_end(call, reader, &is_over));
    }
    return STATUS_OK;
}

static void
write_size(char *field, uint64_t size)
{
    if (size >> 33 == 0) {
        (void)snprintf(field, SIZE_SIZE, "%011llo", (unsigned long long)size);
        return;
    }
    memset(field, 0, SIZE_SIZE);
    field[0] = (char)LARGE_NUMBER;
    for (int index = 1; index <= 8; index++) {
        field[SIZE_SIZE - index] = (char)(size >> 8 * (index - 1));
    }
}

void
tar_set_size(char header[TAR_BLOCK_SIZE], uint64_t size)
{
    write_size(header + SIZE, size);
    uint64_t sum = header_sum(slice_of(header, TAR_BLOCK_SIZE));
    (void)snprintf(header + CHECKSUM, CHECKSUM_SIZE, "%06llo", (unsigned long long)sum);
}

/* Writes a header; of a long name as much as it has room for. */
static void
write_header(Slice name, char type, uint64_t size, char ret_header[TAR_BLOCK_SIZE])
{
    Slice shown = slice_part(name, 0, NAME_SIZE);
    memset(ret_header, 0, TAR_BLOCK_SIZE);
    memcpy(ret_header, shown.data, shown.size); /* a name of full length has no NUL */
    /* The fields are mode, owner and group. */
    (void)snprintf(ret_header + MODE, 25, "0000644%c0000000%c0000000", '\0', '\0');
    (void)snprintf(ret_header + TIME, SIZE_SIZE, "00000000000");
    ret_header[TYPE] = type;
    (void)snprintf(ret_header + MAGIC, 9, "ustar%c00", '\0');
    tar_set_size(ret_header, size);
}

bool
tar_header(Slice name, uint64_t size, char ret_header[TAR_BLOCK_SIZE])
{
    if (name.size > NAME_SIZE) {
        return false;
    }
    write_header(name, '0', size, ret_header);
    return true;
}

void
tar_append_header(Buffer *archive, Slice name, uint64_t size)
{
    static const char zeros[TAR_BLOCK_SIZE];
    char header[TAR_BLOCK_SIZE];
    if (name.size > NAME_SIZE) {
        write_header(SLICE("././@LongLink"), 'L', name.size + 1, header);
        buffer_append(archive, header, sizeof header);
        buffer_append_slice(archive, name);
        buffer_append(archive, zeros, TAR_BLOCK_SIZE - name.size % TAR_BLOCK_SIZE);
    }
    write_header(name, '0', size, header);
    buffer_append(archive, header, sizeof header);
}
