/* Reads TensorFlow's SavedModel: the meta graph with the tag "serve", else the first one; its signatures
 * as names for feeds and fetches; the values of its variables from its checkpoint. It comes as
 * saved_model.pb alone or, with the checkpoint, as a tar of the model's directory.
 *
 * The inputs and outputs of one signature, "serving_default" or the first by name, keep their names. Those
 * of every other are "<name>@<signature>". */
#include "gateway/formats/saved_model.h"

#include <assert.h>
#include <stddef.h>

#include "gateway/formats/checkpoint.h"
#include "gateway/formats/protobuf_graph.h"
#include "gateway/formats/tar.h"
#include "shared/base/text.h"

typedef struct SignatureView {
    SliceList inputs;
    SliceList outputs;
} SignatureView;

static Status
read_port(ProtoImport *import, Slice bytes, GraphPort *ret_port)
{
    typedef struct InfoView {
        Slice tensor;
        int64_t dtype_number;
        Slice shape;
    } InfoView;
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(InfoView, tensor)},
        {2, KEEP_INT, offsetof(InfoView, dtype_number)},
        {3, KEEP_SLICE, offsetof(InfoView, shape)},
    };
    static const MessageView message = MESSAGE_VIEW("a signature's tensor", kept);
    MapEntryView entry;
    InfoView view = {.tensor = SLICE("")};
    TRY(proto_map_entry(import, bytes, &entry));
    TRY(message_collect(import->call, import->scratch, entry.value, &message, &view));
    *ret_port = (GraphPort){.name = entry.key,
        .tensor = view.tensor,
        .dtype = dtype_from_tensorflow_number(view.dtype_number),
        .shape = shape_unknown()};
    return view.shape.data == NULL ? STATUS_OK : proto_shape(import, view.shape, &ret_port->shape);
}

/* Pushes a signature's inputs or outputs; `signature` is "" for the one whose names stand alone. */
static Status
push_ports(ProtoImport *import, const SliceList *list, Slice signature)
{
    for (size_t index = 0; index < list->count; index++) {
        GraphPort port;
        TRY(read_port(import, list->items[index], &port));
        if (signature.size > 0) {
            const char *name = text_format(
                import->builder->def->arena, "%.*s@%.*s", SLICE_PRINT(port.name), SLICE_PRINT(signature));
            if (name == NULL) {
                return call_fail_memory(import->call, "the graph");
            }
            port.name = slice_from_string(name);
        }
        TRY(builder_push(import->builder, &port, sizeof port));
    }
    return STATUS_OK;
}

/* Returns 'serving_default', else the first signature by name: a map has no order of its own. */
static Slice
main_signature(const MapEntryView *entries, size_t count)
{
    Slice chosen = {.size = 0};
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(entries[index].key, "serving_default")) {
            return entries[index].key;
        }
        if (chosen.data == NULL || slice_compare(entries[index].key, chosen) < 0) {
            chosen = entries[index].key;
        }
    }
    return chosen;
}

/* Returns true for signatures that initialize a model, which users do not call. */
static bool
is_internal(Slice signature)
{
    return slice_starts_with(signature, SLICE("__saved_model_"));
}

static Status
read_entries(ProtoImport *import, const SliceList *signatures, MapEntryView **ret_entries, size_t *ret_count)
{
    MapEntryView *entries = arena_alloc(import->scratch, signatures->count * sizeof *entries);
    if (entries == NULL) {
        return call_fail_memory(import->call, "signatures");
    }
    size_t count = 0;
    for (size_t index = 0; index < signatures->count; index++) {
        TRY(proto_map_entry(import, signatures->items[index], &entries[count]));
        count += is_internal(entries[count].key) ? 0 : 1;
    }
    *ret_entries = entries;
    *ret_count = count;
    return STATUS_OK;
}

