/* sluice workers: the workers and their states. */
#include "gateway/cli/command.h"
#include "gateway/cli/list.h"

typedef struct WorkerRow {
    int64_t task;
    Slice name;
    Slice address;
    Slice state;
    int64_t running;
} WorkerRow;

static Status
worker_row(Call *call, void *context, Slice json)
{
    static const JsonMember members[] = {
        {"task", JSON_INT64, .offset = offsetof(WorkerRow, task)},
        {"name", JSON_SLICE, .offset = offsetof(WorkerRow, name)},
        {"address", JSON_SLICE, .offset = offsetof(WorkerRow, address)},
        {"state", JSON_SLICE, .offset = offsetof(WorkerRow, state)},
        {"running", JSON_INT64, .offset = offsetof(WorkerRow, running)},
    };
    ScreenTable *table = context;
    WorkerRow row = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &row));
    screen_table_number(table, row.task);
    screen_table_cell(table, row.name);
    screen_table_cell(table, row.address);
    screen_table_cell(table, row.state);
    screen_table_number(table, row.running);
    return STATUS_OK;
}

static Status
list_workers(Cli *cli)
{
    static const char *const titles[] = {"TASK", "NAME", "ADDRESS", "STATE", "RUNNING"};
    List list = {.path = "/api/v1/workers",
        .member = "workers",
        .titles = titles,
        .column_count = COUNT_OF(titles),
        .row = worker_row};
    return list_show(cli, &list);
}

COMMAND(workers) = {
    .name = "workers",
    .arguments = "",
    .summary = "list the workers of the pool",
    .run = list_workers,
};
