/* Skeletons of ONNX models. A TensorProto keeps all its fields but those with elements. Field numbers:
 * onnx.proto of ONNX 1.22; external data: the chapter "External Data" of its specification.
 *
 * Of .safetensors files tensors are taken by name: one whose external data is such a file, without an offset,
 * is the tensor of its own name; and an input of the model's graph that has the name of such a tensor gets it
 * as its initializer (torch.onnx.export with export_params=False writes weights as inputs). */
#include <stdio.h>

#include "gateway/formats/onnx_external.h"
#include "gateway/formats/onnx_proto.h"
#include "gateway/formats/safetensors.h"
#include "gateway/formats/skeleton_scan.h"
#include "shared/base/map.h"
#include "shared/base/text.h"
#include "shared/tensor/dtype.h"

enum {
    FIELD_DIMS = 1,
    FIELD_DATA_TYPE = 2,
    FIELD_FLOATS = 4,
    FIELD_NAME = 8,
    FIELD_RAW = 9,
    FIELD_DOUBLES = 10,
    NAME_SHOWN = 128,
    FIELD_INITIALIZER = 5, /* of GraphProto */
    DIMS_SIZE_MAX = 1 << 10,
};

extern const ScanMessage onnx_scan_graph;

/* A tensor while its fields pass by. */
typedef struct Passing {
    SkeletonScan *scan;
    bool may_leave;
    int64_t data_type;
    Shape shape; /* rank -1: it has more dimensions than a shape */
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

static void
note_dim(Shape *shape, uint64_t dim)
{
    bool fits = shape->rank >= 0 && shape->rank < SHAPE_RANK_MAX && dim <= INT64_MAX;
    if (fits) {
        shape->dims[shape->rank] = (int64_t)dim;
    }
    shape->rank = fits ? shape->rank + 1 : -1;
}

/* Copies dimensions, one or a packed list, and notes them. */
static Status
pass_dims(Passing *passing, const ScanKey *key)
{
    SkeletonScan *scan = passing->scan;
    Slice packed;
    if (key->wire != PROTOBUF_BYTES) {
        note_dim(&passing->shape, key->value);
        return scan_copy(scan, key);
    }
    TRY(scan_text(scan, key, DIMS_SIZE_MAX, &packed));
    skeleton_put_bytes(&scan->skeleton->bytes, FIELD_DIMS, packed);
    ProtobufField field = {.number = FIELD_DIMS, .wire = PROTOBUF_BYTES, .bytes = packed};
    ProtobufNumbers numbers;
    uint64_t dim = 0;
    bool is_list = protobuf_numbers(&field, PROTOBUF_VARINT, &numbers);
    while (is_list && protobuf_numbers_next(&numbers, &dim)) {
        note_dim(&passing->shape, dim);
    }
    return STATUS_OK;
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
    if (key->number == FIELD_DIMS) {
        return pass_dims(passing, key);
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

static void
put_reference(Buffer *bytes, const Sha256 *digest, uint64_t size)
{
    char ref[SHA256_REF_SIZE];
    char length[24];
    sha256_to_ref(digest, ref);
    (void)snprintf(length, sizeof length, "%llu", (unsigned long long)size);
    put_entry(bytes, "location", slice_from_string(ref));
    put_entry(bytes, "length", slice_from_string(length));
    skeleton_put_varint(bytes, ONNX_TENSOR_LOCATION, ONNX_EXTERNAL);
}

static Status
fail_external(const Passing *passing, const char *reason)
{
    return call_fail(passing->scan->call, STATUS_INVALID_ARGUMENT,
        "tensor '%.*s' keeps its data in '%.*s', %s", SLICE_PRINT(slice_part(passing->name, 0, NAME_SHOWN)),
        SLICE_PRINT(slice_part(passing->external.location, 0, NAME_SHOWN)), reason);
}

static Status
fail_shape(const Passing *passing, const Shape *found)
{
    char given[SHAPE_TEXT_SIZE];
    char asked[SHAPE_TEXT_SIZE];
    const char *reason = text_format(passing->scan->call->arena, "where it has the shape %s, not %s",
        shape_text(found, given), shape_text(&passing->shape, asked));
    return fail_external(passing, reason == NULL ? "where it has another shape" : reason);
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

/* Finds the tensor of this name in the .safetensors file that the model names. */
static Status
find_named(const Passing *passing, const SkeletonFile *file, ByteSpan *ret_span)
{
    Call *call = passing->scan->call;
    SkeletonRequest only = {.files = (const SkeletonFile[]){{.name = SLICE("")}, *file}, .file_count = 2};
    const SafeTensor *tensor = NULL;
    TRY(safetensors_find(call, &only, passing->name, &tensor, &file));
    if (tensor == NULL) {
        return fail_external(passing, "which has no tensor of this name");
    }
    TRY(safetensors_check(call, tensor, dtype_from_onnx_number(passing->data_type)));
    *ret_span = tensor->span;
    return shape_equal(&tensor->shape, &passing->shape) ? STATUS_OK : fail_shape(passing, &tensor->shape);
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
    *ret_file = file;
    if (file->tensors != NULL && !external->has_offset && !external->has_length) {
        return find_named(passing, file, ret_span);
    }
    uint64_t left = external->offset <= file->span.size ? file->span.size - external->offset : 0;
    uint64_t size = external->has_length ? external->length : left;
    if (external->offset > file->span.size || size > left) {
        return fail_external(passing, "past the end of that file");
    }
    *ret_span = byte_span_part(file->span, external->offset, size);
    return STATUS_OK;
}

/* Takes a small tensor's elements in, and names a large one's by their digest. */
static Status
put_elements(Call *call, const SkeletonRequest *request, const SkeletonFile *file, ByteSpan span,
    size_t weight_size_min, Skeleton *skeleton)
{
    Buffer *bytes = &skeleton->bytes;
    if (span.size >= weight_size_min) {
        Sha256 digest;
        TRY(skeleton_weight(call, file, span, skeleton, &digest));
        put_reference(bytes, &digest, span.size);
        return STATUS_OK;
    }
    AUTO_BYTE_READER reader = byte_reader(call, span);
    size_t start = skeleton_open(bytes, FIELD_RAW);
    TRY(byte_reader_copy(&reader, span.size, bytes));
    TRY(skeleton_check(call, request, skeleton));
    skeleton_close(bytes, start);
    return STATUS_OK;
}

static Status
resolve_external(Passing *passing)
{
    SkeletonScan *scan = passing->scan;
    const SkeletonFile *file = NULL;
    ByteSpan span;
    if (sha256_from_ref(passing->external.location, &passing->digest)) {
        put_reference(&scan->skeleton->bytes, &passing->digest, passing->external.length);
        return STATUS_OK;
    }
    TRY(find_span(passing, &file, &span));
    return put_elements(scan->call, scan->request, file, span,
        passing->may_leave ? scan->request->weight_size_min : SIZE_MAX, scan->skeleton);
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
    if (passing.is_left) {
        put_reference(&scan->skeleton->bytes, &passing.digest, passing.size);
    }
    return STATUS_OK;
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

/* The model's graph in its skeleton, to which initializers are added. */
typedef struct Adding {
    Call *call;
    const SkeletonRequest *request;
    Skeleton *skeleton;
    Map *initialized; /* names that have an initializer */
} Adding;

static Status
add_initializer(
    Adding *adding, const OnnxValueProto *input, const SafeTensor *tensor, const SkeletonFile *file)
{
    Buffer *bytes = &adding->skeleton->bytes;
    TRY(safetensors_check(adding->call, tensor, dtype_from_onnx_number(input->elem_type)));
    size_t start = skeleton_open(bytes, FIELD_INITIALIZER);
    for (int axis = 0; axis < tensor->shape.rank; axis++) {
        skeleton_put_varint(bytes, FIELD_DIMS, (uint64_t)tensor->shape.dims[axis]);
    }
    skeleton_put_varint(bytes, FIELD_DATA_TYPE, (uint64_t)input->elem_type);
    skeleton_put_bytes(bytes, FIELD_NAME, input->name);
    TRY(put_elements(adding->call, adding->request, file, tensor->span, adding->request->weight_size_min,
        adding->skeleton));
    skeleton_close(bytes, start);
    return skeleton_check(adding->call, adding->request, adding->skeleton);
}

static Status
add_of_input(Adding *adding, Slice value)
{
    OnnxValueProto input;
    const SafeTensor *tensor = NULL;
    const SkeletonFile *file = NULL;
    TRY(onnx_parse_value(adding->call, adding->call->arena, value, &input));
    if (input.name.size == 0 || map_get(adding->initialized, input.name) != NULL) {
        return STATUS_OK;
    }
    TRY(safetensors_find(adding->call, adding->request, input.name, &tensor, &file));
    return tensor == NULL ? STATUS_OK : add_initializer(adding, &input, tensor, file);
}

/* Notes the names of the graph's initializers. */
static Status
note_initialized(Adding *adding, const OnnxGraphProto *graph)
{
    static const KeptField kept[] = {{FIELD_NAME, KEEP_SLICE, 0}};
    static const MessageView message = MESSAGE_VIEW("a tensor", kept);
    static char yes;
    for (size_t index = 0; index < graph->initializers.count; index++) {
        Slice name = SLICE("");
        TRY(message_collect(
            adding->call, adding->call->arena, graph->initializers.items[index], &message, &name));
        if (!map_put(adding->initialized, name, &yes)) {
            return call_fail_memory(adding->call, "initializers");
        }
    }
    return STATUS_OK;
}

/* Adds initializers behind the graph's other fields. Views into the skeleton are made of a copy, since it
 * grows. */
static Status
add_initializers(Adding *adding)
{
    Buffer *bytes = &adding->skeleton->bytes;
    AUTO_BUFFER copy = {0};
    OnnxModelProto model;
    OnnxGraphProto graph;
    buffer_append_slice(&copy, buffer_slice(bytes));
    if (!buffer_is_ok(&copy)) {
        return call_fail_memory(adding->call, "a model");
    }
    TRY(onnx_parse_model(adding->call, adding->call->arena, buffer_slice(&copy), &model));
    if (model.graph.data == NULL) {
        return STATUS_OK; /* the reader says so */
    }
    TRY(onnx_parse_graph(adding->call, adding->call->arena, model.graph, &graph));
    TRY(note_initialized(adding, &graph));
    size_t start = (size_t)(model.graph.data - copy.data);
    size_t end = start + model.graph.size;
    bytes->size = end;
    for (size_t index = 0; index < graph.inputs.count; index++) {
        TRY(add_of_input(adding, graph.inputs.items[index]));
    }
    skeleton_close(bytes, start);
    buffer_append_slice(bytes, slice_part(buffer_slice(&copy), end, SIZE_MAX));
    return skeleton_check(adding->call, adding->request, adding->skeleton);
}

static bool
has_tensors(const SkeletonRequest *request)
{
    for (size_t index = 1; index < request->file_count; index++) {
        if (request->files[index].tensors != NULL) {
            return true;
        }
    }
    return false;
}

Status
onnx_skeleton(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton)
{
    TRY(skeleton_scan(call, request, &onnx_scan_model, scan_tensor, ret_skeleton));
    if (!has_tensors(request)) {
        return STATUS_OK;
    }
    AUTO_MAP initialized = map_new();
    Adding adding = {.call = call, .request = request, .skeleton = ret_skeleton, .initialized = initialized};
    return initialized == NULL ? call_fail_memory(call, "initializers") : add_initializers(&adding);
}
