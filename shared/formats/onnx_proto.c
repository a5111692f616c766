#include "shared/formats/onnx_proto.h"

#include <stddef.h>

/* A message is a table of the fields we keep: what they are and where they go. */
typedef enum KeepAs {
    KEEP_SLICE,
    KEEP_LIST,
    KEEP_INT,
    KEEP_FLOAT,
} KeepAs;

typedef struct KeptField {
    uint32_t number;
    KeepAs as;
    size_t offset;
} KeptField;

static Status
fail_damaged(Call *call, const char *message, const char *fault)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT, "%s is damaged: %s", message, fault);
}

static const KeptField *
find_kept(const KeptField *kept, size_t kept_count, const ProtobufField *field)
{
    static const ProtobufWire wires[] = {[KEEP_SLICE] = PROTOBUF_BYTES,
        [KEEP_LIST] = PROTOBUF_BYTES,
        [KEEP_INT] = PROTOBUF_VARINT,
        [KEEP_FLOAT] = PROTOBUF_FIXED32};
    for (size_t index = 0; index < kept_count; index++) {
        if (kept[index].number == field->number && wires[kept[index].as] == field->wire) {
            return &kept[index];
        }
    }
    return NULL;
}

static void
keep_field(const KeptField *kept, const ProtobufField *field, void *target)
{
    void *const place = (char *)target + kept->offset;
    if (kept->as == KEEP_SLICE) {
        *(Slice *)place = field->bytes;
    } else if (kept->as == KEEP_INT) {
        *(int64_t *)place = (int64_t)field->value;
    } else if (kept->as == KEEP_FLOAT) {
        *(float *)place = protobuf_float(field->value);
    } else {
        SliceList *const list = place;
        if (list->items != NULL) {
            list->items[list->count] = field->bytes;
        }
        list->count++;
    }
}

static Status
alloc_lists(Call *call, Arena *arena, const KeptField *kept, size_t kept_count, void *target)
{
    for (size_t index = 0; index < kept_count; index++) {
        if (kept[index].as != KEEP_LIST) {
            continue;
        }
        SliceList *const list = (SliceList *)(void *)((char *)target + kept[index].offset);
        list->items = arena_alloc(arena, list->count * sizeof *list->items);
        if (list->items == NULL) {
            return call_fail_memory(call, "the model");
        }
        list->count = 0;
    }
    return STATUS_OK;
}

typedef struct Message {
    const char *name;
    const KeptField *kept;
    size_t kept_count;
} Message;

/* Walks the fields twice: to count, then to fill the lists. */
static Status
collect(Call *call, Arena *arena, Slice bytes, const Message *message, void *target)
{
    for (int turn = 0; turn < 2; turn++) {
        ProtobufReader reader = protobuf_reader(bytes);
        ProtobufField field;
        while (protobuf_next(&reader, &field)) {
            const KeptField *const kept = find_kept(message->kept, message->kept_count, &field);
            if (kept != NULL) {
                keep_field(kept, &field, target);
            }
        }
        if (reader.fault != NULL) {
            return fail_damaged(call, message->name, reader.fault);
        }
        if (turn == 0) {
            TRY(alloc_lists(call, arena, message->kept, message->kept_count, target));
        }
    }
    return STATUS_OK;
}

#define MESSAGE(message_name, table)                                                                         \
    {                                                                                                        \
        .name = (message_name), .kept = (table), .kept_count = COUNT_OF(table)                               \
    }

Status
onnx_parse_model(Call *call, Arena *arena, Slice bytes, OnnxModelProto *ret_model)
{
    static const KeptField kept[] = {
        {7, KEEP_SLICE, offsetof(OnnxModelProto, graph)},
        {8, KEEP_LIST, offsetof(OnnxModelProto, opsets)},
        {25, KEEP_LIST, offsetof(OnnxModelProto, functions)},
    };
    static const Message message = MESSAGE("the model", kept);
    *ret_model = (OnnxModelProto){0};
    return collect(call, arena, bytes, &message, ret_model);
}

Status
onnx_parse_graph(Call *call, Arena *arena, Slice bytes, OnnxGraphProto *ret_graph)
{
    static const KeptField kept[] = {
        {1, KEEP_LIST, offsetof(OnnxGraphProto, nodes)},
        {5, KEEP_LIST, offsetof(OnnxGraphProto, initializers)},
        {11, KEEP_LIST, offsetof(OnnxGraphProto, inputs)},
        {12, KEEP_LIST, offsetof(OnnxGraphProto, outputs)},
        {15, KEEP_LIST, offsetof(OnnxGraphProto, sparse_initializers)},
    };
    static const Message message = MESSAGE("the model's graph", kept);
    *ret_graph = (OnnxGraphProto){0};
    return collect(call, arena, bytes, &message, ret_graph);
}

