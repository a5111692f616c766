#include "gateway/graphs/graph_import.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/expand/expand.h"
#include "gateway/expand/freeze.h"
#include "gateway/formats/graphdef_protobuf.h"
#include "gateway/formats/onnx.h"
#include "gateway/formats/saved_model.h"
#include "gateway/graphs/author_rules.h"
#include "gateway/graphs/graph_join.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/formats/graphdef_json.h"
#include "shared/json/writer.h"
#include "shared/ops/registry.h"

typedef struct Format {
    GraphFormat format;
    const char *media_type;
    const char *name;
    Status (*read)(Call *call, TensorBuffer *source, GraphDef **ret_def);
} Format;

static Status
read_json(Call *call, TensorBuffer *source, GraphDef **ret_def)
{
    return graphdef_json_read(call, slice_of(source->data, source->size), ret_def);
}

static const Format formats[] = {
    {GRAPH_FORMAT_JSON, "application/json", "json", read_json},
    {GRAPH_FORMAT_GRAPHDEF, "application/x-protobuf", "graphdef", graphdef_protobuf_read},
    {GRAPH_FORMAT_ONNX, "application/onnx", "onnx", onnx_read},
    {GRAPH_FORMAT_SAVED_MODEL, "application/x-tar", "saved_model", saved_model_read},
};

GraphFormat
graph_format_find(Slice media_type, Slice format)
{
    for (size_t index = 0; index < COUNT_OF(formats); index++) {
        bool is_it = format.data != NULL ? slice_equals_string(format, formats[index].name)
                                         : slice_equals_string(media_type, formats[index].media_type);
        if (is_it) {
            return formats[index].format;
        }
    }
    return GRAPH_FORMAT_UNKNOWN;
}

static const Format *
format_row(GraphFormat format)
{
    for (size_t index = 0; index < COUNT_OF(formats); index++) {
        if (formats[index].format == format) {
            return &formats[index];
        }
    }
    return NULL;
}

const char *
graph_format_media_type(GraphFormat format)
{
    const Format *row = format_row(format);
    return row == NULL ? "application/octet-stream" : row->media_type;
}

static uint64_t
count_nodes(const GraphDef *def)
{
    uint64_t count = def->node_count;
    for (size_t index = 0; index < def->function_count; index++) {
        count += def->functions[index].node_count;
    }
    return count;
}

/* Validates the graph as a whole, in the form in which it will be planned. */
static Status
make_graph(Call *call, GraphDef *def, uint64_t node_count_max, Graph **ret_graph)
{
    uint64_t node_count = count_nodes(def);
    if (node_count > node_count_max) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "the graph has %llu nodes, the limit graph_nodes is %llu",
            (unsigned long long)node_count, (unsigned long long)node_count_max);
    }
    AUTO_GRAPH_DEF expanded = NULL;
    TRY(author_check_ops(call, def));
    TRY(graph_expand(call, def, node_count_max, &expanded));
    GraphLimits limits = {.node_count_max = node_count_max};
    AUTO_GRAPH graph = NULL;
    AUTO_GRAPH_DEF frozen = NULL;
    TRY(graph_link(call, expanded, op_find, limits, &graph));
    TRY(author_check_constants(call, graph));
    TRY(graph_freeze(call, graph, &frozen));
    if (frozen == expanded) {
        *ret_graph = TAKE(graph);
        return STATUS_OK;
    }
    return graph_link(call, frozen, op_find, limits, ret_graph);
}

static Status
read_source(Call *call, const GraphSource *source, GraphDef **ret_def)
{
    const Format *row = format_row(source->format);
    return row == NULL ? call_fail(call, STATUS_INVALID_ARGUMENT, "the graph's format is not known")
                       : row->read(call, source->bytes, ret_def);
}

