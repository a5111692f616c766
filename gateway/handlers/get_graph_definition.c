/* getGraphDefinition: the bytes that were sent; by Accept also as GraphDef JSON or as Graphviz' DOT. */
#include <string.h>

#include "gateway/http/accept.h"
#include "gateway/services/gateway.h"
#include "gateway/services/resource_json.h"
#include "gateway/store/blobs.h"
#include "gateway/store/graphs.h"
#include "shared/formats/dot.h"
#include "shared/formats/graphdef_json.h"

/* A form that a graph can be written in, whatever it was sent as. */
typedef struct Form {
    const char *media_type;
    const char *tag; /* parts the forms' ETags */
    void (*write)(Buffer *buffer, const GraphDef *def);
} Form;

static const Form forms[] = {
    {"application/json", "json", graphdef_json_write},
    {"text/vnd.graphviz", "dot", dot_write},
};

/* The form that is wanted most, NULL for the source as it is; 406 when there is none. */
static Status
choose(
    Call *call, const Request *request, Response *response, const StoredGraph *graph, const Form **ret_form)
{
    const char *offers[COUNT_OF(forms) + 1] = {graph->media_type};
    for (size_t index = 0; index < COUNT_OF(forms); index++) {
        offers[index + 1] = forms[index].media_type;
    }
    const int best = accept_choose(request_header(request, "Accept"), offers, COUNT_OF(offers));
    response_vary(response, "Accept");
    if (best < 0) {
        return response_fail(call, response, 406,
            "the definition is there as '%s', 'application/json' and 'text/vnd.graphviz'", graph->media_type);
    }
    *ret_form = best == 0 ? NULL : &forms[best - 1];
    return STATUS_OK;
}

static Status
write_form(
    Call *call, const Request *request, Response *response, const StoredGraph *stored, const Form *form)
{
    const GraphSnapshot wanted = {
        .tenant = request->principal.tenant, .session = stored->session, .id = stored->id};
    GraphCache *const graphs = request_gateway(request)->graphs;
    Store *store = NULL;
    TRY(request_store(call, request, &store));
    GraphSnapshot *graph = graph_cache_graph(graphs, wanted.tenant, wanted.session, wanted.id);
    if (graph == NULL) {
        TRY(graph_cache_load_graph(call, graphs, store, &wanted, &graph));
    }
    form->write(response_body(response, form->media_type), graph_def_author(graph->graph->def));
    graph_snapshot_unref(graph);
    return STATUS_OK;
}

static Status
write_source(Call *call, const Request *request, Response *response, const StoredGraph *graph)
{
    Store *store = NULL;
    TRY(request_store(call, request, &store));
    return blobs_read(call, store, request->principal.tenant, &graph->source, (BlobRange){.size = SIZE_MAX},
        response_body(response, graph->media_type));
}

static void
set_tag(Response *response, const StoredGraph *graph, const Form *form)
{
    char tag[SHA256_HEX_SIZE + 8];
    sha256_to_hex(&graph->source, tag);
    if (form != NULL) {
        tag[SHA256_HEX_SIZE - 1] = '-';
        memcpy(tag + SHA256_HEX_SIZE, form->tag, strlen(form->tag) + 1);
    }
    response_etag(response, tag);
}

static Status
run(Call *call, const Request *request, Response *response)
{
    const Form *form = NULL;
    Store *store = NULL;
    SessionId session;
    GraphId id;
    StoredGraph graph;
    TRY(session_id_read(call, request, &session));
    TRY(graph_id_read(call, request, &id));
    TRY(request_store(call, request, &store));
    TRY(graphs_find(call, store, request->principal.tenant, session, id, &graph));
    TRY(choose(call, request, response, &graph, &form));
    set_tag(response, &graph, form);
    return form == NULL ? write_source(call, request, response, &graph)
                        : write_form(call, request, response, &graph, form);
}

HANDLER(get_graph_definition) = {
    .operation_id = "getGraphDefinition",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/graphs/{graph}/definition",
    .access = ACCESS_TENANT,
    .run = run,
};
