#include "gateway/formats/checkpoint.h"

#include <assert.h>
#include <stddef.h>

#include "gateway/formats/sorted_table.h"
#include "shared/base/crc32c.h"

static bool
read_byte(Slice *rest, unsigned char *ret_byte)
{
    if (rest->size == 0) {
        return false;
    }
    *ret_byte = (unsigned char)rest->data[0];
    *rest = slice_part(*rest, 1, SIZE_MAX);
    return true;
}

/* Takes the tensor's name up to its end mark; names of tensors have no bytes that ordered code escapes. */
static bool
read_name(Slice *rest, Slice *ret_name)
{
    size_t end = slice_find(*rest, '\0');
    unsigned char mark = 0;
    *ret_name = slice_part(*rest, 0, end);
    *rest = slice_part(*rest, end + 1, SIZE_MAX);
    return read_byte(rest, &mark) && mark == 1;
}

/* Takes the number of dimensions, which is written as its size in bytes and then the bytes, the highest
 * first. */
static bool
read_rank(Slice *rest, int *ret_rank)
{
    unsigned char size = 0;
    unsigned char rank = 0;
    bool is_read = read_byte(rest, &size) && (size == 0 || (size == 1 && read_byte(rest, &rank)));
    *ret_rank = rank;
    return is_read && rank <= SHAPE_RANK_MAX;
}

/* Takes a signed number of ordered code: as many ones as it has bytes, a zero, then the number, the
 * highest bits first. -1 is 0x7f. */
static bool
read_signed(Slice *rest, int64_t *ret_number)
{
    enum { SIZE_MOST = 8 };
    unsigned char byte = 0;
    if (!read_byte(rest, &byte) || byte < 0x7f) {
        return false;
    }
    if (byte == 0x7f) {
        *ret_number = -1;
        return true;
    }
    int size = 1;
    while (size < SIZE_MOST && (byte & (0x80 >> size)) != 0) {
        size++;
    }
    uint64_t number = byte & (0x7fU >> size);
    for (int index = 1; index < size; index++) {
        if (!read_byte(rest, &byte)) {
            return false;
        }
        number = number << 8 | byte;
    }
    *ret_number = (int64_t)number;
    return number >> (7 * size - 1) == 0;
}

/* The keys of slices are in TensorFlow's ordered code: a zero; the tensor's name, ended by "\0\1"; the
 * number of dimensions; of each, where the slice starts and how long it is. */
bool
checkpoint_slice_name(Slice key, Buffer *name)
{
    unsigned char zero = 0;
    Slice tensor;
    int rank = 0;
    if (!read_byte(&key, &zero) || zero != 0 || !read_name(&key, &tensor) || !read_rank(&key, &rank)) {
        return false;
    }
    buffer_append_format(name, "%.*s ", SLICE_PRINT(tensor));
    for (int dimension = 0; dimension < rank; dimension++) {
        int64_t start = 0;
        int64_t length = 0;
        if (!read_signed(&key, &start) || !read_signed(&key, &length) || start < 0) {
            return false;
        }
        buffer_append_format(name, "%s", dimension == 0 ? "" : ":");
        if (length < 0) {
            buffer_append_format(name, "-");
        } else {
            buffer_append_format(name, "%lld,%lld", (long long)start, (long long)length);
        }
    }
    return key.size == 0;
}

typedef struct Reading {
    ProtoImport *import;
    const Checkpoint *checkpoint;
} Reading;

/* A tensor of the checkpoint while it is read. */
typedef struct Stored {
    Slice name;
    Shape shape;
    ByteSpan span;
    Slice bytes;       /* of the span, unless the tensor becomes absent */
    uint32_t checksum; /* the masked checksum that the index has for them */
} Stored;

static Status
fail_tensor(const Reading *reading, const Stored *stored, const char *reason)
{
    return call_fail(reading->import->call, STATUS_INVALID_ARGUMENT, "tensor '%.*s' of the checkpoint %s",
        SLICE_PRINT(slice_part(stored->name, 0, 128)), reason);
}

static Status
check_sum(const Reading *reading, const Stored *stored, uint32_t checksum)
{
    return crc32c_mask(checksum) == stored->checksum
               ? STATUS_OK
               : fail_tensor(reading, stored, "is damaged: its checksum does not fit");
}

/* Adds a string's length to the checksum, as 32 bits, or as 64 when it needs them. */
static uint32_t
add_length(uint32_t checksum, uint64_t length)
{
    size_t size = length <= UINT32_MAX ? sizeof(uint32_t) : sizeof length;
    return crc32c_extend(checksum, slice_of(&length, size));
}

