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
    Slice card;
    Slice driver;
    Slice fault;
    Slice no_gpu;
    Slice libraries; /* JSON */
} DeviceRow;

typedef struct Library {
    Slice name;
    Slice version;
    Slice reason;
} Library;

/* Appends "; cuDNN 9.19.0", or "; no cuDNN: libcudnn.so.9 was not found". */
static Status
append_library(Call *call, void *context, Slice json)
{
    static const JsonMember members[] = {
        {"name", JSON_SLICE, .offset = offsetof(Library, name)},
        {"version", JSON_SLICE, .offset = offsetof(Library, version)},
        {"reason", JSON_SLICE, .offset = offsetof(Library, reason)},
    };
    Buffer *text = context;
    Library library = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &library));
    buffer_append_format(text, "; %s%.*s", library.reason.size > 0 ? "no " : "", SLICE_PRINT(library.name));
    if (library.version.size > 0) {
        buffer_append_format(text, " %.*s", SLICE_PRINT(library.version));
    }
    if (library.reason.size > 0) {
        buffer_append_format(text, ": %.*s", SLICE_PRINT(library.reason));
    }
    return STATUS_OK;
}

/* Writes what there is to say of a GPU, or why a worker has none. */
static Status
describe_device(Call *call, const DeviceRow *row, Buffer *text)
{
    if (row->no_gpu.size > 0) {
        buffer_append_format(text, "no GPU: %.*s", SLICE_PRINT(row->no_gpu));
    }
    if (row->fault.size > 0) {
        buffer_append_format(text, "out of service: %.*s; ", SLICE_PRINT(row->fault));
    }
    buffer_append_slice(text, row->card);
    if (row->driver.size > 0) {
        buffer_append_format(text, ", driver %.*s", SLICE_PRINT(row->driver));
    }
    return row->libraries.size == 0 ? STATUS_OK
                                    : reply_each(call, row->libraries, NULL, append_library, text);
}

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
        {"card", JSON_SLICE, .offset = offsetof(DeviceRow, card)},
        {"driver", JSON_SLICE, .offset = offsetof(DeviceRow, driver)},
        {"fault", JSON_SLICE, .offset = offsetof(DeviceRow, fault)},
        {"no_gpu", JSON_SLICE, .offset = offsetof(DeviceRow, no_gpu)},
        {"libraries", JSON_TEXT, .offset = offsetof(DeviceRow, libraries)},
    };
    ScreenTable *table = context;
    DeviceRow row = {0};
    AUTO_BUFFER about = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &row));
    TRY(describe_device(call, &row, &about));
    screen_table_cell(table, row.name);
    screen_table_cell(table, row.type);
    screen_table_cell(table, row.isa);
    screen_table_cell(table, row.worker);
    screen_table_number(table, row.threads);
    screen_table_bytes(table, (uint64_t)row.memory_in_use);
    screen_table_bytes(table, (uint64_t)row.memory_limit);
    screen_table_cell(table, buffer_slice(&about));
    return STATUS_OK;
}

static Status
list_devices(Cli *cli)
{
    static const char *const titles[] = {
        "DEVICE", "TYPE", "ISA", "WORKER", "THREADS", "IN USE", "MEMORY", "ABOUT"};
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
