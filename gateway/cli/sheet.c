#include "gateway/cli/sheet.h"

#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"

typedef struct SheetCell {
    Slice text;
    int64_t number; /* -1: not said */
} SheetCell;

/* What is being filled. */
typedef struct SheetRows {
    const Sheet *sheet;
    JsonMember members[SCREEN_COLUMN_MAX];
    ScreenTable table;
    size_t row_count;
} SheetRows;

static JsonMember
member_of(const SheetColumn *column, size_t index)
{
    const size_t cell = index * sizeof(SheetCell);
    const bool is_text = column->kind == SHEET_TEXT || column->kind == SHEET_JSON;
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
    const bool is_text = kind == SHEET_TEXT || kind == SHEET_JSON;
    const uint64_t number = (uint64_t)cell->number;
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
    SheetRows *const rows = context;
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

Status
sheet_append(Call *call, const Sheet *sheet, Slice json, Buffer *text)
{
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