/* Reads the lengths of all strings and moves *bytes behind them. */
static Status
read_lengths(const Reading *reading, const Stored *stored, Slice *bytes, Slice *strings, int64_t count,
    uint32_t *checksum)
{
    for (int64_t index = 0; index < count; index++) {
        ProtobufReader reader = protobuf_reader(*bytes);
        uint64_t length = 0;
        if (!protobuf_number(&reader, PROTOBUF_VARINT, &length) || length > bytes->size) {
            return fail_tensor(reading, stored, "is damaged: a string's length is none");
        }
        *bytes = slice_of(reader.position, (size_t)(reader.end - reader.position));
        strings[index].size = (size_t)length;
        *checksum = add_length(*checksum, length);
    }
    return STATUS_OK;
}

static Status
cut_strings(const Reading *reading, const Stored *stored, Slice bytes, Slice *strings, int64_t count)
{
    for (int64_t index = 0; index < count; index++) {
        if (strings[index].size > bytes.size) {
            return fail_tensor(reading, stored, "is damaged: a string reaches past its end");
        }
        strings[index] = slice_part(bytes, 0, strings[index].size);
        bytes = slice_part(bytes, strings[index].size, SIZE_MAX);
    }
    return STATUS_OK;
}

/* Reads strings: their lengths as varints, the checksum of these, then all bytes. */
static Status
read_strings(const Reading *reading, const Stored *stored, Tensor *ret_tensor)
{
    ProtoImport *import = reading->import;
    Slice bytes = stored->bytes;
    uint32_t checksum = 0;
    int64_t count = 0;
    if (!shape_element_count(&stored->shape, &count) || (uint64_t)count > bytes.size) {
        return fail_tensor(reading, stored, "has more strings than bytes");
    }
    Slice *strings = arena_alloc(import->scratch, ((size_t)count + 1) * sizeof *strings);
    if (strings == NULL) {
        return call_fail_memory(import->call, "a checkpoint's strings");
    }
    TRY(read_lengths(reading, stored, &bytes, strings, count, &checksum));
    TRY(check_sum(reading, stored, crc32c_extend(checksum, bytes)));
    TRY(cut_strings(reading, stored, slice_part(bytes, sizeof checksum, SIZE_MAX), strings, count));
    return builder_string_tensor(import->builder, &stored->shape, strings, (size_t)count, ret_tensor);
}

static Status
check_size(const Reading *reading, const Stored *stored, Dtype dtype)
{
    size_t size = 0;
    bool is_fit = dtype_is_copyable(dtype) && shape_byte_size(&stored->shape, dtype, &size) &&
                  size == stored->span.size;
    return is_fit ? STATUS_OK
                  : fail_tensor(reading, stored, "has not as many bytes as its type and shape ask for");
}

static Status
read_absent(const Reading *reading, const Stored *stored, Dtype dtype, Tensor *ret_tensor)
{
    const Checkpoint *checkpoint = reading->checkpoint;
    AUTO_BYTE_READER bytes = byte_reader(reading->import->call, stored->span);
    ByteDigest digest;
    TRY(check_size(reading, stored, dtype));
    TRY(byte_reader_digest(&bytes, stored->span.size, true, &digest));
    TRY(check_sum(reading, stored, digest.crc32c));
    TRY(checkpoint->leave(checkpoint->context, stored->span, &digest.sha256));
    return builder_absent(reading->import->builder, dtype, &stored->shape, &digest.sha256, ret_tensor);
}

static Status
read_elements(const Reading *reading, const Stored *stored, Dtype dtype, Tensor *ret_tensor)
{
    ProtoImport *import = reading->import;
    Slice bytes = stored->bytes;
    size_t size = bytes.size;
    int64_t count = 0;
    TRY(check_size(reading, stored, dtype));
    TRY(check_sum(reading, stored, crc32c(bytes)));
    if (builder_view(import->builder, dtype, &stored->shape, bytes, import->source, ret_tensor)) {
        return STATUS_OK;
    }
    TRY(builder_tensor(import->builder, dtype, &stored->shape, ret_tensor, &count));
    if (size > 0) {
        memcpy(ret_tensor->data, bytes.data, size);
    }
    return STATUS_OK;
}

typedef struct EntryView {
    int64_t dtype_number;
    Slice shape;
    int64_t shard;
    int64_t offset;
    int64_t size;
    uint32_t checksum;
    SliceList slices;
} EntryView;

static Status
read_entry(const Reading *reading, Slice bytes, EntryView *ret_view)
{
    static const KeptField kept[] = {
        {1, KEEP_INT, offsetof(EntryView, dtype_number)},
        {2, KEEP_SLICE, offsetof(EntryView, shape)},
        {3, KEEP_INT, offsetof(EntryView, shard)},
        {4, KEEP_INT, offsetof(EntryView, offset)},
        {5, KEEP_INT, offsetof(EntryView, size)},
        {6, KEEP_BITS, offsetof(EntryView, checksum)},
        {7, KEEP_LIST, offsetof(EntryView, slices)},
    };
    static const MessageView message = MESSAGE_VIEW("a checkpoint's entry", kept);
    *ret_view = (EntryView){.shape = SLICE("")};
    return message_collect(reading->import->call, reading->import->scratch, bytes, &message, ret_view);
}

