#include "gateway/cli/plan.h"

#include <assert.h>

#include "gateway/cli/api.h"
#include "gateway/cli/graph.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/signature.h"
#include "shared/base/text.h"

typedef enum SheetKind {
    SHEET_TEXT,
    SHEET_NUMBER,
    SHEET_BYTES,
    SHEET_MICROSECONDS,
    SHEET_NANOSECONDS,
    SHEET_JSON, /* the value's own text */
} SheetKind;

typedef struct SheetColumn {
    const char *title;
    const char *member;
    SheetKind kind;
} SheetColumn;

typedef struct Sheet {
    const char *member; /* the array of the document */
    const SheetColumn *columns;
    size_t column_count; /* at most SCREEN_COLUMN_MAX */
} Sheet;

typedef struct SheetCell {
    Slice text;
    int64_t number; /* -1: absent */
} SheetCell;

/* A table while it is filled. */
typedef struct SheetRows {
    const Sheet *sheet;
    JsonMember members[SCREEN_COLUMN_MAX];
    ScreenTable table;
    size_t row_count;
} SheetRows;

static JsonMember
member_of(const SheetColumn *column, size_t index)
{
    size_t cell = index * sizeof(SheetCell);
    bool is_text = column->kind == SHEET_TEXT || column->kind == SHEET_JSON;
    return (JsonMember){
        .name = column->member,
        .type = column->kind == SHEET_TEXT   ? JSON_SLICE
                : column->kind == SHEET_JSON ? JSON_TEXT
                                             : JSON_INT64,
        .offset = cell + (is_text ? offsetof(SheetCell, text) : offsetof(SheetCell, number)),
    };
}

static void
cell_append(ScreenTable *table, SheetKind kind, const SheetCell *cell)
{
    AUTO_BUFFER text = {0};
    bool is_text = kind == SHEET_TEXT || kind == SHEET_JSON;
    uint64_t number = (uint64_t)cell->number;
    if (is_text ? cell->text.size == 0 : cell->number < 0) {
        buffer_append_byte(&text, '-');
    } else if (is_text) {
        buffer_append_slice(&text, cell->text);
    } else if (kind == SHEET_BYTES) {
        screen_append_bytes(&text, number);
    } else if (kind == SHEET_MICROSECONDS) {
        screen_append_duration(&text, number);
    } else if (kind == SHEET_NANOSECONDS) {
        screen_append_duration_ns(&text, number);
    } else {
        buffer_append_uint64(&text, number);
    }
    screen_table_cell(table, buffer_slice(&text));
}

static Status
row_append(Call *call, void *context, Slice json)
{
    SheetRows *rows = context;
    SheetCell cells[SCREEN_COLUMN_MAX];
    for (size_t index = 0; index < rows->sheet->column_count; index++) {
        cells[index] = (SheetCell){.number = -1};
    }
    TRY(reply_read(call, json, rows->members, rows->sheet->column_count, cells));
    for (size_t index = 0; index < rows->sheet->column_count; index++) {
        cell_append(&rows->table, rows->sheet->columns[index].kind, &cells[index]);
    }
    rows->row_count++;
    return STATUS_OK;
}

/* Appends the table, after an empty line when there is text already, or nothing when the array is absent
 * or empty. A member that an item lacks is "-". */
static Status
append_sheet(Call *call, const Sheet *sheet, Slice json, Buffer *text)
{
    assert(sheet->column_count <= SCREEN_COLUMN_MAX);
    const char *titles[SCREEN_COLUMN_MAX];
    SheetRows rows = {.sheet = sheet};
    for (size_t index = 0; index < sheet->column_count; index++) {
        titles[index] = sheet->columns[index].title;
        rows.members[index] = member_of(&sheet->columns[index], index);
    }
    screen_table_begin(&rows.table, call->arena, titles, sheet->column_count);
    TRY(reply_each(call, json, sheet->member, row_append, &rows));
    if (rows.row_count == 0) {
        return STATUS_OK;
    }
    buffer_append_string(text, text->size > 0 ? "\n" : "");
    return screen_table_end(&rows.table, text) ? STATUS_OK : call_fail_memory(call, "a table");
}

