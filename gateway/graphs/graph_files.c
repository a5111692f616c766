/* The steps of an import from files:
 *   1. the blobs' sizes are found; a tar of an ONNX model, or a form, is opened: its files take the place of
 *      the blob
 *   2. a small model is read; of a large one, or one of several files, the skeleton is made, which reads
 *      every byte
 *   3. the skeleton is imported as any source (graph_import.h)
 *   4. when the graph is stored, weights become ranges of files, and every absent tensor is looked up */
#include "gateway/graphs/graph_files.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/formats/safetensors.h"
#include "gateway/formats/tar.h"
#include "shared/base/text.h"
#include "shared/json/reader.h"

enum { RESIDENT_PARTS = 1024 }; /* a tensor that takes a larger part of the resident size is absent */

static const JsonMember ref_members[] = {{"ref", JSON_SLICE, .offset = 0}};
static const JsonTable ref_table = JSON_TABLE("a file", ref_members);

/* A file as the request names it. */
typedef struct NamedFile {
    Slice name;
    Slice ref;
} NamedFile;

typedef struct FilesMessage {
    Slice source;
    Slice format;
    const NamedFile *files;
    size_t file_count;
} FilesMessage;

static const JsonList file_list = {
    .item = {.type = JSON_STRUCT, .offset = offsetof(NamedFile, ref), .table = &ref_table},
    .item_size = sizeof(NamedFile),
    .count_max = GRAPH_FILES_MAX,
    .too_many = "a model has too many files",
    .is_map = true,
};

static const JsonMember files_members[] = {
    {"source", JSON_STRUCT, .offset = offsetof(FilesMessage, source), .table = &ref_table},
    {"format", JSON_SLICE, .offset = offsetof(FilesMessage, format)},
    {"files", JSON_LIST, .offset = offsetof(FilesMessage, files), .list = &file_list},
};
static const JsonTable files_table = JSON_TABLE("a graph of files", files_members);
static const JsonDialect files_dialect = {.unknown = JSON_UNKNOWN_IS_REFUSED, .null_is_absent = true};

bool
graph_files_named(Slice body)
{
    size_t at = 0;
    while (at < body.size && strchr(" \t\r\n{", body.data[at]) != NULL && body.data[at] != '\0') {
        at++;
    }
    Slice rest = slice_part(body, at, SIZE_MAX);
    for (size_t index = 0; index < COUNT_OF(files_members); index++) {
        Slice name = slice_from_string(files_members[index].name);
        if (rest.size > name.size + 1 && rest.data[0] == '"' && rest.data[name.size + 1] == '"' &&
            slice_equal(slice_part(rest, 1, name.size), name)) {
            return true;
        }
    }
    return false;
}

Status
graph_files_read(Call *call, Slice body, GraphFiles *ret_files)
{
    FilesMessage message = {.source = SLICE(""), .format = SLICE("")};
    TRY(json_stream_read(call, body, &files_dialect, &files_table, &message));
    GraphFile *items = arena_alloc(call->arena, (message.file_count + 1) * sizeof *items);
    if (items == NULL) {
        return call_fail_memory(call, "a graph's files");
    }
    items[0].name = SLICE("");
    TRY(sha256_parse_ref(call, message.source, &items[0].digest));
    for (size_t index = 0; index < message.file_count; index++) {
        items[index + 1].name = message.files[index].name;
        TRY(sha256_parse_ref(call, message.files[index].ref, &items[index + 1].digest));
    }
    GraphFormat format = graph_format_find(SLICE(""), message.format);
    if (format == GRAPH_FORMAT_UNKNOWN) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the member 'format' is '%.*s', it can be 'json', 'graphdef', 'onnx' or 'saved_model'",
            SLICE_PRINT(slice_part(message.format, 0, 40)));
    }
    *ret_files = (GraphFiles){.format = format, .items = items, .count = message.file_count + 1};
    return STATUS_OK;
}

/* The sources of an import, one for each blob. */
typedef struct StoredFile {
    Store *store;
    TenantId tenant;
    Sha256 digest;
    ByteSource source;
} StoredFile;

