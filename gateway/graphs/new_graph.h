/* New graphs: what createGraph and extendGraph share between the request's body and the stored graph.
 *
 * Ownership: call->arena holds everything.
 * Threads:   job threads only: storing waits for the database.
 * Errors:    413 above the limit blob_bytes; those of graphs_create(). */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/graphs/graph_cache.h"
#include "gateway/graphs/graph_files.h"
#include "gateway/http/handler.h"
#include "gateway/sessions/session_cache.h"
#include "gateway/store/graphs.h"

enum { GRAPH_BUFFERED_SIZE_MAX = 64 << 20 }; /* of a body that is held in memory */

typedef struct NewGraph {
    GraphCache *graphs; /* the cache that it joins */
    SessionCache *sessions;
    SessionId session;
    const StoredGraph *parent; /* the graph that it extends; NULL: none */
    GraphSource source;        /* what is stored and read again: the request's body, or a skeleton */
    GraphWeights weights;      /* of a skeleton */
    GraphBody body;            /* the request's body, when weights lie in it */
    Graph *graph;              /* imported from `source`, and `parent` if any */
    size_t source_size;        /* bytes of all parts */
} NewGraph;

/* Copies the request's body into memory that a graph can hold on to after the request. */
MUST_USE Status new_graph_source(
    Call *call, const Request *request, const Limits *limits, Response *response, TensorBuffer **ret_source);

/* Stores the graph, in the transaction of the request's idempotency key or in one of its own, keeps it in the
 * cache and answers with it: 201, or 200 when it was there. */
MUST_USE Status new_graph_keep(Call *call, const Request *request, Response *response, const NewGraph *made);
