#include "gateway/formats/onnx_proto.h"

#include <stddef.h>

Status
onnx_parse_model(Call *call, Arena *arena, Slice bytes, OnnxModelProto *ret_model)
{
    static const KeptField kept[] = {
        {7, KEEP_SLICE, offsetof(OnnxModelProto, graph)},
        {8, KEEP_LIST, offsetof(OnnxModelProto, opsets)},
        {25, KEEP_LIST, offsetof(OnnxModelProto, functions)},
    };
    static const MessageView message = MESSAGE_VIEW("the model", kept);
    *ret_model = (OnnxModelProto){0};
    return message_collect(call, arena, bytes, &message, ret_model);
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
    static const MessageView message = MESSAGE_VIEW("the model's graph", kept);
    *ret_graph = (OnnxGraphProto){0};
    return message_collect(call, arena, bytes, &message, ret_graph);
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
        {8, KEEP_SLICE, offsetof(OnnxNodeProto, overload)},
    };
    static const MessageView message = MESSAGE_VIEW("a node", kept);
    *ret_node = (OnnxNodeProto){0};
    return message_collect(call, arena, bytes, &message, ret_node);
}

Status
onnx_parse_attribute(Call *call, Arena *arena, Slice bytes, OnnxAttributeProto *ret_attribute)
{
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(OnnxAttributeProto, name)},
        {2, KEEP_FLOAT, offsetof(OnnxAttributeProto, f)},
        {3, KEEP_INT, offsetof(OnnxAttributeProto, i)},
        {4, KEEP_SLICE, offsetof(OnnxAttributeProto, s)},
        {5, KEEP_SLICE, offsetof(OnnxAttributeProto, tensor)},
        {6, KEEP_SLICE, offsetof(OnnxAttributeProto, graph)},
        {9, KEEP_LIST, offsetof(OnnxAttributeProto, strings)},
        {10, KEEP_LIST, offsetof(OnnxAttributeProto, tensors)},
        {20, KEEP_INT, offsetof(OnnxAttributeProto, type)},
        {21, KEEP_SLICE, offsetof(OnnxAttributeProto, reference)},
    };
    static const MessageView message = MESSAGE_VIEW("an attribute", kept);
    *ret_attribute = (OnnxAttributeProto){0};
    return message_collect(call, arena, bytes, &message, ret_attribute);
}

Status
onnx_parse_function(Call *call, Arena *arena, Slice bytes, OnnxFunctionProto *ret_function)
{
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(OnnxFunctionProto, name)},
        {4, KEEP_LIST, offsetof(OnnxFunctionProto, inputs)},
        {5, KEEP_LIST, offsetof(OnnxFunctionProto, outputs)},
        {7, KEEP_LIST, offsetof(OnnxFunctionProto, nodes)},
        {9, KEEP_LIST, offsetof(OnnxFunctionProto, opsets)},
        {10, KEEP_SLICE, offsetof(OnnxFunctionProto, domain)},
        {11, KEEP_LIST, offsetof(OnnxFunctionProto, defaults)},
        {13, KEEP_SLICE, offsetof(OnnxFunctionProto, overload)},
    };
    static const MessageView message = MESSAGE_VIEW("a function", kept);
    *ret_function = (OnnxFunctionProto){0};
    return message_collect(call, arena, bytes, &message, ret_function);
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
    static const MessageView message = MESSAGE_VIEW("an opset import", kept);
    Opset opset = {0};
    TRY(message_collect(call, call->arena, bytes, &message, &opset));
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
    static const MessageView info = MESSAGE_VIEW("a value's description", info_kept);
    static const MessageView type = MESSAGE_VIEW("a value's type", type_kept);
    static const MessageView tensor = MESSAGE_VIEW("a tensor's type", tensor_kept);
    static const MessageView shape = MESSAGE_VIEW("a tensor's shape", shape_kept);
    Collected collected = {0};
    TRY(message_collect(call, arena, bytes, &info, &collected));
    TRY(message_collect(call, arena, collected.type.type, &type, &collected));
    TRY(message_collect(call, arena, collected.type.tensor_type, &tensor, &collected));
    TRY(message_collect(call, arena, collected.type.shape, &shape, &collected));
    *ret_value = collected.value;
    ret_value->has_shape = collected.type.shape.data != NULL;
    return STATUS_OK;
}
