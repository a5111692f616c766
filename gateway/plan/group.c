/* Groups of nodes that must share a slot (TensorFlow's ColocationGraph, with loops added). Reasons are the
 * "loc:@x" in "_class", an edge that carries a reference or a resource, a loop that must not be cut, and
 * calls of functions that call themselves, which exist on one slot only. */
#include <assert.h>

#include "gateway/plan/placement.h"

typedef struct Groups {
    const Compile *compile;
    uint32_t *parents; /* union-find; the root is the smallest id of a group */
    Map *by_name;      /* "x" of "loc:@x" → an element of `parents` */
} Groups;

static uint32_t
find_root(const Groups *groups, uint32_t id)
{
    uint32_t *parents = groups->parents;
    while (parents[id] != id) {
        parents[id] = parents[parents[id]];
        id = parents[id];
    }
    return id;
}

static void
unite_groups(const Groups *groups, uint32_t left, uint32_t right)
{
    uint32_t left_root = find_root(groups, left);
    uint32_t right_root = find_root(groups, right);
    if (left_root < right_root) {
        groups->parents[right_root] = left_root;
    } else {
        groups->parents[left_root] = right_root;
    }
}

static Status
join_group(const Groups *groups, uint32_t id, Slice name)
{
    const uint32_t *member = map_get(groups->by_name, name);
    if (member != NULL) {
        unite_groups(groups, (uint32_t)(member - groups->parents), id);
        return STATUS_OK;
    }
    return map_put(groups->by_name, name, &groups->parents[id]) ? STATUS_OK
                                                                : compile_no_memory(groups->compile);
}

bool
next_colocation(const Node *author, size_t *position, Slice *ret_name)
{
    static const Slice prefix = {.data = "loc:@", .size = 5};
    const AttrValue *classes = author == NULL ? NULL : node_attr(author, "_class");
    while (classes != NULL && classes->is_list && *position < classes->value.list.count) {
        const AttrValue *item = &classes->value.list.items[(*position)++];
        if (item->kind == ATTR_STRING && slice_starts_with(item->value.s, prefix)) {
            *ret_name = slice_part(item->value.s, prefix.size, SIZE_MAX);
            return true;
        }
    }
    return false;
}

/* A node without "loc:@" joins the group of its own name, so that others can join it there. */
static Status
join_named(const Groups *groups, uint32_t id)
{
    const Node *origin = groups->compile->origins[id];
    bool has_joined = origin == NULL;
    size_t position = 0;
    Slice name;
    while (next_colocation(origin, &position, &name)) {
        TRY(join_group(groups, id, name));
        has_joined = true;
    }
    return has_joined ? STATUS_OK : join_group(groups, id, origin->name);
}

/* A variable that is read through its reference must be read on its own slot, in the order that control
 * edges demand: from another slot the read could not wait for an assignment. */
static void
join_handles(const Groups *groups, const Node *node)
{
    const Node *nodes = groups->compile->graph->nodes;
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint source = node->inputs[index];
        Dtype dtype = node->input_dtypes[index];
        bool is_handle = dtype == DTYPE_RESOURCE || dtype == DTYPE_VARIANT;
        if (source.node != NODE_NONE && (is_handle || node_input_is_reference(node, index) ||
                                            node_output_is_reference(&nodes[source.node], source.port))) {
            unite_groups(groups, source.node, node->id);
        }
    }
}

static void
join_callers(const Groups *groups)
{
    const Graph *graph = groups->compile->graph;
    uint32_t first = NODE_NONE;
    for (uint32_t id = 0; groups->compile->source->def->function_count > 0 && id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        if (op_is(node, "_Branch") || op_is(node, "_StateBranch")) {
            first = first == NODE_NONE ? id : first;
            unite_groups(groups, first, id);
        }
    }
}

static void
unite_nodes(void *context, uint32_t left, uint32_t right)
{
    unite_groups(context, left, right);
}

Status
group_nodes(const Compile *compile, uint32_t **ret_groups)
{
    const Graph *graph = compile->graph;
    assert(compile->origins != NULL && compile->frames.frames != NULL);
    Groups groups = {
        .compile = compile,
        .parents = compile_alloc(compile, graph->node_count, sizeof *groups.parents),
        .by_name = compile_map(compile),
    };
    if (groups.parents == NULL || groups.by_name == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        groups.parents[id] = id;
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        TRY(join_named(&groups, id));
        join_handles(&groups, &graph->nodes[id]);
    }
    join_callers(&groups);
    TRY(unite_loops(compile, &(NodeUnion){.context = &groups, .unite = unite_nodes}));
    for (uint32_t id = 0; id < graph->node_count; id++) {
        groups.parents[id] = find_root(&groups, id);
    }
    *ret_groups = groups.parents;
    return STATUS_OK;
}
