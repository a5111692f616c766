#include "gateway/formats/skeleton_scan.h"

#include <assert.h>
#include <string.h>

typedef struct Scanning {
    SkeletonScan scan;
    ScanTensor tensor;
} Scanning;

enum {
    SCAN_DEPTH_MAX = 128, /* of messages; what the format's reader allows is less */
    LENGTH_SIZE = 5,
    NAME_SIZE_MAX = 1 << 16,
};

static Status
fail_damaged(SkeletonScan *scan, const char *fault)
{
    return call_fail(scan->call, STATUS_INVALID_ARGUMENT, "the file is damaged at byte %llu: %s",
        (unsigned long long)(scan->reader.position - scan->file.span.offset), fault);
}

Status
skeleton_check(Call *call, const SkeletonRequest *request, const Skeleton *skeleton)
{
    if (skeleton->weights.has_failed ||
        (skeleton->bytes.has_failed && skeleton->bytes.size < request->size_max / 2)) {
        return call_fail_memory(call, "a model");
    }
    return skeleton->bytes.has_failed ? call_fail(call, STATUS_OUT_OF_RANGE,
                                            "without the tensors that are raw bytes the model has more than "
                                            "%zu bytes: large tensors must be "
                                            "saved as raw data",
                                            request->size_max)
                                      : STATUS_OK;
}

static void
put_varint(Buffer *bytes, uint64_t value)
{
    while (value >= 0x80) {
        buffer_append_byte(bytes, (char)(value | 0x80));
        value >>= 7;
    }
    buffer_append_byte(bytes, (char)value);
}

void
skeleton_put_varint(Buffer *bytes, uint32_t field, uint64_t value)
{
    put_varint(bytes, (uint64_t)field << 3 | PROTOBUF_VARINT);
    put_varint(bytes, value);
}

void
skeleton_put_bytes(Buffer *bytes, uint32_t field, Slice value)
{
    put_varint(bytes, (uint64_t)field << 3 | PROTOBUF_BYTES);
    put_varint(bytes, value.size);
    buffer_append_slice(bytes, value);
}

size_t
skeleton_open(Buffer *bytes, uint32_t field)
{
    static const char length[LENGTH_SIZE];
    put_varint(bytes, (uint64_t)field << 3 | PROTOBUF_BYTES);
    buffer_append(bytes, length, LENGTH_SIZE);
    return bytes->size;
}

void
skeleton_close(Buffer *bytes, size_t start)
{
    if (!buffer_is_ok(bytes)) {
        return;
    }
    assert(start >= LENGTH_SIZE && start <= bytes->size && (bytes->size - start) >> 7 * LENGTH_SIZE == 0);
    size_t length = bytes->size - start;
    for (size_t index = 0; index < LENGTH_SIZE; index++) {
        bool is_last = index + 1 == LENGTH_SIZE;
        bytes->data[start - LENGTH_SIZE + index] = (char)((length & 0x7f) | (is_last ? 0 : 0x80));
        length >>= 7;
    }
}

Status
scan_key(SkeletonScan *scan, uint64_t end, ScanKey *ret_key)
{
    uint64_t number = 0;
    ScanKey key = {.number = 0};
    TRY(byte_reader_varint(&scan->reader, &number));
    key.number = (uint32_t)(number >> 3);
    key.wire = (ProtobufWire)(number & 7);
    if (number >> 3 == 0 || number >> 32 != 0) {
        return fail_damaged(scan, "a field has a number that cannot be");
    }
    if (key.wire == PROTOBUF_BYTES) {
        TRY(byte_reader_varint(&scan->reader, &key.size));
    } else if (key.wire == PROTOBUF_VARINT) {
        TRY(byte_reader_varint(&scan->reader, &key.value));
    } else if (key.wire == PROTOBUF_FIXED32 || key.wire == PROTOBUF_FIXED64) {
        key.size = key.wire == PROTOBUF_FIXED32 ? 4 : 8;
    } else {
        return fail_damaged(scan, "a field has a type that cannot be");
    }
    if (scan->reader.position > end || key.size > end - scan->reader.position) {
        return fail_damaged(scan, "a length reaches past the end of its message");
    }
    *ret_key = key;
    return STATUS_OK;
}

Status
scan_copy(SkeletonScan *scan, const ScanKey *key)
{
    Buffer *bytes = &scan->skeleton->bytes;
    put_varint(bytes, (uint64_t)key->number << 3 | key->wire);
    if (key->wire == PROTOBUF_VARINT) {
        put_varint(bytes, key->value);
        return STATUS_OK;
    }
    if (key->wire == PROTOBUF_BYTES) {
        put_varint(bytes, key->size);
    }
    TRY(byte_reader_copy(&scan->reader, key->size, bytes));
    return skeleton_check(scan->call, scan->request, scan->skeleton);
}

Status
scan_text(SkeletonScan *scan, const ScanKey *key, size_t size_max, Slice *ret_text)
{
    if (key->wire != PROTOBUF_BYTES || key->size > size_max) {
        return fail_damaged(scan, "a text is too long");
    }
    AUTO_BUFFER bytes = {0};
    TRY(byte_reader_copy(&scan->reader, key->size, &bytes));
    char *text = buffer_is_ok(&bytes) ? arena_alloc(scan->call->arena, bytes.size + 1) : NULL;
    if (text == NULL) {
        return call_fail_memory(scan->call, "a model's names");
    }
    memcpy(text, bytes.size == 0 ? "" : bytes.data, bytes.size);
    *ret_text = slice_of(text, bytes.size);
    return STATUS_OK;
}

