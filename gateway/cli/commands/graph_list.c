/* sluice graph list: the session's graphs, newest first. */
#include "gateway/cli/command.h"
#include "gateway/cli/list.h"
#include "gateway/cli/session.h"
#include "shared/base/text.h"

typedef struct GraphRow {
    Slice id;
    Slice created;
    Slice media_type;
} GraphRow;

static Status
graph_row(Call *call, void *context, Slice json)
{
    static const JsonMember members[] = {
        {"id", JSON_SLICE, .offset = offsetof(GraphRow, id)},
        {"created_at", JSON_SLICE, .offset = offsetof(GraphRow, created)},
        {"media_type", JSON_SLICE, .offset = offsetof(GraphRow, media_type)},
    };
    ScreenTable *table = context;
    GraphRow row = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &row));
    screen_table_cell(table, row.id);
    screen_table_cell(table, row.created);
    screen_table_cell(table, row.media_type);
    return STATUS_OK;
}

static Status
list_graphs(Cli *cli)
{
    static const char *const titles[] = {"GRAPH", "CREATED", "FORMAT"};
    char session[ID_TEXT_SIZE];
    TRY(session_resolve(cli, false, session));
    const char *path = text_format(cli->call->arena, "/api/v1/sessions/%s/graphs?page_size=1000", session);
    if (path == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    List list = {.path = path,
        .member = "graphs",
        .titles = titles,
        .column_count = COUNT_OF(titles),
        .row = graph_row};
    return list_show(cli, &list);
}

static const char *const settings[] = {"session", NULL};

COMMAND(graph_list) = {
    .name = "graph list",
    .arguments = "",
    .summary = "list the graphs of a session, newest first",
    .settings = settings,
    .run = list_graphs,
};
