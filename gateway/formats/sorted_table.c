#include "gateway/formats/sorted_table.h"

#include <assert.h>

#include "shared/base/crc32c.h"
#include "shared/formats/protobuf.h"

enum { FOOTER_SIZE = 48, TRAILER_SIZE = 5, KEY_SIZE_MAX = 4096 };

static const uint64_t TABLE_MAGIC = 0xdb4775248b80fb57;

static uint32_t
read_fixed32(const char *bytes)
{
    uint32_t number = 0;
    memcpy(&number, bytes, sizeof number);
    return number;
}

typedef struct Block {
    uint64_t offset;
    uint64_t size;
} Block;

static Status
fail_damaged(Call *call, const char *what)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT, "the checkpoint's index is damaged: %s", what);
}

/* Reads a block's position and size, two varints. */
static bool
read_handle(Slice bytes, Block *ret_block)
{
    ProtobufReader reader = protobuf_reader(bytes);
    return protobuf_number(&reader, PROTOBUF_VARINT, &ret_block->offset) &&
           protobuf_number(&reader, PROTOBUF_VARINT, &ret_block->size);
}

/* Finds a block's entries, which its list of restarts follows. */
static Status
read_block(Call *call, Slice table, Block block, Slice *ret_entries)
{
    uint64_t room = block.offset > table.size ? 0 : table.size - block.offset;
    if (room < TRAILER_SIZE || block.size > room - TRAILER_SIZE || block.size < sizeof(uint32_t)) {
        return fail_damaged(call, "a block lies outside of it");
    }
    Slice bytes = slice_part(table, (size_t)block.offset, (size_t)block.size);
    const char *trailer = bytes.data + bytes.size;
    if (trailer[0] != 0) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "compressed checkpoint indexes cannot be read");
    }
    if (crc32c_mask(crc32c(slice_of(bytes.data, bytes.size + 1))) != read_fixed32(trailer + 1)) {
        return fail_damaged(call, "a block's checksum does not fit");
    }
    uint64_t restarts = read_fixed32(bytes.data + bytes.size - 4);
    if (restarts * 4 + 4 > bytes.size) {
        return fail_damaged(call, "a block has more restarts than bytes");
    }
    *ret_entries = slice_part(bytes, 0, bytes.size - (size_t)restarts * 4 - 4);
    return STATUS_OK;
}

/* Walks over a block's entries; each shares the beginning of its key with the one before. */
typedef struct Entries {
    Slice rest;
    char key[KEY_SIZE_MAX];
    size_t key_size;
    Slice value;
} Entries;

static bool
next_number(Slice *rest, uint64_t *ret_number)
{
    ProtobufReader reader = protobuf_reader(*rest);
    if (!protobuf_number(&reader, PROTOBUF_VARINT, ret_number)) {
        return false;
    }
    *rest = slice_of(reader.position, (size_t)(reader.end - reader.position));
    return true;
}

static Status
next_entry(Call *call, Entries *entries)
{
    uint64_t shared = 0;
    uint64_t own = 0;
    uint64_t size = 0;
    if (!next_number(&entries->rest, &shared) || !next_number(&entries->rest, &own) ||
        !next_number(&entries->rest, &size) || shared > entries->key_size || own > KEY_SIZE_MAX - shared ||
        own > entries->rest.size || size > entries->rest.size - own) {
        return fail_damaged(call, "an entry does not fit its block");
    }
    memcpy(entries->key + shared, entries->rest.data, (size_t)own);
    entries->key_size = (size_t)(shared + own);
    entries->value = slice_part(entries->rest, (size_t)own, (size_t)size);
    entries->rest = slice_part(entries->rest, (size_t)(own + size), SIZE_MAX);
    return STATUS_OK;
}

static Status
walk_block(Call *call, Slice table, Block block, SortedTableVisit visit, void *context)
{
    Entries entries = {.key_size = 0};
    TRY(read_block(call, table, block, &entries.rest));
    while (entries.rest.size > 0) {
        TRY(next_entry(call, &entries));
        TRY(visit(context, slice_of(entries.key, entries.key_size), entries.value));
    }
    return STATUS_OK;
}

/* Reads the footer: a list that is not needed here, then the block whose entries name all others. */
static Status
read_footer(Call *call, Slice table, Block *ret_index)
{
    if (table.size < FOOTER_SIZE ||
        memcmp(table.data + table.size - sizeof TABLE_MAGIC, &TABLE_MAGIC, sizeof TABLE_MAGIC) != 0) {
        return fail_damaged(call, "it does not end as a table does");
    }
    Slice footer = slice_part(table, table.size - FOOTER_SIZE, FOOTER_SIZE);
    Block meta = {0};
    return next_number(&footer, &meta.offset) && next_number(&footer, &meta.size) &&
                   read_handle(footer, ret_index)
               ? STATUS_OK
               : fail_damaged(call, "its footer names no index");
}

typedef struct Walk {
    Call *call;
    Slice table;
    SortedTableVisit visit;
    void *context;
} Walk;

static Status
walk_named_block(void *context, Slice key, Slice handle)
{
    const Walk *walk = context;
    Block block;
    (void)key;
    return read_handle(handle, &block)
               ? walk_block(walk->call, walk->table, block, walk->visit, walk->context)
               : fail_damaged(walk->call, "an entry names no block");
}

Status
sorted_table_walk(Call *call, Slice table, SortedTableVisit visit, void *context)
{
    assert(visit != NULL);
    Walk walk = {.call = call, .table = table, .visit = visit, .context = context};
    Block index;
    TRY(read_footer(call, table, &index));
    return walk_block(call, table, index, walk_named_block, &walk);
}
