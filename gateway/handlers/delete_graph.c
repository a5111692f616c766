/* deleteGraph: forgets a graph, here and in the caches; steps that run it now end as they would. */
#include "gateway/http/conditional.h"
#include "gateway/services/gateway.h"
#include "gateway/services/resource_json.h"
#include "gateway/store/graphs.h"

static void
forget(Gateway *gateway, TenantId tenant, SessionId session, GraphId id)
{
    char text[ID_TEXT_SIZE];
    id_to_text("grf", id.value, text);
    graph_cache_drop(gateway->graphs, tenant, session);
    graph_cache_drop_graph(gateway->graphs, tenant, session, id);
    plan_cache_forget_graph(gateway->plans, slice_from_string(text));
}

static Status
run(Call *call, const Request *request, Response *response)
{
    const TenantId tenant = request->principal.tenant;
    Store *store = NULL;
    SessionId session;
    GraphId id;
    StoredGraph graph;
    char tag[SHA256_HEX_SIZE];
    TRY(session_id_read(call, request, &session));
    TRY(graph_id_read(call, request, &id));
    TRY(request_store(call, request, &store));
    TRY(graphs_find(call, store, tenant, session, id, &graph));
    sha256_to_hex(&graph.digest, tag);
    TRY(request_match(call, request, response, tag, false));
    TRY(graphs_delete(call, store, tenant, session, id));
    forget(request_gateway(request), tenant, session, id);
    response_status(response, 204);
    return STATUS_OK;
}

HANDLER(delete_graph) = {
    .operation_id = "deleteGraph",
    .method = "DELETE",
    .path = "/api/v1/sessions/{session}/graphs/{graph}",
    .access = ACCESS_TENANT,
    .run = run,
};
