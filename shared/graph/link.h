/* How graph_link() works inside: one Linker goes through the steps, each of which notes the faults it finds.
 * Private to shared/graph.
 *
 *   1. link_names   every name valid and unique; ops looked up
 *   2. link_inputs  every input resolved to a node and port
 *   3. link_attrs   given attributes checked, defaults filled in, data inputs counted
 *   4. link_order   topological order; cycles
 *   5. link_types   outputs' dtypes, in that order (onnx:: nodes bind theirs from their inputs); every edge
 *
 * A step starts only when all steps that it builds on found no fault: 4 needs 1 to 3.
 *
 * Errors: a step returns only what stops everything (no memory, a cycle); faults of the graph are noted. */
#pragma once

#include "shared/base/memory.h"
#include "shared/graph/graph.h"

enum {
    LINK_ARENA_SIZE_MAX = 512 * 1024 * 1024,
    LINK_OUTPUT_COUNT_MAX = 65536,    /* of one node */
    LINK_CONSUMER_VERSION_MAX = 2048, /* the newest GraphDef.versions.min_consumer we promise to understand */
};

typedef struct Linker {
    Call *call;
    Graph *graph;
    OpFind find;
    GraphLimits limits;
    Attr **attrs; /* of each node: the same as node->attrs, while it may still change */
    size_t fault_count;
    char first_fault[ERROR_MESSAGE_SIZE];
} Linker;

/* Notes "node '<name>': <message>" at "<node's pointer><place>"; `place` is "", "/name", "/input/2" … */
void link_fault(Linker *linker, const Node *node, const char *place, const char *format, ...)
    PRINTF_LIKE(4, 5);

MUST_USE Status link_names(Linker *linker);
MUST_USE Status link_inputs(Linker *linker);
MUST_USE Status link_attrs(Linker *linker);
MUST_USE Status link_order(Linker *linker);
MUST_USE Status link_types(Linker *linker);

/* INVALID_ARGUMENT summing up the faults noted so far; OK when there are none. */
MUST_USE Status link_verdict(const Linker *linker);

/* Memory of the graph, zeroed; NULL past the limit. `count` may be 0. */
MUST_USE void *link_alloc(const Linker *linker, size_t count, size_t size);

/* How many tensors an argument stands for, by the node's attributes. */
size_t argument_count(const Node *node, const OpArgument *argument);
/* The dtype of its `index`-th tensor; DTYPE_INVALID while it is not bound. */
Dtype argument_dtype(const Node *node, const OpArgument *argument, size_t index);

bool node_is_merge(const Node *node);
/* Whether the edge from `source` into `node` closes a loop: NextIteration → Merge. */
bool edge_is_back(const Node *source, const Node *node);
bool node_is_onnx(const Node *node);
/* Whether its missing type attributes are bound: from its inputs, or from the endpoint that its attribute
 * "_type_of" names. What a graph without dtypes is lowered to has none either. */
bool node_binds_types(const Node *node);
/* The endpoint's text; "" when the node has none. */
Slice node_type_source(const Node *node);