/* Pushes the ports of all signatures, those of the main one first. */
static Status
push_all(ProtoImport *import, const MapEntryView *entries, const SignatureView *views, size_t count,
    bool is_outputs)
{
    Slice chosen = main_signature(entries, count);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t index = 0; index < count; index++) {
            bool is_main = slice_equal(entries[index].key, chosen);
            if (is_main == (turn == 0)) {
                TRY(push_ports(import, is_outputs ? &views[index].outputs : &views[index].inputs,
                    is_main ? SLICE("") : entries[index].key));
            }
        }
    }
    return STATUS_OK;
}

static Status
read_signatures(ProtoImport *import, const SliceList *signatures, GraphDef *def)
{
    static const KeptField kept[] = {
        {1, KEEP_LIST, offsetof(SignatureView, inputs)},
        {2, KEEP_LIST, offsetof(SignatureView, outputs)},
    };
    static const MessageView message = MESSAGE_VIEW("a signature", kept);
    MapEntryView *entries = NULL;
    size_t count = 0;
    TRY(read_entries(import, signatures, &entries, &count));
    SignatureView *views = arena_alloc(import->scratch, count * sizeof *views);
    if (views == NULL) {
        return call_fail_memory(import->call, "signatures");
    }
    for (size_t index = 0; index < count; index++) {
        TRY(message_collect(import->call, import->scratch, entries[index].value, &message, &views[index]));
    }
    size_t mark = builder_mark(import->builder);
    TRY(push_all(import, entries, views, count, false));
    TRY(BUILDER_TAKE(import->builder, mark, &def->inputs, &def->input_count));
    TRY(push_all(import, entries, views, count, true));
    return BUILDER_TAKE(import->builder, mark, &def->outputs, &def->output_count);
}

typedef struct MetaGraphView {
    Slice info;
    Slice ops;
    Slice graph;
    SliceList collections;
    SliceList signatures;
    SliceList assets;
} MetaGraphView;

typedef struct InfoView {
    Slice ops;
    SliceList tags;
} InfoView;

static Status
read_meta_graph(ProtoImport *import, Slice bytes, MetaGraphView *ret_view, bool *ret_serves)
{
    static const KeptField kept[] = {
        {1, KEEP_SLICE, offsetof(MetaGraphView, info)},
        {2, KEEP_SLICE, offsetof(MetaGraphView, graph)},
        {4, KEEP_LIST, offsetof(MetaGraphView, collections)},
        {5, KEEP_LIST, offsetof(MetaGraphView, signatures)},
        {6, KEEP_LIST, offsetof(MetaGraphView, assets)},
    };
    static const KeptField info_kept[] = {
        {2, KEEP_SLICE, offsetof(InfoView, ops)},
        {4, KEEP_LIST, offsetof(InfoView, tags)},
    };
    static const MessageView message = MESSAGE_VIEW("the meta graph", kept);
    static const MessageView info = MESSAGE_VIEW("the meta graph's description", info_kept);
    InfoView view = {.ops = SLICE("")};
    *ret_view = (MetaGraphView){.info = SLICE("")};
    TRY(message_collect(import->call, import->scratch, bytes, &message, ret_view));
    TRY(message_collect(import->call, import->scratch, ret_view->info, &info, &view));
    ret_view->ops = view.ops;
    *ret_serves = false;
    for (size_t index = 0; index < view.tags.count; index++) {
        *ret_serves = *ret_serves || slice_equals_string(view.tags.items[index], "serve");
    }
    return STATUS_OK;
}

/* Reads the definitions of the graph's ops, as the program that wrote the graph had them. */
static Status
read_producer_ops(ProtoImport *import, Slice bytes, Map *ops)
{
    static const KeptField kept[] = {{1, KEEP_LIST, 0}};
    static const MessageView message = MESSAGE_VIEW("the meta graph's list of ops", kept);
    SliceList list = {0};
    TRY(message_collect(import->call, import->scratch, bytes, &message, &list));
    for (size_t index = 0; index < list.count; index++) {
        FunctionDef *op = arena_alloc(import->scratch, sizeof *op);
        if (op == NULL) {
            return call_fail_memory(import->call, "the graph's ops");
        }
        *op = (FunctionDef){.name = SLICE("")};
        TRY(proto_signature(import, list.items[index], op));
        if (!map_put(ops, op->name, op)) {
            return call_fail_memory(import->call, "the graph's ops");
        }
    }
    return STATUS_OK;
}