static Status
read_stored(Call *call, const ByteSource *source, uint64_t offset, size_t size, Buffer *ret_bytes)
{
    const StoredFile *file = source->context;
    size_t before = ret_bytes->size;
    BlobRange range = {.offset = offset, .size = size};
    TRY(blobs_read(call, file->store, file->tenant, &file->digest, range, ret_bytes));
    return ret_bytes->size == before + size
               ? STATUS_OK
               : call_fail(call, STATUS_ABORTED, "the blob was removed while it was read");
}

static Status
open_file(Call *call, Store *store, TenantId tenant, const GraphFile *file, StoredFile *stored)
{
    *stored = (StoredFile){.store = store,
        .tenant = tenant,
        .digest = file->digest,
        .source = {.read = read_stored, .context = stored}};
    return blobs_find(call, store, tenant, &file->digest, &stored->source.size);
}

/* A model's files, ready to be read. */
typedef struct Opened {
    StoredFile *blobs;
    size_t blob_count;
    SkeletonFile *files;
    size_t file_count;
    uint64_t size;
} Opened;

static Status
open_files(Call *call, Store *store, TenantId tenant, const GraphFiles *files, Opened *opened)
{
    opened->blobs = arena_alloc(call->arena, files->count * sizeof *opened->blobs);
    opened->files = arena_alloc(call->arena, files->count * sizeof *opened->files);
    if (opened->blobs == NULL || opened->files == NULL) {
        return call_fail_memory(call, "a graph's files");
    }
    for (size_t index = 0; index < files->count; index++) {
        StoredFile *blob = &opened->blobs[index];
        TRY(open_file(call, store, tenant, &files->items[index], blob));
        opened->files[index] = (SkeletonFile){
            .name = files->items[index].name, .span = {&blob->source, 0, blob->source.size}, .blob = index};
        opened->size += blob->source.size;
    }
    opened->blob_count = opened->file_count = files->count;
    return STATUS_OK;
}

static Status
is_archive(Call *call, ByteSpan span, bool *ret_is_archive)
{
    Slice block;
    TRY(byte_span_get(
        call, call->arena, byte_span_part(span, 0, TAR_BLOCK_SIZE), TAR_BLOCK_SIZE, "a header", &block));
    *ret_is_archive = tar_is(block);
    return STATUS_OK;
}

/* Names files relative to the folder of the model, which becomes the first of them. */
static Status
order_files(Call *call, SkeletonFile *files, size_t count)
{
    size_t model = SIZE_MAX;
    for (size_t index = 0; index < count; index++) {
        if (slice_ends_with(files[index].name, SLICE(".onnx"))) {
            if (model != SIZE_MAX) {
                return call_fail(call, STATUS_INVALID_ARGUMENT, "there are two models, '%.*s' and '%.*s'",
                    SLICE_PRINT(slice_part(files[model].name, 0, 128)),
                    SLICE_PRINT(slice_part(files[index].name, 0, 128)));
            }
            model = index;
        }
    }
    if (model == SIZE_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no file whose name ends in '.onnx'");
    }
    Slice folder = slice_folder(files[model].name);
    SkeletonFile first = files[model];
    files[model] = files[0];
    files[0] = first;
    for (size_t index = 0; index < count; index++) {
        if (slice_starts_with(files[index].name, folder)) {
            files[index].name = slice_part(files[index].name, folder.size, SIZE_MAX);
        }
    }
    return STATUS_OK;
}

static Status
list_archive(Call *call, ByteSpan archive, SkeletonFile *files, size_t *ret_count)
{
    TarReader reader = {.rest = archive};
    TarFile found;
    bool has_more = true;
    size_t count = 0;
    TRY(tar_next(call, &reader, &found, &has_more));
    while (has_more) {
        if (count == GRAPH_FILES_MAX) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "the archive has more than %d files", GRAPH_FILES_MAX);
        }
        files[count++] = (SkeletonFile){.name = found.name, .span = found.content, .blob = 0};
        TRY(tar_next(call, &reader, &found, &has_more));
    }
    *ret_count = count;
    return STATUS_OK;
}