Status
graph_import(Call *call, GraphFormat format, TensorBuffer *source, uint64_t node_count_max, Graph **ret_graph)
{
    assert(source != NULL);

    GraphSource only = {format, source};
    AUTO_GRAPH_DEF def = NULL;
    TRY(read_source(call, &only, &def));
    return make_graph(call, def, node_count_max, ret_graph);
}

/* Reads `sources` into `parts` after the parts already there, joins all of them, and releases those that
 * it has read. */
static Status
join_sources(Call *call, GraphDef **parts, size_t part_count, const GraphSource *sources, size_t source_count,
    GraphDef **ret_def)
{
    size_t read_count = 0;
    Status status = STATUS_OK;
    while (status == STATUS_OK && read_count < source_count) {
        status = read_source(call, &sources[read_count], &parts[part_count + read_count]);
        read_count += status == STATUS_OK ? 1 : 0;
    }
    if (status == STATUS_OK) {
        status = graph_join(call, parts, part_count + read_count, ret_def);
    }
    for (size_t index = 0; index < read_count; index++) {
        graph_def_unref(parts[part_count + index]);
    }
    return status;
}

/* Joins `base_count` definitions that exist with `count` sources that are read. */
static Status
join_graph(Call *call, GraphDef *const *base, size_t base_count, const GraphSource *sources, size_t count,
    GraphDef **ret_def)
{
    GraphDef **parts = arena_alloc(call->arena, (base_count + count) * sizeof(GraphDef *));
    if (parts == NULL) {
        return call_fail_memory(call, "an extended graph");
    }
    for (size_t index = 0; index < base_count; index++) {
        parts[index] = base[index];
    }
    return join_sources(call, parts, base_count, sources, count, ret_def);
}

Status
graph_import_parts(
    Call *call, const GraphSource *sources, size_t count, uint64_t node_count_max, Graph **ret_graph)
{
    assert(count > 0);

    AUTO_GRAPH_DEF def = NULL;
    TRY(join_graph(call, NULL, 0, sources, count, &def));
    return make_graph(call, def, node_count_max, ret_graph);
}

Status
graph_extend(
    Call *call, const Graph *base, const GraphSource *added, uint64_t node_count_max, Graph **ret_graph)
{
    assert(base != NULL && added->bytes != NULL);

    GraphDef *author = graph_def_author(base->def);
    AUTO_GRAPH_DEF def = NULL;
    TRY(author->part_count > 0 ? join_graph(call, author->parts, author->part_count, added, 1, &def)
                               : join_graph(call, &author, 1, added, 1, &def));
    return make_graph(call, def, node_count_max, ret_graph);
}

/* A count of an op's occurrences in the graph. */
typedef struct OpCount {
    Slice op;
    uint64_t count;
} OpCount;

/* Counts in the order of first occurrence; `counts` has room for all nodes. */
typedef struct OpCounts {
    OpCount *counts;
    size_t count;
    Map *by_op;
} OpCounts;

static void
count_op(OpCounts *counts, Slice op)
{
    OpCount *known = map_get(counts->by_op, op);
    if (known == NULL) {
        known = &counts->counts[counts->count];
        known->op = op;
        counts->count += map_put(counts->by_op, op, known) ? 1 : 0;
    }
    known->count++;
}

static void
counts_done(OpCounts *counts)
{
    map_free(counts->by_op);
    memory_free(counts->counts);
}

/* Makes empty counts. Without memory `counts` is NULL, and nothing is counted. */
static OpCounts
counts_new(size_t node_count)
{
    OpCounts counts = {.counts = memory_new(node_count + 1, sizeof *counts.counts), .by_op = map_new()};
    if (counts.counts == NULL || counts.by_op == NULL) {
        counts_done(&counts);
        counts = (OpCounts){.count = 0};
    }
    return counts;
}

