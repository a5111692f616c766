/* Skeletons of ONNX models. A TensorProto keeps all its fields but those with elements. Field numbers:
 * onnx.proto of ONNX 1.22; external data: the chapter "External Data" of its specification. */
#include <stdio.h>

#include "gateway/formats/onnx_external.h"
#include "gateway/formats/skeleton_scan.h"
#include "shared/tensor/dtype.h"

enum {
    FIELD_DATA_TYPE = 2,
    FIELD_FLOATS = 4,
    FIELD_NAME = 8,
    FIELD_RAW = 9,
    FIELD_DOUBLES = 10,
    NAME_SHOWN = 128,
};

extern const ScanMessage onnx_scan_graph;

/* A tensor while its fields pass by. */
typedef struct Passing {
    SkeletonScan *scan;
    bool may_leave;
    int64_t data_type;
    Slice name;
    OnnxExternal external;
    bool is_external;
    bool is_left; /* its elements were left out */
    Sha256 digest;
    uint64_t size;
} Passing;

/* Returns true for a field whose bytes are those of the elements: raw data, and packed numbers of the
 * tensor's own type. */
static bool
holds_elements(const Passing *passing, const ScanKey *key)
{
    Dtype dtype = dtype_from_onnx_number(passing->data_type);
    if (key->wire != PROTOBUF_BYTES) {
        return false;
    }
    switch (key->number) {
    case FIELD_RAW:
        return true;
    case FIELD_FLOATS:
        return dtype == DTYPE_FLOAT32 || dtype == DTYPE_COMPLEX64;
    case FIELD_DOUBLES:
        return dtype == DTYPE_FLOAT64 || dtype == DTYPE_COMPLEX128;
    default:
        return false;
    }
}

static Status
leave_elements(Passing *passing, const ScanKey *key)
{
    SkeletonScan *scan = passing->scan;
    if (passing->is_left) {
        return call_fail(scan->call, STATUS_INVALID_ARGUMENT, "tensor '%.*s' has its elements twice",
            SLICE_PRINT(slice_part(passing->name, 0, NAME_SHOWN)));
    }
    passing->is_left = true;
    passing->size = key->size;
    return scan_weight(scan, key->size, &passing->digest);
}

/* Notes what a field says, and copies it unless the end of the tensor writes it anew. */
static Status
pass_field(Passing *passing, const ScanKey *key)
{
    SkeletonScan *scan = passing->scan;
    if (passing->may_leave && key->size >= scan->request->weight_size_min && holds_elements(passing, key)) {
        return leave_elements(passing, key);
    }
    if (key->number == ONNX_TENSOR_EXTERNAL && key->wire == PROTOBUF_BYTES) {
        Slice entry;
        TRY(scan_text(scan, key, ONNX_EXTERNAL_ENTRY_SIZE_MAX, &entry));
        return onnx_external_entry(scan->call, entry, &passing->external);
    }
    if (key->number == ONNX_TENSOR_LOCATION && key->wire == PROTOBUF_VARINT) {
        passing->is_external = key->value == ONNX_EXTERNAL;
        return STATUS_OK;
    }
    if (key->number == FIELD_NAME) {
        TRY(scan_text(scan, key, ONNX_EXTERNAL_ENTRY_SIZE_MAX, &passing->name));
        skeleton_put_bytes(&scan->skeleton->bytes, FIELD_NAME, passing->name);
        return STATUS_OK;
    }
    passing->data_type = key->number == FIELD_DATA_TYPE && key->wire == PROTOBUF_VARINT ? (int64_t)key->value
                                                                                        : passing->data_type;
    return scan_copy(scan, key);
}

static void
put_entry(Buffer *bytes, const char *key, Slice value)
{
    size_t start = skeleton_open(bytes, ONNX_TENSOR_EXTERNAL);
    skeleton_put_bytes(bytes, 1, slice_from_string(key));
    skeleton_put_bytes(bytes, 2, value);
    skeleton_close(bytes, start);
}

static Status
put_reference(const Passing *passing)
{
    Buffer *bytes = &passing->scan->skeleton->bytes;
    char ref[SHA256_REF_SIZE];
    char length[24];
    sha256_to_ref(&passing->digest, ref);
    (void)snprintf(length, sizeof length, "%llu", (unsigned long long)passing->size);
    put_entry(bytes, "location", slice_from_string(ref));
    put_entry(bytes, "length", slice_from_string(length));
    skeleton_put_varint(bytes, ONNX_TENSOR_LOCATION, ONNX_EXTERNAL);
    return STATUS_OK;
}

