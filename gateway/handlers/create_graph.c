/* createGraph: reads, validates and keeps a graph, which is the request's body or named there by its files,
 * which are stored blobs. The same bytes sent again are the same graph. */
#include "gateway/domain/limits.h"
#include "gateway/graphs/new_graph.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/idempotent.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"

/* Reads a graph whose files are stored. */
static Status
read_files(Call *call, const Request *request, NewGraph *made)
{
    GraphFiles files;
    Store *store = NULL;
    TRY(graph_files_read(call, request->body, &files));
    TRY(request_store(call, request, &store));
    return graph_files_source(call, store, request->principal.tenant, &files,
        request->parts->resident_weights, &made->source, &made->weights);
}

static Status
read_body(Call *call, const Request *request, Response *response, NewGraph *made)
{
    made->source.format = graph_format_find(request->media_type, request_query(request, "format"));
    if (made->source.format == GRAPH_FORMAT_UNKNOWN) {
        return response_fail(call, response, 415,
            "'%.*s' is no graph format; send application/json, application/x-protobuf, application/onnx or "
            "application/x-tar, or add ?format=json, ?format=graphdef, ?format=onnx or ?format=saved_model",
            SLICE_PRINT(request->media_type));
    }
    TRY(new_graph_source(call, request, request->parts->limits, response, &made->source.bytes));
    return graph_body_source(
        call, request->parts->resident_weights, &made->source, &made->weights, &made->body);
}

static Status
make_graph(Call *call, const Request *request, Response *response)
{
    NewGraph made = {.graphs = request->parts->graphs, .sessions = request->parts->sessions};
    AUTO_GRAPH graph = NULL;
    bool names_files =
        slice_equals_string(request->media_type, "application/json") && graph_files_named(request->body);
    TRY(session_id_read(call, request, &made.session));
    TRY(names_files ? read_files(call, request, &made) : read_body(call, request, response, &made));
    made.source_size = made.source.bytes->size;
    TRY(graph_import(
        call, made.source.format, made.source.bytes, request->parts->limits->graph_nodes, &graph));
    made.graph = graph;
    return new_graph_keep(call, request, response, &made);
}

static Status
run_create_graph(Call *call, const Request *request, Response *response)
{
    return idempotent_run(call, request, response, make_graph);
}

HANDLER(create_graph) = {
    .operation_id = "createGraph",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/graphs",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)64 << 20,
    .body_limit = "graph_body_bytes",
    .deadline_ms = 3600000, /* every byte of a model of many GiB is read and hashed */
    .is_long = true,
    .run = run_create_graph,
};
