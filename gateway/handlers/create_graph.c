/* createGraph: reads, validates and keeps a graph. The same bytes sent again are the same graph. */
#include "gateway/domain/limits.h"
#include "gateway/graphs/new_graph.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/idempotent.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"

static Status
make_graph(Call *call, const Request *request, Response *response)
{
    NewGraph made = {
        .graphs = request->parts->graphs,
        .sessions = request->parts->sessions,
        .source_size = request->body.size,
    };
    AUTO_GRAPH graph = NULL;
    TRY(session_id_read(call, request, &made.session));
    made.source.format = graph_format_find(request->media_type, request_query(request, "format"));
    if (made.source.format == GRAPH_FORMAT_UNKNOWN) {
        return response_fail(call, response, 415,
            "'%.*s' is no graph format; send application/json, application/x-protobuf, application/onnx or "
            "application/x-tar, or add ?format=json, ?format=graphdef, ?format=onnx or ?format=saved_model",
            SLICE_PRINT(request->media_type));
    }
    TRY(new_graph_source(call, request, request->parts->limits, response, &made.source.bytes));
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
    .run = run_create_graph,
};