static void
list_parts(const GraphFileParts *parts, ByteSpan whole, SkeletonFile *files)
{
    for (size_t index = 0; index < parts->count; index++) {
        const GraphFilePart *part = &parts->items[index];
        files[index] = (SkeletonFile){
            .name = part->name, .span = byte_span_part(whole, part->offset, part->size), .blob = 0};
    }
}

/* Replaces the only file by those in it: its parts, or what it has as an archive. */
static Status
open_inside(Call *call, const GraphFileParts *parts, Opened *opened)
{
    ByteSpan whole = opened->files[0].span;
    assert(parts->count <= GRAPH_FILES_MAX);
    SkeletonFile *files = arena_alloc(call->arena, GRAPH_FILES_MAX * sizeof *files);
    if (files == NULL) {
        return call_fail_memory(call, "a graph's files");
    }
    opened->files = files;
    opened->file_count = parts->count;
    if (parts->count == 0) {
        TRY(list_archive(call, whole, files, &opened->file_count));
    } else {
        list_parts(parts, whole, files);
    }
    return order_files(call, files, opened->file_count);
}

typedef Status (*MakeSkeleton)(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);

static MakeSkeleton
find_maker(GraphFormat format)
{
    switch (format) {
    case GRAPH_FORMAT_ONNX:
        return onnx_skeleton;
    case GRAPH_FORMAT_GRAPHDEF:
        return graphdef_skeleton;
    case GRAPH_FORMAT_SAVED_MODEL:
        return saved_model_skeleton;
    case GRAPH_FORMAT_JSON:
    case GRAPH_FORMAT_UNKNOWN:
        break;
    }
    return NULL;
}

/* Returns what makes a skeleton of a model to whose files .safetensors belong. */
static MakeSkeleton
find_named_maker(GraphFormat format)
{
    switch (format) {
    case GRAPH_FORMAT_ONNX:
        return onnx_skeleton;
    case GRAPH_FORMAT_GRAPHDEF:
        return named_weights_of_graphdef;
    case GRAPH_FORMAT_JSON:
        return named_weights_of_json;
    case GRAPH_FORMAT_SAVED_MODEL:
    case GRAPH_FORMAT_UNKNOWN:
        break;
    }
    return NULL;
}

static void
release_source(void *source)
{
    tensor_buffer_unref(source);
}

/* Keeps bytes in memory that a graph can hold on to. */
static Status
keep_bytes(Call *call, Slice bytes, TensorBuffer **ret_buffer)
{
    TensorBuffer *buffer = tensor_buffer_new(bytes.size);
    if (buffer == NULL || arena_defer(call->arena, release_source, buffer) == NULL) {
        return call_fail_memory(call, "a graph's source");
    }
    memcpy(buffer->data, bytes.size == 0 ? "" : bytes.data, bytes.size);
    *ret_buffer = buffer;
    return STATUS_OK;
}

static Status
read_whole(Call *call, ByteSpan span, TensorBuffer **ret_buffer)
{
    AUTO_BYTE_READER reader = byte_reader(call, span);
    AUTO_BUFFER bytes = {0};
    TRY(byte_reader_copy(&reader, span.size, &bytes));
    return buffer_is_ok(&bytes) ? keep_bytes(call, buffer_slice(&bytes), ret_buffer)
                                : call_fail_memory(call, "a graph's source");
}

static Status
take_weights(Call *call, const Opened *opened, const Skeleton *skeleton, GraphWeights *ret_weights)
{
    size_t count = skeleton_weight_count(skeleton);
    const SkeletonWeight *weights = skeleton_weights(skeleton);
    BlobPartOf *ranges = arena_alloc(call->arena, (count + 1) * sizeof *ranges);
    if (ranges == NULL) {
        return call_fail_memory(call, "a model's weights");
    }
    for (size_t index = 0; index < count; index++) {
        ranges[index] = (BlobPartOf){.digest = weights[index].digest,
            .file = opened->blobs[weights[index].blob].digest,
            .offset = weights[index].offset,
            .size = weights[index].size};
    }
    *ret_weights = (GraphWeights){ranges, count};
    return STATUS_OK;
}