static Status
write_body(Cli *cli, bool wants_costs, Buffer *body)
{
    JsonWriter writer = json_writer(body);
    json_write_object_begin(&writer);
    TRY(signature_write(cli, &writer));
    if (wants_costs) {
        json_member_boolean(&writer, "costs", true);
    }
    json_write_object_end(&writer);
    return buffer_is_ok(body) ? STATUS_OK : call_fail_memory(cli->call, "a request");
}

Status
plan_request(Cli *cli, const PlanQuestion *question, HttpClientResponse *ret_reply)
{
    assert(question->suffix != NULL);
    AUTO_BUFFER body = {0};
    const char *path = NULL;
    const char *accept = text_format(cli->call->arena, "Accept: %s", question->accept);
    const char *const headers[] = {accept, NULL};
    TRY(write_body(cli, question->wants_costs, &body));
    TRY(graph_path(cli, question->suffix, &path));
    if (accept == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    ApiRequest request = {
        .method = "POST",
        .path = path,
        .body = buffer_slice(&body),
        .headers = headers,
        .label = "the plan",
    };
    return api_send(cli, &request, ret_reply);
}

#define SHEET(name, table)                                                                                   \
    {                                                                                                        \
        .member = (name), .columns = (table), .column_count = COUNT_OF(table)                                \
    }

static const SheetColumn slot_columns[] = {
    {"SLOT", "slot", SHEET_NUMBER},
    {"DEVICE", "device_type", SHEET_TEXT},
    {"TASK", "task", SHEET_NUMBER},
    {"MEMORY", "memory_bytes", SHEET_BYTES},
    {"OPERATIONS", "operations", SHEET_JSON},
};

static const SheetColumn partition_columns[] = {
    {"PARTITION", "slot", SHEET_NUMBER},
    {"NODES", "nodes", SHEET_NUMBER},
    {"SIZE", "bytes", SHEET_BYTES},
    {"FEEDS", "feeds", SHEET_JSON},
    {"FETCHES", "fetches", SHEET_JSON},
    {"DIGEST", "digest", SHEET_TEXT},
};

static const SheetColumn registration_columns[] = {
    {"REGISTRATION", "slot", SHEET_NUMBER},
    {"STATE", "state", SHEET_TEXT},
    {"WORKER", "worker", SHEET_TEXT},
    {"COPIES", "copies", SHEET_NUMBER},
};

static const SheetColumn assignment_columns[] = {
    {"ASSIGNED TO", "device", SHEET_TEXT},
    {"SLOT", "slot", SHEET_NUMBER},
    {"NODES", "count", SHEET_NUMBER},
    {"REASON", "reason", SHEET_TEXT},
};

static const SheetColumn transfer_columns[] = {
    {"TRANSFER", "node", SHEET_TEXT},
    {"FROM", "from", SHEET_NUMBER},
    {"TO", "to", SHEET_NUMBER},
    {"DTYPE", "dtype", SHEET_TEXT},
    {"SHAPE", "shape", SHEET_JSON},
    {"SIZE", "bytes", SHEET_BYTES},
    {"LOOP", "loop", SHEET_TEXT},
};

static const SheetColumn change_columns[] = {
    {"PASS", "pass", SHEET_TEXT},
    {"NODE", "node", SHEET_TEXT},
    {"INTO", "into", SHEET_TEXT},
    {"REASON", "reason", SHEET_TEXT},
};

static const SheetColumn node_columns[] = {
    {"NODE", "node", SHEET_TEXT},
    {"SLOT", "slot", SHEET_NUMBER},
    {"DEVICE", "device", SHEET_TEXT},
    {"REASON", "reason", SHEET_TEXT},
};

static const SheetColumn cost_columns[] = {
    {"COST OF", "node", SHEET_TEXT},
    {"OP", "op", SHEET_TEXT},
    {"SLOT", "slot", SHEET_NUMBER},
    {"RUNS", "runs", SHEET_NUMBER},
    {"MEAN", "mean_ns", SHEET_NANOSECONDS},
    {"OUTPUT", "output_bytes", SHEET_BYTES},
    {"ALLOCATED", "allocated_bytes", SHEET_BYTES},
    {"SCRATCH", "scratch_bytes", SHEET_BYTES},
};

static const Sheet plan_sheets[] = {
    SHEET("slots", slot_columns),
    SHEET("partitions", partition_columns),
    SHEET("registrations", registration_columns),
    SHEET("assignments", assignment_columns),
    SHEET("transfers", transfer_columns),
    SHEET("changes", change_columns),
    SHEET("nodes", node_columns),
};
static const Sheet cost_sheet = SHEET("nodes", cost_columns);

static Status
plan_append(Call *call, Slice json, Buffer *text)
{
    static const JsonMember costs_member = {.name = "costs", .type = JSON_TEXT};
    Slice costs = SLICE("");
    Slice graph = SLICE("");
    TRY(reply_text(call, json, "graph", &graph));
    TRY(reply_read(call, json, &costs_member, 1, &costs));
    screen_append(text, graph);
    buffer_append_byte(text, '\n');
    for (size_t index = 0; index < COUNT_OF(plan_sheets); index++) {
        TRY(append_sheet(call, &plan_sheets[index], json, text));
    }
    return costs.size == 0 ? STATUS_OK : append_sheet(call, &cost_sheet, costs, text);
}

Status
plan_show(Cli *cli, Slice json)
{
    AUTO_BUFFER text = {0};
    if (cli->is_json) {
        return screen_write_json(cli, json);
    }
    TRY(plan_append(cli->call, json, &text));
    return screen_write(cli, &text);
}

static const SheetColumn compiled_columns[] = {
    {"SLOT", "slot", SHEET_NUMBER},
    {"TASK", "task", SHEET_NUMBER},
    {"NODES", "nodes", SHEET_NUMBER},
    {"MEMORY", "memory_bytes", SHEET_BYTES},
    {"KNOWN", "was_registered", SHEET_JSON},
    {"UPLOADED", "uploaded_bytes", SHEET_BYTES},
    {"TIME", "elapsed_us", SHEET_MICROSECONDS},
    {"DIGEST", "digest", SHEET_TEXT},
};
static const Sheet compiled_sheet = SHEET("partitions", compiled_columns);

typedef struct Compilation {
    Slice graph;
    int64_t plan_us; /* 0: it had been planned before */
    int64_t register_us;
} Compilation;

static Status
compilation_append(Call *call, Slice json, Buffer *text)
{
    static const JsonMember members[] = {
        {"graph", JSON_SLICE, .offset = offsetof(Compilation, graph)},
        {"plan_us", JSON_INT64, .offset = offsetof(Compilation, plan_us)},
        {"register_us", JSON_INT64, .offset = offsetof(Compilation, register_us)},
    };
    Compilation compilation = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &compilation));
    screen_append(text, compilation.graph);
    if (compilation.plan_us > 0) {
        buffer_append_string(text, " planned in ");
        screen_append_duration(text, (uint64_t)compilation.plan_us);
    } else {
        buffer_append_string(text, " was planned");
    }
    buffer_append_string(text, ", registered in ");
    screen_append_duration(text, (uint64_t)compilation.register_us);
    buffer_append_byte(text, '\n');
    return append_sheet(call, &compiled_sheet, json, text);
}

Status
compilation_show(Cli *cli, Slice json)
{
    AUTO_BUFFER text = {0};
    if (cli->is_json) {
        return screen_write_json(cli, json);
    }
    TRY(compilation_append(cli->call, json, &text));
    return screen_write(cli, &text);
}
