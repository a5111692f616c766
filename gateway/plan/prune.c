/* The graph that fetches and targets need, with an _Arg for each feed and a _Retval for each fetch
 * (TensorFlow's RewriteGraphForExecution).
 *
 * A feed replaces a tensor, not its node: a control edge from the node still runs it. Only a placeholder,
 * which cannot run, is replaced as a whole, with its control edges. */
#include <assert.h>

#include "gateway/plan/shapes.h"
#include "gateway/plan/stages.h"
#include "shared/base/text.h"

enum { DEF_SIZE_MAX = 1 << 30 };

typedef struct Pruning {
    Compile *compile;
    bool *needed;       /* by node of the author's graph */
    bool *is_feed_used; /* by feed */
    uint32_t *stack;
    size_t depth;
    NodeDef *nodes; /* of the new graph */
    size_t node_count;
} Pruning;

/* Returns the feed that replaces the node as a whole, or FEED_NONE. */
static uint32_t
replacing_feed(const Compile *compile, const Node *node)
{
    bool is_placeholder = op_is(node, "Placeholder") || op_is(node, "PlaceholderV2");
    return is_placeholder ? compile_find_feed(compile, (Endpoint){.node = node->id}) : FEED_NONE;
}

static void
mark_node(Pruning *pruning, uint32_t id)
{
    uint32_t feed = replacing_feed(pruning->compile, &pruning->compile->source->nodes[id]);
    if (feed != FEED_NONE) {
        pruning->is_feed_used[feed] = true;
    } else if (!pruning->needed[id]) {
        pruning->needed[id] = true;
        pruning->stack[pruning->depth++] = id;
    }
}

static void
mark_endpoint(Pruning *pruning, Endpoint endpoint)
{
    uint32_t feed = compile_find_feed(pruning->compile, endpoint);
    if (feed != FEED_NONE) {
        pruning->is_feed_used[feed] = true;
    } else {
        mark_node(pruning, endpoint.node);
    }
}

static void
mark_inputs(Pruning *pruning, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            mark_endpoint(pruning, node->inputs[index]);
        }
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        mark_node(pruning, node->controls[index]);
    }
}

static void
mark_needed(Pruning *pruning)
{
    const Compile *compile = pruning->compile;
    const Signature *signature = compile->request->signature;
    for (size_t index = 0; index < signature->fetch_count; index++) {
        mark_endpoint(pruning, compile->fetches[index]);
    }
    for (size_t index = 0; index < signature->target_count; index++) {
        mark_node(pruning, compile->targets[index]);
    }
    while (pruning->depth > 0) {
        mark_inputs(pruning, &compile->source->nodes[pruning->stack[--pruning->depth]]);
    }
}

/* Ops that are known, but that no worker can run. */
typedef struct RefusedOp {
    const char *op;
    const char *why;
} RefusedOp;

static const RefusedOp refused_ops[] = {
    {"MergeV2Checkpoints", "workers have no files: fetch the variables instead"},
    {"ReadFile", "workers have no files: feed what is in it"},
    {"RestoreSlice", "workers have no files: feed the value and assign it"},
    {"RestoreV2",
        "workers have no files, and the model came without these tensors: feed the values and assign them"},
    {"Restore", "workers have no files: feed the value and assign it"},
    {"SaveSlices", "workers have no files: fetch the variables instead"},
    {"SaveV2", "workers have no files: fetch the variables instead"},
    {"Save", "workers have no files: fetch the variables instead"},
    {"WriteFile", "workers have no files: fetch what would be written"},
};

static Status
check_not_refused(Call *call, const Node *node)
{
    if (node->op != NULL) {
        return STATUS_OK;
    }
    for (size_t index = 0; index < COUNT_OF(refused_ops); index++) {
        if (op_is(node, refused_ops[index].op)) {
            return call_fail(call, STATUS_UNIMPLEMENTED, "node '%.*s' cannot run '%s': %s",
                SLICE_PRINT(node->name), refused_ops[index].op, refused_ops[index].why);
        }
    }
    return STATUS_OK;
}

