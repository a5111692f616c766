/* Makes a SavedModel's lookup tables ready. The model names a node that fills them, which TensorFlow runs
 * once, when it loads the model. Here readers of a table depend on that node: a table is filled by the
 * first step that needs it, and filling it again changes nothing.
 *
 *   1. the nodes that the filling node needs are marked
 *   2. behind every table stands an Identity that waits for the filling node
 *   3. all other readers of a table read that Identity
 *
 * The files of assets/ that fill tables travel inside the constants that named them. */
#include "gateway/formats/saved_model.h"

#include <assert.h>
#include <stddef.h>

#include "gateway/formats/tar.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

typedef struct Tables {
    ProtoImport *import;
    GraphDef *def;
    NodeDef *nodes; /* the graph's nodes, then the Identities */
    size_t node_count;
    bool *is_filler; /* by node: the filling node needs it */
    Map *by_name;    /* name → NodeDef */
    Map *filled;     /* table → its Identity's NodeDef */
} Tables;

Slice
saved_model_inside(Slice folder, Slice name)
{
    return slice_starts_with(name, folder) ? slice_part(name, folder.size, SIZE_MAX) : SLICE("");
}

Slice
saved_model_asset(Slice folder, Slice name)
{
    Slice inside = saved_model_inside(folder, name);
    return slice_starts_with(inside, SLICE("assets/")) ? inside : SLICE("");
}

static bool
is_table(const NodeDef *node)
{
    static const char *const ops[] = {
        "HashTableV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2"};
    for (size_t index = 0; index < COUNT_OF(ops); index++) {
        if (slice_equals_string(node->op, ops[index])) {
            return true;
        }
    }
    return false;
}

static size_t
count_tables(const GraphDef *def)
{
    size_t count = 0;
    for (size_t index = 0; index < def->node_count; index++) {
        count += is_table(&def->nodes[index]) ? 1 : 0;
    }
    return count;
}

/* Returns the node that an input names, or NULL. */
static NodeDef *
find_node(const Tables *tables, Slice input)
{
    NodeInput parsed;
    return node_input_parse(input, &parsed) ? map_get(tables->by_name, parsed.node) : NULL;
}

static Status
mark_fillers(Tables *tables, const NodeDef *filling)
{
    AUTO_BUFFER stack = {0};
    buffer_append(&stack, &filling, sizeof filling);
    while (buffer_is_ok(&stack) && stack.size > 0) {
        const NodeDef *node = NULL;
        stack.size -= sizeof node;
        memcpy(&node, stack.data + stack.size, sizeof node);
        bool *mark = &tables->is_filler[node - tables->nodes];
        for (size_t index = 0; !*mark && index < node->input_count; index++) {
            const NodeDef *source = find_node(tables, node->inputs[index]);
            if (source != NULL) {
                buffer_append(&stack, &source, sizeof source);
            }
        }
        *mark = true;
    }
    return buffer_is_ok(&stack) ? STATUS_OK : call_fail_memory(tables->import->call, "the graph's tables");
}

static Status
add_identity(Tables *tables, const NodeDef *table, Slice filling)
{
    Arena *arena = tables->def->arena;
    void *inputs = NULL;
    void *attrs = NULL;
    const char *name = text_format(arena, "%.*s/filled", SLICE_PRINT(table->name));
    const char *control = text_format(arena, "^%.*s", SLICE_PRINT(filling));
    TRY(builder_alloc(tables->import->builder, 2, sizeof(Slice), &inputs));
    TRY(builder_alloc(tables->import->builder, 1, sizeof(Attr), &attrs));
    NodeDef *identity = &tables->nodes[tables->node_count++];
    if (name == NULL || control == NULL || !map_put(tables->filled, table->name, identity)) {
        return call_fail_memory(tables->import->call, "the graph's tables");
    }
    if (map_get(tables->by_name, slice_from_string(name)) != NULL) {
        return call_fail(tables->import->call, STATUS_INVALID_ARGUMENT,
            "node '%s' has the name that '%.*s' is given when it is filled", name, SLICE_PRINT(table->name));
    }
    ((Slice *)inputs)[0] = table->name;
    ((Slice *)inputs)[1] = slice_from_string(control);
    *(Attr *)attrs = (Attr){.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_RESOURCE}};
    *identity = (NodeDef){.name = slice_from_string(name),
        .op = SLICE("Identity"),
        .device = table->device,
        .inputs = inputs,
        .input_count = 2,
        .attrs = attrs,
        .attr_count = 1};
    return STATUS_OK;
}

/* Returns the Identity that readers of a table read instead, or NULL. */
static const NodeDef *
find_filled(const Tables *tables, Slice input)
{
    NodeInput parsed;
    return node_input_parse(input, &parsed) && !parsed.is_control ? map_get(tables->filled, parsed.node)
                                                                  : NULL;
}

