/* createGraph: reads, validates and keeps a graph, which is the request's body, the files of a form, or named
 * there by its files, which are stored blobs. The same bytes sent again are the same graph. */
#include "gateway/blobs/blob_body.h"
#include "gateway/domain/limits.h"
#include "gateway/graphs/graph_form.h"
#include "gateway/graphs/new_graph.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/idempotent.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"

/* A form has an ONNX model: it alone keeps tensors in files whose names it chooses. */
static GraphFormat
find_format(const Request *request)
{
    bool is_form = slice_equals_string(request->media_type, "multipart/form-data");
    GraphFormat format = graph_format_find(request->media_type, request_query(request, "format"));
    return is_form && format == GRAPH_FORMAT_UNKNOWN ? GRAPH_FORMAT_ONNX : format;
}

/* A body that becomes a blob while it comes. */
typedef struct GraphUpload {
    BlobBody *body;
    GraphForm *form; /* NULL: it is none */
} GraphUpload;

static Status
begin_body(Call *call, const Request *request, Response *response, void **ret_state)
{
    GraphUpload *upload = arena_alloc(call->arena, sizeof *upload);
    if (upload == NULL) {
        return call_fail_memory(call, "an upload");
    }
    TRY(graph_form_begin(call, request, &upload->form));
    TRY(blob_body_begin(call, request->parts->blobs, request, response, NULL, &upload->body));
    *ret_state = upload;
    return STATUS_OK;
}

static Status
take_window(Call *call, JobContext *job_context, void *state, Slice window)
{
    GraphUpload *upload = state;
    TRY(graph_form_take(call, upload->form, window));
    return blob_body_take(call, job_context, upload->body, window);
}

static void
end_body(JobContext *job_context, void *state)
{
    GraphUpload *upload = state;
    blob_body_end(job_context, upload->body);
}

/* A large model becomes a blob while it comes, and is read from there. JSON has no bytes that could stay. */
static const BodyTaker *
choose_taker(const Request *request)
{
    static const BodyTaker taker = {
        .window_size = BLOB_BODY_WINDOW_SIZE, .begin = begin_body, .take = take_window, .end = end_body};
    uint64_t held = request->parts->resident_weights;
    uint64_t size = 0;
    GraphFormat format = find_format(request);
    held = held < GRAPH_BUFFERED_SIZE_MAX ? held : GRAPH_BUFFERED_SIZE_MAX;
    bool is_large = slice_to_uint64(request_header(request, "Content-Length"), &size) && size > held;
    return is_large && format != GRAPH_FORMAT_JSON && format != GRAPH_FORMAT_UNKNOWN ? &taker : NULL;
}

static Status
read_stored(Call *call, const Request *request, GraphFiles *files, NewGraph *made)
{
    Store *store = NULL;
    files->resident_size = request->parts->resident_weights;
    TRY(request_store(call, request, &store));
    return graph_files_source(call, store, request->principal.tenant, files, &made->source, &made->weights);
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
    const GraphUpload *upload = request->sink_state;
    GraphFile model = {.name = SLICE(""), .digest = upload->body->digest};
    GraphFiles files = {.format = find_format(request), .items = &model, .count = 1};
    if (upload->form != NULL) {
        TRY(graph_form_end(call, upload->form, &files.parts));
    }
    return read_stored(call, request, &files, made);
}

/* Finds the files of a body that is a form. */
static Status
read_parts(Call *call, const Request *request, GraphFileParts *ret_parts)
{
    GraphForm *form = NULL;
    TRY(graph_form_begin(call, request, &form));
    if (form == NULL) {
        return STATUS_OK;
    }
    TRY(graph_form_take(call, form, request->body));
    return graph_form_end(call, form, ret_parts);
}

static Status
read_body(Call *call, const Request *request, Response *response, NewGraph *made)
{
    GraphFileParts parts = {.count = 0};
    made->source.format = find_format(request);
    if (made->source.format == GRAPH_FORMAT_UNKNOWN && request->body.size == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the request has no body: the graph is empty");
    }
    if (made->source.format == GRAPH_FORMAT_UNKNOWN) {
        return response_fail(call, response, 415,
            "'%.*s' is no graph format; send application/json, application/x-protobuf, application/onnx, "
            "application/x-tar or a form of an ONNX model's files, or add ?format=json, ?format=graphdef, "
            "?format=onnx or ?format=saved_model",
            SLICE_PRINT(request->media_type));
    }
    TRY(read_parts(call, request, &parts));
    TRY(new_graph_source(call, request, request->parts->limits, response, &made->source.bytes));
    return graph_body_source(
        call, &parts, request->parts->resident_weights, &made->source, &made->weights, &made->body);
}

/* Refuses forms of other formats, whose files have fixed places. */
static Status
check_form(Call *call, const Request *request)
{
    bool is_form = slice_equals_string(request->media_type, "multipart/form-data");
    return !is_form || find_format(request) == GRAPH_FORMAT_ONNX
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "a form has an ONNX model and its files; a SavedModel comes as a tar of its folder");
}

static Status
read_source(Call *call, const Request *request, Response *response, NewGraph *made)
{
    if (request->sink_state != NULL) {
        return read_taken(call, request, made);
    }
    bool is_json = slice_equals_string(request->media_type, "application/json");
    return is_json && graph_files_named(request->body) ? read_files(call, request, made)
                                                       : read_body(call, request, response, made);
}

/* Reads and validates, which takes minutes for a model of many GiB. */
static Status
make_graph(Call *call, const Request *request, Response *response, void *context)
{
    NewGraph *made = context;
    TRY(session_id_read(call, request, &made->session));
    TRY(check_form(call, request));
    TRY(read_source(call, request, response, made));
    made->source_size = made->source.bytes->size;
    return graph_import(
        call, made->source.format, made->source.bytes, request->parts->limits->graph_nodes, &made->graph);
}

static Status
keep_graph(Call *call, const Request *request, Response *response, void *context)
{
    return new_graph_keep(call, request, response, context);
}

static Status
run_create_graph(Call *call, const Request *request, Response *response)
{
    const GraphUpload *upload = request->sink_state;
    NewGraph made = {.graphs = request->parts->graphs, .sessions = request->parts->sessions};
    IdempotentWork work = {
        .prepare = make_graph, .commit = keep_graph, .queue = request->parts->queue, .context = &made};
    Request taken = *request;
    if (upload != NULL) {
        TRY(blob_body_finish(call, request, upload->body));
        /* The digest stands for the body when an Idempotency-Key compares requests. */
        taken.body = slice_of(&upload->body->digest, sizeof upload->body->digest);
    }
    Status status = idempotent_run(call, &taken, response, &work);
    graph_unref(made.graph);
    return status;
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