static Status
check_known(Call *call, const Node *node)
{
    if (node->op != NULL) {
        return STATUS_OK;
    }
    Slice op = node->def->op;
    for (size_t index = 0; index + 1 < op.size; index++) {
        if (op.data[index] == ':' && op.data[index + 1] == ':') {
            return call_fail(call, STATUS_UNIMPLEMENTED,
                "node '%.*s' needs op '%.*s' of domain '%.*s', which is "
                "not known",
                SLICE_PRINT(node->name), SLICE_PRINT(slice_part(op, index + 2, op.size)),
                SLICE_PRINT(slice_part(op, 0, index)));
        }
    }
    return call_fail(call, STATUS_UNIMPLEMENTED,
        "node '%.*s' needs op '%.*s' of domain 'tensorflow', which is not "
        "known",
        SLICE_PRINT(node->name), SLICE_PRINT(op));
}

static Status
check_attributes(Call *call, const Node *node)
{
    if (node->foreign == NULL) {
        return STATUS_OK;
    }
    Slice name = slice_part(node->foreign->name, 0, 64);
    return call_fail(call, STATUS_UNIMPLEMENTED,
        "node '%.*s' needs attribute '%.*s' of op '%.*s', which is not known with this value",
        SLICE_PRINT(node->name), SLICE_PRINT(name), SLICE_PRINT(node->def->op));
}

/* Refuses a placeholder that is not fed. One with control inputs may stand on a branch that is not taken:
 * it fails only if it runs. */
static Status
check_fed(Call *call, const Graph *graph, const Node *node)
{
    bool is_placeholder = op_is(node, "Placeholder") || op_is(node, "PlaceholderV2");
    if (!is_placeholder || node->control_count > 0) {
        return STATUS_OK;
    }
    char text[SHAPE_TEXT_SIZE];
    Shape shape = feed_declared_shape(graph, (Endpoint){.node = node->id});
    return call_fail(call, STATUS_INVALID_ARGUMENT, "placeholder '%.*s' must be fed, with %s %s",
        SLICE_PRINT(node->name), dtype_name(node->output_dtypes[0]), shape_text(&shape, text));
}

static Status
check_needed(const Pruning *pruning)
{
    Call *call = pruning->compile->call;
    const Graph *source = pruning->compile->source;
    /* Refused ops come first, since their message says more: the nodes that they read may be unknown too. */
    for (uint32_t id = 0; id < source->node_count; id++) {
        if (pruning->needed[id]) {
            TRY(check_not_refused(call, &source->nodes[id]));
        }
    }
    for (uint32_t id = 0; id < source->node_count; id++) {
        if (pruning->needed[id]) {
            TRY(check_known(call, &source->nodes[id]));
            TRY(check_attributes(call, &source->nodes[id]));
            TRY(check_fed(call, source, &source->nodes[id]));
        }
    }
    return STATUS_OK;
}

/* Returns "_arg_<node>_<port>". A repetition is counted in the prefix, where no name of a node can look
 * like it. */
static Slice
endpoint_name(const Compile *compile, const char *prefix, Endpoint endpoint, uint32_t repetition)
{
    assert(compile->def != NULL);

    const Node *node = &compile->source->nodes[endpoint.node];
    Arena *arena = compile->def->arena;
    const char *text =
        repetition == 0
            ? text_format(arena, "%s_%.*s_%u", prefix, SLICE_PRINT(node->name), endpoint.port)
            : text_format(arena, "%s%u_%.*s_%u", prefix, repetition, SLICE_PRINT(node->name), endpoint.port);
    return slice_from_string(text);
}

static Slice
control_name(const Compile *compile, uint32_t id)
{
    const Node *node = &compile->source->nodes[id];
    uint32_t feed = replacing_feed(compile, node);
    Slice name = feed == FEED_NONE ? node->name : endpoint_name(compile, "_arg", compile->feeds[feed], 0);
    return slice_from_string(text_format(compile->def->arena, "^%.*s", SLICE_PRINT(name)));
}

static void
write_node(Pruning *pruning, const NodeDef *def, const Node *origin, uint32_t port)
{
    Compile *compile = pruning->compile;
    compile->origins[pruning->node_count] = origin;
    compile->ports[pruning->node_count] = port;
    pruning->nodes[pruning->node_count++] = *def;
}

