/* Inside gateway/expand.
 *
 *   expand.c      the graph: which nodes stand for more than themselves, the walk, the result
 *   names.c       names that nobody else has
 *   emission.c    a node being written
 *   scope.c       one use of a function: its members, its nodes written out, its outputs
 *   reference.c   "node:output:0" in a body → "node:port"
 *   attributes.c  placeholders → what the caller bound
 *   call.c        PartitionedCall, a function's name as op
 *   recursion.c   a function that calls itself
 *   branch.c      If, Case
 *   loop.c        the frame of a loop; while.c, onnx_loop.c, onnx_scan.c what goes round in it
 *   collect.c     what a loop gives in every iteration, stacked
 *
 * Ownership: nodes and texts live in the arena of the graph that is made; maps and lists in the call's. */
#pragma once

#include "gateway/expand/expand.h"
#include "shared/base/buffer.h"
#include "shared/base/map.h"

enum { EXPAND_DEPTH_MAX = 64 };

typedef struct Expansion {
    Call *call;
    const GraphDef *source;
    GraphDef *def; /* the one being made */
    FunctionDef *library;
    Map *functions; /* name → FunctionDef, of the library */
    Map *names;     /* taken */
    Buffer nodes;   /* NodeDef[] */
    size_t node_count;
    uint64_t node_count_max;
    Buffer recursions; /* functions that are called, not written out (recursion.c) */
} Expansion;

typedef struct Scope Scope;
typedef struct Member Member;

/* A list of endpoints or of control inputs. */
typedef struct Endpoints {
    Slice *items;
    size_t count;
} Endpoints;

/* How a node that stands for more than itself is written out. */
typedef struct Form {
    const char *op; /* NULL: a function's name */
    /* How many outputs it has. */
    Status (*count_outputs)(const Scope *scope, const Member *member, size_t *ret_count);
    /* Writes the nodes that give member->outputs, by these names, and ends with expand_finish(). */
    Status (*expand)(Scope *scope, Member *member);

} Form;

/* One node of the graph, or of a function's body in one use of it. */
struct Member {
    const NodeDef *def;
    const Form *form; /* NULL: it stands for itself */
    Slice name;       /* in the result */
    const Attr *attrs;
    size_t attr_count;
    const char *pointer;
    Endpoints outputs; /* of a form: where they will be */
    bool has_effects;
    bool is_asked; /* the function itself says that it has to run */
};

struct Scope {
    Expansion *expansion;
    const Scope *caller;         /* NULL: the graph itself */
    const FunctionDef *function; /* NULL: the graph itself */
    size_t depth;
    Slice path;        /* what the members' names begin with; "" in the graph */
    Slice within;      /* the member whose parts are being written */
    Slice device;      /* of members that ask for none */
    Slice pivot;       /* "^node" that runs when the scope is reached; "" when it always is */
    const Attr *attrs; /* what the caller bound */
    size_t attr_count;
    Endpoints arguments;     /* flattened */
    size_t *argument_starts; /* of each of the function's inputs */
    Member *members;
    size_t member_count;
    Map *by_name;
};

/* --- Names and nodes ------------------------------------------------------------------------------------ */

/* `wanted`, or the first of wanted_1, wanted_2, … that is free; it is taken now. */
MUST_USE Status expand_name(Expansion *expansion, Slice wanted, Slice *ret_name);
/* "<name>/<part>", "<name>/<part><index>" */
MUST_USE Status expand_part(Expansion *expansion, Slice name, const char *part, Slice *ret_name);
MUST_USE Status expand_item(
    Expansion *expansion, Slice name, const char *part, size_t index, Slice *ret_name);
/* "name:port"; the name alone for port 0. */
MUST_USE Status expand_port(Expansion *expansion, Slice name, size_t port, Slice *ret_endpoint);
/* "^name" of an endpoint or a name. */
MUST_USE Status expand_control(Expansion *expansion, Slice endpoint, Slice *ret_control);

