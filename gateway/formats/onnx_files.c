#include "gateway/formats/onnx_files.h"

#include "gateway/formats/onnx_external.h"
#include "gateway/formats/skeleton_scan.h"

typedef struct Listing {
    SkeletonScan scan; /* its reader and place alone: no skeleton is written */
    Slice *names;
    size_t count;
} Listing;

static void
listing_done(Listing *listing)
{
    byte_reader_done(&listing->scan.reader);
}

static Status
note_file(Listing *listing, Slice location)
{
    Call *call = listing->scan.call;
    Slice name = slice_starts_with(location, SLICE("./")) ? slice_part(location, 2, SIZE_MAX) : location;
    if (!onnx_external_is_inside(location)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the model keeps data in '%.*s', which is not a file of the model's folder",
            SLICE_PRINT(slice_part(location, 0, 128)));
    }
    for (size_t index = 0; index < listing->count; index++) {
        if (slice_equal(listing->names[index], name)) {
            return STATUS_OK;
        }
    }
    if (listing->count == ONNX_FILES_MAX) {
        return call_fail(
            call, STATUS_OUT_OF_RANGE, "the model keeps data in more than %d files", ONNX_FILES_MAX);
    }
    listing->names[listing->count++] = name;
    return STATUS_OK;
}

static Status
list_tensor(Listing *listing, uint64_t end)
{
    SkeletonScan *scan = &listing->scan;
    OnnxExternal external = {.location = SLICE("")};
    bool is_external = false;
    while (scan->reader.position < end) {
        ScanKey key;
        TRY(scan_key(scan, end, &key));
        if (key.number == ONNX_TENSOR_EXTERNAL && key.wire == PROTOBUF_BYTES) {
            Slice entry;
            TRY(scan_text(scan, &key, ONNX_EXTERNAL_ENTRY_SIZE_MAX, &entry));
            TRY(onnx_external_entry(scan->call, entry, &external));
            continue;
        }
        is_external |=
            key.number == ONNX_TENSOR_LOCATION && key.wire == PROTOBUF_VARINT && key.value == ONNX_EXTERNAL;
        byte_reader_skip(&scan->reader, key.size);
    }
    return is_external ? note_file(listing, external.location) : STATUS_OK;
}

static Status
list_message(Listing *listing, const ScanMessage *message, uint64_t end)
{
    SkeletonScan *scan = &listing->scan;
    TRY(scan_enter(scan));
    while (scan->reader.position < end) {
        ScanKey key;
        TRY(scan_key(scan, end, &key));
        const ScanField *field = scan_field_of(message, &key);
        uint64_t field_end = scan->reader.position + key.size;
        if (field != NULL && field->as == SCAN_TENSOR) {
            TRY(list_tensor(listing, field_end));
        } else if (field != NULL && field->as == SCAN_MESSAGE) {
            TRY(list_message(listing, field->message, field_end));
        } else {
            byte_reader_skip(&scan->reader, key.size);
        }
    }
    scan->depth--;
    return STATUS_OK;
}

Status
onnx_files(Call *call, const ByteSource *model, OnnxFiles *ret_files)
{
    ByteSpan span = {model, 0, model->size};
    CLEANUP(listing_done)
    Listing listing = {
        .scan = {.call = call, .file = {.name = SLICE(""), .span = span}, .reader = byte_reader(call, span)},
        .names = arena_alloc(call->arena, ONNX_FILES_MAX * sizeof(Slice)),
    };
    if (listing.names == NULL) {
        return call_fail_memory(call, "a model's files");
    }
    TRY(list_message(&listing, &onnx_scan_model, model->size));
    *ret_files = (OnnxFiles){listing.names, listing.count};
    return STATUS_OK;
}
