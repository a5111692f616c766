/* createGraph: reads, validates and keeps a graph. The same bytes sent again are the same graph. */
#include <string.h>

#include "gateway/services/gateway.h"
#include "gateway/services/graph_import.h"
#include "gateway/services/idempotent.h"
#include "gateway/services/resource_json.h"
#include "gateway/store/blobs.h"
#include "gateway/store/graphs.h"
#include "shared/crypto/digest.h"

/* The graph keeps its source: a copy that outlives the request. */
static Status
source_copy(Call *call, Slice bytes, TensorBuffer **ret_source)
{
    TensorBuffer *const source = tensor_buffer_new(bytes.size);
    if (source == NULL) {
        return call_fail_memory(call, "a graph's source");
    }
    memcpy(source->data, bytes.data, bytes.size);
    *ret_source = source;
    return STATUS_OK;
}

typedef struct NewGraph {
    const StoredGraph *wanted;
    StoredGraph stored;
    bool is_new;
} NewGraph;

static Status
put_graph(Call *call, const Request *request, Store *store, NewGraph *graph)
{
    const TenantId tenant = request->principal.tenant;
    TRY(blobs_put(call, store, tenant, &graph->wanted->source, request->body));
    return graphs_create(call, store, tenant, graph->wanted, &graph->stored, &graph->is_new);
}

/* In the transaction of the request's idempotency key, or in one of its own. */
static Status
store_graph(Call *call, const Request *request, NewGraph *graph)
{
    Store *store = NULL;
    TRY(request_store(call, request, &store));
    if (store_is_in_transaction(store)) {
        return put_graph(call, request, store, graph);
    }
    TRY(store_begin(call, store, request->principal.tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(put_graph(call, request, store, graph));
    return store_commit(call, TAKE(transaction));
}

/* The source is kept as a blob. */
static Status
check_size(Call *call, const Request *request, Response *response)
{
    const uint64_t size_max = request_gateway(request)->limits.blob_bytes;
    return request->body.size <= size_max
               ? STATUS_OK
               : response_fail(call, response, 413, "the graph has %zu bytes, the limit blob_bytes is %llu",
                     request->body.size, (unsigned long long)size_max);
}

static Status
import(Call *call, const Request *request, GraphFormat format, Graph **ret_graph)
{
    TensorBuffer *source = NULL;
    TRY(source_copy(call, request->body, &source));
    const Status status =
        graph_import(call, format, source, request_gateway(request)->limits.graph_nodes, ret_graph);
    tensor_buffer_unref(source);
    return status;
}

static Status
create(Call *call, const Request *request, Response *response)
{
    const GraphFormat format = graph_format_find(request->media_type, request_query(request, "format"));
    SessionId session;
    AUTO_GRAPH graph = NULL;
    AUTO_BUFFER summary = {0};
    TRY(session_id_read(call, request, &session));
    if (format == GRAPH_FORMAT_UNKNOWN) {
        return response_fail(call, response, 415,
            "'%.*s' is no graph format; send application/json, application/x-protobuf, application/onnx or "
            "application/x-tar, or add ?format=json, ?format=graphdef, ?format=onnx or ?format=saved_model",
            SLICE_PRINT(request->media_type));
    }
    TRY(check_size(call, request, response));
    TRY(import(call, request, format, &graph));
    graph_write_summary(&summary, graph);
    StoredGraph wanted = {
        .id = {uuid_new()},
        .session = session,
        .media_type = graph_format_media_type(format),
        .summary = buffer_string(&summary),
    };
    if (wanted.summary == NULL) {
        return call_fail_memory(call, "a graph's summary");
    }
    sha256(request->body, &wanted.source);
    wanted.digest = wanted.source;
    NewGraph made = {.wanted = &wanted};
    TRY(store_graph(call, request, &made));
    const GraphSnapshot identity = {
        .tenant = request->principal.tenant, .session = session, .id = made.stored.id};
    graph_cache_put(request_gateway(request)->graphs, &identity, graph, request->body.size);
    graph_cache_drop(request_gateway(request)->graphs, request->principal.tenant, session);
    response_status(response, made.is_new ? 201 : 200);
    graph_write(response, &made.stored);
    graph_write_location(response, &made.stored);
    return STATUS_OK;
}

static Status
run(Call *call, const Request *request, Response *response)
{
    return idempotent_run(call, request, response, create);
}

HANDLER(create_graph) = {
    .operation_id = "createGraph",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/graphs",
    .access = ACCESS_TENANT,
    .body_size_max = BLOB_SIZE_MAX,
    .body_limit = "graph_body_bytes",
    .run = run,
};
