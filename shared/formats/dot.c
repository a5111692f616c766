#include "shared/formats/dot.h"

/* Within quotes DOT knows two escapes; control characters would break the line. */
static void
append_quoted(Buffer *buffer, Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        const char byte = text.data[index];
        if (byte == '"' || byte == '\\') {
            buffer_append_byte(buffer, '\\');
        }
        buffer_append_byte(buffer, (unsigned char)byte < ' ' ? ' ' : byte);
    }
}

static void
write_node(Buffer *buffer, const NodeDef *node)
{
    buffer_append_string(buffer, "  \"");
    append_quoted(buffer, node->name);
    buffer_append_string(buffer, "\" [label=\"");
    append_quoted(buffer, node->name);
    buffer_append_string(buffer, "\\n");
    append_quoted(buffer, node->op);
    if (node->device.size > 0) {
        buffer_append_string(buffer, "\\n");
        append_quoted(buffer, node->device);
    }
    buffer_append_string(buffer, "\"];\n");
}

static void
write_edge(Buffer *buffer, Slice input, const NodeDef *node)
{
    NodeInput source;
    if (!node_input_parse(input, &source)) {
        return;
    }
    buffer_append_string(buffer, "  \"");
    append_quoted(buffer, source.node);
    buffer_append_string(buffer, "\" -> \"");
    append_quoted(buffer, node->name);
    buffer_append_byte(buffer, '"');
    if (source.is_control) {
        buffer_append_string(buffer, " [style=dashed]");
    } else if (source.port > 0) {
        buffer_append_format(buffer, " [taillabel=\"%u\"]", source.port);
    }
    buffer_append_string(buffer, ";\n");
}

void
dot_write(Buffer *buffer, const GraphDef *def)
{
    buffer_append_string(buffer, "digraph graph_def {\n  node [shape=box];\n");
    for (size_t index = 0; index < def->node_count; index++) {
        write_node(buffer, &def->nodes[index]);
    }
    for (size_t index = 0; index < def->node_count; index++) {
        const NodeDef *const node = &def->nodes[index];
        for (size_t input = 0; input < node->input_count; input++) {
            write_edge(buffer, node->inputs[input], node);
        }
    }
    buffer_append_string(buffer, "}\n");
}
