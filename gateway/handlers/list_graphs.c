/* listGraphs: lists the session's graphs, newest first. */
#include "gateway/graphs/graph_json.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/paging.h"
#include "gateway/resources/resource.h"
#include "gateway/store/graphs.h"
#include "gateway/store/sessions.h"

static Status
run_list_graphs(Call *call, const Request *request, Response *response)
{
    TenantId tenant = request->principal.tenant;
    Store *store = NULL;
    SessionId id;
    Session session;
    Page page;
    GraphPage graphs;
    TRY(session_id_read(call, request, &id));
    TRY(paging_read(call, request, request->parts->limits, &page));
    TRY(request_store(call, request, &store));
    TRY(sessions_find(call, store, tenant, id, &session));
    TRY(graphs_list(call, store, tenant, id, &page, &graphs));
    JsonWriter writer = paging_begin(response, "graphs");
    for (size_t index = 0; index < graphs.count; index++) {
        graph_write_item(&writer, &graphs.items[index]);
    }
    const Uuid *last = graphs.has_more ? &graphs.items[graphs.count - 1].id.value : NULL;
    paging_end(call, request, response, &writer, last);
    return STATUS_OK;
}

HANDLER(list_graphs) = {
    .operation_id = "listGraphs",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/graphs",
    .access = ACCESS_TENANT,
    .run = run_list_graphs,
};
