#include "shared/formats/checkpoint.h"

#include <stddef.h>

enum { FOOTER_SIZE = 48, TRAILER_SIZE = 5, KEY_SIZE_MAX = 4096 };

static const uint64_t TABLE_MAGIC = 0xdb4775248b80fb57;

/* --- Checksums ------------------------------------------------------------------------------------------ */

static uint32_t
crc_step(uint32_t crc)
{
    for (int bit = 0; bit < 8; bit++) {
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    }
    return crc;
}

static uint32_t
crc_of(Slice bytes)
{
    uint32_t table[256];
    uint32_t crc = UINT32_MAX;
    for (uint32_t byte = 0; byte < COUNT_OF(table); byte++) {
        table[byte] = crc_step(byte);
    }
    for (size_t index = 0; index < bytes.size; index++) {
        crc = (crc >> 8) ^ table[(crc ^ (unsigned char)bytes.data[index]) & 0xff];
    }
    return ~crc;
}

static uint32_t
crc_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

uint32_t
checkpoint_crc(Slice bytes)
{
    return crc_mask(crc_of(bytes));
}

static uint32_t
fixed32(const char *bytes)
{
    uint32_t number = 0;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* --- Tables --------------------------------------------------------------------------------------------- */

typedef struct Block {
    uint64_t offset;
    uint64_t size;
} Block;

static Status
fail_damaged(ProtoImport *import, const char *what)
{
    return call_fail(import->call, STATUS_INVALID_ARGUMENT, "the checkpoint's index is damaged: %s", what);
}

/* Two varints. */
static bool
read_handle(Slice bytes, Block *ret_block)
{
    ProtobufReader reader = protobuf_reader(bytes);
    return protobuf_number(&reader, PROTOBUF_VARINT, &ret_block->offset) &&
           protobuf_number(&reader, PROTOBUF_VARINT, &ret_block->size);
}

/* The block's entries, without its list of restarts. */
static Status
read_block(ProtoImport *import, Slice table, Block block, Slice *ret_entries)
{
    if (block.offset > table.size || block.size + TRAILER_SIZE > table.size - block.offset ||
        block.size < 4) {
        return fail_damaged(import, "a block lies outside of it");
    }
    const Slice bytes = slice_part(table, (size_t)block.offset, (size_t)block.size);
    const char *const trailer = bytes.data + bytes.size;
    if (trailer[0] != 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "compressed checkpoint indexes cannot be read");
    }
    if (checkpoint_crc(slice_of(bytes.data, bytes.size + 1)) != fixed32(trailer + 1)) {
        return fail_damaged(import, "a block's checksum does not fit");
    }
    const uint64_t restarts = fixed32(bytes.data + bytes.size - 4);
    if (restarts * 4 + 4 > bytes.size) {
        return fail_damaged(import, "a block has more restarts than bytes");
    }
    *ret_entries = slice_part(bytes, 0, bytes.size - (size_t)restarts * 4 - 4);
    return STATUS_OK;
}

/* Entries one after the other; each shares the beginning of its key with the one before. */
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
next_entry(ProtoImport *import, Entries *entries)
{
    uint64_t shared = 0;
    uint64_t own = 0;
    uint64_t size = 0;
    if (!next_number(&entries->rest, &shared) || !next_number(&entries->rest, &own) ||
        !next_number(&entries->rest, &size) || shared > entries->key_size || own > KEY_SIZE_MAX - shared ||
        own > entries->rest.size || size > entries->rest.size - own) {
        return fail_damaged(import, "an entry does not fit its block");
    }
    memcpy(entries->key + shared, entries->rest.data, (size_t)own);
    entries->key_size = (size_t)(shared + own);
    entries->value = slice_part(entries->rest, (size_t)own, (size_t)size);
    entries->rest = slice_part(entries->rest, (size_t)(own + size), SIZE_MAX);
    return STATUS_OK;
}

/* --- Tensors -------------------------------------------------------------------------------------------- */

typedef struct EntryView {
    int64_t dtype_number;
    Slice shape;
    int64_t shard;
    int64_t offset;
    int64_t size;
    SliceList slices;
} EntryView;

static Status
fail_tensor(ProtoImport *import, Slice name, const char *reason)
{
    return call_fail(import->call, STATUS_INVALID_ARGUMENT, "tensor '%.*s' of the checkpoint %s",
        SLICE_PRINT(slice_part(name, 0, 128)), reason);
}

/* Lengths as varints, their checksum, then all bytes. */
static Status
read_strings(ProtoImport *import, Slice name, const Shape *shape, Slice bytes, Tensor *ret_tensor)
{
    int64_t count = 0;
    if (!shape_element_count(shape, &count) || (uint64_t)count > bytes.size) {
        return fail_tensor(import, name, "has more strings than bytes");
    }
    Slice *const strings = arena_alloc(import->scratch, ((size_t)count + 1) * sizeof *strings);
    if (strings == NULL) {
        return call_fail_memory(import->call, "a checkpoint's strings");
    }
    for (int64_t index = 0; index < count; index++) {
        uint64_t size = 0;
        if (!next_number(&bytes, &size) || size > bytes.size) {
            return fail_tensor(import, name, "is damaged");
        }
        strings[index].size = (size_t)size;
    }
    bytes = slice_part(bytes, 4, SIZE_MAX);
    for (int64_t index = 0; index < count; index++) {
        if (strings[index].size > bytes.size) {
            return fail_tensor(import, name, "is damaged");
        }
        strings[index] = slice_part(bytes, 0, strings[index].size);
        bytes = slice_part(bytes, strings[index].size, SIZE_MAX);
    }
    return builder_string_tensor(import->builder, shape, strings, (size_t)count, ret_tensor);
}