/* Returns the attributes T and index of an _Arg or _Retval. */
static Attr *
port_attrs(const Compile *compile, Dtype dtype, uint32_t index)
{
    Attr *attrs = arena_alloc(compile->def->arena, 2 * sizeof *attrs);
    if (attrs != NULL) {
        attrs[0] = (Attr){.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
        attrs[1] = (Attr){.name = SLICE("index"), .value = {.kind = ATTR_INT, .value.i = index}};
    }
    return attrs;
}

static Status
write_args(Pruning *pruning)
{
    const Compile *compile = pruning->compile;
    for (uint32_t feed = 0; feed < compile->request->signature->feed_count; feed++) {
        if (!pruning->is_feed_used[feed]) {
            continue;
        }
        const Node *replaced = &compile->source->nodes[compile->feeds[feed].node];
        NodeDef def = {
            .name = endpoint_name(compile, "_arg", compile->feeds[feed], 0),
            .op = SLICE("_Arg"),
            .device = SLICE(""),
            .attrs = port_attrs(compile, compile->feed_dtypes[feed], feed),
            .attr_count = 2,
            .pointer = replaced->def->pointer,
        };
        if (def.name.data == NULL || def.attrs == NULL) {
            return compile_no_memory(compile);
        }
        write_node(pruning, &def, NULL, feed);
    }
    return STATUS_OK;
}

/* Counts how often the endpoint was fetched before, under other names. */
static Status
count_fetch(const Compile *compile, Map *counts, const Endpoint *endpoint, uint32_t *ret_before)
{
    Slice key = compile_endpoint_key(endpoint);
    uint32_t *count = map_get(counts, key);
    if (count == NULL) {
        count = compile_alloc(compile, 1, sizeof *count);
        if (count == NULL || !map_put(counts, key, count)) {
            return compile_no_memory(compile);
        }
    }
    *ret_before = (*count)++;
    return STATUS_OK;
}

static Status
write_retvals(Pruning *pruning)
{
    const Compile *compile = pruning->compile;
    Map *counts = compile_map(compile);
    if (counts == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t fetch = 0; fetch < compile->request->signature->fetch_count; fetch++) {
        Endpoint endpoint = compile->fetches[fetch];
        const Node *node = &compile->source->nodes[endpoint.node];
        Slice *input = arena_alloc(compile->def->arena, sizeof *input);
        uint32_t feed = compile_find_feed(compile, endpoint);
        Dtype dtype = feed == FEED_NONE ? node->output_dtypes[endpoint.port] : compile->feed_dtypes[feed];
        uint32_t before = 0;
        if (dtype == DTYPE_INVALID) {
            return call_fail(compile->call, STATUS_UNIMPLEMENTED,
                "the dtype of fetch '%.*s' is not known: the graph computes it from an unknown op",
                SLICE_PRINT(compile->request->signature->fetches[fetch]));
        }
        TRY(count_fetch(compile, counts, &endpoint, &before));
        NodeDef def = {
            .name = endpoint_name(compile, "_retval", endpoint, before),
            .op = SLICE("_Retval"),
            .device = SLICE(""),
            .inputs = input,
            .input_count = 1,
            .attrs = port_attrs(compile, dtype, fetch),
            .attr_count = 2,
            .pointer = node->def->pointer,
        };
        if (def.name.data == NULL || def.attrs == NULL || input == NULL) {
            return compile_no_memory(compile);
        }
        *input = feed == FEED_NONE ? slice_from_string(text_format(compile->def->arena, "%.*s:%u",
                                         SLICE_PRINT(node->name), endpoint.port))
                                   : endpoint_name(compile, "_arg", endpoint, 0);
        write_node(pruning, &def, NULL, fetch);
    }
    return STATUS_OK;
}

/* Keeps the author's texts for inputs that are not fed. */
static Status
write_inputs(const Compile *compile, const Node *node, NodeDef *def)
{
    Slice *inputs =
        arena_alloc(compile->def->arena, (node->input_count + node->control_count) * sizeof *inputs);
    if (inputs == NULL) {
        return compile_no_memory(compile);
    }
    size_t count = 0;
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint endpoint = node->inputs[index];
        bool is_absent = endpoint.node == NODE_NONE;
        uint32_t feed = is_absent ? FEED_NONE : compile_find_feed(compile, endpoint);
        inputs[count++] = is_absent           ? SLICE("")
                          : feed == FEED_NONE ? node->def->inputs[index]
                                              : endpoint_name(compile, "_arg", endpoint, 0);
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        inputs[count++] = control_name(compile, node->controls[index]);
    }
    for (size_t index = 0; index < count; index++) {
        if (inputs[index].data == NULL) {
            return compile_no_memory(compile);
        }
    }
    def->inputs = inputs;
    def->input_count = count;
    return STATUS_OK;
}

/* Leaves out "_class", which may name nodes that are gone (placement.c reads it from the author's node),
 * and dtypes that an unknown op left open and that a feed decides now. */