Status
skeleton_note(Call *call, const SkeletonFile *file, ByteSpan span, const Sha256 *digest, Skeleton *skeleton)
{
    SkeletonWeight weight = {.digest = *digest, .blob = file->blob, .offset = span.offset, .size = span.size};
    buffer_append(&skeleton->weights, &weight, sizeof weight);
    return buffer_is_ok(&skeleton->weights) ? STATUS_OK : call_fail_memory(call, "a model's weights");
}

Status
skeleton_weight(Call *call, const SkeletonFile *file, ByteSpan span, Skeleton *skeleton, Sha256 *ret_digest)
{
    AUTO_BYTE_READER reader = byte_reader(call, span);
    ByteDigest digest;
    TRY(byte_reader_digest(&reader, span.size, false, &digest));
    *ret_digest = digest.sha256;
    return skeleton_note(call, file, span, &digest.sha256, skeleton);
}

Status
scan_weight(SkeletonScan *scan, uint64_t size, Sha256 *ret_digest)
{
    ByteSpan span = {scan->reader.source, scan->reader.position, size};
    ByteDigest digest;
    TRY(byte_reader_digest(&scan->reader, size, false, &digest));
    *ret_digest = digest.sha256;
    return skeleton_note(scan->call, &scan->file, span, &digest.sha256, scan->skeleton);
}

const ScanField *
scan_field_of(const ScanMessage *message, const ScanKey *key)
{
    for (size_t index = 0; index < message->field_count && key->wire == PROTOBUF_BYTES; index++) {
        if (message->fields[index].number == key->number) {
            return &message->fields[index];
        }
    }
    return NULL;
}

Status
scan_enter(SkeletonScan *scan)
{
    if (scan->depth == SCAN_DEPTH_MAX) {
        return fail_damaged(scan, "messages nest too deep");
    }
    scan->depth++;
    return STATUS_OK;
}

static Status scan_message(Scanning *scanning, const ScanMessage *message, uint64_t end, bool may_leave);

/* Writes the field's message anew. */
static Status
scan_inside(Scanning *scanning, const ScanField *field, const ScanKey *key, bool may_leave)
{
    SkeletonScan *scan = &scanning->scan;
    uint64_t end = scan->reader.position + key->size;
    size_t start = skeleton_open(&scan->skeleton->bytes, key->number);
    TRY(field->as == SCAN_TENSOR ? scanning->tensor(scan, end, may_leave)
                                 : scan_message(scanning, field->message, end, may_leave));
    assert(scan->reader.position == end);
    skeleton_close(&scan->skeleton->bytes, start);
    return skeleton_check(scan->call, scan->request, scan->skeleton);
}

static Status
scan_name(SkeletonScan *scan, const ScanKey *key, bool *ret_may_leave)
{
    Slice name;
    TRY(scan_text(scan, key, NAME_SIZE_MAX, &name));
    skeleton_put_bytes(&scan->skeleton->bytes, key->number, name);
    *ret_may_leave = slice_equals_string(name, "value");
    return STATUS_OK;
}

static Status
scan_field(Scanning *scanning, const ScanMessage *message, const ScanKey *key, bool *may_leave)
{
    const ScanField *field = scan_field_of(message, key);
    if (field == NULL) {
        return scan_copy(&scanning->scan, key);
    }
    return field->as == SCAN_NAME ? scan_name(&scanning->scan, key, may_leave)
                                  : scan_inside(scanning, field, key, *may_leave);
}

static Status
scan_message(Scanning *scanning, const ScanMessage *message, uint64_t end, bool may_leave)
{
    SkeletonScan *scan = &scanning->scan;
    bool may = message->weights == WEIGHTS_ALLOWED || (message->weights == WEIGHTS_AS_AROUND && may_leave);
    TRY(scan_enter(scan));
    while (scan->reader.position < end) {
        ScanKey key;
        TRY(scan_key(scan, end, &key));
        TRY(scan_field(scanning, message, &key, &may));
    }
    scan->depth--;
    return STATUS_OK;
}

static void
scanning_done(Scanning *scanning)
{
    byte_reader_done(&scanning->scan.reader);
}

Status
skeleton_scan_file(Call *call, const SkeletonRequest *request, const SkeletonFile *file,
    const ScanMessage *root, ScanTensor tensor, Skeleton *skeleton)
{
    CLEANUP(scanning_done)
    Scanning scanning = {.scan = {.call = call,
                             .request = request,
                             .skeleton = skeleton,
                             .file = *file,
                             .reader = byte_reader(call, file->span)},
        .tensor = tensor};
    TRY(scan_message(&scanning, root, file->span.offset + file->span.size, true));
    return skeleton_check(call, request, skeleton);
}

Status
skeleton_scan(Call *call, const SkeletonRequest *request, const ScanMessage *root, ScanTensor tensor,
    Skeleton *skeleton)
{
    assert(request->file_count > 0 && request->size_max > 0);
    skeleton->bytes.size_max = request->size_max;
    return skeleton_scan_file(call, request, &request->files[0], root, tensor, skeleton);
}