static Status
read_filled(Tables *tables, NodeDef *node)
{
    Slice *inputs = NULL;
    for (size_t index = 0; index < node->input_count; index++) {
        const NodeDef *filled = find_filled(tables, node->inputs[index]);
        if (filled != NULL && inputs == NULL) {
            void *copy = NULL;
            TRY(builder_alloc(tables->import->builder, node->input_count, sizeof *inputs, &copy));
            inputs = memcpy(copy, node->inputs, node->input_count * sizeof *inputs);
            node->inputs = inputs;
        }
        if (filled != NULL) {
            inputs[index] = filled->name;
        }
    }
    return STATUS_OK;
}

static Status
rewrite_tables(Tables *tables, Slice filling)
{
    size_t count = tables->node_count;
    for (size_t index = 0; index < count; index++) {
        if (is_table(&tables->nodes[index])) {
            TRY(add_identity(tables, &tables->nodes[index], filling));
        }
    }
    for (size_t index = 0; index < count; index++) {
        if (!tables->is_filler[index]) {
            TRY(read_filled(tables, &tables->nodes[index]));
        }
    }
    tables->def->nodes = tables->nodes;
    tables->def->node_count = tables->node_count;
    return STATUS_OK;
}

/* Copies the graph's nodes, with room for the Identities, and indexes them by name. */
static Status
copy_nodes(Tables *tables)
{
    const GraphDef *def = tables->def;
    void *nodes = NULL;
    TRY(builder_alloc(tables->import->builder, def->node_count + count_tables(def), sizeof(NodeDef), &nodes));
    memcpy(nodes, def->nodes, def->node_count * sizeof(NodeDef));
    tables->nodes = nodes;
    tables->node_count = def->node_count;
    for (size_t index = 0; index < def->node_count; index++) {
        if (!map_put(tables->by_name, def->nodes[index].name, &tables->nodes[index])) {
            return call_fail_memory(tables->import->call, "the graph's tables");
        }
    }
    return STATUS_OK;
}

static Status
fill_tables(ProtoImport *import, Slice filling, GraphDef *def)
{
    NodeInput parsed;
    if (count_tables(def) == 0 || !node_input_parse(filling, &parsed)) {
        return STATUS_OK;
    }
    AUTO_MAP by_name = map_new();
    AUTO_MAP filled = map_new();
    Tables tables = {.import = import, .def = def, .by_name = by_name, .filled = filled};
    tables.is_filler = arena_alloc(import->scratch, def->node_count * sizeof *tables.is_filler);
    if (by_name == NULL || filled == NULL || tables.is_filler == NULL) {
        return call_fail_memory(import->call, "the graph's tables");
    }
    memset(tables.is_filler, 0, def->node_count * sizeof *tables.is_filler);
    TRY(copy_nodes(&tables));
    const NodeDef *node = find_node(&tables, parsed.node);
    if (node == NULL) {
        return STATUS_OK;
    }
    TRY(mark_fillers(&tables, node));
    return rewrite_tables(&tables, parsed.node);
}

/* Reads the first text of field 1 of the message in `bytes`. */
static Status
first_text(ProtoImport *import, Slice bytes, Slice *ret_text)
{
    static const KeptField kept[] = {{1, KEEP_LIST, 0}};
    static const MessageView message = MESSAGE_VIEW("what makes the model ready", kept);
    SliceList list = {0};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &list));
    *ret_text = list.count > 0 ? list.items[0] : SLICE("");
    return STATUS_OK;
}

/* Reads the filling node of a TensorFlow 2 model: the output of a signature. */
static Status
read_signature(ProtoImport *import, Slice bytes, Slice *ret_node)
{
    static const KeptField kept[] = {{2, KEEP_LIST, 0}};
    static const MessageView message = MESSAGE_VIEW("a signature", kept);
    SliceList outputs = {0};
    MapEntryView output;
    TRY(message_collect(import->call, import->scratch, bytes, &message, &outputs));
    if (outputs.count == 0) {
        return STATUS_OK;
    }
    TRY(proto_map_entry(import, outputs.items[0], &output));
    return first_text(import, output.value, ret_node);
}

/* Reads the filling node of a TensorFlow 1 model: a collection of one node. */
static Status
read_collection(ProtoImport *import, Slice bytes, Slice *ret_node)
{
    Slice nodes = SLICE("");
    TRY(first_text(import, bytes, &nodes));
    return first_text(import, nodes, ret_node);
}

typedef Status (*ReadFilling)(ProtoImport *import, Slice bytes, Slice *ret_node);

static Status
find_filling(ProtoImport *import, const SliceList *map, const char *key, ReadFilling read, Slice *ret_node)
{
    for (size_t index = 0; index < map->count && ret_node->size == 0; index++) {
        MapEntryView entry;
        TRY(proto_map_entry(import, map->items[index], &entry));
        if (slice_equals_string(entry.key, key)) {
            TRY(read(import, entry.value, ret_node));
        }
    }
    return STATUS_OK;
}

