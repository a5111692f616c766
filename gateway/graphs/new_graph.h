/* The way of a body to a graph that is kept: what createGraph and extendGraph share.
 *
 * Ownership: all is held by call->arena.
 * Threads:   job threads only: it waits for the database.
 * Errors:    413 above the limit blob_bytes; those of graphs_create(). */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/graphs/graph_cache.h"
#include "gateway/graphs/graph_import.h"
#include "gateway/http/handler.h"
#include "gateway/sessions/session_cache.h"
#include "gateway/store/graphs.h"

typedef struct NewGraph {
    GraphCache *graphs; /* that it joins */
    SessionCache *sessions;
    SessionId session;
    const StoredGraph *parent; /* that it extends; NULL: none */
    GraphSource source;        /* the body */
    Graph *graph;              /* made of it */
    size_t source_size;        /* of all its parts */
} NewGraph;

/* The request's body in memory that outlives the request, as a graph does. */
MUST_USE Status new_graph_source(
    Call *call, const Request *request, const Limits *limits, Response *response, TensorBuffer **ret_source);

/* Stores the graph, in the transaction of the request's idempotency key or in one of its own, keeps it in the
 * cache and answers with it: 201, or 200 when it was there. */
MUST_USE Status new_graph_keep(Call *call, const Request *request, Response *response, const NewGraph *made);
