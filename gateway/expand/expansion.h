/* A graph while its functions are expanded, and what every part of that needs: memory, names, errors, the
 * functions of the library. From the bottom to the top:
 *
 *     expansion.c   memory, names that no other node has, errors, functions by name
 *     emission.c    a node that is being written
 *     attributes.c  attributes of a body's node: placeholders take the values that the caller bound
 *     reference.c   inputs of a body's node: "node:output:0" becomes "node:port"
 *     recursion.c   the call of a function that is being written out already
 *     scope.c       one use of a function: its members, their nodes, its outputs
 *     form.c        the beginning and the end of a node that stands for more than itself
 *     loop.c        the frame of a loop
 *     call.c, branch.c, while.c, onnx_loop.c: the nodes that stand for more than themselves
 *     expand.c      the graph, and the bodies of functions that are called
 *
 * A form is expanded through the function pointer in Form, so that a file only calls those above it in this
 * list.
 *
 * Ownership: nodes and texts live in the arena of the new graph; maps and lists in the call's. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/base/map.h"
#include "shared/graph/graph_def.h"

enum { EXPAND_DEPTH_MAX = 64 };

typedef struct Scope Scope;
typedef struct Member Member;

/* The way in which a node that stands for more than itself is expanded. */
typedef struct Form {
    const char *op; /* NULL: the name of a function */

    /* Returns how many outputs the node has. */
    Status (*count_outputs)(const Scope *scope, const Member *member, size_t *ret_count);

    /* Writes the nodes that give member->outputs, under these names, and ends with form_finish(). */
    Status (*expand)(Scope *scope, Member *member);
} Form;

/* Positions of the arguments, outputs and returned values of a function in its lists, by name; of several so
 * called the first. The maps' values point into `positions`, to the position. */
typedef struct FunctionNames {
    char *positions;
    Map *arguments;
    Map *outputs;
    Map *returns;
} FunctionNames;

typedef struct Expansion {
    Call *call;
    const GraphDef *source;
    GraphDef *def;     /* the new graph */
    const Form *forms; /* by op */
    size_t form_count;
    const Form *call_form; /* of a node whose op is the name of a function */
    FunctionDef *library;
    FunctionNames *library_names; /* by function of `library`, once they were asked for */
    Map *functions;               /* name → FunctionDef of `library` */
    Map *names;                   /* those that nodes of the new graph have */
    Buffer nodes;                 /* NodeDef[] */
    size_t node_count;
    uint64_t node_count_max;
    Buffer recursions; /* Recursion[]: functions that are called, not written out (recursion.h) */
} Expansion;

/* A list of endpoints or of control inputs. */
typedef struct Endpoints {
    Slice *items;
    size_t count;
} Endpoints;

/* One node of the graph, or of a function's body in one use of it. */
struct Member {
    const NodeDef *def;
    const Form *form; /* NULL: the node stands for itself */
    Slice name;       /* in the new graph */
    const Attr *attrs;
    size_t attr_count;
    const char *pointer;
    Endpoints outputs;     /* of a form: the endpoints that will give them */
    size_t *output_starts; /* of a call by name, once asked for: the first of `outputs` of each output */
    bool has_effects;
    bool is_asked; /* a control output of the function names it */
};

/* The graph itself, or one use of a function. */
struct Scope {
    Expansion *expansion;
    const Scope *caller;         /* NULL for the graph */
    const FunctionDef *function; /* NULL for the graph */
    size_t depth;
    Slice path;        /* prefix of the members' names; "" in the graph */
    Slice within;      /* name of the member whose parts are being written */
    Slice device;      /* of members that ask for none */
    Slice pivot;       /* "^node" that runs when the scope is reached; "" when it always is */
    const Attr *attrs; /* bound by the caller */
    size_t attr_count;
    Endpoints arguments;     /* flattened */
    size_t *argument_starts; /* by input of the function: its first argument */
    Member *members;
    size_t member_count;
    Map *by_name;
};

/* One use of a function by a member, and what comes of it. */
typedef struct Use {
    const Member *member; /* the node that uses the function */
    Slice function;
    const Attr *attrs; /* bound to the function's attributes */
    size_t attr_count;
    const char *part; /* "then": the members are called <member>/then/…; "": <member>/… */
    Slice pivot;
    const Endpoints *arguments;
    bool only_asked; /* effects happen only where the function's control outputs name them (expand.h) */
} Use;

typedef struct Used {
    Endpoints outputs; /* have values once the effects have happened */
    Dtype *dtypes;     /* by output; DTYPE_INVALID when the function does not say it */
    Endpoints effects; /* control inputs that wait for the effects */
} Used;

/* Return zeroed memory in the arena of the new graph, or of the call; NULL without memory. `count` may
 * be 0. */
void *expand_alloc(const Expansion *expansion, size_t count, size_t size);
void *expand_scratch(const Expansion *expansion, size_t count, size_t size);
MUST_USE Status endpoints_new(const Expansion *expansion, size_t count, Endpoints *ret_endpoints);

MUST_USE static inline Status
expand_no_memory(const Expansion *expansion)
{
    return call_fail_memory(expansion->call, "the expanded graph");
}

/* Takes the name `wanted`, or the first of wanted_1, wanted_2, … that is free. */
MUST_USE Status expand_name(Expansion *expansion, Slice wanted, Slice *ret_name);

/* Take the name "<name>/<part>" or "<name>/<part><index>" in the same way. */
MUST_USE Status expand_part(Expansion *expansion, Slice name, const char *part, Slice *ret_name);
MUST_USE Status expand_item(
    Expansion *expansion, Slice name, const char *part, size_t index, Slice *ret_name);

/* Returns "name:port", or the name alone for port 0. */
MUST_USE Status expand_port(Expansion *expansion, Slice name, size_t port, Slice *ret_endpoint);

/* Returns "^name" for an endpoint or a name. */
MUST_USE Status expand_control(Expansion *expansion, Slice endpoint, Slice *ret_control);

/* Fails with INVALID_ARGUMENT and a sentence about the member, "node 'x': …", with its JSON pointer. */
#define expand_fail(scope, member, ...) call_failure(expand_fail_with(scope, member, __VA_ARGS__))
MUST_USE Status expand_fail_with(const Scope *scope, const Member *member, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Finds a function that the member calls; INVALID_ARGUMENT when the library has none of this name. */
MUST_USE Status expand_function(
    const Scope *scope, const Member *member, Slice name, const FunctionDef **ret_function);

/* Returns the names in a function of the library; NULL without memory. They are collected once, however often
 * the function is used. */
const FunctionNames *expand_function_names(const Expansion *expansion, const FunctionDef *function);

/* Finds the position that a map of these names has for one. */
bool function_names_find(const FunctionNames *names, const Map *map, Slice name, size_t *ret_position);

/* Returns an empty map that is freed with the call's arena; NULL without memory. */
Map *expand_map(const Expansion *expansion);

/* Returns NULL for an op that stands for itself. A function wins over an op of its name. */
const Form *expand_form(const Expansion *expansion, Slice op);
