/* Routes: a tree of path segments, built once from the table of handlers, that finds a path's handler.
 *
 * At each segment a literal is tried before "{name}:verb", and that before "{name}"; the search backtracks
 * from a branch without a route. A parameter takes any segment that is not empty, colons included.
 *
 * Ownership: the router borrows the handlers. Parameter values point into the segments.
 * Threads:   immutable once built.
 * Errors:    router_new() says INVALID_ARGUMENT when two handlers claim one route, or give the same
 *            parameter two names. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/http/target.h"

typedef struct Router Router;
typedef struct RouteNode Route; /* the handlers of one path, by method */

MUST_USE Status router_new(Call *call, const Handler *const *handlers, Router **ret_router);
void router_free(Router *router);

/* Returns the route of these segments and its parameters, or NULL when there is none. */
const Route *router_find(const Router *router, const Slice *segments, size_t segment_count,
    Field ret_parameters[REQUEST_PARAMETERS_MAX], size_t *ret_parameter_count);

/* Returns the handler of this method; GET's answers HEAD. NULL when the method is not allowed. */
const Handler *route_handler(const Route *route, const char *method);

/* Writes the value of an Allow header: "GET, HEAD, POST, OPTIONS". */
enum { ROUTE_ALLOW_SIZE = 64 };
void route_allow(const Route *route, char ret_text[ROUTE_ALLOW_SIZE]);
