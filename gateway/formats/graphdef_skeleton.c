/* Skeletons of GraphDefs and of saved_model.pb. Field numbers: TensorFlow's graph.proto, function.proto,
 * node_def.proto, attr_value.proto, tensor.proto, saved_model.proto, meta_graph.proto. */
#include "gateway/formats/skeleton_scan.h"

#include "gateway/formats/protobuf_attr.h"

enum { FIELD_CONTENT = 4 };

/* Copies a TensorProto; its tensor_content, when it is large, becomes a reference. Strings are never left
 * out: their lengths are part of the content. */
static Status
scan_tensor(SkeletonScan *scan, uint64_t end, bool may_leave)
{
    bool is_left = false;
    Dtype dtype = DTYPE_INVALID;
    while (scan->reader.position < end) {
        ScanKey key;
        TRY(scan_key(scan, end, &key));
        if (key.number == 1 && key.wire == PROTOBUF_VARINT) {
            dtype = dtype_from_tensorflow_number((int64_t)key.value);
        }
        bool is_weight = may_leave && !is_left && key.number == FIELD_CONTENT && key.wire == PROTOBUF_BYTES &&
                         key.size >= scan->request->weight_size_min && dtype_is_copyable(dtype);
        if (is_weight) {
            char ref[SHA256_REF_SIZE];
            Sha256 digest;
            TRY(scan_weight(scan, key.size, &digest));
            sha256_to_ref(&digest, ref);
            skeleton_put_bytes(&scan->skeleton->bytes, PROTO_TENSOR_REF, slice_from_string(ref));
            is_left = true;
        } else {
            TRY(scan_copy(scan, &key));
        }
    }
    return STATUS_OK;
}

static const ScanField value_fields[] = {{8, SCAN_TENSOR, NULL}};
static const ScanMessage value = {WEIGHTS_AS_AROUND, SCAN_FIELDS(value_fields)};
static const ScanField attr_fields[] = {{1, SCAN_NAME, NULL}, {2, SCAN_MESSAGE, &value}};
static const ScanMessage attr = {WEIGHTS_BY_NAME, SCAN_FIELDS(attr_fields)};
static const ScanField node_fields[] = {{5, SCAN_MESSAGE, &attr}};
static const ScanMessage node = {WEIGHTS_ALLOWED, SCAN_FIELDS(node_fields)};
static const ScanField function_fields[] = {{3, SCAN_MESSAGE, &node}};
static const ScanMessage function = {WEIGHTS_ALLOWED, SCAN_FIELDS(function_fields)};
static const ScanField library_fields[] = {{1, SCAN_MESSAGE, &function}};
static const ScanMessage library = {WEIGHTS_ALLOWED, SCAN_FIELDS(library_fields)};
static const ScanField graph_fields[] = {{1, SCAN_MESSAGE, &node}, {2, SCAN_MESSAGE, &library}};
static const ScanMessage graph = {WEIGHTS_ALLOWED, SCAN_FIELDS(graph_fields)};
static const ScanField meta_graph_fields[] = {{2, SCAN_MESSAGE, &graph}};
static const ScanMessage meta_graph = {WEIGHTS_ALLOWED, SCAN_FIELDS(meta_graph_fields)};
static const ScanField model_fields[] = {{2, SCAN_MESSAGE, &meta_graph}};
static const ScanMessage model = {WEIGHTS_ALLOWED, SCAN_FIELDS(model_fields)};

Status
graphdef_skeleton_model(
    Call *call, const SkeletonRequest *request, const SkeletonFile *file, Skeleton *skeleton)
{
    return skeleton_scan_file(call, request, file, &model, scan_tensor, skeleton);
}

/* Tells a SavedModel's saved_model.pb by its first field, the number of its schema, from a GraphDef. */
static Status
begins_as_saved_model(Call *call, ByteSpan span, bool *ret_is_model)
{
    AUTO_BYTE_READER reader = byte_reader(call, span);
    uint64_t key = 0;
    if (span.size > 0) {
        TRY(byte_reader_varint(&reader, &key));
    }
    *ret_is_model = key == (1 << 3 | PROTOBUF_VARINT);
    return STATUS_OK;
}

Status
graphdef_skeleton(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton)
{
    bool is_model = false;
    TRY(begins_as_saved_model(call, request->files[0].span, &is_model));
    return skeleton_scan(call, request, is_model ? &model : &graph, scan_tensor, ret_skeleton);
}
