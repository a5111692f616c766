/* Graphs: immutable, each with the bytes that were sent (a blob) and a summary of what is in them. A graph
 * that extends another one consists of that one's parts and of its own source.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store.
 * Errors:    NOT_FOUND also when the graph is another tenant's or another session's. */
#pragma once

#include "gateway/store/connection.h"
#include "gateway/store/page.h"

typedef struct StoredGraph {
    GraphId id;
    SessionId session;
    GraphId parent;         /* the graph that this one extends; zero for none */
    int64_t version;        /* the number of its parts */
    Sha256 digest;          /* over all parts: the resource's ETag */
    const char *media_type; /* of the source */
    Sha256 source;          /* the blob of the bytes that were sent */
    const char *summary;    /* a JSON object */
    uint64_t created_us;
} StoredGraph;

typedef struct GraphPage {
    StoredGraph *items;
    size_t count;
    bool has_more;
} GraphPage;

/* One of a graph's parts, in order. */
typedef struct GraphPart {
    Sha256 source;
    const char *media_type;
} GraphPart;

/* Stores a graph whose source is a blob already; in a transaction. The same digest and media type are the
 * same graph: *ret_is_new is false then. NOT_FOUND when session or parent do not exist, ABORTED when the
 * parent has been extended by another request, RESOURCE_EXHAUSTED by quota. */
MUST_USE Status graphs_create(Call *call, Store *store, TenantId tenant, const StoredGraph *graph,
    StoredGraph *ret_graph, bool *ret_is_new);

/* Notes blobs that the graph needs beside its sources, so that they stay as long as it; in the transaction
 * that creates it. What its parent needs is added. NOT_FOUND when a blob is gone. */
MUST_USE Status graphs_keep_files(
    Call *call, Store *store, TenantId tenant, const StoredGraph *graph, const Sha256 *files, size_t count);

MUST_USE Status graphs_find(
    Call *call, Store *store, TenantId tenant, SessionId session, GraphId id, StoredGraph *ret_graph);

/* Lists the graph's parts, `graph->version` of them. NOT_FOUND when it was deleted meanwhile. */
MUST_USE Status graphs_parts(
    Call *call, Store *store, TenantId tenant, const StoredGraph *graph, const GraphPart **ret_parts);

/* Finds the session's newest graph, which steps run that name none. */
MUST_USE Status graphs_find_newest(
    Call *call, Store *store, TenantId tenant, SessionId session, StoredGraph *ret_graph);

MUST_USE Status graphs_list(
    Call *call, Store *store, TenantId tenant, SessionId session, const Page *page, GraphPage *ret_page);

MUST_USE Status graphs_delete(Call *call, Store *store, TenantId tenant, SessionId session, GraphId id);
