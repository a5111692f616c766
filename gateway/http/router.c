#include "gateway/http/router.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/memory.h"

/* Methods in the order in which Allow names them. */
static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

typedef enum NodeKind {
    NODE_LITERAL,
    NODE_VERB,
    NODE_PARAMETER
} NodeKind; /* in the order in which siblings
             * are tried */

typedef struct RouteNode Node;

struct RouteNode {
    NodeKind kind;
    Slice text; /* the literal, or a parameter's name */
    Slice verb; /* ":plan", with its colon */
    Node *children;
    Node *next; /* the next sibling */
    const Handler *handlers[COUNT_OF(methods)];
};

struct Router {
    Node root;
};

/* Reads a segment of a route: "{graph}:plan", "{graph}", "graphs" or "containers:reset". */
static Node
segment_read(Slice segment)
{
    if (segment.size == 0 || segment.data[0] != '{') {
        return (Node){.kind = NODE_LITERAL, .text = segment};
    }
    size_t end = slice_find(segment, '}');
    Slice verb = slice_part(segment, end + 1, segment.size);
    return (Node){
        .kind = verb.size > 0 ? NODE_VERB : NODE_PARAMETER,
        .text = slice_part(segment, 1, end - 1),
        .verb = verb,
    };
}

/* Returns whether both nodes take the same segments. */
static bool
node_matches(const Node *left, const Node *right)
{
    return left->kind == right->kind && slice_equal(left->verb, right->verb) &&
           (left->kind != NODE_LITERAL || slice_equal(left->text, right->text));
}

static Status
child_add(Call *call, Node *parent, Node wanted, const Handler *handler, Node **ret_child)
{
    Node **link = &parent->children;
    while (*link != NULL && (*link)->kind <= wanted.kind) {
        if (node_matches(*link, &wanted)) {
            if (!slice_equal((*link)->text, wanted.text)) {
                return call_fail(call, STATUS_INVALID_ARGUMENT,
                    "route '%s' of '%s' names the parameter '%.*s', another route '%.*s'", handler->path,
                    handler->operation_id, SLICE_PRINT(wanted.text), SLICE_PRINT((*link)->text));
            }
            *ret_child = *link;
            return STATUS_OK;
        }
        link = &(*link)->next;
    }
    Node *child = memory_new(1, sizeof *child);
    if (child == NULL) {
        return call_fail_memory(call, "the route table");
    }
    *child = wanted;
    child->next = *link;
    *link = child;
    *ret_child = child;
    return STATUS_OK;
}

static size_t
method_index(const char *method)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    size_t index = 0;
    while (index < COUNT_OF(methods) && strcmp(methods[index], wanted) != 0) {
        index++;
    }
    return index;
}

static Status
handler_add(Call *call, Node *root, const Handler *handler)
{
    size_t method = method_index(handler->method);
    if (method == COUNT_OF(methods) || handler->path[0] != '/' ||
        (handler->run == NULL) == (handler->start == NULL)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "handler '%s' needs a known method, a path that starts with '/', and one of run and start",
            handler->operation_id);
    }
    Node *node = root;
    Slice rest = slice_from_string(handler->path + 1);
    Slice segment;
    while (slice_split(&rest, '/', &segment)) {
        TRY(child_add(call, node, segment_read(segment), handler, &node));
    }
    if (node->handlers[method] != NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' and '%s' both serve %s %s",
            node->handlers[method]->operation_id, handler->operation_id, handler->method, handler->path);
    }
    node->handlers[method] = handler;
    return STATUS_OK;
}

static void
children_free(Node *node)
{
    Node *child = node->children;
    while (child != NULL) {
        Node *next = child->next;
        children_free(child);
        memory_free(child);
        child = next;
    }
}

void
router_free(Router *router)
{
    if (router != NULL) {
        children_free(&router->root);
        memory_free(router);
    }
}

Status
router_new(Call *call, const Handler *const *handlers, Router **ret_router)
{
    assert(handlers != NULL);

    Router *router = memory_new(1, sizeof *router);
    if (router == NULL) {
        return call_fail_memory(call, "the route table");
    }
    for (; *handlers != NULL; handlers++) {
        Status status = handler_add(call, &router->root, *handlers);
        if (status != STATUS_OK) {
            router_free(router);
            return status;
        }
    }
    *ret_router = router;
    return STATUS_OK;
}

typedef struct Search {
    const Slice *segments;
    size_t segment_count;
    Field *parameters;
    size_t parameter_count;
} Search;

/* Returns whether the node takes the segment; a parameter's value is noted. */
static bool
node_takes(const Node *node, Slice segment, Search *search)
{
    if (node->kind == NODE_LITERAL) {
        return slice_equal(node->text, segment);
    }
    if (segment.size <= node->verb.size || !slice_ends_with(segment, node->verb) ||
        search->parameter_count == REQUEST_PARAMETERS_MAX) {
        return false;
    }
    search->parameters[search->parameter_count++] =
        (Field){.name = node->text, .value = slice_part(segment, 0, segment.size - node->verb.size)};
    return true;
}

static bool
node_has_handler(const Node *node)
{
    for (size_t index = 0; index < COUNT_OF(methods); index++) {
        if (node->handlers[index] != NULL) {
            return true;
        }
    }
    return false;
}

/* Finds a route depth first. The recursion is as deep as the path has segments, at most
 * TARGET_SEGMENTS_MAX. */
static const Node *
node_find(const Node *node, size_t depth, Search *search)
{
    if (depth == search->segment_count) {
        return node_has_handler(node) ? node : NULL;
    }
    for (const Node *child = node->children; child != NULL; child = child->next) {
        size_t parameter_count = search->parameter_count;
        if (node_takes(child, search->segments[depth], search)) {
            const Node *found = node_find(child, depth + 1, search);
            if (found != NULL) {
                return found;
            }
        }
        search->parameter_count = parameter_count;
    }
    return NULL;
}

const Route *
router_find(const Router *router, const Slice *segments, size_t segment_count,
    Field ret_parameters[REQUEST_PARAMETERS_MAX], size_t *ret_parameter_count)
{
    assert(segment_count <= TARGET_SEGMENTS_MAX);

    Search search = {.segments = segments, .segment_count = segment_count, .parameters = ret_parameters};
    const Route *route = node_find(&router->root, 0, &search);
    *ret_parameter_count = search.parameter_count;
    return route;
}

const Handler *
route_handler(const Route *route, const char *method)
{
    size_t index = method_index(method);
    return index == COUNT_OF(methods) ? NULL : route->handlers[index];
}

void
route_allow(const Route *route, char ret_text[ROUTE_ALLOW_SIZE])
{
    size_t size = 0;
    for (size_t index = 0; index < COUNT_OF(methods); index++) {
        if (route->handlers[index] != NULL) {
            const char *also = index == 0 ? ", HEAD" : "";
            size +=
                (size_t)snprintf(ret_text + size, ROUTE_ALLOW_SIZE - size, "%s%s, ", methods[index], also);
        }
    }
    (void)snprintf(ret_text + size, ROUTE_ALLOW_SIZE - size, "OPTIONS");
}