/* An AssetFileDef. */
typedef struct Asset {
    Slice tensor;
    Slice file; /* its name in the folder assets/ */
} Asset;

static Status
read_asset(ProtoImport *import, Slice bytes, Asset *ret_asset)
{
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(Asset, tensor)},
        {2, KEEP_SLICE, offsetof(Asset, file)},
    };
    static const MessageView message = MESSAGE_VIEW("an asset", kept);
    *ret_asset = (Asset){.file = SLICE("")};
    TRY(message_collect(import->call, import->scratch, bytes, &message, ret_asset));
    return first_text(import, ret_asset->tensor, &ret_asset->tensor);
}

static Status
find_file(ProtoImport *import, const SavedModelArchive *archive, Slice file, Slice *ret_content)
{
    const char *wanted = text_format(import->scratch, "assets/%.*s", SLICE_PRINT(file));
    ByteSource source = byte_source_of(archive->bytes);
    TarReader reader = {.rest = {&source, 0, source.size}};
    TarFile found;
    bool has_more = archive->bytes.size > 0;
    if (wanted == NULL) {
        return call_fail_memory(import->call, "an asset");
    }
    while (has_more) {
        TRY(tar_next(import->call, &reader, &found, &has_more));
        if (has_more && slice_equals_string(saved_model_asset(archive->folder, found.name), wanted)) {
            *ret_content = tar_content(&found);
            return STATUS_OK;
        }
    }
    return call_fail(
        import->call, STATUS_INVALID_ARGUMENT, "the model's asset '%s' is not in the archive", wanted);
}

/* Makes the node a constant with the content; in TensorFlow 1 it was one already, later a placeholder. */
static Status
set_content(ProtoImport *import, Slice content, NodeDef *node)
{
    Shape scalar = shape_scalar();
    AUTO_BUFFER text = {0};
    void *memory = NULL;
    TRY(builder_alloc(import->builder, 2, sizeof(Attr), &memory));
    Attr *attrs = memory;
    attrs[0] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_STRING}};
    attrs[1] = (Attr){.name = SLICE("value"), .value = {.kind = ATTR_TENSOR}};
    buffer_append(&text, GRAPH_ASSET_MARK, sizeof GRAPH_ASSET_MARK - 1);
    buffer_append_slice(&text, content);
    if (!buffer_is_ok(&text)) {
        return call_fail_memory(import->call, "an asset");
    }
    Slice marked = slice_of(text.data, text.size);
    TRY(builder_string_tensor(import->builder, &scalar, &marked, 1, &attrs[1].value.value.tensor));
    node->op = SLICE("Const");
    node->attrs = attrs;
    node->attr_count = 2;
    return STATUS_OK;
}

static Status
set_asset(ProtoImport *import, const Asset *asset, const SavedModelArchive *archive, NodeDef *nodes,
    size_t node_count)
{
    Slice content = SLICE("");
    NodeInput named;
    TRY(find_file(import, archive, asset->file, &content));
    for (size_t index = 0; node_input_parse(asset->tensor, &named) && index < node_count; index++) {
        if (slice_equal(named.node, nodes[index].name) && nodes[index].input_count == 0) {
            TRY(set_content(import, content, &nodes[index]));
        }
    }
    return STATUS_OK;
}

static Status
set_assets(ProtoImport *import, const SavedModelSetup *setup, GraphDef *def)
{
    void *nodes = NULL;
    if (setup->assets->count == 0 || setup->archive->bytes.size == 0) {
        return STATUS_OK;
    }
    TRY(builder_alloc(import->builder, def->node_count, sizeof(NodeDef), &nodes));
    memcpy(nodes, def->nodes, def->node_count * sizeof(NodeDef));
    for (size_t index = 0; index < setup->assets->count; index++) {
        Asset asset;
        TRY(call_check(import->call, clock_monotonic_ns())); /* each looks through the whole archive */
        TRY(read_asset(import, setup->assets->items[index], &asset));
        TRY(set_asset(import, &asset, setup->archive, nodes, def->node_count));
    }
    def->nodes = nodes;
    return STATUS_OK;
}

Status
saved_model_set_up(ProtoImport *import, const SavedModelSetup *setup, GraphDef *def)
{
    assert(setup->collections != NULL && setup->signatures != NULL && setup->assets != NULL);
    Slice filling = SLICE("");
    TRY(set_assets(import, setup, def));
    TRY(find_filling(import, setup->signatures, "__saved_model_init_op", read_signature, &filling));
    TRY(find_filling(import, setup->collections, "saved_model_main_op", read_collection, &filling));
    TRY(find_filling(import, setup->collections, "legacy_init_op", read_collection, &filling));
    return fill_tables(import, filling, def);
}
