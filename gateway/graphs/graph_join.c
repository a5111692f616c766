#include "gateway/graphs/graph_join.h"

#include <assert.h>

#include "shared/base/buffer.h"
#include "shared/base/map.h"
#include "shared/base/text.h"
#include "shared/formats/graphdef_json.h"

enum { DEF_SIZE_MAX = 1 << 30 };

typedef struct Join {
    Call *call;
    GraphDef *def;
    bool is_last;   /* adding the part that is new in this request */
    NodeDef *nodes; /* with room for the nodes of all parts */
    size_t node_count;
    FunctionDef *functions;
    size_t function_count;
    Map *node_names;
    Map *function_names; /* name → FunctionDef */
    size_t fault_count;
} Join;

static Status
fail_memory(const Join *join)
{
    return call_fail_memory(join->call, "an extended graph");
}

static void
note_fault(Join *join, const char *pointer, const char *kind, Slice name, const char *fault)
{
    call_note(join->call, pointer, "%s '%.*s' %s", kind, SLICE_PRINT(slice_part(name, 0, 128)), fault);
    join->fault_count++;
}

/* Gives nodes JSON pointers into their own part: its author knows those positions, not those in the whole
 * graph. */
static Status
point_nodes(const Join *join, const char *list, NodeDef *nodes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        nodes[index].pointer = text_format(join->def->arena, "%s/%zu", list, index);
        if (nodes[index].pointer == NULL) {
            return fail_memory(join);
        }
    }
    return STATUS_OK;
}

static void
copy_nodes(NodeDef *nodes, const NodeDef *from, size_t count)
{
    if (count > 0) {
        memcpy(nodes, from, count * sizeof *nodes);
    }
}

static Status
add_nodes(Join *join, const GraphDef *part)
{
    NodeDef *nodes = join->nodes + join->node_count;
    copy_nodes(nodes, part->nodes, part->node_count);
    join->node_count += part->node_count;
    if (join->is_last) {
        TRY(point_nodes(join, "/node", nodes, part->node_count));
    }
    for (size_t index = 0; index < part->node_count; index++) {
        if (map_get(join->node_names, nodes[index].name) != NULL) {
            note_fault(join, nodes[index].pointer, "node", nodes[index].name, "is in the graph already");
        } else if (!map_put(join->node_names, nodes[index].name, &nodes[index])) {
            return fail_memory(join);
        }
    }
    return STATUS_OK;
}

/* Writes the canonical text of a function: equal functions have equal texts. */
static void
write_function(Buffer *buffer, const FunctionDef *function)
{
    GraphDef library = {.functions = function, .function_count = 1};
    graphdef_json_write(buffer, &library);
}

static Status
compare_functions(const Join *join, const FunctionDef *one, const FunctionDef *other, bool *ret_are_equal)
{
    AUTO_BUFFER one_text = {0};
    AUTO_BUFFER other_text = {0};
    write_function(&one_text, one);
    write_function(&other_text, other);
    if (!buffer_is_ok(&one_text) || !buffer_is_ok(&other_text)) {
        return fail_memory(join);
    }
    *ret_are_equal = slice_equal(buffer_slice(&one_text), buffer_slice(&other_text));
    return STATUS_OK;
}

static Status
point_body(const Join *join, const char *pointer, FunctionDef *function)
{
    NodeDef *nodes = arena_alloc(join->def->arena, (function->node_count + 1) * sizeof *nodes);
    const char *list = text_format(join->def->arena, "%s/nodeDef", pointer);
    if (nodes == NULL || list == NULL) {
        return fail_memory(join);
    }
    copy_nodes(nodes, function->nodes, function->node_count);
    function->nodes = nodes;
    return point_nodes(join, list, nodes, function->node_count);
}

static Status
add_function(Join *join, const FunctionDef *function, const char *pointer)
{
    const FunctionDef *known = map_get(join->function_names, function->name);
    bool are_equal = false;
    if (known != NULL) {
        TRY(compare_functions(join, known, function, &are_equal));
        if (!are_equal) {
            note_fault(
                join, pointer, "function", function->name, "is in the graph already, with another body");
        }
        return STATUS_OK;
    }
    FunctionDef *added = &join->functions[join->function_count++];
    *added = *function;
    if (!map_put(join->function_names, added->name, added)) {
        return fail_memory(join);
    }
    return join->is_last ? point_body(join, pointer, added) : STATUS_OK;
}