static Status
read_graph(ProtoImport *import, const MetaGraphView *view, GraphDef *def)
{
    AUTO_MAP ops = map_new();
    if (ops == NULL) {
        return call_fail_memory(import->call, "the graph's ops");
    }
    TRY(read_producer_ops(import, view->ops, ops));
    import->producer_ops = ops;
    Status status = proto_graph(import, view->graph, def);
    import->producer_ops = NULL;
    return status;
}

Status
proto_saved_model(ProtoImport *import, Slice bytes, const SavedModelArchive *archive, GraphDef *def)
{
    static const KeptField kept[] = {{2, KEEP_LIST, 0}};
    static const MessageView message = MESSAGE_VIEW("the saved model", kept);
    SliceList graphs = {0};
    MetaGraphView chosen;
    bool serves = false;
    TRY(message_collect(import->call, import->scratch, bytes, &message, &graphs));
    if (graphs.count == 0) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "the saved model has no graph");
    }
    TRY(read_meta_graph(import, graphs.items[0], &chosen, &serves));
    for (size_t index = 1; index < graphs.count && !serves; index++) {
        MetaGraphView view;
        TRY(read_meta_graph(import, graphs.items[index], &view, &serves));
        chosen = serves ? view : chosen;
    }
    SavedModelSetup setup = {.collections = &chosen.collections,
        .signatures = &chosen.signatures,
        .assets = &chosen.assets,
        .archive = archive};
    TRY(read_graph(import, &chosen, def));
    TRY(saved_model_set_up(import, &setup, def));
    return read_signatures(import, &chosen.signatures, def);
}

/* Reads the number of a shard's name: 1 for "variables.data-00001-of-00002". */
static bool
shard_number(Slice name, size_t *ret_number)
{
    static const Slice prefix = {.data = "variables.data-", .size = 15};
    uint64_t number = 0;
    if (!slice_starts_with(name, prefix) || !slice_to_uint64(slice_part(name, prefix.size, 5), &number) ||
        number >= CHECKPOINT_SHARDS_MAX) {
        return false;
    }
    *ret_number = (size_t)number;
    return true;
}

static size_t
count_folders(Slice path)
{
    size_t count = 0;
    for (size_t index = 0; index < path.size; index++) {
        count += path.data[index] == '/' ? 1 : 0;
    }
    return count;
}

/* Finds the model's saved_model.pb: others may lie in folders beside it, such as assets.extra/. */
static Status
find_model(Call *call, ByteSpan archive, Slice *ret_name)
{
    TarReader reader = {.rest = archive};
    TarFile file;
    bool is_found = true;
    Slice name = {.data = NULL};
    Slice second = {.data = NULL}; /* one that lies as deep */
    TRY(tar_next(call, &reader, &file, &is_found));
    while (is_found) {
        Slice folder = slice_folder(file.name);
        bool is_model = slice_equals_string(slice_part(file.name, folder.size, SIZE_MAX), "saved_model.pb");
        bool is_higher = name.data == NULL || count_folders(folder) < count_folders(name);
        bool is_as_high = !is_higher && count_folders(folder) == count_folders(name);
        if (is_model && is_higher) {
            name = file.name;
            second = (Slice){.data = NULL};
        } else if (is_model && is_as_high && !slice_equal(name, file.name)) {
            second = file.name;
        }
        TRY(tar_next(call, &reader, &file, &is_found));
    }
    if (name.data == NULL) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the archive has no saved_model.pb; is it a SavedModel?");
    }
    *ret_name = name;
    return second.data == NULL
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "the archive has two models, '%.*s' and '%.*s'",
                     SLICE_PRINT(slice_part(name, 0, 128)), SLICE_PRINT(slice_part(second, 0, 128)));
}