Status
onnx_parse_node(Call *call, Arena *arena, Slice bytes, OnnxNodeProto *ret_node)
{
    static const KeptField kept[] = {
        {1, KEEP_LIST, offsetof(OnnxNodeProto, inputs)},
        {2, KEEP_LIST, offsetof(OnnxNodeProto, outputs)},
        {3, KEEP_SLICE, offsetof(OnnxNodeProto, name)},
        {4, KEEP_SLICE, offsetof(OnnxNodeProto, op_type)},
        {5, KEEP_LIST, offsetof(OnnxNodeProto, attributes)},
        {7, KEEP_SLICE, offsetof(OnnxNodeProto, domain)},
    };
    static const Message message = MESSAGE("a node", kept);
    *ret_node = (OnnxNodeProto){0};
    return collect(call, arena, bytes, &message, ret_node);
}

Status
onnx_parse_attribute(Call *call, Arena *arena, Slice bytes, OnnxAttributeProto *ret_attribute)
{
    typedef struct Collected {
        OnnxAttributeProto attribute;
        Slice reference;
        Slice graph;
        SliceList graphs;
    } Collected;
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(Collected, attribute.name)},
        {2, KEEP_FLOAT, offsetof(Collected, attribute.f)},
        {3, KEEP_INT, offsetof(Collected, attribute.i)},
        {4, KEEP_SLICE, offsetof(Collected, attribute.s)},
        {5, KEEP_SLICE, offsetof(Collected, attribute.tensor)},
        {6, KEEP_SLICE, offsetof(Collected, graph)},
        {9, KEEP_LIST, offsetof(Collected, attribute.strings)},
        {10, KEEP_LIST, offsetof(Collected, attribute.tensors)},
        {11, KEEP_LIST, offsetof(Collected, graphs)},
        {20, KEEP_INT, offsetof(Collected, attribute.type)},
        {21, KEEP_SLICE, offsetof(Collected, reference)},
    };
    static const Message message = MESSAGE("an attribute", kept);
    Collected collected = {0};
    TRY(collect(call, arena, bytes, &message, &collected));
    *ret_attribute = collected.attribute;
    ret_attribute->is_reference = collected.reference.size > 0;
    return STATUS_OK;
}

Status
onnx_parse_opset(Call *call, Slice bytes, Slice *ret_domain, int64_t *ret_version)
{
    typedef struct Opset {
        Slice domain;
        int64_t version;
    } Opset;
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(Opset, domain)},
        {2, KEEP_INT, offsetof(Opset, version)},
    };
    static const Message message = MESSAGE("an opset import", kept);
    Opset opset = {0};
    TRY(collect(call, call->arena, bytes, &message, &opset));
    *ret_domain = opset.domain;
    *ret_version = opset.version;
    return STATUS_OK;
}

Status
onnx_parse_value(Call *call, Arena *arena, Slice bytes, OnnxValueProto *ret_value)
{
    typedef struct Type {
        Slice type;        /* ValueInfoProto.type */
        Slice tensor_type; /* TypeProto.tensor_type */
        Slice shape;
    } Type;
    typedef struct Collected {
        OnnxValueProto value;
        Type type;
    } Collected;
    static const KeptField info_kept[] = {
        {1, KEEP_SLICE, offsetof(Collected, value.name)},
        {2, KEEP_SLICE, offsetof(Collected, type.type)},
    };
    static const KeptField type_kept[] = {{1, KEEP_SLICE, offsetof(Collected, type.tensor_type)}};
    static const KeptField tensor_kept[] = {
        {1, KEEP_INT, offsetof(Collected, value.elem_type)},
        {2, KEEP_SLICE, offsetof(Collected, type.shape)},
    };
    static const KeptField shape_kept[] = {{1, KEEP_LIST, offsetof(Collected, value.dims)}};
    static const Message info = MESSAGE("a value's description", info_kept);
    static const Message type = MESSAGE("a value's type", type_kept);
    static const Message tensor = MESSAGE("a tensor's type", tensor_kept);
    static const Message shape = MESSAGE("a tensor's shape", shape_kept);
    Collected collected = {0};
    TRY(collect(call, arena, bytes, &info, &collected));
    TRY(collect(call, arena, collected.type.type, &type, &collected));
    TRY(collect(call, arena, collected.type.tensor_type, &tensor, &collected));
    TRY(collect(call, arena, collected.type.shape, &shape, &collected));
    *ret_value = collected.value;
    ret_value->has_shape = collected.type.shape.data != NULL;
    return STATUS_OK;
}
