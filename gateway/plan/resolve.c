/* Resolves the names of a signature to endpoints of the author's graph. A name that the model declares for
 * a port wins over `node[:port]`. */
#include "gateway/plan/shapes.h"
#include "gateway/plan/stages.h"

/* Returns true for tensors that a client can send or read; a resource is a handle inside a worker. */
static bool
is_transportable(Dtype dtype)
{
    return dtype == DTYPE_STRING || dtype_is_copyable(dtype);
}

/* Finds what the graph says of a feed; the messages do not name it, which callers do. */
static Status
find_feed(Call *call, const Graph *graph, const SignatureFeed *feed, Endpoint *ret_endpoint, Dtype *ret_dtype)
{
    Endpoint endpoint;
    TRY(graph_endpoint(call, graph, feed->name, &endpoint));
    const Node *node = &graph->nodes[endpoint.node];
    /* An unknown op leaves the dtypes of its outputs, and of what follows, unknown; a feed may decide
     * them. */
    Dtype dtype = endpoint.port < node->output_count ? node->output_dtypes[endpoint.port] : DTYPE_INVALID;
    dtype = dtype == DTYPE_INVALID ? feed->dtype : dtype;
    if (dtype == DTYPE_INVALID) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "its dtype must be said, for the graph does not tell it: it depends on an unknown op");
    }
    if (!is_transportable(dtype)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a %s cannot be fed", dtype_name(dtype));
    }
    *ret_endpoint = endpoint;
    *ret_dtype = dtype;
    return STATUS_OK;
}

Status
plan_describe_feed(Call *call, const Graph *graph, Slice name, Dtype *ret_dtype, Shape *ret_shape)
{
    SignatureFeed feed = {.name = name, .shape = shape_unknown()};
    Endpoint endpoint;
    TRY(find_feed(call, graph, &feed, &endpoint, ret_dtype));
    *ret_shape = feed_declared_shape(graph, endpoint);
    return STATUS_OK;
}

static Status
check_feed_shape(Call *call, const Graph *graph, const SignatureFeed *feed, Endpoint endpoint)
{
    Shape declared = feed_declared_shape(graph, endpoint);
    Shape merged;
    if (!shape_merge(&feed->shape, &declared, &merged)) {
        char given[SHAPE_TEXT_SIZE];
        char expected[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "feed '%.*s' has shape %s, the graph expects %s",
            SLICE_PRINT(feed->name), shape_text(&feed->shape, given), shape_text(&declared, expected));
    }
    return STATUS_OK;
}

static Status
resolve_feed(
    Call *call, const Graph *graph, const SignatureFeed *feed, Endpoint *ret_endpoint, Dtype *ret_dtype)
{
    if (find_feed(call, graph, feed, ret_endpoint, ret_dtype) != STATUS_OK) {
        return call_wrap(call, "feed '%.*s'", SLICE_PRINT(feed->name));
    }
    if (feed->dtype != DTYPE_INVALID && feed->dtype != *ret_dtype) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "feed '%.*s' is %s, the graph expects %s",
            SLICE_PRINT(feed->name), dtype_name(feed->dtype), dtype_name(*ret_dtype));
    }
    return check_feed_shape(call, graph, feed, *ret_endpoint);
}

static Status
resolve_feeds(Compile *compile)
{
    const Signature *signature = compile->request->signature;
    for (uint32_t index = 0; index < signature->feed_count; index++) {
        const SignatureFeed *feed = &signature->feeds[index];
        Endpoint *endpoint = &compile->feeds[index];
        TRY(resolve_feed(compile->call, compile->source, feed, endpoint, &compile->feed_dtypes[index]));
        uint32_t other = compile_find_feed(compile, *endpoint);
        if (other != FEED_NONE) {
            return call_fail(compile->call, STATUS_INVALID_ARGUMENT,
                "feeds '%.*s' and '%.*s' are the same tensor", SLICE_PRINT(signature->feeds[other].name),
                SLICE_PRINT(feed->name));
        }
        if (!map_put(compile->feed_map, compile_endpoint_key(endpoint), endpoint)) {
            return compile_no_memory(compile);
        }
    }
    return STATUS_OK;
}

static Status
resolve_fetch(const Compile *compile, Slice name, Endpoint *ret_endpoint)
{
    Endpoint endpoint;
    if (graph_fetch(compile->call, compile->source, name, &endpoint) != STATUS_OK) {
        return call_wrap(compile->call, "fetch");
    }
    if (compile_find_feed(compile, endpoint) != FEED_NONE) {
        *ret_endpoint = endpoint; /* its feed comes back */
        return STATUS_OK;
    }
    const Node *node = &compile->source->nodes[endpoint.node];
    Dtype dtype = endpoint.port < node->output_count ? node->output_dtypes[endpoint.port] : DTYPE_INVALID;
    /* prune_graph() refuses the unknown op by its name. */
    if (dtype != DTYPE_INVALID && !is_transportable(dtype)) {
        return call_fail(compile->call, STATUS_INVALID_ARGUMENT, "fetch '%.*s' is a %s and cannot be fetched",
            SLICE_PRINT(name), dtype_name(dtype));
    }
    *ret_endpoint = endpoint;
    return STATUS_OK;
}

/* Accepts "name", "name:port" and "^name". */
static Status
resolve_target(const Compile *compile, Slice name, uint32_t *ret_node)
{
    Slice text = slice_starts_with(name, SLICE("^")) ? slice_part(name, 1, name.size) : name;
    const Node *node = graph_find(compile->source, text);
    if (node != NULL) {
        *ret_node = node->id;
        return STATUS_OK;
    }
    Endpoint endpoint;
    if (graph_endpoint(compile->call, compile->source, text, &endpoint) != STATUS_OK) {
        return call_wrap(compile->call, "target");
    }
    *ret_node = endpoint.node;
    return STATUS_OK;
}

Status
resolve_names(Compile *compile)
{
    const Signature *signature = compile->request->signature;
    compile->feeds = compile_alloc(compile, signature->feed_count, sizeof *compile->feeds);
    compile->feed_dtypes = compile_alloc(compile, signature->feed_count, sizeof *compile->feed_dtypes);
    compile->feed_map = compile_map(compile);
    compile->fetches = compile_alloc(compile, signature->fetch_count, sizeof *compile->fetches);
    compile->targets = compile_alloc(compile, signature->target_count, sizeof *compile->targets);
    if (compile->feeds == NULL || compile->feed_dtypes == NULL || compile->feed_map == NULL ||
        compile->fetches == NULL || compile->targets == NULL) {
        return compile_no_memory(compile);
    }
    TRY(resolve_feeds(compile));
    for (size_t index = 0; index < signature->fetch_count; index++) {
        TRY(resolve_fetch(compile, signature->fetches[index], &compile->fetches[index]));
    }
    for (size_t index = 0; index < signature->target_count; index++) {
        TRY(resolve_target(compile, signature->targets[index], &compile->targets[index]));
    }
    return STATUS_OK;
}