static Status
read_elements(
    ProtoImport *import, Slice name, Dtype dtype, const Shape *shape, Slice bytes, Tensor *ret_tensor)
{
    size_t size = 0;
    int64_t count = 0;
    if (!dtype_is_copyable(dtype) || !shape_byte_size(shape, dtype, &size) || size != bytes.size) {
        return fail_tensor(import, name, "has not as many bytes as its type and shape ask for");
    }
    if (builder_view(import->builder, dtype, shape, bytes, import->source, ret_tensor)) {
        return STATUS_OK;
    }
    TRY(builder_tensor(import->builder, dtype, shape, ret_tensor, &count));
    if (size > 0) {
        memcpy(ret_tensor->data, bytes.data, size);
    }
    return STATUS_OK;
}

static Status
find_bytes(
    ProtoImport *import, const Checkpoint *checkpoint, Slice name, const EntryView *view, Slice *ret_bytes)
{
    const bool has_shard = view->shard >= 0 && view->shard < CHECKPOINT_SHARDS_MAX &&
                           checkpoint->shards[view->shard].data != NULL;
    if (!has_shard) {
        return fail_tensor(import, name, "lies in a file that is not there");
    }
    const Slice shard = checkpoint->shards[view->shard];
    if (view->offset < 0 || view->size < 0 || (uint64_t)view->offset > shard.size ||
        (uint64_t)view->size > shard.size - (uint64_t)view->offset) {
        return fail_tensor(import, name, "reaches past the end of its file");
    }
    if (view->slices.count > 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED,
            "tensor '%.*s' of the checkpoint is cut in slices", SLICE_PRINT(slice_part(name, 0, 128)));
    }
    *ret_bytes = slice_part(shard, (size_t)view->offset, (size_t)view->size);
    return STATUS_OK;
}

static Status
read_tensor(ProtoImport *import, const Checkpoint *checkpoint, Slice name, Slice value, Tensor *ret_tensor)
{
    static const KeptField kept[] = {
        {1, KEEP_INT, offsetof(EntryView, dtype_number)},
        {2, KEEP_SLICE, offsetof(EntryView, shape)},
        {3, KEEP_INT, offsetof(EntryView, shard)},
        {4, KEEP_INT, offsetof(EntryView, offset)},
        {5, KEEP_INT, offsetof(EntryView, size)},
        {7, KEEP_LIST, offsetof(EntryView, slices)},
    };
    static const MessageView message = MESSAGE_VIEW("a checkpoint's entry", kept);
    EntryView view = {.shape = SLICE("")};
    Shape shape = shape_scalar();
    Slice bytes;
    TRY(message_collect(import->call, import->scratch, value, &message, &view));
    TRY(proto_shape(import, view.shape, &shape));
    TRY(find_bytes(import, checkpoint, name, &view, &bytes));
    const Dtype dtype = dtype_from_tensorflow_number(view.dtype_number);
    return dtype == DTYPE_STRING ? read_strings(import, name, &shape, bytes, ret_tensor)
                                 : read_elements(import, name, dtype, &shape, bytes, ret_tensor);
}

/* The entry without a name says how many shards there are. */
static Status
read_entries(ProtoImport *import, const Checkpoint *checkpoint, Slice bytes)
{
    Entries entries = {.rest = bytes};
    while (entries.rest.size > 0) {
        GraphTensor tensor = {.name = SLICE("")};
        TRY(next_entry(import, &entries));
        if (entries.key_size > 0) {
            TRY(builder_copy(import->builder, slice_of(entries.key, entries.key_size), &tensor.name));
            TRY(read_tensor(import, checkpoint, tensor.name, entries.value, &tensor.tensor));
            TRY(builder_push(import->builder, &tensor, sizeof tensor));
        }
    }
    return STATUS_OK;
}

Status
checkpoint_read(
    ProtoImport *import, const Checkpoint *checkpoint, const GraphTensor **ret_tensors, size_t *ret_count)
{
    const Slice table = checkpoint->index;
    const size_t mark = builder_mark(import->builder);
    if (table.size < FOOTER_SIZE ||
        memcmp(table.data + table.size - sizeof TABLE_MAGIC, &TABLE_MAGIC, sizeof TABLE_MAGIC) != 0) {
        return fail_damaged(import, "it does not end as a table does");
    }
    Slice footer = slice_part(table, table.size - FOOTER_SIZE, FOOTER_SIZE);
    uint64_t meta_offset = 0;
    uint64_t meta_size = 0;
    Block index;
    Slice blocks;
    if (!next_number(&footer, &meta_offset) || !next_number(&footer, &meta_size) ||
        !read_handle(footer, &index)) {
        return fail_damaged(import, "its footer names no index");
    }
    TRY(read_block(import, table, index, &blocks));
    Entries entries = {.rest = blocks};
    while (entries.rest.size > 0) {
        Block block;
        Slice bytes;
        TRY(next_entry(import, &entries));
        if (!read_handle(entries.value, &block)) {
            return fail_damaged(import, "an entry names no block");
        }
        TRY(read_block(import, table, block, &bytes));
        TRY(read_entries(import, checkpoint, bytes));
    }
    return BUILDER_TAKE(import->builder, mark, ret_tensors, ret_count);
}