static Status
add_functions(Join *join, const GraphDef *part)
{
    for (size_t index = 0; index < part->function_count; index++) {
        const char *pointer = text_format(join->def->arena, "/library/function/%zu", index);
        if (pointer == NULL) {
            return fail_memory(join);
        }
        TRY(add_function(join, &part->functions[index], pointer));
    }
    return STATUS_OK;
}

static Status
check_part(const Join *join, const GraphDef *part)
{
    if (part->producer != join->def->producer) {
        call_note(join->call, "/versions/producer", "%lld, not %lld", (long long)part->producer,
            (long long)join->def->producer);
        return call_fail(join->call, STATUS_INVALID_ARGUMENT,
            "a graph of producer version %lld cannot be extended by one of version %lld",
            (long long)join->def->producer, (long long)part->producer);
    }
    return part->input_count + part->output_count + part->checkpoint_count == 0
               ? STATUS_OK
               : call_fail(join->call, STATUS_INVALID_ARGUMENT,
                     "a graph is extended by a GraphDef, not by a model");
}

static Status
add_part(Join *join, const GraphDef *part)
{
    GraphDef *def = join->def;
    TRY(check_part(join, part));
    def->min_consumer = part->min_consumer > def->min_consumer ? part->min_consumer : def->min_consumer;
    TRY(add_nodes(join, part));
    return add_functions(join, part);
}

/* Makes an empty definition with room for all parts, to which it holds references. */
static Status
join_begin(Join *join, GraphDef *const *parts, size_t part_count)
{
    size_t node_count = 0;
    size_t function_count = 0;
    for (size_t index = 0; index < part_count; index++) {
        node_count += parts[index]->node_count;
        function_count += parts[index]->function_count;
    }
    GraphDef *def = join->def;
    join->nodes = arena_alloc(def->arena, (node_count + 1) * sizeof *join->nodes);
    join->functions = arena_alloc(def->arena, (function_count + 1) * sizeof *join->functions);
    GraphDef **held = arena_alloc(def->arena, part_count * sizeof(GraphDef *));
    if (join->nodes == NULL || join->functions == NULL || held == NULL) {
        return fail_memory(join);
    }
    for (size_t index = 0; index < part_count; index++) {
        held[index] = graph_def_ref(parts[index]);
    }
    def->parts = held;
    def->part_count = part_count;
    return STATUS_OK;
}

static void
take_ports(GraphDef *def, const GraphDef *model)
{
    def->producer = model->producer;
    def->min_consumer = model->min_consumer;
    def->inputs = model->inputs;
    def->input_count = model->input_count;
    def->outputs = model->outputs;
    def->output_count = model->output_count;
    def->checkpoint = model->checkpoint;
    def->checkpoint_count = model->checkpoint_count;
    def->warnings = model->warnings;
    def->warning_count = model->warning_count;
}

static Status
join_parts(Join *join, GraphDef *const *parts, size_t part_count)
{
    GraphDef *def = join->def;
    TRY(join_begin(join, parts, part_count));
    take_ports(def, parts[0]);
    TRY(add_nodes(join, parts[0]));
    TRY(add_functions(join, parts[0]));
    for (size_t index = 1; index < part_count; index++) {
        join->is_last = index + 1 == part_count;
        TRY(add_part(join, parts[index]));
    }
    def->nodes = join->nodes;
    def->node_count = join->node_count;
    def->functions = join->functions;
    def->function_count = join->function_count;
    return join->fault_count == 0
               ? STATUS_OK
               : call_fail(join->call, STATUS_INVALID_ARGUMENT, "what is added is in the graph already");
}

Status
graph_join(Call *call, GraphDef *const *parts, size_t part_count, GraphDef **ret_def)
{
    assert(part_count > 0);

    if (part_count == 1) {
        *ret_def = graph_def_ref(parts[0]);
        return STATUS_OK;
    }
    AUTO_MAP node_names = map_new();
    AUTO_MAP function_names = map_new();
    AUTO_GRAPH_DEF def = graph_def_new(DEF_SIZE_MAX);
    Join join = {.call = call, .def = def, .node_names = node_names, .function_names = function_names};
    if (node_names == NULL || function_names == NULL || def == NULL) {
        return fail_memory(&join);
    }
    TRY(join_parts(&join, parts, part_count));
    *ret_def = TAKE(def);
    return STATUS_OK;
}