/* Notes a file of the model; of two with one name the later counts, as for tar. */
static void
keep_file(SavedModelFiles *directory, const TarFile *file)
{
    Slice name = saved_model_inside(directory->folder, file->name);
    Slice variable = saved_model_inside(SLICE("variables/"), name);
    size_t shard = 0;
    if (slice_equals_string(name, "saved_model.pb")) {
        directory->model = file->content;
    } else if (slice_equals_string(variable, "variables.index")) {
        directory->checkpoint.index = file->content;
    } else if (shard_number(variable, &shard)) {
        directory->checkpoint.shards[shard] = file->content;
    } else if (slice_equals_string(variable, SAVED_MODEL_TENSORS)) {
        directory->tensors = file->content;
    }
}

Status
saved_model_files(Call *call, ByteSpan archive, SavedModelFiles *ret_files)
{
    TarReader reader = {.rest = archive};
    TarFile file;
    Slice model;
    bool is_found = true;
    memset(ret_files, 0, sizeof *ret_files);
    TRY(find_model(call, archive, &model));
    ret_files->folder = slice_folder(model);
    TRY(tar_next(call, &reader, &file, &is_found));
    while (is_found) {
        keep_file(ret_files, &file);
        TRY(tar_next(call, &reader, &file, &is_found));
    }
    assert(ret_files->model.source != NULL);
    return STATUS_OK;
}

/* Reads the values of variables from a skeleton: a list of names and TensorProtos. */
static Status
read_tensors(ProtoImport *import, Slice bytes, GraphDef *def)
{
    static const KeptField kept[] = {{1, KEEP_LIST, 0}};
    static const MessageView message = MESSAGE_VIEW("the model's list of tensors", kept);
    SliceList list = {0};
    size_t mark = builder_mark(import->builder);
    TRY(message_collect(import->call, import->scratch, bytes, &message, &list));
    for (size_t index = 0; index < list.count; index++) {
        MapEntryView entry;
        GraphTensor tensor;
        TRY(proto_map_entry(import, list.items[index], &entry));
        tensor.name = entry.key;
        TRY(proto_tensor(import, entry.value, &tensor.tensor));
        TRY(builder_push(import->builder, &tensor, sizeof tensor));
    }
    return BUILDER_TAKE(import->builder, mark, &def->checkpoint, &def->checkpoint_count);
}

static Slice
span_bytes(ByteSpan span)
{
    return slice_of(span.source->memory + span.offset, (size_t)span.size);
}

static Status
read_variables(ProtoImport *import, SavedModelFiles *files, GraphDef *def)
{
    if (files->tensors.source != NULL) {
        return read_tensors(import, span_bytes(files->tensors), def);
    }
    files->checkpoint.size_max = SIZE_MAX;
    return files->checkpoint.index.source == NULL
               ? STATUS_OK
               : checkpoint_read(import, &files->checkpoint, &def->checkpoint, &def->checkpoint_count);
}

Status
saved_model_read(Call *call, TensorBuffer *source, GraphDef **ret_def)
{
    assert(source != NULL && ret_def != NULL);
    enum { SCRATCH_SIZE_MIN = 16 << 20, SCRATCH_FACTOR = 16 };
    AUTO_GRAPH_BUILDER builder;
    TRY(builder_begin(&builder, call, source->size));
    AUTO_ARENA scratch = arena_new(SCRATCH_SIZE_MIN + source->size * SCRATCH_FACTOR);
    SavedModelFiles *files = scratch == NULL ? NULL : arena_alloc(scratch, sizeof *files);
    if (files == NULL) {
        return call_fail_memory(call, "the graph");
    }
    builder.def->source = tensor_buffer_ref(source);
    ProtoImport import = {.call = call, .builder = &builder, .scratch = scratch, .source = source};
    Slice archive = slice_of(source->data, source->size);
    ByteSource bytes = byte_source_of(archive);
    TRY(saved_model_files(call, (ByteSpan){&bytes, 0, bytes.size}, files));
    TRY(proto_saved_model(&import, span_bytes(files->model),
        &(SavedModelArchive){.bytes = archive, .folder = files->folder}, builder.def));
    TRY(read_variables(&import, files, builder.def));
    *ret_def = builder_finish(&builder);
    return STATUS_OK;
}