static Status
fail_format(Call *call, GraphFormat format, uint64_t size, uint64_t resident_size)
{
    return format == GRAPH_FORMAT_SAVED_MODEL
               ? call_fail(call, STATUS_INVALID_ARGUMENT,
                     "a SavedModel has its own variables, and takes no .safetensors file")
               : call_fail(call, STATUS_OUT_OF_RANGE,
                     "a graph as JSON has at most %llu bytes, not %llu: its weights must be raw bytes, as in "
                     "GraphDef or ONNX",
                     (unsigned long long)resident_size, (unsigned long long)size);
}

/* Makes the skeleton; with named weights that of a GraphDef is JSON, which *format becomes. */
static Status
make_skeleton(
    Call *call, const Opened *opened, uint64_t resident_size, GraphFormat *format, Skeleton *skeleton)
{
    bool is_small = opened->size <= resident_size;
    bool is_named = false;
    uint64_t part = resident_size / RESIDENT_PARTS;
    TRY(safetensors_open(call, opened->files, opened->file_count, &is_named));
    MakeSkeleton make = is_named ? find_named_maker(*format) : find_maker(*format);
    SkeletonRequest request = {
        .files = opened->files,
        .file_count = opened->file_count,
        .weight_size_min = is_small ? SIZE_MAX : (size_t)(part == 0 ? 1 : part),
        .size_max = GRAPH_SKELETON_SIZE_MAX + (is_small ? (size_t)opened->size : 0),
    };
    if (make == NULL) {
        return fail_format(call, *format, opened->size, resident_size);
    }
    *format = is_named && *format == GRAPH_FORMAT_GRAPHDEF ? GRAPH_FORMAT_JSON : *format;
    return make(call, &request, skeleton);
}

/* Reads the source from a skeleton. */
static Status
skeleton_source(
    Call *call, const Opened *opened, uint64_t resident_size, GraphSource *source, GraphWeights *ret_weights)
{
    AUTO_SKELETON skeleton = {.bytes = {0}};
    TRY(make_skeleton(call, opened, resident_size, &source->format, &skeleton));
    TRY(take_weights(call, opened, &skeleton, ret_weights));
    return keep_bytes(call, buffer_slice(&skeleton.bytes), &source->bytes);
}

Status
graph_files_source(Call *call, Store *store, TenantId tenant, const GraphFiles *files,
    GraphSource *ret_source, GraphWeights *ret_weights)
{
    assert(files->count > 0);

    Opened opened = {.size = 0};
    bool is_packed = files->parts.count > 0;
    TRY(open_files(call, store, tenant, files, &opened));
    if (files->format == GRAPH_FORMAT_ONNX && !is_packed) {
        TRY(is_archive(call, opened.files[0].span, &is_packed));
    }
    if (is_packed) {
        TRY(open_inside(call, &files->parts, &opened));
    }
    ret_source->format = files->format;
    bool is_one = opened.file_count == 1 && !is_packed;
    return is_one && opened.size <= files->resident_size
               ? read_whole(call, opened.files[0].span, &ret_source->bytes)
               : skeleton_source(call, &opened, files->resident_size, ret_source, ret_weights);
}

Status
graph_body_source(Call *call, const GraphFileParts *parts, uint64_t resident_size, GraphSource *source,
    GraphWeights *ret_weights, GraphBody *ret_body)
{
    Slice body = slice_of(source->bytes->data, source->bytes->size);
    StoredFile blob = {.source = byte_source_of(body)};
    SkeletonFile file = {.name = SLICE(""), .span = {&blob.source, 0, blob.source.size}};
    Opened opened = {.blobs = &blob, .files = &file, .file_count = 1, .size = body.size};
    bool is_packed = parts->count > 0 ||
                     (source->format == GRAPH_FORMAT_ONNX && tar_is(slice_part(body, 0, TAR_BLOCK_SIZE)));
    if (is_packed) {
        TRY(open_inside(call, parts, &opened));
    }
    if (!is_packed && (body.size <= resident_size || find_maker(source->format) == NULL)) {
        return STATUS_OK;
    }
    sha256(body, &blob.digest);
    TRY(skeleton_source(call, &opened, resident_size, source, ret_weights));
    if (ret_weights->count > 0) {
        *ret_body = (GraphBody){body, blob.digest};
    }
    return STATUS_OK;
}

