#include "gateway/formats/dot.h"

#include <assert.h>
#include <stdio.h>

/* Appends text in quotes. DOT has two escapes there; control characters would break the line. */
static void
append_quoted(Buffer *buffer, Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        char byte = text.data[index];
        if (byte == '"' || byte == '\\') {
            buffer_append_byte(buffer, '\\');
        }
        buffer_append_byte(buffer, (unsigned char)byte < ' ' ? ' ' : byte);
    }
}

/* Appends a node's identity; `prefix` tells apart nodes of one name in several graphs. */
static void
append_node(Buffer *buffer, const char *prefix, Slice name)
{
    assert(prefix != NULL);
    buffer_append_format(buffer, "\"%s", prefix);
    append_quoted(buffer, name);
    buffer_append_byte(buffer, '"');
}

static void
write_node(Buffer *buffer, const char *prefix, const NodeDef *node)
{
    buffer_append_string(buffer, "  ");
    append_node(buffer, prefix, node->name);
    buffer_append_string(buffer, " [label=\"");
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
write_edge(Buffer *buffer, const char *prefix, Slice input, const NodeDef *node)
{
    NodeInput source;
    if (!node_input_parse(input, &source)) {
        return;
    }
    buffer_append_string(buffer, "  ");
    append_node(buffer, prefix, source.node);
    buffer_append_string(buffer, " -> ");
    append_node(buffer, prefix, node->name);
    if (source.is_control) {
        buffer_append_string(buffer, " [style=dashed]");
    } else if (source.port > 0) {
        buffer_append_format(buffer, " [taillabel=\"%u\"]", source.port);
    }
    buffer_append_string(buffer, ";\n");
}

static void
write_nodes(Buffer *buffer, const char *prefix, const GraphDef *def)
{
    for (size_t index = 0; index < def->node_count; index++) {
        write_node(buffer, prefix, &def->nodes[index]);
    }
    for (size_t index = 0; index < def->node_count; index++) {
        const NodeDef *node = &def->nodes[index];
        for (size_t input = 0; input < node->input_count; input++) {
            write_edge(buffer, prefix, node->inputs[input], node);
        }
    }
}

void
dot_write(Buffer *buffer, const GraphDef *def)
{
    buffer_append_string(buffer, "digraph graph_def {\n  node [shape=box];\n");
    write_nodes(buffer, "", def);
    buffer_append_string(buffer, "}\n");
}

static Slice
text_attr(const NodeDef *node, const char *name)
{
    const AttrValue *value = node_def_attr(node, slice_from_string(name));
    return value != NULL && value->kind == ATTR_STRING && !value->is_list ? value->value.s : SLICE("");
}

/* Appends the identity of a tensor that _Send and _Recv exchange. The ';' in it keeps it apart from nodes,
 * whose names have none. */
static void
append_tensor(Buffer *buffer, const NodeDef *node)
{
    static const char *const members[] = {"send_device", "recv_device", "tensor_name"};
    buffer_append_byte(buffer, '"');
    for (size_t index = 0; index < COUNT_OF(members); index++) {
        append_quoted(buffer, text_attr(node, members[index]));
        buffer_append_byte(buffer, index + 1 < COUNT_OF(members) ? ';' : '"');
    }
}

static void
write_send(Buffer *buffer, const char *prefix, const NodeDef *node)
{
    buffer_append_string(buffer, "  ");
    append_tensor(buffer, node);
    buffer_append_string(buffer, " [shape=ellipse, label=\"");
    append_quoted(buffer, text_attr(node, "tensor_name"));
    buffer_append_string(buffer, "\"];\n  ");
    append_node(buffer, prefix, node->name);
    buffer_append_string(buffer, " -> ");
    append_tensor(buffer, node);
    buffer_append_string(buffer, ";\n");
}

static void
write_receive(Buffer *buffer, const char *prefix, const NodeDef *node)
{
    buffer_append_string(buffer, "  ");
    append_tensor(buffer, node);
    buffer_append_string(buffer, " -> ");
    append_node(buffer, prefix, node->name);
    buffer_append_string(buffer, ";\n");
}

/* Writes an edge from each _Send to its tensor and from the tensor to each _Recv, so that nobody has to
 * look for the other end. */
static void
write_transfers(Buffer *buffer, const char *prefix, const GraphDef *def)
{
    for (size_t index = 0; index < def->node_count; index++) {
        const NodeDef *node = &def->nodes[index];
        if (slice_equals_string(node->op, "_Send")) {
            write_send(buffer, prefix, node);
        } else if (slice_equals_string(node->op, "_Recv")) {
            write_receive(buffer, prefix, node);
        }
    }
}

void
dot_write_partitions(Buffer *buffer, const DotPartition *partitions, size_t count)
{
    buffer_append_string(buffer, "digraph plan {\n  node [shape=box];\n");
    for (size_t index = 0; index < count; index++) {
        char prefix[24];
        (void)snprintf(prefix, sizeof prefix, "%zu:", index);
        buffer_append_format(buffer, "  subgraph cluster_%zu {\n  label=\"", index);
        append_quoted(buffer, slice_from_string(partitions[index].title));
        buffer_append_string(buffer, "\";\n");
        write_nodes(buffer, prefix, partitions[index].def);
        buffer_append_string(buffer, "  }\n");
        write_transfers(buffer, prefix, partitions[index].def);
    }
    buffer_append_string(buffer, "}\n");
}