static Status
fail_external(const Passing *passing, const char *reason)
{
    return call_fail(passing->scan->call, STATUS_INVALID_ARGUMENT,
        "tensor '%.*s' keeps its data in '%.*s', %s", SLICE_PRINT(slice_part(passing->name, 0, NAME_SHOWN)),
        SLICE_PRINT(slice_part(passing->external.location, 0, NAME_SHOWN)), reason);
}

static const SkeletonFile *
find_file(const SkeletonRequest *request, Slice name)
{
    Slice wanted = slice_starts_with(name, SLICE("./")) ? slice_part(name, 2, SIZE_MAX) : name;
    for (size_t index = 1; index < request->file_count; index++) {
        if (slice_equal(request->files[index].name, wanted)) {
            return &request->files[index];
        }
    }
    return NULL;
}

static Status
find_span(const Passing *passing, const SkeletonFile **ret_file, ByteSpan *ret_span)
{
    const OnnxExternal *external = &passing->external;
    if (!onnx_external_is_inside(external->location)) {
        return fail_external(passing, "which is not a file of the model's folder");
    }
    const SkeletonFile *file = find_file(passing->scan->request, external->location);
    if (file == NULL) {
        return fail_external(passing, "which was not given with the model");
    }
    uint64_t left = external->offset <= file->span.size ? file->span.size - external->offset : 0;
    uint64_t size = external->has_length ? external->length : left;
    if (external->offset > file->span.size || size > left) {
        return fail_external(passing, "past the end of that file");
    }
    *ret_file = file;
    *ret_span = byte_span_part(file->span, external->offset, size);
    return STATUS_OK;
}

/* Takes a small tensor in, and names a large one by its digest. */
static Status
resolve_external(Passing *passing)
{
    SkeletonScan *scan = passing->scan;
    Buffer *bytes = &scan->skeleton->bytes;
    const SkeletonFile *file = NULL;
    ByteSpan span;
    if (sha256_from_ref(passing->external.location, &passing->digest)) {
        passing->size = passing->external.length;
        return put_reference(passing);
    }
    TRY(find_span(passing, &file, &span));
    if (passing->may_leave && span.size >= scan->request->weight_size_min) {
        passing->size = span.size;
        TRY(skeleton_weight(scan->call, file, span, scan->skeleton, &passing->digest));
        return put_reference(passing);
    }
    AUTO_BYTE_READER reader = byte_reader(scan->call, span);
    size_t start = skeleton_open(bytes, FIELD_RAW);
    TRY(byte_reader_copy(&reader, span.size, bytes));
    TRY(skeleton_check(scan->call, scan->request, scan->skeleton));
    skeleton_close(bytes, start);
    return STATUS_OK;
}

static Status
scan_tensor(SkeletonScan *scan, uint64_t end, bool may_leave)
{
    Passing passing = {.scan = scan, .may_leave = may_leave, .name = SLICE("")};
    while (scan->reader.position < end) {
        ScanKey key;
        TRY(scan_key(scan, end, &key));
        TRY(pass_field(&passing, &key));
    }
    if (passing.is_external) {
        return resolve_external(&passing);
    }
    return passing.is_left ? put_reference(&passing) : STATUS_OK;
}

static const ScanField attribute_fields[] = {
    {1, SCAN_NAME, NULL},
    {5, SCAN_TENSOR, NULL},
    {6, SCAN_MESSAGE, &onnx_scan_graph},
    {11, SCAN_MESSAGE, &onnx_scan_graph},
};
static const ScanMessage attribute = {WEIGHTS_BY_NAME, SCAN_FIELDS(attribute_fields)};
static const ScanField node_fields[] = {{5, SCAN_MESSAGE, &attribute}};
static const ScanMessage node = {WEIGHTS_ALLOWED, SCAN_FIELDS(node_fields)};
static const ScanField graph_fields[] = {{1, SCAN_MESSAGE, &node}, {5, SCAN_TENSOR, NULL}};
const ScanMessage onnx_scan_graph = {WEIGHTS_ALLOWED, SCAN_FIELDS(graph_fields)};
static const ScanField function_fields[] = {{7, SCAN_MESSAGE, &node}};
static const ScanMessage function = {WEIGHTS_ALLOWED, SCAN_FIELDS(function_fields)};
static const ScanField model_fields[] = {{7, SCAN_MESSAGE, &onnx_scan_graph}, {25, SCAN_MESSAGE, &function}};
const ScanMessage onnx_scan_model = {WEIGHTS_ALLOWED, SCAN_FIELDS(model_fields)};

Status
onnx_skeleton(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton)
{
    return skeleton_scan(call, request, &onnx_scan_model, scan_tensor, ret_skeleton);
}
