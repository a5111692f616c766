/* deleteGraph: removes a graph, from the caches of all gateways and workers too; steps that run it now end
 * normally. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/http/headers.h"
#include "gateway/replicas/replica_mail.h"
#include "gateway/resources/resource.h"
#include "gateway/store/graphs.h"

static Status
run_delete_graph(Call *call, const Request *request, Response *response)
{
    TenantId tenant = request->principal.tenant;
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
    GraphName name = {.tenant = tenant, .session = session, .id = id};
    replica_mail_graph_deleted(call, request->parts->mail, store, &name);
    response_status(response, 204);
    return STATUS_OK;
}

HANDLER(delete_graph) = {
    .operation_id = "deleteGraph",
    .method = "DELETE",
    .path = "/api/v1/sessions/{session}/graphs/{graph}",
    .access = ACCESS_TENANT,
    .run = run_delete_graph,
};
