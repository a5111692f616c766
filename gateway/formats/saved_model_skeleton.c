/* Skeletons of SavedModels: a tar of saved_model.pb without its large constants, of the values of its
 * variables, and of the files in assets/.
 *
 *   1. the archive's headers are read, and its files found
 *   2. saved_model.pb goes through the walk for GraphDefs
 *   3. the checkpoint's index is read, and with it each tensor: small ones stay, large ones are digested
 *   4. the assets are copied */
#include <assert.h>

#include "gateway/formats/saved_model.h"
#include "gateway/formats/skeleton_scan.h"
#include "gateway/formats/tar.h"

typedef struct Packing {
    Call *call;
    const SkeletonRequest *request;
    Skeleton *skeleton;
} Packing;

/* Appends a header whose size is set by close_file(). */
static Status
open_file(const Packing *packing, Slice name, size_t *ret_start)
{
    tar_append_header(&packing->skeleton->bytes, name, 0);
    *ret_start = packing->skeleton->bytes.size;
    return skeleton_check(packing->call, packing->request, packing->skeleton);
}

static Status
close_file(const Packing *packing, size_t start)
{
    static const char zeros[TAR_BLOCK_SIZE];
    Buffer *bytes = &packing->skeleton->bytes;
    TRY(skeleton_check(packing->call, packing->request, packing->skeleton));
    size_t size = bytes->size - start;
    tar_set_size(bytes->data + start - TAR_BLOCK_SIZE, size);
    buffer_append(bytes, zeros, (TAR_BLOCK_SIZE - size % TAR_BLOCK_SIZE) % TAR_BLOCK_SIZE);
    return skeleton_check(packing->call, packing->request, packing->skeleton);
}

static void
put_shape(Buffer *bytes, const Shape *shape)
{
    size_t start = skeleton_open(bytes, 2);
    for (int index = 0; index < shape->rank; index++) {
        size_t dim = skeleton_open(bytes, 2);
        skeleton_put_varint(bytes, 1, (uint64_t)shape->dims[index]);
        skeleton_close(bytes, dim);
    }
    skeleton_close(bytes, start);
}

static void
put_strings(Buffer *bytes, const Tensor *tensor)
{
    const Slice *strings = tensor->data;
    int64_t count = tensor_element_count(tensor);
    for (int64_t index = 0; index < count; index++) {
        skeleton_put_bytes(bytes, 8, strings[index]);
    }
}

static void
put_elements(Buffer *bytes, const Tensor *tensor)
{
    if (tensor_is_absent(tensor)) {
        char ref[SHA256_REF_SIZE];
        sha256_to_ref(tensor_digest(tensor), ref);
        skeleton_put_bytes(bytes, PROTO_TENSOR_REF, slice_from_string(ref));
    } else if (tensor->dtype == DTYPE_STRING) {
        put_strings(bytes, tensor);
    } else {
        skeleton_put_bytes(bytes, 4, slice_of(tensor->data, tensor_byte_size(tensor)));
    }
}

static void
put_tensor(Buffer *bytes, const GraphTensor *value)
{
    size_t entry = skeleton_open(bytes, 1);
    skeleton_put_bytes(bytes, 1, value->name);
    size_t tensor = skeleton_open(bytes, 2);
    skeleton_put_varint(bytes, 1, (uint64_t)dtype_tensorflow_number(value->tensor.dtype));
    put_shape(bytes, &value->tensor.shape);
    put_elements(bytes, &value->tensor);
    skeleton_close(bytes, tensor);
    skeleton_close(bytes, entry);
}

static Status
leave_tensor(void *context, ByteSpan span, const Sha256 *digest)
{
    const Packing *packing = context;
    return skeleton_note(packing->call, &packing->request->files[0], span, digest, packing->skeleton);
}

static Status
pack_tensors(Packing *packing, Checkpoint *checkpoint)
{
    enum { SCRATCH_FACTOR = 16 };
    size_t size_max = packing->request->size_max;
    AUTO_GRAPH_BUILDER builder;
    TRY(builder_begin(&builder, packing->call, size_max));
    AUTO_ARENA scratch = arena_new(size_max * SCRATCH_FACTOR);
    if (scratch == NULL) {
        return call_fail_memory(packing->call, "a checkpoint");
    }
    ProtoImport import = {.call = packing->call, .builder = &builder, .scratch = scratch};
    const GraphTensor *tensors = NULL;
    size_t count = 0;
    checkpoint->leave = leave_tensor;
    checkpoint->context = packing;
    checkpoint->weight_size_min = packing->request->weight_size_min;
    checkpoint->size_max = size_max;
    TRY(checkpoint_read(&import, checkpoint, &tensors, &count));
    for (size_t index = 0; index < count; index++) {
        put_tensor(&packing->skeleton->bytes, &tensors[index]);
    }
    return STATUS_OK;
}

static Status
pack_checkpoint(Packing *packing, Checkpoint *checkpoint)
{
    static const Slice name = {
        .data = "variables/" SAVED_MODEL_TENSORS, .size = sizeof "variables/" SAVED_MODEL_TENSORS - 1};
    size_t start = 0;
    if (checkpoint->index.source == NULL) {
        return STATUS_OK;
    }
    TRY(open_file(packing, name, &start));
    TRY(pack_tensors(packing, checkpoint));
    return close_file(packing, start);
}

static Status
pack_model(const Packing *packing, ByteSpan model)
{
    size_t start = 0;
    SkeletonFile file = packing->request->files[0];
    file.span = model;
    TRY(open_file(packing, SLICE("saved_model.pb"), &start));
    TRY(graphdef_skeleton_model(packing->call, packing->request, &file, packing->skeleton));
    return close_file(packing, start);
}

static Status
pack_copy(const Packing *packing, Slice name, ByteSpan content)
{
    AUTO_BYTE_READER reader = byte_reader(packing->call, content);
    size_t start = 0;
    TRY(open_file(packing, name, &start));
    TRY(byte_reader_copy(&reader, content.size, &packing->skeleton->bytes));
    return close_file(packing, start);
}

static Status
pack_assets(const Packing *packing, Slice folder, ByteSpan archive)
{
    TarReader reader = {.rest = archive};
    TarFile file;
    bool is_found = true;
    TRY(tar_next(packing->call, &reader, &file, &is_found));
    while (is_found) {
        Slice name = saved_model_asset(folder, file.name);
        if (name.size > 0) {
            TRY(pack_copy(packing, name, file.content));
        }
        TRY(tar_next(packing->call, &reader, &file, &is_found));
    }
    return STATUS_OK;
}

Status
saved_model_skeleton(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton)
{
    assert(request->file_count > 0 && request->size_max > 0);
    static const char end[2 * TAR_BLOCK_SIZE];
    Packing packing = {call, request, ret_skeleton};
    ByteSpan archive = request->files[0].span;
    SavedModelFiles *files = arena_alloc(call->arena, sizeof *files);
    if (files == NULL) {
        return call_fail_memory(call, "a model");
    }
    ret_skeleton->bytes.size_max = request->size_max;
    TRY(saved_model_files(call, archive, files));
    TRY(pack_model(&packing, files->model));
    if (files->tensors.source != NULL) {
        TRY(pack_copy(&packing, SLICE("variables/" SAVED_MODEL_TENSORS), files->tensors));
    }
    TRY(pack_checkpoint(&packing, &files->checkpoint));
    TRY(pack_assets(&packing, files->folder, archive));
    buffer_append(&ret_skeleton->bytes, end, sizeof end);
    return skeleton_check(call, request, ret_skeleton);
}