static Status
write_attrs(const Compile *compile, const Node *node, NodeDef *def)
{
    Attr *attrs = arena_alloc(compile->def->arena, node->attr_count * sizeof *attrs);
    if (attrs == NULL) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < node->attr_count; index++) {
        const Attr *attr = &node->attrs[index];
        bool is_unbound =
            attr->value.kind == ATTR_TYPE && !attr->value.is_list && attr->value.value.type == DTYPE_INVALID;
        if (!is_unbound && !slice_equals_string(attr->name, "_class")) {
            attrs[def->attr_count++] = *attr;
        }
    }
    def->attrs = attrs;
    return STATUS_OK;
}

static Status
write_needed(Pruning *pruning)
{
    const Compile *compile = pruning->compile;
    for (uint32_t id = 0; id < compile->source->node_count; id++) {
        const Node *node = &compile->source->nodes[id];
        if (!pruning->needed[id]) {
            continue;
        }
        NodeDef def = {.name = node->name,
            .op = node->def->op,
            .device = node->def->device,
            .pointer = node->def->pointer};
        TRY(write_inputs(compile, node, &def));
        TRY(write_attrs(compile, node, &def));
        write_node(pruning, &def, node, 0);
    }
    return STATUS_OK;
}

static Status
alloc_result(Pruning *pruning)
{
    Compile *compile = pruning->compile;
    const Signature *signature = compile->request->signature;
    size_t count = compile->source->node_count + signature->feed_count + signature->fetch_count;
    compile->def = compile_keep_def(compile, graph_def_new(DEF_SIZE_MAX));
    if (compile->def == NULL) {
        return compile_no_memory(compile);
    }
    pruning->nodes = arena_alloc(compile->def->arena, count * sizeof *pruning->nodes);
    compile->origins = compile_alloc(compile, count, sizeof *compile->origins);
    compile->ports = compile_alloc(compile, count, sizeof *compile->ports);
    bool is_all = pruning->nodes != NULL && compile->origins != NULL && compile->ports != NULL;
    return is_all ? STATUS_OK : compile_no_memory(compile);
}

static Status
link_result(Pruning *pruning)
{
    Compile *compile = pruning->compile;
    const GraphDef *from = compile->source->def;
    GraphDef *def = compile->def;
    assert(def != NULL);
    def->nodes = pruning->nodes;
    def->node_count = pruning->node_count;
    def->functions = from->functions;
    def->function_count = from->function_count;
    def->producer = from->producer;
    def->min_consumer = from->min_consumer;
    return compile_link(compile, def, &compile->graph);
}

/* Finds targets by name, since ids are new. The _Arg of a placeholder that is fed stands for it. */
static Status
mark_targets(Compile *compile)
{
    compile->is_target = compile_alloc(compile, compile->graph->node_count, sizeof *compile->is_target);
    if (compile->is_target == NULL) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < compile->request->signature->target_count; index++) {
        const Node *target = &compile->source->nodes[compile->targets[index]];
        uint32_t feed = replacing_feed(compile, target);
        Slice name =
            feed == FEED_NONE ? target->name : endpoint_name(compile, "_arg", compile->feeds[feed], 0);
        const Node *node = graph_find(compile->graph, name);
        if (node == NULL) {
            return compile_no_memory(compile);
        }
        compile->is_target[node->id] = true;
    }
    return STATUS_OK;
}

Status
prune_graph(Compile *compile)
{
    size_t node_count = compile->source->node_count;
    assert(compile->feed_map != NULL && compile->fetches != NULL && compile->targets != NULL);
    Pruning pruning = {
        .compile = compile,
        .needed = compile_alloc(compile, node_count, sizeof *pruning.needed),
        .is_feed_used =
            compile_alloc(compile, compile->request->signature->feed_count, sizeof *pruning.is_feed_used),
        .stack = compile_alloc(compile, node_count, sizeof *pruning.stack),
    };
    if (pruning.needed == NULL || pruning.is_feed_used == NULL || pruning.stack == NULL) {
        return compile_no_memory(compile);
    }
    mark_needed(&pruning);
    TRY(check_needed(&pruning));
    TRY(alloc_result(&pruning));
    TRY(write_args(&pruning));
    TRY(write_needed(&pruning));
    TRY(write_retvals(&pruning));
    TRY(link_result(&pruning));
    return mark_targets(compile);
}