static Status
find_span(const Reading *reading, const EntryView *view, Stored *stored)
{
    const ByteSpan *shards = reading->checkpoint->shards;
    if (view->shard < 0 || view->shard >= CHECKPOINT_SHARDS_MAX || shards[view->shard].source == NULL) {
        return fail_tensor(reading, stored, "lies in a file that is not there");
    }
    ByteSpan shard = shards[view->shard];
    if (view->offset < 0 || view->size < 0 || (uint64_t)view->offset > shard.size ||
        (uint64_t)view->size > shard.size - (uint64_t)view->offset) {
        return fail_tensor(reading, stored, "reaches past the end of its file");
    }
    stored->span = byte_span_part(shard, (uint64_t)view->offset, (uint64_t)view->size);
    return STATUS_OK;
}

static Status
read_value(const Reading *reading, Stored *stored, Dtype dtype, Tensor *ret_tensor)
{
    const Checkpoint *checkpoint = reading->checkpoint;
    ProtoImport *import = reading->import;
    if (checkpoint->leave != NULL && dtype_is_copyable(dtype) && stored->span.size > 0 &&
        stored->span.size >= checkpoint->weight_size_min) {
        return read_absent(reading, stored, dtype, ret_tensor);
    }
    TRY(byte_span_get(import->call, import->scratch, stored->span, checkpoint->size_max,
        "a tensor of the checkpoint", &stored->bytes));
    return dtype == DTYPE_STRING ? read_strings(reading, stored, ret_tensor)
                                 : read_elements(reading, stored, dtype, ret_tensor);
}

static Status
read_tensor(const Reading *reading, Slice name, const EntryView *view)
{
    GraphBuilder *builder = reading->import->builder;
    Dtype dtype = dtype_from_tensorflow_number(view->dtype_number);
    Stored stored = {.shape = shape_scalar(), .checksum = view->checksum};
    GraphTensor tensor = {.name = SLICE("")};
    TRY(builder_copy(builder, name, &stored.name));
    TRY(proto_shape(reading->import, view->shape, &stored.shape));
    TRY(find_span(reading, view, &stored));
    TRY(read_value(reading, &stored, dtype, &tensor.tensor));
    tensor.name = stored.name;
    return builder_push(builder, &tensor, sizeof tensor);
}

/* Checks the entry without a name, which describes all files. */
static Status
check_header(const Reading *reading, Slice bytes)
{
    typedef struct HeaderView {
        int64_t endianness;
    } HeaderView;
    static const KeptField kept[] = {{2, KEEP_INT, offsetof(HeaderView, endianness)}};
    static const MessageView message = MESSAGE_VIEW("the checkpoint's header", kept);
    HeaderView view = {.endianness = 0};
    ProtoImport *import = reading->import;
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    return view.endianness == 0 ? STATUS_OK
                                : call_fail(import->call, STATUS_UNIMPLEMENTED,
                                      "checkpoints of a big-endian host cannot be read");
}

static Status
read_slice(const Reading *reading, Slice key, const EntryView *view)
{
    AUTO_BUFFER name = {0};
    if (!checkpoint_slice_name(key, &name)) {
        return call_fail(reading->import->call, STATUS_INVALID_ARGUMENT,
            "the checkpoint's index is damaged: a slice's name is none");
    }
    return buffer_is_ok(&name) ? read_tensor(reading, buffer_slice(&name), view)
                               : call_fail_memory(reading->import->call, "a slice's name");
}

/* Visits one entry of the index. A tensor that was saved in slices has an entry without bytes, and one for
 * each slice. */
static Status
visit_entry(void *context, Slice key, Slice value)
{
    const Reading *reading = context;
    EntryView view;
    if (key.size == 0) {
        return check_header(reading, value);
    }
    TRY(read_entry(reading, value, &view));
    if (key.data[0] == '\0') {
        return read_slice(reading, key, &view);
    }
    return view.slices.count > 0 ? STATUS_OK : read_tensor(reading, key, &view);
}

Status
checkpoint_read(
    ProtoImport *import, const Checkpoint *checkpoint, const GraphTensor **ret_tensors, size_t *ret_count)
{
    assert(checkpoint != NULL && ret_tensors != NULL);
    Reading reading = {.import = import, .checkpoint = checkpoint};
    size_t mark = builder_mark(import->builder);
    Slice index;
    TRY(byte_span_get(import->call, import->scratch, checkpoint->index, checkpoint->size_max,
        "the checkpoint's index", &index));
    TRY(sorted_table_walk(import->call, index, visit_entry, &reading));
    return BUILDER_TAKE(import->builder, mark, ret_tensors, ret_count);
}
