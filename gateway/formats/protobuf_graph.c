#include "gateway/formats/protobuf_graph.h"

#include <stddef.h>

typedef struct NodeView {
    Slice name;
    Slice op;
    SliceList inputs;
    Slice device;
    SliceList attrs;
} NodeView;

/* Marks attributes whose value is the default in the op's definition where the graph was written. */
static void
mark_defaults(const ProtoImport *import, Slice op, Attr *attrs, size_t count)
{
    const FunctionDef *known = import->producer_ops == NULL ? NULL : map_get(import->producer_ops, op);
    for (size_t index = 0; known != NULL && index < count; index++) {
        for (size_t other = 0; other < known->declared_attr_count; other++) {
            const Attr *declared = &known->declared_attrs[other].attr;
            if (slice_equal(attrs[index].name, declared->name)) {
                attrs[index].is_default = attr_value_equal(&attrs[index].value, &declared->value);
            }
        }
    }
}

static Status
read_node(ProtoImport *import, Slice bytes, NodeDef *ret_node)
{
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(NodeView, name)},
        {2, KEEP_SLICE, offsetof(NodeView, op)},
        {3, KEEP_LIST, offsetof(NodeView, inputs)},
        {4, KEEP_SLICE, offsetof(NodeView, device)},
        {5, KEEP_LIST, offsetof(NodeView, attrs)},
    };
    static const MessageView message = MESSAGE_VIEW("a node", kept);
    NodeView view = {.name = SLICE(""), .op = SLICE(""), .device = SLICE("")};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    *ret_node =
        (NodeDef){.name = view.name, .op = view.op, .device = view.device, .input_count = view.inputs.count};
    void *inputs = NULL;
    TRY(builder_alloc(import->builder, view.inputs.count, sizeof(Slice), &inputs));
    if (view.inputs.count > 0) {
        memcpy(inputs, view.inputs.items, view.inputs.count * sizeof(Slice));
    }
    ret_node->inputs = inputs;
    Attr *attrs = NULL;
    if (proto_attrs(import, &view.attrs, 0, &attrs, &ret_node->attr_count) != STATUS_OK) {
        return call_wrap(import->call, "node '%.*s'", SLICE_PRINT(slice_part(view.name, 0, 128)));
    }
    mark_defaults(import, view.op, attrs, ret_node->attr_count);
    ret_node->attrs = attrs;
    return STATUS_OK;
}

static Status
read_nodes(ProtoImport *import, const SliceList *list, const NodeDef **ret_nodes, size_t *ret_count)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, list->count, sizeof(NodeDef), &memory));
    NodeDef *nodes = memory;
    for (size_t index = 0; index < list->count; index++) {
        TRY(read_node(import, list->items[index], &nodes[index]));
    }
    *ret_nodes = nodes;
    *ret_count = list->count;
    return STATUS_OK;
}

static Status
read_argument(ProtoImport *import, Slice bytes, FunctionArgument *ret_argument)
{
    typedef struct ArgumentView {
        FunctionArgument argument;
        int64_t dtype_number;
        int64_t is_reference;
    } ArgumentView;
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(ArgumentView, argument.name)},
        {3, KEEP_INT, offsetof(ArgumentView, dtype_number)},
        {4, KEEP_SLICE, offsetof(ArgumentView, argument.type_attr)},
        {5, KEEP_SLICE, offsetof(ArgumentView, argument.number_attr)},
        {6, KEEP_SLICE, offsetof(ArgumentView, argument.type_list_attr)},
        {16, KEEP_INT, offsetof(ArgumentView, is_reference)},
    };
    static const MessageView message = MESSAGE_VIEW("a function's argument", kept);
    ArgumentView view = {.argument = {.name = SLICE("")}};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    *ret_argument = view.argument;
    ret_argument->is_reference = view.is_reference != 0;
    ret_argument->dtype = dtype_from_tensorflow_number(view.dtype_number);
    return STATUS_OK;
}

static Status
read_arguments(
    ProtoImport *import, const SliceList *list, const FunctionArgument **ret_arguments, size_t *ret_count)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, list->count, sizeof(FunctionArgument), &memory));
    FunctionArgument *arguments = memory;
    for (size_t index = 0; index < list->count; index++) {
        TRY(read_argument(import, list->items[index], &arguments[index]));
    }
    *ret_arguments = arguments;
    *ret_count = list->count;
    return STATUS_OK;
}

static Status
read_returns(
    ProtoImport *import, const SliceList *list, const FunctionReturn **ret_returns, size_t *ret_count)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, list->count, sizeof(FunctionReturn), &memory));
    FunctionReturn *returns = memory;
    for (size_t index = 0; index < list->count; index++) {
        MapEntryView entry;
        TRY(proto_map_entry(import, list->items[index], &entry));
        returns[index] = (FunctionReturn){.name = entry.key, .value = entry.value};
    }
    *ret_returns = returns;
    *ret_count = list->count;
    return STATUS_OK;
}