static void
write_ops(JsonWriter *writer, const GraphDef *def)
{
    CLEANUP(counts_done) OpCounts counts = counts_new(def->node_count);
    for (size_t index = 0; counts.counts != NULL && index < def->node_count; index++) {
        count_op(&counts, def->nodes[index].op);
    }
    json_write_name(writer, "ops");
    json_write_object_begin(writer);
    for (size_t index = 0; index < counts.count; index++) {
        json_write_name_slice(writer, counts.counts[index].op);
        json_write_uint64(writer, counts.counts[index].count);
    }
    json_write_object_end(writer);
}

static void
mark_roots(const Graph *graph, bool *needed, uint32_t *roots)
{
    const GraphDef *def = graph->def;
    size_t count = 0;
    NodeInput parsed;
    for (size_t index = 0; index < def->output_count; index++) {
        const Node *node =
            node_input_parse(def->outputs[index].tensor, &parsed) ? graph_find(graph, parsed.node) : NULL;
        if (node != NULL) {
            roots[count++] = node->id;
        }
    }
    graph_mark_needed(graph, roots, count, NULL, NULL, needed);
}

/* Marks what a model's outputs need, or all nodes of a bare GraphDef: which of them are fetched it does not
 * say. Nothing is marked without memory. */
static void
mark_served(const Graph *graph, bool *needed)
{
    uint32_t *roots = memory_new(graph->def->output_count + 1, sizeof *roots);
    if (roots != NULL && graph->def->output_count > 0) {
        mark_roots(graph, needed, roots);
    }
    for (uint32_t id = 0; graph->def->output_count == 0 && id < graph->node_count; id++) {
        needed[id] = true;
    }
    memory_free(roots);
}

/* Writes ops that are not supported, also those of functions that the graph calls. What no output of a model
 * needs is left out: every SavedModel has nodes that save it. */
static void
write_unsupported_ops(JsonWriter *writer, const Graph *graph)
{
    CLEANUP(counts_done) OpCounts counts = counts_new(graph->node_count);
    bool *needed = memory_new(graph->node_count + 1, sizeof *needed);
    if (needed != NULL) {
        mark_served(graph, needed);
    }
    for (uint32_t id = 0; counts.counts != NULL && needed != NULL && id < graph->node_count; id++) {
        if (needed[id] && graph->nodes[id].op == NULL) {
            count_op(&counts, graph->nodes[id].def->op);
        }
    }
    memory_free(needed);
    json_write_name(writer, "unsupported_ops");
    json_write_array_begin(writer);
    for (size_t index = 0; index < counts.count; index++) {
        json_write_slice(writer, counts.counts[index].op);
    }
    json_write_array_end(writer);
}

static void
write_port(JsonWriter *writer, Slice name, Dtype dtype, const Shape *shape)
{
    json_write_object_begin(writer);
    json_member_slice(writer, "name", name);
    json_member_string(writer, "dtype", dtype_name(dtype));
    json_write_name(writer, "shape");
    if (shape->rank < 0) {
        json_write_null(writer);
    } else {
        json_write_array_begin(writer);
        for (int axis = 0; axis < shape->rank; axis++) {
            json_write_int64(writer, shape->dims[axis]);
        }
        json_write_array_end(writer);
    }
    json_write_object_end(writer);
}

static bool
is_placeholder(const Node *node)
{
    return slice_equals_string(node->def->op, "Placeholder") ||
           slice_equals_string(node->def->op, "PlaceholderWithDefault");
}

/* Writes the inputs that the model declares, or the placeholders of a bare GraphDef. */
static void
write_inputs(JsonWriter *writer, const Graph *graph)
{
    const GraphDef *def = graph->def;
    json_write_name(writer, "inputs");
    json_write_array_begin(writer);
    for (size_t index = 0; index < def->input_count; index++) {
        write_port(writer, def->inputs[index].name, def->inputs[index].dtype, &def->inputs[index].shape);
    }
    for (uint32_t index = 0; def->input_count == 0 && index < graph->node_count; index++) {
        const Node *node = &graph->nodes[index];
        if (is_placeholder(node)) {
            const AttrValue *shape = node_attr(node, "shape");
            Shape unknown = shape_unknown();
            write_port(writer, node->name, node->output_dtypes[0],
                shape != NULL && shape->kind == ATTR_SHAPE ? &shape->value.shape : &unknown);
        }
    }
    json_write_array_end(writer);
}

