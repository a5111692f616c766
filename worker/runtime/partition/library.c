/* A library is made with its partition: it indexes the functions, checks that every function they call
 * exists, and finds their blobs. Bodies are compiled later, when they are first called, each under its own
 * lock. */
#include "worker/runtime/partition/library.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { BODY_DEF_SIZE_MAX = 1 << 20 };

typedef struct LibraryFunction {
    const FunctionDef *def;
    Mutex lock;
    Partition *partition; /* atomic: set once, under `lock`; NULL: not compiled yet */
} LibraryFunction;

struct Library {
    GraphDef *def;
    LibraryOptions options; /* `blobs` is NULL: the caller's source is valid only in library_new() */
    Map *by_name;           /* name → LibraryFunction */
    Map *blobs;             /* sha256 → TensorBuffer */
    Weights *weights;       /* the source's */
    uint64_t tenant;
    uint32_t call_count; /* atomic: calls under way */
    size_t function_count;
    LibraryFunction functions[];
};

void
library_free(Library *library)
{
    if (library == NULL) {
        return;
    }
    for (size_t index = 0; index < library->function_count; index++) {
        partition_unref(library->functions[index].partition);
        mutex_done(&library->functions[index].lock);
    }
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(library->blobs, &cursor); entry != NULL;
         entry = map_next(library->blobs, &cursor)) {
        tensor_buffer_unref(entry->value);
    }
    map_free(library->blobs);
    map_free(library->by_name);
    graph_def_unref(library->def);
    memory_free(library);
}

static Status
check_attr(Call *call, const Library *library, const NodeDef *node, const AttrValue *value)
{
    const AttrValue *items = value->is_list ? value->value.list.items : value;
    size_t count = value->is_list ? value->value.list.count : 1;
    for (size_t index = 0; value->kind == ATTR_FUNCTION && index < count; index++) {
        Slice name = items[index].value.function.name;
        if (map_get(library->by_name, name) == NULL) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "node '%.*s' calls function '%.*s', which does not exist", SLICE_PRINT(node->name),
                SLICE_PRINT(slice_part(name, 0, 128)));
        }
    }
    return STATUS_OK;
}

static Status
check_calls(Call *call, const Library *library, const NodeDef *nodes, size_t node_count)
{
    for (size_t node = 0; node < node_count; node++) {
        for (size_t index = 0; index < nodes[node].attr_count; index++) {
            TRY(check_attr(call, library, &nodes[node], &nodes[node].attrs[index].value));
        }
    }
    return STATUS_OK;
}

static Status
index_functions(Call *call, Library *library)
{
    for (size_t index = 0; index < library->function_count; index++) {
        LibraryFunction *function = &library->functions[index];
        if (!map_put(library->by_name, function->def->name, function)) {
            return call_fail_memory(call, "a library of functions");
        }
    }
    for (size_t index = 0; index < library->function_count; index++) {
        const FunctionDef *def = library->functions[index].def;
        TRY(check_calls(call, library, def->nodes, def->node_count));
    }
    return check_calls(call, library, library->def->nodes, library->def->node_count);
}

static Status
bind_blob(Call *call, Library *library, Slice sha256, const BlobSource *blobs, MissingBlobs *missing)
{
    if (map_get(library->blobs, sha256) != NULL) {
        return STATUS_OK;
    }
    TensorBuffer *blob = blobs == NULL ? NULL : blobs->find(blobs->context, sha256);
    if (blob == NULL) {
        return missing_blobs_add(call, sha256, missing);
    }
    if (!map_put(library->blobs, sha256, blob)) {
        tensor_buffer_unref(blob);
        return call_fail_memory(call, "a library's blobs");
    }
    return STATUS_OK;
}

/* Returns the digest of a _BlobConst; NULL for other nodes, and for a _BlobConst without a digest, which
 * fails when it is compiled. */
static const AttrValue *
blob_digest(const NodeDef *node)
{
    const AttrValue *digest =
        slice_equals_string(node->op, "_BlobConst") ? node_def_attr(node, SLICE("sha256")) : NULL;
    return digest != NULL && digest->kind == ATTR_STRING && !digest->is_list ? digest : NULL;
}

