#include "shared/graph/graph_def.h"

#include <assert.h>

#include "shared/base/atomic.h"

GraphDef *
graph_def_new(size_t size_max)
{
    AUTO_ARENA arena = arena_new(size_max);
    GraphDef *def = arena == NULL ? NULL : arena_alloc(arena, sizeof *def);
    if (def == NULL) {
        return NULL;
    }
    def->reference_count = 1;
    def->arena = TAKE(arena);
    return def;
}

GraphDef *
graph_def_ref(GraphDef *def)
{
    reference_count_add(&def->reference_count);
    return def;
}

void
graph_def_unref(GraphDef *def)
{
    if (def == NULL || !reference_count_drop(&def->reference_count)) {
        return;
    }
    TensorBuffer *source = def->source;
    GraphDef *origin = def->origin;
    for (size_t index = 0; index < def->part_count; index++) {
        graph_def_unref(def->parts[index]);
    }
    arena_free(def->arena);
    tensor_buffer_unref(source);
    graph_def_unref(origin);
}

GraphDef *
graph_def_author(GraphDef *def)
{
    return def->origin == NULL ? def : graph_def_author(def->origin);
}

const AttrValue *
node_def_attr(const NodeDef *node, Slice name)
{
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equal(node->attrs[index].name, name)) {
            return &node->attrs[index].value;
        }
    }
    return NULL;
}

static bool
is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool
may_start_name(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '.';
}

bool
node_name_is_valid(Slice name, bool allows_internal)
{
    bool starts = true;
    for (size_t index = 0; index < name.size; index++) {
        char byte = name.data[index];
        bool is_inner = byte == '-' || byte == '/' || byte == '_';
        bool is_internal = allows_internal && index == 0 && byte == '_';
        if (byte == '>' ? starts : !may_start_name(byte) && !is_internal && (starts || !is_inner)) {
            return false;
        }
        starts = byte == '>';
    }
    return !starts;
}

bool
node_input_parse(Slice text, NodeInput *ret_input)
{
    if (text.size > 0 && text.data[0] == '^') {
        *ret_input = (NodeInput){.node = slice_part(text, 1, text.size), .is_control = true};
        return ret_input->node.size > 0 && slice_find(text, ':') == text.size;
    }
    size_t colon = slice_find_last(text, ':');
    if (colon == text.size) {
        *ret_input = (NodeInput){.node = text};
        return text.size > 0;
    }
    Slice digits = slice_part(text, colon + 1, text.size);
    uint64_t port = 0;
    if (colon == 0 || !slice_to_uint64(digits, &port) || port > INT32_MAX ||
        (digits.size > 1 && digits.data[0] == '0')) {
        return false;
    }
    *ret_input = (NodeInput){.node = slice_part(text, 0, colon), .port = (uint32_t)port};
    return true;
}
