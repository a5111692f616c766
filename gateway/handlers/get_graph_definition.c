/* getGraphDefinition: returns the bytes that were sent, or by Accept GraphDef JSON or Graphviz DOT. An
 * extended graph was sent in parts, so it has only the two written forms. */
#include <string.h>

#include "gateway/formats/dot.h"
#include "gateway/graphs/graph_cache.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/http/headers.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"
#include "gateway/store/graphs.h"
#include "shared/formats/graphdef_json.h"

/* A form that any graph can be written in, whatever format it was sent in. */
typedef struct Form {
    const char *media_type;
    const char *tag; /* tells the forms' ETags apart */
    void (*write)(Buffer *buffer, const GraphDef *def);
} Form;

static const Form forms[] = {
    {"application/json", "json", graphdef_json_write},
    {"text/vnd.graphviz", "dot", dot_write},
};

/* Chooses the form that the client prefers; NULL is the source as it was sent. 406 when there is none. The
 * source of an extended graph is not offered, as it is only the last part. */
static Status
choose_form(
    Call *call, const Request *request, Response *response, const StoredGraph *graph, const Form **ret_form)
{
    bool is_whole = graph->version == 1;
    const char *offers[COUNT_OF(forms) + 1] = {graph->media_type};
    for (size_t index = 0; index < COUNT_OF(forms); index++) {
        offers[index + is_whole] = forms[index].media_type;
    }
    int best = accept_choose(request_header(request, "Accept"), offers, COUNT_OF(forms) + is_whole);
    response_vary(response, "Accept");
    if (best < 0) {
        bool has_own = is_whole && strcmp(graph->media_type, forms[0].media_type) != 0;
        return response_fail(call, response, 406,
            "the definition is there as %s%s%s'application/json' and 'text/vnd.graphviz'", has_own ? "'" : "",
            has_own ? graph->media_type : "", has_own ? "', " : "");
    }
    *ret_form = is_whole && best == 0 ? NULL : &forms[best - is_whole];
    return STATUS_OK;
}

static Status
write_form(
    Call *call, const Request *request, Response *response, const StoredGraph *stored, const Form *form)
{
    GraphSnapshot wanted = {
        .tenant = request->principal.tenant, .session = stored->session, .id = stored->id};
    Store *store = NULL;
    GraphSnapshot *graph = NULL;
    TRY(request_store(call, request, &store));
    TRY(graph_cache_obtain(call, request->parts->graphs, store, &wanted, &graph));
    form->write(response_body(response, form->media_type), graph_def_author(graph->graph->def));
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
    sha256_to_hex(&graph->digest, tag);
    if (form != NULL) {
        tag[SHA256_HEX_SIZE - 1] = '-';
        memcpy(tag + SHA256_HEX_SIZE, form->tag, strlen(form->tag) + 1);
    }
    response_etag(response, tag);
}

static Status
run_get_graph_definition(Call *call, const Request *request, Response *response)
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
    TRY(choose_form(call, request, response, &graph, &form));
    set_tag(response, &graph, form);
    return form == NULL ? write_source(call, request, response, &graph)
                        : write_form(call, request, response, &graph, form);
}

HANDLER(get_graph_definition) = {
    .operation_id = "getGraphDefinition",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/graphs/{graph}/definition",
    .access = ACCESS_TENANT,
    .is_long = true,
    .run = run_get_graph_definition,
};
