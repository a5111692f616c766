/* sluice devices: the devices of the workers. */
#include "gateway/cli/command.h"
#include "gateway/cli/list.h"

typedef struct DeviceRow {
    Slice name;
    Slice type;
    Slice isa;
    Slice worker;
    int64_t threads;
    int64_t memory_limit;
    int64_t memory_in_use;
} DeviceRow;

static Status
device_row(Call *call, void *context, Slice json)
{
    static const JsonMember members[] = {
        {"name", JSON_SLICE, .offset = offsetof(DeviceRow, name)},
        {"type", JSON_SLICE, .offset = offsetof(DeviceRow, type)},
        {"isa", JSON_SLICE, .offset = offsetof(DeviceRow, isa)},
        {"worker", JSON_SLICE, .offset = offsetof(DeviceRow, worker)},
        {"threads", JSON_INT64, .offset = offsetof(DeviceRow, threads)},
        {"memory_limit", JSON_INT64, .offset = offsetof(DeviceRow, memory_limit)},
        {"memory_in_use", JSON_INT64, .offset = offsetof(DeviceRow, memory_in_use)},
    };
    ScreenTable *table = context;
    DeviceRow row = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &row));
    screen_table_cell(table, row.name);
    screen_table_cell(table, row.type);
    screen_table_cell(table, row.isa);
    screen_table_cell(table, row.worker);
    screen_table_number(table, row.threads);
    screen_table_bytes(table, (uint64_t)row.memory_in_use);
    screen_table_bytes(table, (uint64_t)row.memory_limit);
    return STATUS_OK;
}

static Status
list_devices(Cli *cli)
{
    static const char *const titles[] = {"DEVICE", "TYPE", "ISA", "WORKER", "THREADS", "IN USE", "MEMORY"};
    List list = {.path = "/api/v1/devices",
        .member = "devices",
        .titles = titles,
        .column_count = COUNT_OF(titles),
        .row = device_row};
    return list_show(cli, &list);
}

COMMAND(devices) = {
    .name = "devices",
    .arguments = "",
    .summary = "list the devices of the pool",
    .run = list_devices,
};
