/* sluice session list: the sessions, newest first. */
#include "gateway/cli/command.h"
#include "gateway/cli/list.h"
#include "gateway/cli/session.h"

typedef struct SessionRow {
    Slice id;
    Slice name;
    Slice created;
} SessionRow;

static Status
session_row(Call *call, void *context, Slice json)
{
    static const JsonMember members[] = {
        {"id", JSON_SLICE, .offset = offsetof(SessionRow, id)},
        {"name", JSON_SLICE, .offset = offsetof(SessionRow, name)},
        {"created_at", JSON_SLICE, .offset = offsetof(SessionRow, created)},
    };
    ScreenTable *table = context;
    SessionRow row = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &row));
    screen_table_cell(table, row.id);
    screen_table_cell(table, row.created);
    screen_table_cell(table, row.name);
    return STATUS_OK;
}

static Status
list_sessions(Cli *cli)
{
    static const char *const titles[] = {"SESSION", "CREATED", "NAME"};
    List list = {.path = sessions_path,
        .member = "sessions",
        .titles = titles,
        .column_count = COUNT_OF(titles),
        .row = session_row};
    return list_show(cli, &list);
}

COMMAND(session_list) = {
    .name = "session list",
    .arguments = "",
    .summary = "list the sessions, newest first",
    .details = "As JSON, every page of the list is printed as the gateway sends it.\n",
    .run = list_sessions,
};
