#include <assert.h>

#include "gateway/plan/partition.h"
#include "shared/base/text.h"
#include "shared/crypto/digest.h"

static_assert((int)PLAN_DIGEST_SIZE == (int)SHA256_HEX_SIZE, "a digest is a sha256");

const char *
partition_device(DeviceAsk ask)
{
    assert((size_t)ask <= DEVICE_GPU);

    static const char *const devices[] = {
        [DEVICE_ANY] = "",
        [DEVICE_CPU] = "/device:CPU:0",
        [DEVICE_GPU_OR_ANY] = "",
        [DEVICE_GPU] = "/device:GPU:0",
    };
    return devices[ask];
}

void
partition_note_ask(Part *part, DeviceAsk ask, Slice node)
{
    if (ask == DEVICE_GPU && part->gpu_node.size == 0) {
        part->gpu_node = node;
    }
    part->wants_gpu = part->wants_gpu || ask == DEVICE_GPU_OR_ANY;
}

void
partition_emit(Partitioning *partitioning, uint32_t slot, const NodeDef *def)
{
    assert(slot < partitioning->compile->slot_count);
    partitioning->has_no_memory = partitioning->has_no_memory || def->name.data == NULL ||
                                  (def->attr_count > 0 && def->attrs == NULL) ||
                                  (def->input_count > 0 && def->inputs == NULL);
    buffer_append(&partitioning->parts[slot].nodes, def, sizeof *def);
}

void
partition_emit_signal(
    Partitioning *partitioning, uint32_t slot, Slice name, const Slice *inputs, size_t input_count)
{
    static const Shape empty = {.rank = 1};
    const Attr attrs[] = {
        partition_type_attr(SLICE("dtype"), DTYPE_FLOAT32),
        {.name = SLICE("value"),
            .value = {.kind = ATTR_TENSOR, .value.tensor = {.dtype = DTYPE_FLOAT32, .shape = empty}}},
    };
    partition_emit(partitioning, slot,
        &(NodeDef){.name = name,
            .op = SLICE("Const"),
            .inputs = inputs,
            .input_count = input_count,
            .attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs)),
            .attr_count = COUNT_OF(attrs)});
}

Slice
partition_name(const Partitioning *partitioning, const char *prefix, Slice name)
{
    return slice_from_string(
        text_format(partitioning->compile->call->arena, "%s%.*s", prefix, SLICE_PRINT(name)));
}

const Slice *
partition_inputs(const Partitioning *partitioning, const Slice *texts, size_t count)
{
    Slice *inputs = compile_alloc(partitioning->compile, count, sizeof *inputs);
    for (size_t index = 0; index < count && inputs != NULL; index++) {
        if (texts[index].data == NULL) {
            return NULL;
        }
        inputs[index] = texts[index];
    }
    return inputs;
}

Attr *
partition_attrs(const Partitioning *partitioning, const Attr *attrs, size_t count)
{
    Attr *list = compile_alloc(partitioning->compile, count, sizeof *list);
    if (list != NULL) {
        memcpy(list, attrs, count * sizeof *list);
    }
    return list;
}

Attr
partition_type_attr(Slice name, Dtype dtype)
{
    return (Attr){.name = name, .value = {.kind = ATTR_TYPE, .value.type = dtype}};
}

Attr
partition_string_attr(Slice name, Slice value)
{
    return (Attr){.name = name, .value = {.kind = ATTR_STRING, .value.s = value}};
}

Slice
partition_loop_part(const Partitioning *partitioning, uint32_t frame, const char *part)
{
    const GraphFrames *frames = &partitioning->compile->frames;
    assert(frame != FRAME_ROOT && frame < frames->frame_count);
    const Node *enter = &partitioning->compile->graph->nodes[frames->frames[frame].enter];
    return slice_from_string(
        text_format(partitioning->compile->call->arena, "_cloop_%s_%.*s", part, SLICE_PRINT(enter->name)));
}

void
partition_digest(Slice bytes, char ret_hex[PLAN_DIGEST_SIZE])
{
    Sha256 digest;
    sha256(bytes, &digest);
    sha256_to_hex(&digest, ret_hex);
}

PlanBlob *
partition_new_blob(Partitioning *partitioning, const Tensor *tensor)
{
    size_t size = dtype_is_copyable(tensor->dtype) ? tensor_byte_size(tensor) : 0;
    if (size <= PLAN_BLOB_SIZE_MIN && !tensor_is_absent(tensor)) {
        return NULL;
    }
    PlanBlob *blob = compile_alloc(partitioning->compile, 1, sizeof *blob);
    if (blob == NULL) {
        partitioning->has_no_memory = true;
        return NULL;
    }
    blob->tensor = *tensor;
    if (tensor_is_absent(tensor)) {
        sha256_to_hex(tensor_digest(tensor), blob->sha256);
    } else {
        partition_digest(slice_of(tensor->data, size), blob->sha256);
    }
    return blob;
}

void
partition_use_blob(Partitioning *partitioning, uint32_t slot, const PlanBlob *blob, NodeDef *def)
{
    Part *part = &partitioning->parts[slot];
    Slice sha256 = slice_from_string(blob->sha256);
    const Attr attrs[] = {
        partition_type_attr(SLICE("dtype"), blob->tensor.dtype),
        {.name = SLICE("shape"), .value = {.kind = ATTR_SHAPE, .value.shape = blob->tensor.shape}},
        partition_string_attr(SLICE("sha256"), sha256),
    };
    def->op = SLICE("_BlobConst");
    def->attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs));
    def->attr_count = COUNT_OF(attrs);
    partitioning->has_no_memory = partitioning->has_no_memory || def->attrs == NULL;
    if (map_get(part->blob_names, sha256) == NULL) {
        partitioning->has_no_memory = partitioning->has_no_memory || !map_put(part->blob_names, sha256, part);
        buffer_append(&part->blobs, &blob, sizeof blob);
    }
}