static Status
read_declared_attr(ProtoImport *import, Slice bytes, FunctionAttribute *ret_attribute)
{
    typedef struct DeclaredView {
        Slice name;
        Slice type;
        Slice default_value;
    } DeclaredView;
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(DeclaredView, name)},
        {2, KEEP_SLICE, offsetof(DeclaredView, type)},
        {3, KEEP_SLICE, offsetof(DeclaredView, default_value)},
    };
    static const MessageView message = MESSAGE_VIEW("a function's attribute", kept);
    DeclaredView view = {.name = SLICE(""), .type = SLICE("")};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    *ret_attribute = (FunctionAttribute){.attr.name = view.name, .type = view.type};
    return view.default_value.data == NULL
               ? STATUS_OK
               : proto_value(import, view.default_value, &ret_attribute->attr.value);
}

static Status
read_declared_attrs(ProtoImport *import, const SliceList *list, FunctionDef *function)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, list->count, sizeof(FunctionAttribute), &memory));
    FunctionAttribute *attributes = memory;
    for (size_t index = 0; index < list->count; index++) {
        TRY(read_declared_attr(import, list->items[index], &attributes[index]));
    }
    function->declared_attrs = attributes;
    function->declared_attr_count = list->count;
    return STATUS_OK;
}

Status
proto_signature(ProtoImport *import, Slice bytes, FunctionDef *function)
{
    typedef struct SignatureView {
        Slice name;
        SliceList inputs;
        SliceList outputs;
        SliceList attrs;
        int64_t is_stateful;
    } SignatureView;
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(SignatureView, name)},
        {2, KEEP_LIST, offsetof(SignatureView, inputs)},
        {3, KEEP_LIST, offsetof(SignatureView, outputs)},
        {4, KEEP_LIST, offsetof(SignatureView, attrs)},
        {17, KEEP_INT, offsetof(SignatureView, is_stateful)},
    };
    static const MessageView message = MESSAGE_VIEW("a function's signature", kept);
    SignatureView view = {.name = SLICE("")};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    function->name = view.name;
    function->is_stateful = view.is_stateful != 0;
    TRY(read_declared_attrs(import, &view.attrs, function));
    TRY(read_arguments(import, &view.inputs, &function->inputs, &function->input_count));
    return read_arguments(import, &view.outputs, &function->outputs, &function->output_count);
}

typedef struct FunctionView {
    Slice signature;
    SliceList nodes;
    SliceList returns;
    SliceList attrs;
    SliceList control_returns;
} FunctionView;

static Status
read_function(ProtoImport *import, Slice bytes, FunctionDef *ret_function)
{
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(FunctionView, signature)},
        {3, KEEP_LIST, offsetof(FunctionView, nodes)},
        {4, KEEP_LIST, offsetof(FunctionView, returns)},
        {5, KEEP_LIST, offsetof(FunctionView, attrs)},
        {6, KEEP_LIST, offsetof(FunctionView, control_returns)},
    };
    static const MessageView message = MESSAGE_VIEW("a function", kept);
    FunctionView view = {0};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    TRY(proto_signature(import, view.signature, ret_function));
    TRY(read_nodes(import, &view.nodes, &ret_function->nodes, &ret_function->node_count));
    TRY(read_returns(import, &view.returns, &ret_function->returns, &ret_function->return_count));
    TRY(read_returns(
        import, &view.control_returns, &ret_function->control_returns, &ret_function->control_return_count));
    Attr *attrs = NULL;
    TRY(proto_attrs(import, &view.attrs, 0, &attrs, &ret_function->attr_count));
    ret_function->attrs = attrs;
    return STATUS_OK;
}

static Status
read_library(ProtoImport *import, Slice bytes, GraphDef *def)
{
    static const KeptField kept[] = {{1, KEEP_LIST, 0}};
    static const MessageView message = MESSAGE_VIEW("the function library", kept);
    SliceList list = {0};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &list));
    void *memory = NULL;
    TRY(builder_alloc(import->builder, list.count, sizeof(FunctionDef), &memory));
    FunctionDef *functions = memory;
    for (size_t index = 0; index < list.count; index++) {
        if (read_function(import, list.items[index], &functions[index]) != STATUS_OK) {
            return call_wrap(
                import->call, "function '%.*s'", SLICE_PRINT(slice_part(functions[index].name, 0, 128)));
        }
    }
    def->functions = functions;
    def->function_count = list.count;
    return STATUS_OK;
}

Status
proto_graph(ProtoImport *import, Slice bytes, GraphDef *def)
{
    typedef struct GraphView {
        SliceList nodes;
        Slice library;
        Slice versions;
    } GraphView;
    static const KeptField kept[] = {
        {1, KEEP_LIST, offsetof(GraphView, nodes)},
        {2, KEEP_SLICE, offsetof(GraphView, library)},
        {4, KEEP_SLICE, offsetof(GraphView, versions)},
    };
    static const KeptField versions_kept[] = {
        {1, KEEP_INT, offsetof(GraphDef, producer)},
        {2, KEEP_INT, offsetof(GraphDef, min_consumer)},
    };
    static const MessageView message = MESSAGE_VIEW("the graph", kept);
    static const MessageView versions = MESSAGE_VIEW("the graph's versions", versions_kept);
    GraphView view = {0};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &view));
    TRY(message_collect(import->call, import->scratch, view.versions, &versions, def));
    TRY(read_library(import, view.library, def));
    return read_nodes(import, &view.nodes, &def->nodes, &def->node_count);
}
