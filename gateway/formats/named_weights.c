/* Gives the placeholders of a GraphDef the tensors of .safetensors files that have their names: they become
 * constants, of which the large ones are absent. What comes out is JSON, whatever the graph was. */
#include "gateway/formats/graphdef_protobuf.h"
#include "gateway/formats/safetensors.h"
#include "gateway/formats/skeleton_scan.h"
#include "shared/formats/builder.h"
#include "shared/formats/graphdef_json.h"

typedef struct Naming {
    Call *call;
    const SkeletonRequest *request;
    Skeleton *skeleton;
    GraphBuilder *builder; /* keeps what is made */
    size_t count;          /* placeholders that have got a tensor */
} Naming;

static Status
read_elements(const Naming *naming, const SafeTensor *tensor, Tensor *ret_tensor)
{
    int64_t count = 0;
    AUTO_BUFFER bytes = {0};
    AUTO_BYTE_READER reader = byte_reader(naming->call, tensor->span);
    TRY(builder_tensor(naming->builder, tensor->dtype, &tensor->shape, ret_tensor, &count));
    TRY(byte_reader_copy(&reader, tensor->span.size, &bytes));
    if (!buffer_is_ok(&bytes)) {
        return call_fail_memory(naming->call, "a tensor");
    }
    if (bytes.size > 0) {
        memcpy(ret_tensor->data, bytes.data, bytes.size);
    }
    return STATUS_OK;
}

static Status
make_value(const Naming *naming, const SafeTensor *tensor, const SkeletonFile *file, Tensor *ret_tensor)
{
    Sha256 digest;
    if (tensor->span.size < naming->request->weight_size_min) {
        return read_elements(naming, tensor, ret_tensor);
    }
    TRY(skeleton_weight(naming->call, file, tensor->span, naming->skeleton, &digest));
    return builder_absent(naming->builder, tensor->dtype, &tensor->shape, &digest, ret_tensor);
}

/* Returns whether a tensor of this shape may be fed to a placeholder that asks for that one. */
static bool
fits_shape(const Shape *given, const AttrValue *asked)
{
    if (asked == NULL || asked->kind != ATTR_SHAPE || asked->is_list || asked->value.shape.rank < 0) {
        return true;
    }
    bool fits = asked->value.shape.rank == given->rank;
    for (int axis = 0; fits && axis < given->rank; axis++) {
        int64_t dim = asked->value.shape.dims[axis];
        fits = dim < 0 || dim == given->dims[axis];
    }
    return fits;
}

static Status
check_placeholder(Call *call, const NodeDef *placeholder, const SafeTensor *tensor)
{
    const AttrValue *dtype = node_def_attr(placeholder, SLICE("dtype"));
    bool has_dtype = dtype != NULL && dtype->kind == ATTR_TYPE && !dtype->is_list;
    TRY(safetensors_check(call, tensor, has_dtype ? dtype->value.type : tensor->dtype));
    const AttrValue *shape = node_def_attr(placeholder, SLICE("shape"));
    if (fits_shape(&tensor->shape, shape)) {
        return STATUS_OK;
    }
    char given[SHAPE_TEXT_SIZE];
    char asked[SHAPE_TEXT_SIZE];
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "tensor '%.*s' has the shape %s in its file, and its placeholder asks for %s",
        SLICE_PRINT(slice_part(tensor->name, 0, 128)), shape_text(&tensor->shape, given),
        shape_text(&shape->value.shape, asked));
}

static Status
make_constant(Naming *naming, const SafeTensor *tensor, const SkeletonFile *file, NodeDef *node)
{
    void *memory = NULL;
    TRY(check_placeholder(naming->call, node, tensor));
    TRY(builder_alloc(naming->builder, 2, sizeof(Attr), &memory));
    Attr *attrs = memory;
    attrs[0] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = tensor->dtype}};
    attrs[1] = (Attr){.name = SLICE("value"), .value = {.kind = ATTR_TENSOR}};
    TRY(make_value(naming, tensor, file, &attrs[1].value.value.tensor));
    *node = (NodeDef){
        .name = node->name, .op = SLICE("Const"), .device = node->device, .attrs = attrs, .attr_count = 2};
    naming->count++;
    return STATUS_OK;
}

/* Makes the node anew when it is a placeholder that a file has a tensor for. */
static Status
name_node(Naming *naming, NodeDef *node)
{
    const SafeTensor *tensor = NULL;
    const SkeletonFile *file = NULL;
    if (!slice_equals_string(node->op, "Placeholder") &&
        !slice_equals_string(node->op, "PlaceholderWithDefault")) {
        return STATUS_OK;
    }
    TRY(safetensors_find(naming->call, naming->request, node->name, &tensor, &file));
    return tensor == NULL ? STATUS_OK : make_constant(naming, tensor, file, node);
}

static Status
write_named(Naming *naming, const GraphDef *def)
{
    void *memory = NULL;
    TRY(builder_alloc(naming->builder, def->node_count, sizeof(NodeDef), &memory));
    NodeDef *nodes = memory;
    for (size_t index = 0; index < def->node_count; index++) {
        nodes[index] = def->nodes[index];
        TRY(name_node(naming, &nodes[index]));
    }
    if (naming->count == 0) {
        return call_fail(naming->call, STATUS_INVALID_ARGUMENT,
            "no placeholder of the graph has the name of a tensor in the .safetensors files");
    }
    GraphDef named = *def;
    named.nodes = nodes;
    naming->skeleton->bytes.size_max = naming->request->size_max;
    graphdef_json_write(&naming->skeleton->bytes, &named);
    return skeleton_check(naming->call, naming->request, naming->skeleton);
}

static Status
read_model(Call *call, const SkeletonRequest *request, Slice *ret_bytes)
{
    return byte_span_get(call, call->arena, request->files[0].span, request->size_max,
        "a graph without its weights", ret_bytes);
}

static Status
name_weights(Call *call, const GraphDef *def, const SkeletonRequest *request, Skeleton *ret_skeleton)
{
    AUTO_GRAPH_BUILDER builder;
    TRY(builder_begin(&builder, call, request->size_max));
    Naming naming = {.call = call, .request = request, .skeleton = ret_skeleton, .builder = &builder};
    return write_named(&naming, def);
}

Status
named_weights_of_json(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton)
{
    AUTO_GRAPH_DEF def = NULL;
    Slice bytes;
    TRY(read_model(call, request, &bytes));
    TRY(graphdef_json_read(call, bytes, &def));
    return name_weights(call, def, request, ret_skeleton);
}

Status
named_weights_of_graphdef(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton)
{
    AUTO_GRAPH_DEF def = NULL;
    Slice bytes;
    TRY(read_model(call, request, &bytes));
    TensorBuffer *source = tensor_buffer_new(bytes.size);
    if (source == NULL) {
        return call_fail_memory(call, "a graph");
    }
    memcpy(source->data, bytes.data, bytes.size);
    Status status = graphdef_protobuf_read(call, source, &def);
    tensor_buffer_unref(source);
    TRY(status);
    return name_weights(call, def, request, ret_skeleton);
}
