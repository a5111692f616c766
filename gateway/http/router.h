/* From a path to its handler: a tree of segments built once from the table of handlers.
 *
 * At each place a literal is tried before "{name}:verb", and that before "{name}"; a branch that leads
 * nowhere is left again. A parameter takes any segment that is not empty, colons included.
 *
 * Ownership: the router borrows the handlers. Parameter values point into the segments.
 * Threads:   immutable once built.
 * Errors:    router_new() says INVALID_ARGUMENT when two handlers claim one route, or name one place's
 * parameter differently. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/http/target.h"

typedef struct Router Router;
typedef struct RouteNode Route; /* what stands at one path: a handler for each of its methods */

MUST_USE Status router_new(Call *call, const Handler *const *handlers, Router **ret_router);
void router_free(Router *router);

/* The route of these segments with its parameters, or NULL when there is none. */
const Route *router_find(const Router *router, const Slice *segments, size_t segment_count,
    Field ret_parameters[REQUEST_PARAMETERS_MAX], size_t *ret_parameter_count);

/* The handler of this method; HEAD is answered by GET's. NULL when the method is not allowed. */
const Handler *route_handler(const Route *route, const char *method);

/* "GET, HEAD, POST, OPTIONS", for the Allow header. */
enum { ROUTE_ALLOW_SIZE = 64 };
void route_allow(const Route *route, char ret_text[ROUTE_ALLOW_SIZE]);
