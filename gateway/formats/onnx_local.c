/* The model's own functions. Each use is written out where it stands, with the caller's attributes in place
 * of references to them: an older operator's attributes may have to become inputs, for which they must be
 * known. */
#include "gateway/formats/onnx_import.h"
#include "shared/base/text.h"

struct OnnxLocal {
    OnnxFunctionProto proto;
    int64_t opset; /* 0: the model's */
    bool is_open;  /* being written out */
    const OnnxLocal *outer;
    OnnxNode bound; /* its attributes: what the caller and the defaults say */
};

/* "" and "ai.onnx" are one domain. */
static Status
local_key(OnnxImport *import, Slice domain, Slice name, Slice overload, Slice *ret_key)
{
    const Slice shown = slice_equals_string(domain, "ai.onnx") ? SLICE("") : domain;
    const char *const text = text_format(
        import->scratch, "%.*s\n%.*s\n%.*s", SLICE_PRINT(shown), SLICE_PRINT(name), SLICE_PRINT(overload));
    *ret_key = slice_from_string(text);
    return text == NULL ? call_fail_memory(import->call, "functions") : STATUS_OK;
}

Status
onnx_read_locals(OnnxImport *import, const SliceList *functions)
{
    for (size_t index = 0; index < functions->count; index++) {
        Slice key;
        OnnxLocal *const local = arena_alloc(import->scratch, sizeof *local);
        if (local == NULL) {
            return call_fail_memory(import->call, "functions");
        }
        TRY(onnx_parse_function(import->call, import->scratch, functions->items[index], &local->proto));
        TRY(onnx_opset(import, &local->proto.opsets, &local->opset));
        TRY(local_key(import, local->proto.domain, local->proto.name, local->proto.overload, &key));
        if (!map_put(import->locals, key, local)) {
            return call_fail_memory(import->call, "functions");
        }
    }
    return STATUS_OK;
}

OnnxLocal *
onnx_find_local(OnnxImport *import, const OnnxNodeProto *proto)
{
    Slice key;
    if (map_count(import->locals) == 0 ||
        local_key(import, proto->domain, proto->op_type, proto->overload, &key) != STATUS_OK) {
        return NULL;
    }
    return map_get(import->locals, key);
}

const AttrValue *
onnx_bound(const OnnxImport *import, Slice attribute)
{
    const OnnxNode *const bound = &import->local->bound;
    for (size_t index = 0; index < bound->attr_count; index++) {
        if (slice_equal(bound->attrs[index].name, attribute)) {
            return &bound->attrs[index].value;
        }
    }
    return NULL;
}

/* --- A call --------------------------------------------------------------------------------------------- */

Status
onnx_define_call(OnnxImport *import, const OnnxNodeProto *proto, Slice name)
{
    for (size_t index = 0; index < proto->outputs.count; index++) {
        if (proto->outputs.items[index].size > 0) {
            Slice output;
            TRY(onnx_part_name(import, name, "output", &output));
            TRY(onnx_define(import, proto->outputs.items[index], output, 0));
        }
    }
    return STATUS_OK;
}

/* Inputs that the caller leaves out are absent inside, too. */
static Status
define_arguments(OnnxImport *import, const OnnxLocal *local, const OnnxNode *node)
{
    const SliceList *const inputs = &local->proto.inputs;
    if (node->input_count > inputs->count) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "the function takes %zu inputs, %zu are given", inputs->count, node->input_count);
    }
    for (size_t index = 0; index < inputs->count; index++) {
        const Slice tensor = index < node->input_count ? node->inputs[index] : SLICE("");
        TRY(onnx_define(import, inputs->items[index], tensor, 0));
    }
    return STATUS_OK;
}