MUST_USE static inline Status
expand_no_memory(const Expansion *expansion)
{
    return call_fail_memory(expansion->call, "the expanded graph");
}
/* Zeroed, in the result's arena or the call's. `count` may be 0. */
void *expand_alloc(const Expansion *expansion, size_t count, size_t size);
void *expand_scratch(const Expansion *expansion, size_t count, size_t size);
MUST_USE Status endpoints_new(const Expansion *expansion, size_t count, Endpoints *ret_endpoints);

/* A node on its way:
 *
 *     Emission node;
 *     TRY(emission_begin(&node, scope, name, "Switch", 2));
 *     emission_input(&node, data);
 *     emission_type(&node, "T", dtype);
 *     TRY(emission_end(&node));
 */
enum { EMISSION_ATTRS_MAX = 4 };

typedef struct Emission {
    const Scope *scope;
    NodeDef def;
    Slice *inputs;
    size_t input_max;
    Attr attrs[EMISSION_ATTRS_MAX];
} Emission;

/* The node runs on the scope's device and has room for so many inputs. */
MUST_USE Status emission_begin(
    Emission *emission, const Scope *scope, Slice name, const char *op, size_t input_max);
void emission_input(Emission *emission, Slice input); /* "" is none */
void emission_inputs(Emission *emission, const Endpoints *inputs);
/* DTYPE_INVALID leaves it to the linker, which looks at the inputs. */
void emission_type(Emission *emission, const char *name, Dtype dtype);
void emission_int(Emission *emission, const char *name, int64_t value);
void emission_bool(Emission *emission, const char *name, bool value);
void emission_string(Emission *emission, const char *name, Slice value);
void emission_value(Emission *emission, const char *name, AttrValue value);
MUST_USE Status emission_end(Emission *emission);

/* A finished node into the result. OUT_OF_RANGE past the limit. */
MUST_USE Status expand_emit(Expansion *expansion, const NodeDef *def);

/* Usual ones; `ret_name` of the node that was written, which may be an endpoint too. */
MUST_USE Status emit_identity(
    const Scope *scope, Slice name, Slice input, Dtype dtype, const Endpoints *controls);
MUST_USE Status emit_no_op(const Scope *scope, Slice name, const Endpoints *controls);
/* Both outputs are at name:0 (false) and name:1 (true). */
MUST_USE Status emit_switch(const Scope *scope, Slice name, Slice data, Slice predicate, Dtype dtype);
MUST_USE Status emit_int(const Scope *scope, Slice name, Dtype dtype, int64_t value); /* a scalar constant */
MUST_USE Status emit_ints(
    const Scope *scope, Slice name, Dtype dtype, const int64_t *values, size_t count); /* a vector */

/* --- Scopes --------------------------------------------------------------------------------------------- */

/* One use of a function. */
typedef struct Use {
    const Member *member; /* who uses it */
    Slice function;
    const Attr *attrs; /* bound to the function's attributes */
    size_t attr_count;
    const char *part; /* "then": its members are <member>/then/…; "": <member>/… */
    Slice pivot;
    const Endpoints *arguments;
    bool only_asked; /* what has effects runs only if the function's control outputs name it (expand.h) */
} Use;

/* What came of it. */
typedef struct Used {
    Endpoints outputs; /* there once the effects have happened */
    Dtype *dtypes;     /* of each; DTYPE_INVALID when the function does not say it */
    Endpoints effects; /* controls: what must have happened */
} Used;

/* Writes the function's nodes out. */
MUST_USE Status expand_use(const Scope *scope, const Use *use, Used *ret_used);
/* The function that the member's attribute names, used so. */
MUST_USE Status expand_use_attr(const Scope *scope, Use use, const char *attr, Used *ret_used);
/* The same of the attribute "body", whose outputs are one value each, as ONNX's are. */
MUST_USE Status expand_use_body(const Scope *scope, Use use, const FunctionDef *body, Used *ret_used);

