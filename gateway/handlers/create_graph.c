/* createGraph: reads, validates and keeps a graph, which is the request's body or named there by its files,
 * which are stored blobs. The same bytes sent again are the same graph. */
#include "gateway/blobs/blob_body.h"
#include "gateway/domain/limits.h"
#include "gateway/graphs/new_graph.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/idempotent.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"

static GraphFormat
find_format(const Request *request)
{
    return graph_format_find(request->media_type, request_query(request, "format"));
}

static Status
begin_body(Call *call, const Request *request, Response *response, void **ret_state)
{
    BlobBody *body = NULL;
    TRY(blob_body_begin(call, request->parts->blobs, request, response, NULL, &body));
    *ret_state = body;
    return STATUS_OK;
}

/* A large model becomes a blob while it comes, and is read from there. JSON has no bytes that could stay. */
static const BodyTaker *
choose_taker(const Request *request)
{
    static const BodyTaker taker = {.window_size = BLOB_BODY_WINDOW_SIZE,
        .begin = begin_body,
        .take = blob_body_take,
        .end = blob_body_end};
    uint64_t held = request->parts->resident_weights;
    uint64_t size = 0;
    GraphFormat format = find_format(request);
    held = held < GRAPH_BUFFERED_SIZE_MAX ? held : GRAPH_BUFFERED_SIZE_MAX;
    bool is_large = slice_to_uint64(request_header(request, "Content-Length"), &size) && size > held;
    return is_large && format != GRAPH_FORMAT_JSON && format != GRAPH_FORMAT_UNKNOWN ? &taker : NULL;
}

static Status
read_stored(Call *call, const Request *request, const GraphFiles *files, NewGraph *made)
{
    Store *store = NULL;
    TRY(request_store(call, request, &store));
    return graph_files_source(call, store, request->principal.tenant, files, request->parts->resident_weights,
        &made->source, &made->weights);
}

/* Reads a graph whose files are stored, as the request says. */
static Status
read_files(Call *call, const Request *request, NewGraph *made)
{
    GraphFiles files;
    TRY(graph_files_read(call, request->body, &files));
    return read_stored(call, request, &files, made);
}

/* Reads a graph whose body has become a blob. */
static Status
read_taken(Call *call, const Request *request, NewGraph *made)
{
    const BlobBody *body = request->sink_state;
    GraphFile model = {.name = SLICE(""), .digest = body->digest};
    GraphFiles files = {.format = find_format(request), .items = &model, .count = 1};
    return read_stored(call, request, &files, made);
}

static Status
read_body(Call *call, const Request *request, Response *response, NewGraph *made)
{
    made->source.format = find_format(request);
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
    TRY(session_id_read(call, request, &made.session));
    if (request->sink_state != NULL) {
        TRY(read_taken(call, request, &made));
    } else if (slice_equals_string(request->media_type, "application/json") &&
               graph_files_named(request->body)) {
        TRY(read_files(call, request, &made));
    } else {
        TRY(read_body(call, request, response, &made));
    }
    made.source_size = made.source.bytes->size;
    TRY(graph_import(
        call, made.source.format, made.source.bytes, request->parts->limits->graph_nodes, &graph));
    made.graph = graph;
    return new_graph_keep(call, request, response, &made);
}

static Status
run_create_graph(Call *call, const Request *request, Response *response)
{
    BlobBody *body = request->sink_state;
    Request taken = *request;
    if (body != NULL) {
        TRY(blob_body_finish(call, request, body));
        taken.body = slice_of(&body->digest, sizeof body->digest); /* what an Idempotency-Key compares */
    }
    return idempotent_run(call, &taken, response, make_graph);
}

HANDLER(create_graph) = {
    .operation_id = "createGraph",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/graphs",
    .access = ACCESS_TENANT,
    .body_size_max = GRAPH_BUFFERED_SIZE_MAX,
    .body_limit = "graph_body_bytes",
    .deadline_ms = 3600000, /* every byte of a model of many GiB is read and hashed */
    .is_long = true,
    .run = run_create_graph,
    .taker = choose_taker,
};