static void
write_outputs(JsonWriter *writer, const GraphDef *def)
{
    json_write_name(writer, "outputs");
    json_write_array_begin(writer);
    for (size_t index = 0; index < def->output_count; index++) {
        write_port(writer, def->outputs[index].name, def->outputs[index].dtype, &def->outputs[index].shape);
    }
    json_write_array_end(writer);
}

enum { FOREIGN_WARNINGS_MAX = 20 };

typedef struct ForeignAttr {
    const Op *op;
    Slice name;
} ForeignAttr;

typedef struct ForeignAttrs {
    ForeignAttr items[FOREIGN_WARNINGS_MAX];
    size_t count;
} ForeignAttrs;

/* Returns false for what is noted already, or has no room. */
static bool
note_foreign(ForeignAttrs *noted, const Op *op, Slice name)
{
    for (size_t index = 0; index < noted->count; index++) {
        if (noted->items[index].op == op && slice_equal(noted->items[index].name, name)) {
            return false;
        }
    }
    if (noted->count == FOREIGN_WARNINGS_MAX) {
        return false;
    }
    noted->items[noted->count++] = (ForeignAttr){.op = op, .name = name};
    return true;
}

static void
warn_of_attribute(JsonWriter *writer, const Node *node, const Attr *attr)
{
    char text[512];
    (void)snprintf(text, sizeof text,
        attr == node->foreign
            ? "node '%.*s': attribute '%.*s' of op '%.*s' is not known with this value; steps that need the "
              "node "
              "are refused"
            : "node '%.*s': attribute '%.*s' of op '%.*s' is not known; it says its default and is left out",
        SLICE_PRINT(slice_part(node->name, 0, 128)), SLICE_PRINT(slice_part(attr->name, 0, 64)),
        SLICE_PRINT(node->op->name));
    json_write_string(writer, text);
}

static bool
keeps_attribute(const Node *node, Slice name)
{
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equal(node->attrs[index].name, name)) {
            return true;
        }
    }
    return false;
}

/* Warns of attributes of later versions, each attribute of an op once for all of the op's nodes. */
static void
warn_of_attributes(JsonWriter *writer, const Graph *graph)
{
    ForeignAttrs refused = {.count = 0};
    ForeignAttrs dropped = {.count = 0};
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        for (size_t index = 0; node->op != NULL && index < node->def->attr_count; index++) {
            const Attr *given = &node->def->attrs[index];
            bool is_dropped = given->is_default && !keeps_attribute(node, given->name);
            if ((given == node->foreign && note_foreign(&refused, node->op, given->name)) ||
                (is_dropped && note_foreign(&dropped, node->op, given->name))) {
                warn_of_attribute(writer, node, given);
            }
        }
    }
}

static void
write_warnings(JsonWriter *writer, const Graph *graph)
{
    json_write_name(writer, "warnings");
    json_write_array_begin(writer);
    for (size_t index = 0; index < graph->def->warning_count; index++) {
        json_write_string(writer, graph->def->warnings[index]);
    }
    warn_of_attributes(writer, graph);
    json_write_array_end(writer);
}

void
graph_write_summary(Buffer *buffer, const Graph *graph)
{
    const GraphDef *def = graph_def_author(graph->def);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_uint64(&writer, "nodes", def->node_count);
    write_ops(&writer, def);
    write_unsupported_ops(&writer, graph);
    write_inputs(&writer, graph);
    write_outputs(&writer, def);
    json_member_uint64(&writer, "functions", def->function_count);
    write_warnings(&writer, graph);
    json_write_object_end(&writer);
}
