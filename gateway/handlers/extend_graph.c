/* extendGraph: makes a new version of a graph, with nodes and functions added (TensorFlow's
 * ExtendSession). The graph that is extended stays; of two requests that extend it at once, one is
 * refused. */
#include "gateway/domain/limits.h"
#include "gateway/graphs/new_graph.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/http/headers.h"
#include "gateway/resources/idempotent.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"

static Status
read_format(Call *call, const Request *request, Response *response, GraphFormat *ret_format)
{
    GraphFormat format = graph_format_find(request->media_type, request_query(request, "format"));
    if (format != GRAPH_FORMAT_JSON && format != GRAPH_FORMAT_GRAPHDEF) {
        return response_fail(call, response, 415,
            "a graph is extended by a GraphDef; send application/json or application/x-protobuf, or add "
            "?format=json or ?format=graphdef");
    }
    *ret_format = format;
    return STATUS_OK;
}

/* Finds the graph that the client has read, and checks that it may have another version. */
static Status
find_parent(
    Call *call, const Request *request, Response *response, SessionId session, StoredGraph *ret_parent)
{
    uint64_t version_max = request->parts->limits->graph_versions;
    char tag[SHA256_HEX_SIZE];
    Store *store = NULL;
    GraphId id;
    TRY(graph_id_read(call, request, &id));
    TRY(request_store(call, request, &store));
    TRY(graphs_find(call, store, request->principal.tenant, session, id, ret_parent));
    sha256_to_hex(&ret_parent->digest, tag);
    TRY(request_match(call, request, response, tag, true));
    return (uint64_t)ret_parent->version < version_max
               ? STATUS_OK
               : call_fail(call, STATUS_OUT_OF_RANGE,
                     "the graph is version %lld, the limit graph_versions is %llu: send the whole as a new "
                     "graph",
                     (long long)ret_parent->version, (unsigned long long)version_max);
}

static Status
obtain_parent(Call *call, const Request *request, const StoredGraph *parent, GraphSnapshot **ret_graph)
{
    GraphSnapshot wanted = {
        .tenant = request->principal.tenant, .session = parent->session, .id = parent->id};
    Store *store = NULL;
    TRY(request_store(call, request, &store));
    return graph_cache_obtain(call, request->parts->graphs, store, &wanted, ret_graph);
}

/* Bounds the sources of all versions together: twice the largest body that is held, so that even the largest
 * graph can be extended, and a gateway's memory stays bounded however many versions there are. */
static Status
check_whole(Call *call, const Request *request, Response *response, size_t source_size)
{
    uint64_t body_max = request->parts->limits->graph_body_bytes;
    uint64_t size_max = 2 * (body_max < GRAPH_BUFFERED_SIZE_MAX ? body_max : GRAPH_BUFFERED_SIZE_MAX);
    return source_size <= size_max
               ? STATUS_OK
               : response_fail(call, response, 413,
                     "the versions of the graph have %zu bytes together, at most %llu may be "
                     "held",
                     source_size, (unsigned long long)size_max);
}

static Status
make_version(Call *call, const Request *request, Response *response, void *context)
{
    (void)context;
    StoredGraph parent;
    NewGraph made = {
        .graphs = request->parts->graphs,
        .sessions = request->parts->sessions,
        .parent = &parent,
    };
    GraphSnapshot *base = NULL;
    AUTO_GRAPH graph = NULL;
    TRY(session_id_read(call, request, &made.session));
    TRY(find_parent(call, request, response, made.session, &parent));
    TRY(read_format(call, request, response, &made.source.format));
    TRY(new_graph_source(call, request, request->parts->limits, response, &made.source.bytes));
    TRY(obtain_parent(call, request, &parent, &base));
    made.source_size = base->source_size + request->body.size;
    TRY(check_whole(call, request, response, made.source_size));
    TRY(graph_extend(call, base->graph, &made.source, request->parts->limits->graph_nodes, &graph));
    made.graph = graph;
    return version_lost(response, new_graph_keep(call, request, response, &made));
}

static Status
run_extend_graph(Call *call, const Request *request, Response *response)
{
    return idempotent_run(
        call, request, response, &(IdempotentWork){.commit = make_version, .queue = request->parts->queue});
}

HANDLER(extend_graph) = {
    .operation_id = "extendGraph",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/graphs/{graph}:extend",
    .access = ACCESS_TENANT,
    .body_size_max = GRAPH_BUFFERED_SIZE_MAX,
    .body_limit = "graph_body_bytes",
    .is_long = true,
    .run = run_extend_graph,
};