/* INVALID_ARGUMENT when the library has none of this name. */
MUST_USE Status expand_function(
    const Scope *scope, const Member *member, Slice name, const FunctionDef **ret_function);

/* Makes the members' names, attributes and outputs. */
MUST_USE Status scope_open(Scope *scope, const NodeDef *nodes, size_t node_count);
MUST_USE Status scope_write(Scope *scope);

/* INVALID_ARGUMENT with the member's own sentence: "node 'x': …", and its place in the document. */
#define expand_fail(scope, member, ...) call_failure(expand_fail_with(scope, member, __VA_ARGS__))
MUST_USE Status expand_fail_with(const Scope *scope, const Member *member, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Whether the function is being written out around the scope. */
bool recursion_is(const Scope *scope, const FunctionDef *function);
/* A call of it, instead of writing it out again. INVALID_ARGUMENT when it has attributes. */
MUST_USE Status recursion_use(
    const Scope *scope, const Use *use, const FunctionDef *function, Used *ret_used);
/* The functions that are called so, into the result; behind the graph's own nodes. */
MUST_USE Status recursions_write(Expansion *expansion);

/* --- References ----------------------------------------------------------------------------------------- */

/* Data inputs, then controls, as the result names them. */
MUST_USE Status resolve_inputs(
    const Scope *scope, const Member *member, Endpoints *ret_data, Endpoints *ret_controls);
/* The `offset`-th tensor of what a body's text names: an argument, or a node's output. */
MUST_USE Status resolve_reference(
    const Scope *scope, const Member *member, Slice text, size_t offset, Slice *ret_endpoint);

/* --- Attributes ----------------------------------------------------------------------------------------- */

/* The node's attributes with all placeholders bound, names of nodes and frames made the result's. */
MUST_USE Status bind_attrs(const Scope *scope, Member *member);
const AttrValue *member_attr(const Member *member, const char *name); /* NULL when it has none */
int64_t member_int(const Member *member, const char *name, int64_t otherwise);
/* Whether its author asks for Switch and Merge in its place. */
bool member_wants_lowering(const Member *member);
/* The `index`-th of a list of types; DTYPE_INVALID when there is none. */
Dtype member_type(const Member *member, const char *name, size_t index);
/* How many tensors an argument of the function stands for, and their dtype, in this use of it. */
MUST_USE Status argument_size(const Scope *scope, const FunctionArgument *argument, size_t *ret_count);
Dtype argument_type(const Scope *scope, const FunctionArgument *argument, size_t index);

/* --- Forms ---------------------------------------------------------------------------------------------- */

const Form *form_find(const Expansion *expansion, Slice op); /* NULL: the op stands for itself */

MUST_USE Status call_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status call_expand(Scope *scope, Member *member);
MUST_USE Status branch_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status if_expand(Scope *scope, Member *member);
MUST_USE Status case_expand(Scope *scope, Member *member);
MUST_USE Status while_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status while_expand(Scope *scope, Member *member);
/* ONNX's: as many outputs as the function of this attribute, less some. */
MUST_USE Status onnx_if_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status onnx_if_expand(Scope *scope, Member *member);
MUST_USE Status onnx_loop_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status onnx_loop_expand(Scope *scope, Member *member);
MUST_USE Status onnx_scan_count_outputs(const Scope *scope, const Member *member, size_t *ret_count);
MUST_USE Status onnx_scan_expand(Scope *scope, Member *member);

/* Ends a form: the NoOp of its name, after all outputs and `controls`. */
MUST_USE Status expand_finish(Scope *scope, Member *member, const Endpoints *controls);
/* What a form waits for: its controls alone, or one NoOp in their place when there are several; "" none. */
MUST_USE Status expand_start(
    const Scope *scope, const Member *member, const Endpoints *controls, Slice *ret_control);
/* An argument that waits for `start` too; itself when that is "". */
MUST_USE Status expand_gate(
    const Scope *scope, const Member *member, Slice start, size_t index, Dtype dtype, Slice *argument);

/* --- Loops ---------------------------------------------------------------------------------------------- */

typedef struct LoopVariable {
    Slice initial;
    Dtype dtype;
    bool is_invariant; /* the same in every iteration */
    Slice merged;      /* what the condition reads */
    Slice current;     /* what the body reads */
    Slice back;        /* the name of its NextIteration */
    Slice final;       /* the name its last value shall have; "": nobody wants it */
} LoopVariable;

typedef struct Loop {
    const Scope *scope;
    Member *member;
    Slice start; /* a control that all entries wait for; "" none */
    int64_t parallel_iterations;
    LoopVariable *variables; /* the first is no invariant */
    size_t variable_count;
    Slice condition_pivot;
    Slice body_pivot;
} Loop;

/* A loop of the member, after what it waits for, with room for its variables. */
MUST_USE Status loop_open(
    const Scope *scope, Member *member, const Endpoints *controls, size_t variable_count, Loop *ret_loop);
MUST_USE Status loop_enter(Loop *loop);
MUST_USE Status loop_decide(Loop *loop, Slice predicate);
/* `next` is what the body gives, of each variable; an invariant's is not looked at. */
MUST_USE Status loop_close(Loop *loop, const Slice *next);

/* --- ONNX's loops --------------------------------------------------------------------------------------- */

/* Small nodes; their names are parts of the member's: "<member>/<part>".
 * ONNX lets a scalar come as a tensor of one element: a scalar of it. */
MUST_USE Status emit_scalar(
    const Scope *scope, const char *part, Slice input, Dtype dtype, Slice *ret_scalar);

typedef struct Binary {
    const char *op;
    Slice left;
    Slice right;
    Dtype dtype; /* DTYPE_INVALID: the op has no T */
} Binary;
MUST_USE Status emit_binary(const Scope *scope, const char *part, Binary binary, Slice *ret_result);
MUST_USE Status emit_cast(
    const Scope *scope, const char *part, Slice input, Dtype from, Dtype to, Slice *ret_result);
/* A constant's name. */
MUST_USE Status emit_number(
    const Scope *scope, const char *part, Dtype dtype, int64_t value, Slice *ret_name);

/* The function that the attribute names. */
MUST_USE Status member_function(
    const Scope *scope, const Member *member, const char *attr, const FunctionDef **ret_function);
/* What the function declares of its output; unknown when it does not. */
Shape function_output_shape(const FunctionDef *function, size_t index);

/* What each iteration gives is written into a TensorArray, whose flow goes round as a variable. */
typedef struct Collection {
    Slice handle; /* outside of the loop */
    Slice flow;
    Dtype dtype;   /* as far as the body declares it, else that of `value` */
    Shape element; /* as far as the body declares it */
    Slice value;   /* in the loop: what is collected */
} Collection;

/* The last of a body's outputs, each collected. Their flows and handles are neighbours among the loop's
 * variables. */
typedef struct Collections {
    const Loop *loop;
    Collection *items;
    size_t count;
    size_t first_output; /* of the body */
    size_t first_flow;   /* places among the loop's variables */
    size_t first_handle;
} Collections;
/* Fills in the items and their variables, from all the rest. */
MUST_USE Status collections_open(Collections *collections, const FunctionDef *body);

/* In the loop: what the body gave as the `index`-th of them goes to the int32 `position`; the flow goes into
 * `next`, of all variables. */
MUST_USE Status collections_write(const Collections *collections, const Scope *inside, size_t index,
    Slice position, const Used *used, Slice *next);

/* Outside, once the loop is written: the array itself, of int32 `size`; one of 0 grows. */
MUST_USE Status collection_create(const Scope *scope, const Collection *collection, Slice size);
/* All of them along a new first dimension, as `name`. */
MUST_USE Status collection_stack(const Scope *scope, const Collection *collection, Slice flow, Slice name);
/* The dtype of what is collected as this attribute. */
void emission_collected(Emission *emission, const char *name, const Collection *collection);
