#include "gateway/store/graphs.h"

#include <assert.h>

#include "gateway/store/tenants.h"

STATEMENT(graph_insert);
STATEMENT(graph_find_same);
STATEMENT(graph_count);
STATEMENT(graph_find);
STATEMENT(graph_list);
STATEMENT(graph_delete);
STATEMENT(graph_file_insert);
STATEMENT(graph_part_insert);
STATEMENT(graph_part_list);

static Status
read_graph(Call *call, const Rows *rows, size_t row, StoredGraph *ret_graph)
{
    StoredGraph graph;
    RowReader reader = row_reader(call, rows, row);
    graph.id.value = row_uuid(&reader);
    graph.session.value = row_uuid(&reader);
    graph.parent.value = row_uuid(&reader);
    graph.version = row_int64(&reader);
    graph.digest = row_digest(&reader);
    graph.media_type = row_text(&reader);
    graph.source = row_digest(&reader);
    graph.summary = row_text(&reader);
    graph.created_us = row_time_us(&reader);
    TRY(row_end(call, &reader));
    *ret_graph = graph;
    return STATUS_OK;
}

/* Finds out why no row was inserted: the same graph is stored already, or was until a moment ago, or its
 * parent has been extended by another graph. */
static Status
find_same(Call *call, Store *store, TenantId tenant, const StoredGraph *graph, StoredGraph *ret_graph)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, graph->session.value);
    values_digest(&values, &graph->digest);
    values_text(&values, graph->media_type);
    TRY(store_query(call, store, tenant, &sql_graph_find_same, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_ABORTED,
            uuid_is_zero(graph->parent.value) ? "the same graph was deleted at this moment"
                                              : "the graph has been extended by another request");
    }
    return read_graph(call, &rows, 0, ret_graph);
}

static Status
check_quota(Call *call, Store *store, TenantId tenant)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    TRY(quotas_lock(call, store, tenant, "graphs_max"));
    TRY(store_query(call, store, tenant, &sql_graph_count, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_NOT_FOUND, "the tenant has no quotas");
    }
    RowReader reader = row_reader(call, &rows, 0);
    int64_t most = row_int64(&reader);
    int64_t count = row_int64(&reader);
    TRY(row_end(call, &reader));
    return count < most ? STATUS_OK
                        : call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the quota 'graphs_max' is used up");
}

static Status
fail_not_found(Call *call, GraphId id)
{
    char text[ID_TEXT_SIZE];
    id_to_text("grf", id.value, text);
    return call_fail(call, STATUS_NOT_FOUND, "graph '%s' does not exist", text);
}

/* Translates violations of the table's constraints into sentences for the client. */
static Status
explain_refusal(Call *call, const StoredGraph *graph, Status status)
{
    char session[ID_TEXT_SIZE];
    id_to_text("ses", graph->session.value, session);
    if (status == STATUS_FAILED_PRECONDITION) {
        return call_fail(
            call, STATUS_NOT_FOUND, "session '%s' does not exist, or the source is no blob", session);
    }
    return status;
}

static Status
insert_graph(Call *call, Store *store, TenantId tenant, const StoredGraph *graph, Rows *ret_rows)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, graph->id.value);
    values_uuid(&values, graph->session.value);
    values_uuid(&values, graph->parent.value);
    values_int64(&values, graph->version);
    values_digest(&values, &graph->digest);
    values_text(&values, graph->media_type);
    values_digest(&values, &graph->source);
    values_text(&values, graph->summary);
    Status status = store_query(call, store, tenant, &sql_graph_insert, &values, ret_rows);
    return status == STATUS_OK ? STATUS_OK : explain_refusal(call, graph, status);
}

/* Writes the parts of an extended graph. Some are missing when the parent is deleted at this moment. */
static Status
insert_parts(Call *call, Store *store, TenantId tenant, const StoredGraph *graph)
{
    uint64_t count = 0;
    Values values = {0};
    if (uuid_is_zero(graph->parent.value)) {
        return STATUS_OK;
    }
    values_uuid(&values, tenant.value);
    values_uuid(&values, graph->id.value);
    values_uuid(&values, graph->parent.value);
    TRY(store_execute(call, store, tenant, &sql_graph_part_insert, &values, &count));
    return (int64_t)count + 1 == graph->version ? STATUS_OK : fail_not_found(call, graph->parent);
}

