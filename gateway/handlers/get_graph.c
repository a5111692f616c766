/* getGraph: shows a graph's summary. */
#include "gateway/graphs/graph_json.h"
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/store/graphs.h"

static Status
run_get_graph(Call *call, const Request *request, Response *response)
{
    Store *store = NULL;
    SessionId session;
    GraphId id;
    StoredGraph graph;
    TRY(session_id_read(call, request, &session));
    TRY(graph_id_read(call, request, &id));
    TRY(request_store(call, request, &store));
    TRY(graphs_find(call, store, request->principal.tenant, session, id, &graph));
    graph_write(response, &graph);
    return STATUS_OK;
}

HANDLER(get_graph) = {
    .operation_id = "getGraph",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/graphs/{graph}",
    .access = ACCESS_TENANT,
    .run = run_get_graph,
};
