/* Linking in steps, each of which notes the faults it finds. Private to shared/graph; link.c calls the steps:
 *
 *   1. link_names   checks that names are valid and unique, and looks ops up
 *   2. link_inputs  resolves every input to a node and port
 *   3. link_attrs   checks given attributes, fills in defaults, counts data inputs (bind.c)
 *   4. link_order   sorts topologically, and finds cycles
 *   5. link_types   finds the dtypes of outputs, in that order, and checks every edge
 *
 * Steps 4 and 5 start only when steps 1 to 3 found no fault.
 *
 * Errors: a step returns only what ends linking (no memory, a cycle); faults of the graph are noted. */
#pragma once

#include "shared/base/memory.h"
#include "shared/graph/graph.h"

enum {
    LINK_ARENA_SIZE_MAX = 512 * 1024 * 1024,
    LINK_OUTPUT_COUNT_MAX = 65536,    /* of one node */
    LINK_CONSUMER_VERSION_MAX = 2048, /* the newest GraphDef.versions.min_consumer that is accepted */
};

typedef struct Linker {
    Call *call;
    Graph *graph;
    OpFind find;
    GraphLimits limits;
    Attr **attrs; /* by node: node->attrs, as long as it may change */
    size_t fault_count;
    char first_fault[ERROR_MESSAGE_SIZE];
} Linker;

/* Notes "node '<name>': <message>" at the node's JSON pointer with a suffix: "", "/name", "/input/2", … */
void link_fault(Linker *linker, const Node *node, const char *suffix, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* Fails with INVALID_ARGUMENT and a summary when faults have been noted. */
MUST_USE Status link_verdict(const Linker *linker);

/* Returns zeroed memory of the graph; NULL past its limit. `count` may be 0. */
MUST_USE void *link_alloc(const Linker *linker, size_t count, size_t size);

MUST_USE Status link_names(Linker *linker);
MUST_USE Status link_inputs(Linker *linker);
MUST_USE Status link_attrs(Linker *linker);
MUST_USE Status link_order(Linker *linker);
MUST_USE Status link_types(Linker *linker);

/* Returns how many tensors an argument stands for, by the node's attributes. */
size_t argument_count(const Node *node, const OpArgument *argument);

/* Returns true for an op with a domain, ONNX's own ("onnx::Relu") or another ("com.acme::Twist"). */
bool node_is_onnx(const Node *node);

/* Returns true when missing type attributes are bound, from the node's inputs or from the endpoint that its
 * attribute "_type_of" names. ONNX's nodes have none, nor what a graph without dtypes is lowered to. */
bool node_binds_types(const Node *node);

/* Returns the text of "_type_of"; "" when the node has none. */
Slice node_type_source(const Node *node);