static Status
bind_defaults(OnnxImport *import, const OnnxLocal *local, OnnxNode *bound)
{
    const SliceList *const defaults = &local->proto.defaults;
    Attr *const attrs = arena_alloc(import->scratch, (bound->attr_count + defaults->count) * sizeof *attrs);
    if (attrs == NULL) {
        return call_fail_memory(import->call, "functions");
    }
    for (size_t index = 0; index < bound->attr_count; index++) {
        attrs[index] = bound->attrs[index];
    }
    bound->attrs = attrs;
    for (size_t index = 0; index < defaults->count; index++) {
        /* The first of a name counts: the caller's. */
        TRY(onnx_read_attr(import, defaults->items[index], bound));
    }
    return STATUS_OK;
}

static Status
emit_output(OnnxImport *import, const OnnxLocal *local, const OnnxNode *node, Slice output, Slice name)
{
    const OnnxValue *value = NULL;
    TRY(onnx_find(import, output, &value));
    if (value == NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "function '%.*s' does not define its output '%.*s'", SLICE_PRINT(local->proto.name),
            SLICE_PRINT(slice_part(output, 0, 128)));
    }
    Slice input = value->tensor;
    const OnnxNode identity = {.name = name,
        .type = SLICE("Identity"),
        .is_default_domain = true,
        .inputs = &input,
        .input_count = 1,
        .pointer = node->pointer};
    return onnx_emit_node(import, &identity);
}

/* `names` are where the caller expects the outputs; "" for those it does not want. */
static Status
write_out(OnnxImport *import, OnnxLocal *local, const OnnxNode *node, const Slice *names)
{
    OnnxScope scope;
    OnnxScope *const before = import->scope;
    TRY(onnx_scope_open(import, &scope, NULL, NULL));
    TRY(define_arguments(import, local, node));
    TRY(onnx_nodes(import, &local->proto.nodes, node->name, node->pointer));
    for (size_t index = 0; index < node->output_count; index++) {
        if (names[index].size > 0) {
            TRY(emit_output(import, local, node, local->proto.outputs.items[index], names[index]));
        }
    }
    onnx_scope_close(import, &scope, before);
    return STATUS_OK;
}

static Status
find_names(OnnxImport *import, const OnnxNodeProto *proto, Slice **ret_names)
{
    Slice *const names = arena_alloc(import->scratch, proto->outputs.count * sizeof *names);
    if (names == NULL) {
        return call_fail_memory(import->call, "functions");
    }
    for (size_t index = 0; index < proto->outputs.count; index++) {
        const OnnxValue *value = NULL;
        if (proto->outputs.items[index].size > 0) {
            TRY(onnx_find(import, proto->outputs.items[index], &value));
            names[index] = value->tensor;
        }
    }
    *ret_names = names;
    return STATUS_OK;
}

static Status
check_call(OnnxImport *import, const OnnxLocal *local, const OnnxNodeProto *proto)
{
    if (local->is_open) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "function '%.*s' calls itself",
            SLICE_PRINT(slice_part(local->proto.name, 0, 128)));
    }
    if (proto->outputs.count > local->proto.outputs.count) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "the function has %zu outputs, not %zu",
            local->proto.outputs.count, proto->outputs.count);
    }
    return STATUS_OK;
}

Status
onnx_call(OnnxImport *import, OnnxLocal *local, const OnnxNodeProto *proto, Slice name, const char *pointer)
{
    OnnxNode node;
    Slice *names = NULL;
    TRY(check_call(import, local, proto));
    TRY(onnx_make_node(import, proto, name, pointer, &node));
    if (node.captures != NULL) {
        return call_fail(
            import->call, STATUS_UNIMPLEMENTED, "a subgraph as a function's attribute cannot be imported");
    }
    TRY(find_names(import, proto, &names));
    const int64_t opset = import->opset;
    local->outer = import->local;
    local->bound = node;
    local->is_open = true;
    TRY(bind_defaults(import, local, &local->bound));
    import->opset = local->opset == 0 ? opset : local->opset;
    import->local = local;
    TRY(write_out(import, local, &node, names));
    import->local = local->outer;
    import->opset = opset;
    local->is_open = false;
    return STATUS_OK;
}