Status
graphs_create(Call *call, Store *store, TenantId tenant, const StoredGraph *graph, StoredGraph *ret_graph,
    bool *ret_is_new)
{
    assert(graph->media_type != NULL && graph->summary != NULL);

    AUTO_ROWS rows = {0};
    TRY(check_quota(call, store, tenant));
    TRY(insert_graph(call, store, tenant, graph, &rows));
    *ret_is_new = rows.count > 0;
    if (rows.count == 0) {
        return find_same(call, store, tenant, graph, ret_graph);
    }
    TRY(insert_parts(call, store, tenant, graph));
    return read_graph(call, &rows, 0, ret_graph);
}

Status
graphs_keep_files(
    Call *call, Store *store, TenantId tenant, const StoredGraph *graph, const Sha256 *files, size_t count)
{
    AUTO_SQL_ARRAY digests = sql_array(SQL_BYTES);
    Values values = {0};
    if (count == 0 && uuid_is_zero(graph->parent.value)) {
        return STATUS_OK;
    }
    for (size_t index = 0; index < count; index++) {
        sql_array_bytes(&digests, slice_of(files[index].bytes, SHA256_SIZE));
    }
    values_uuid(&values, tenant.value);
    values_uuid(&values, graph->id.value);
    if (!values_array(&values, &digests)) {
        return call_fail_memory(call, "a graph's files");
    }
    values_uuid(&values, graph->parent.value);
    Status status = store_execute(call, store, tenant, &sql_graph_file_insert, &values, NULL);
    return status == STATUS_FAILED_PRECONDITION
               ? call_fail(call, STATUS_NOT_FOUND, "a file of the graph was removed at this moment")
               : status;
}

static Status
find_graph(Call *call, Store *store, TenantId tenant, SessionId session, GraphId id, Rows *ret_rows)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, session.value);
    values_uuid(&values, id.value);
    return store_query(call, store, tenant, &sql_graph_find, &values, ret_rows);
}

Status
graphs_find(Call *call, Store *store, TenantId tenant, SessionId session, GraphId id, StoredGraph *ret_graph)
{
    AUTO_ROWS rows = {0};
    if (uuid_is_zero(id.value)) {
        return fail_not_found(call, id);
    }
    TRY(find_graph(call, store, tenant, session, id, &rows));
    return rows.count == 0 ? fail_not_found(call, id) : read_graph(call, &rows, 0, ret_graph);
}

Status
graphs_parts(Call *call, Store *store, TenantId tenant, const StoredGraph *graph, const GraphPart **ret_parts)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, graph->id.value);
    TRY(store_query(call, store, tenant, &sql_graph_part_list, &values, &rows));
    if ((int64_t)rows.count + 1 != graph->version) {
        return fail_not_found(call, graph->id);
    }
    GraphPart *parts = arena_alloc(call->arena, (rows.count + 1) * sizeof *parts);
    if (parts == NULL) {
        return call_fail_memory(call, "a graph");
    }
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        parts[index].source = row_digest(&reader);
        parts[index].media_type = row_text(&reader);
        TRY(row_end(call, &reader));
    }
    parts[rows.count] = (GraphPart){graph->source, graph->media_type};
    *ret_parts = parts;
    return STATUS_OK;
}

Status
graphs_find_newest(Call *call, Store *store, TenantId tenant, SessionId session, StoredGraph *ret_graph)
{
    AUTO_ROWS rows = {0};
    TRY(find_graph(call, store, tenant, session, (GraphId){{{0}}}, &rows));
    return rows.count == 0 ? call_fail(call, STATUS_NOT_FOUND, "the session has no graph")
                           : read_graph(call, &rows, 0, ret_graph);
}

Status
graphs_list(
    Call *call, Store *store, TenantId tenant, SessionId session, const Page *page, GraphPage *ret_page)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, session.value);
    values_uuid(&values, page->before);
    values_int64(&values, (int64_t)page_size(page) + 1);
    TRY(store_query(call, store, tenant, &sql_graph_list, &values, &rows));
    GraphPage found = {.has_more = rows.count > page_size(page)};
    found.count = rows.count - found.has_more;
    found.items = arena_alloc(call->arena, (found.count + 1) * sizeof *found.items);
    if (found.items == NULL) {
        return call_fail_memory(call, "a page of graphs");
    }
    for (size_t index = 0; index < found.count; index++) {
        TRY(read_graph(call, &rows, index, &found.items[index]));
    }
    *ret_page = found;
    return STATUS_OK;
}

Status
graphs_delete(Call *call, Store *store, TenantId tenant, SessionId session, GraphId id)
{
    uint64_t changed = 0;
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, session.value);
    values_uuid(&values, id.value);
    TRY(store_execute(call, store, tenant, &sql_graph_delete, &values, &changed));
    return changed == 0 ? fail_not_found(call, id) : STATUS_OK;
}