static Status
bind_blobs(Call *call, Library *library, const BlobSource *blobs, MissingBlobs *missing)
{
    for (size_t index = 0; index < library->function_count; index++) {
        const FunctionDef *function = library->functions[index].def;
        for (size_t node = 0; node < function->node_count; node++) {
            const AttrValue *digest = blob_digest(&function->nodes[node]);
            TRY(digest == NULL ? STATUS_OK : bind_blob(call, library, digest->value.s, blobs, missing));
        }
    }
    return STATUS_OK;
}

static TensorBuffer *
find_blob(void *context, Slice sha256)
{
    const Library *library = context;
    TensorBuffer *blob = map_get(library->blobs, sha256);
    return blob == NULL ? NULL : tensor_buffer_ref(blob);
}

static Library *
library_alloc(GraphDef *def, const LibraryOptions *options)
{
    Library *library = memory_new(1, sizeof *library + def->function_count * sizeof *library->functions);
    if (library == NULL) {
        return NULL;
    }
    library->def = graph_def_ref(def);
    library->options = *options;
    library->options.blobs = NULL;
    library->weights = options->blobs == NULL ? NULL : options->blobs->weights;
    library->tenant = options->blobs == NULL ? 0 : options->blobs->tenant;
    library->by_name = map_new();
    library->blobs = map_new();
    library->function_count = def->function_count;
    for (size_t index = 0; index < def->function_count; index++) {
        library->functions[index].def = &def->functions[index];
        mutex_init(&library->functions[index].lock);
    }
    return library;
}

Status
library_new(
    Call *call, GraphDef *def, const LibraryOptions *options, MissingBlobs *missing, Library **ret_library)
{
    assert(options->devices.host != NULL && options->compile_body != NULL);
    if (def->function_count == 0) {
        *ret_library = NULL;
        return STATUS_OK;
    }
    AUTO_LIBRARY library = library_alloc(def, options);
    if (library == NULL || library->by_name == NULL || library->blobs == NULL) {
        return call_fail_memory(call, "a library of functions");
    }
    TRY(index_functions(call, library));
    TRY(bind_blobs(call, library, options->blobs, missing));
    *ret_library = TAKE(library);
    return STATUS_OK;
}

Status
library_begin_call(Call *call, Library *library)
{
    if (atomic_add_relaxed(&library->call_count, 1) <= CALLS_UNDER_WAY_MAX) {
        return STATUS_OK;
    }
    library_end_call(library);
    return call_fail(
        call, STATUS_RESOURCE_EXHAUSTED, "%d calls of functions are under way already", CALLS_UNDER_WAY_MAX);
}

void
library_end_call(Library *library)
{
    atomic_sub_relaxed(&library->call_count, 1);
}

Partition *
library_find(Library *library, Slice function)
{
    LibraryFunction *found = map_get(library->by_name, function);
    return found == NULL ? NULL : atomic_load_acquire(&found->partition);
}

/* Compiles a function. Its GraphDef shares the nodes of the library's GraphDef, to which it keeps a
 * reference. */
static Status
compile_function(Call *call, Library *library, const FunctionDef *function, Partition **ret_partition)
{
    AUTO_GRAPH_DEF body = graph_def_new(BODY_DEF_SIZE_MAX);
    if (body == NULL) {
        return call_fail_memory(call, "a function's body");
    }
    body->origin = graph_def_ref(library->def);
    body->nodes = function->nodes;
    body->node_count = function->node_count;
    body->producer = library->def->producer;
    body->min_consumer = library->def->min_consumer;
    body->passes_off = library->def->passes_off;
    body->passes_off_count = library->def->passes_off_count;
    body->allows_tf32 = library->def->allows_tf32;
    BlobSource blobs = {
        .context = library, .find = find_blob, .weights = library->weights, .tenant = library->tenant};
    return library->options.compile_body(
        call, body, library->options.devices, &blobs, library, ret_partition);
}

Status
library_obtain(Call *call, Library *library, Slice function, Partition **ret_partition)
{
    LibraryFunction *found = map_get(library->by_name, function);
    if (found == NULL) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "function '%.*s' does not exist", SLICE_PRINT(function));
    }
    Status status = STATUS_OK;
    mutex_lock(&found->lock);
    if (found->partition == NULL) {
        Partition *made = NULL;
        status = compile_function(call, library, found->def, &made);
        atomic_store_release(&found->partition, made);
    }
    *ret_partition = found->partition;
    mutex_unlock(&found->lock);
    return status;
}
