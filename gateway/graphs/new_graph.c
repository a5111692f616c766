#include "gateway/graphs/new_graph.h"

#include <assert.h>
#include <string.h>

#include "gateway/graphs/graph_json.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"
#include "shared/base/text.h"
#include "shared/crypto/digest.h"

static void
source_release(void *source)
{
    tensor_buffer_unref(source);
}

/* Refuses a source that is too large for a blob, as it is kept as one. */
static Status
check_size(Call *call, const Request *request, const Limits *limits, Response *response)
{
    uint64_t size_max = limits->blob_bytes;
    return request->body.size <= size_max
               ? STATUS_OK
               : response_fail(call, response, 413, "the graph has %zu bytes, the limit blob_bytes is %llu",
                     request->body.size, (unsigned long long)size_max);
}

Status
new_graph_source(
    Call *call, const Request *request, const Limits *limits, Response *response, TensorBuffer **ret_source)
{
    TRY(check_size(call, request, limits, response));
    TensorBuffer *source = tensor_buffer_new(request->body.size);
    if (source == NULL || arena_defer(call->arena, source_release, source) == NULL) {
        return call_fail_memory(call, "a graph's source");
    }
    memcpy(source->data, request->body.data, request->body.size);
    *ret_source = source;
    return STATUS_OK;
}

typedef struct Kept {
    StoredGraph wanted;
    StoredGraph stored;
    bool is_new;
} Kept;

/* Returns the digest of an extended graph: of its parent's digest and the added source's. */
static Sha256
digest_of(const StoredGraph *parent, const Sha256 *source)
{
    const Sha256 both[] = {parent->digest, *source};
    Sha256 digest;
    sha256(slice_of(both, sizeof both), &digest);
    return digest;
}

static Slice
source_bytes(const NewGraph *made)
{
    return slice_of(made->source.bytes->data, made->source.bytes->size);
}

static Status
describe_graph(Call *call, const NewGraph *made, StoredGraph *ret_graph)
{
    AUTO_BUFFER summary = {0};
    graph_write_summary(&summary, made->graph);
    const char *text =
        buffer_string(&summary) == NULL ? NULL : text_copy(call->arena, buffer_slice(&summary));
    if (text == NULL) {
        return call_fail_memory(call, "a graph's summary");
    }
    *ret_graph = (StoredGraph){
        .id = {uuid_new()},
        .session = made->session,
        .version = 1,
        .media_type = graph_format_media_type(made->source.format),
        .summary = text,
    };
    sha256(source_bytes(made), &ret_graph->source);
    ret_graph->digest = ret_graph->source;
    if (made->parent != NULL) {
        ret_graph->parent = made->parent->id;
        ret_graph->version = made->parent->version + 1;
        ret_graph->digest = digest_of(made->parent, &ret_graph->source);
    }
    return STATUS_OK;
}

/* Stores what the graph is made of, before the graph that refers to it. */
static Status
put_blobs(Call *call, TenantId tenant, Store *store, const NewGraph *made, const StoredGraph *graph)
{
    const GraphBody *body = &made->body;
    TRY(blobs_put(call, store, tenant, &graph->source, source_bytes(made)));
    if (body->bytes.size > 0) {
        TRY(blobs_put(call, store, tenant, &body->digest, body->bytes));
    }
    return blobs_put_ranges(call, store, tenant, made->weights.ranges, made->weights.count);
}

static Status
put_graph(Call *call, const Request *request, Store *store, const NewGraph *made, Kept *kept)
{
    TenantId tenant = request->principal.tenant;
    const Sha256 *files = NULL;
    size_t count = 0;
    TRY(put_blobs(call, tenant, store, made, &kept->wanted));
    TRY(graph_weights_find(call, store, tenant, made->graph, &files, &count));
    TRY(graphs_create(call, store, tenant, &kept->wanted, &kept->stored, &kept->is_new));
    return kept->is_new ? graphs_keep_files(call, store, tenant, &kept->stored, files, count) : STATUS_OK;
}

static Status
store_graph(Call *call, const Request *request, const NewGraph *made, Kept *kept)
{
    Store *store = NULL;
    TRY(request_store(call, request, &store));
    if (store_is_in_transaction(store)) {
        return put_graph(call, request, store, made, kept);
    }
    TRY(store_begin(call, store, request->principal.tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(put_graph(call, request, store, made, kept));
    return store_commit(call, TAKE(transaction));
}

Status
new_graph_keep(Call *call, const Request *request, Response *response, const NewGraph *made)
{
    assert(made->graph != NULL && made->graphs != NULL && made->sessions != NULL);

    TenantId tenant = request->principal.tenant;
    Kept kept;
    TRY(describe_graph(call, made, &kept.wanted));
    TRY(store_graph(call, request, made, &kept));
    GraphSnapshot identity = {.tenant = tenant, .session = made->session, .id = kept.stored.id};
    graph_cache_put(made->graphs, &identity, made->graph, made->source_size);
    session_cache_drop(made->sessions, tenant, made->session); /* the session's newest graph has changed */
    response_status(response, kept.is_new ? 201 : 200);
    graph_write(response, &kept.stored);
    graph_write_location(response, &kept.stored);
    return STATUS_OK;
}