/* An absent tensor of a graph. */
typedef struct Wanted {
    Sha256 digest;
    uint64_t size;
    Slice node;
} Wanted;

static void
want_tensor(Buffer *wanted, const Tensor *tensor, Slice node)
{
    if (tensor_is_absent(tensor)) {
        Wanted one = {*tensor_digest(tensor), tensor_byte_size(tensor), node};
        buffer_append(wanted, &one, sizeof one);
    }
}

static void
want_nodes(Buffer *wanted, const NodeDef *nodes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        const AttrValue *value = node_def_attr(&nodes[index], SLICE("value"));
        if (value != NULL && value->kind == ATTR_TENSOR && !value->is_list) {
            want_tensor(wanted, &value->value.tensor, nodes[index].name);
        }
    }
}

static void
want_all(Buffer *wanted, const GraphDef *def)
{
    want_nodes(wanted, def->nodes, def->node_count);
    for (size_t index = 0; index < def->function_count; index++) {
        want_nodes(wanted, def->functions[index].nodes, def->functions[index].node_count);
    }
    for (size_t index = 0; index < def->checkpoint_count; index++) {
        want_tensor(wanted, &def->checkpoint[index].tensor, def->checkpoint[index].name);
    }
}

static int
compare_holders(const void *left, const void *right)
{
    const BlobHolder *first = left;
    const BlobHolder *second = right;
    return memcmp(first->digest.bytes, second->digest.bytes, SHA256_SIZE);
}

static Status
check_wanted(Call *call, const Wanted *wanted, const BlobHolders *holders)
{
    char ref[SHA256_REF_SIZE];
    BlobHolder key = {.digest = wanted->digest};
    const BlobHolder *found =
        bsearch(&key, holders->items, holders->count, sizeof *holders->items, compare_holders);
    sha256_to_ref(&wanted->digest, ref);
    if (found == NULL) {
        return call_fail(call, STATUS_NOT_FOUND, "the value of '%.*s' is the blob '%s', which is not stored",
            SLICE_PRINT(slice_part(wanted->node, 0, 128)), ref);
    }
    return found->size == wanted->size
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "the value of '%.*s' has %llu bytes, the blob '%s' has %llu",
                     SLICE_PRINT(slice_part(wanted->node, 0, 128)), (unsigned long long)wanted->size, ref,
                     (unsigned long long)found->size);
}

static Status
find_holders(Call *call, Store *store, TenantId tenant, const Buffer *list, BlobHolders *ret_holders)
{
    const Wanted *wanted = (const Wanted *)(const void *)list->data;
    size_t count = list->size / sizeof *wanted;
    Sha256 *digests = arena_alloc(call->arena, (count + 1) * sizeof *digests);
    if (digests == NULL) {
        return call_fail_memory(call, "a graph's weights");
    }
    for (size_t index = 0; index < count; index++) {
        digests[index] = wanted[index].digest;
    }
    TRY(blobs_holders(call, store, tenant, digests, count, ret_holders));
    for (size_t index = 0; index < count; index++) {
        TRY(check_wanted(call, &wanted[index], ret_holders));
    }
    return STATUS_OK;
}

Status
graph_weights_find(Call *call, Store *store, TenantId tenant, const Graph *graph, const Sha256 **ret_files,
    size_t *ret_count)
{
    AUTO_BUFFER wanted = {0};
    BlobHolders holders = {.count = 0};
    *ret_count = 0;
    want_all(&wanted, graph_def_author(graph->def));
    if (!buffer_is_ok(&wanted)) {
        return call_fail_memory(call, "a graph's weights");
    }
    if (wanted.size == 0) {
        return STATUS_OK;
    }
    TRY(find_holders(call, store, tenant, &wanted, &holders));
    Sha256 *files = arena_alloc(call->arena, (holders.count + 1) * sizeof *files);
    if (files == NULL) {
        return call_fail_memory(call, "a graph's weights");
    }
    for (size_t index = 0; index < holders.count; index++) {
        files[index] = holders.items[index].holder;
    }
    *ret_files = files;
    *ret_count = holders.count;
    return STATUS_OK;
}
