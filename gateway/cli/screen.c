#include "gateway/cli/screen.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "shared/base/text.h"

void
screen_append(Buffer *text, Slice foreign)
{
    enum { SPACE = 0x20, DELETE = 0x7f };
    for (size_t index = 0; index < foreign.size; index++) {
        unsigned char byte = (unsigned char)foreign.data[index];
        bool is_control = byte < SPACE || byte == DELETE;
        buffer_append(text, is_control ? "?" : &foreign.data[index], 1);
    }
}

static Status
write_all(Cli *cli, Slice text)
{
    bool is_written = fwrite(text.data, 1, text.size, stdout) == text.size && fflush(stdout) == 0;
    return is_written ? STATUS_OK
                      : call_fail(cli->call, STATUS_UNKNOWN, "standard output cannot be written: %s",
                            strerrordesc_np(errno));
}

Status
screen_write(Cli *cli, const Buffer *text)
{
    if (!buffer_is_ok(text)) {
        return call_fail_memory(cli->call, "the output");
    }
    return write_all(cli, buffer_slice(text));
}

Status
screen_write_json(Cli *cli, Slice json)
{
    TRY(write_all(cli, json));
    bool has_end = json.size > 0 && json.data[json.size - 1] == '\n';
    return has_end ? STATUS_OK : write_all(cli, SLICE("\n"));
}

void
screen_error(const Call *call)
{
    AUTO_BUFFER text = {0};
    buffer_append_string(&text, "sluice: ");
    screen_append(&text, slice_from_string(call->error.message));
    for (int index = 0; index < call->error.detail_count; index++) {
        const ErrorDetail *detail = &call->error.details[index];
        buffer_append_string(&text, index == 0 ? " [" : "; ");
        screen_append(&text, slice_from_string(detail->pointer));
        buffer_append_string(&text, detail->pointer[0] == '\0' ? "" : ": ");
        screen_append(&text, slice_from_string(detail->detail));
    }
    buffer_append_string(&text, call->error.detail_count > 0 ? "]" : "");
    if (call->request_id[0] != '\0') {
        buffer_append_format(&text, " (%s, request ", status_name(call->error.code));
        screen_append(&text, slice_from_string(call->request_id));
        buffer_append_byte(&text, ')');
    }
    buffer_append_byte(&text, '\n');
    const char *line = buffer_string(&text);
    (void)fputs(line == NULL ? "sluice: no memory left\n" : line, stderr);
}

typedef struct Unit {
    uint64_t size;
    const char *name;
} Unit;

/* Appends the value in the largest unit of which there is at least one, with a decimal unless that is the
 * smallest unit. */
static void
append_in_units(Buffer *text, uint64_t value, const Unit *units, size_t count)
{
    size_t chosen = count - 1;
    while (chosen > 0 && value < units[chosen].size) {
        chosen--;
    }
    double amount = (double)value / (double)units[chosen].size;
    buffer_append_format(text, chosen == 0 ? "%.0f %s" : "%.1f %s", amount, units[chosen].name);
}

void
screen_append_bytes(Buffer *text, uint64_t bytes)
{
    static const Unit units[] = {{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}};
    append_in_units(text, bytes, units, COUNT_OF(units));
}

void
screen_append_duration(Buffer *text, uint64_t duration_us)
{
    static const Unit units[] = {{1, "us"}, {1000, "ms"}, {1000000, "s"}, {60000000, "min"}};
    append_in_units(text, duration_us, units, COUNT_OF(units));
}

void
screen_append_duration_ns(Buffer *text, uint64_t duration_ns)
{
    static const Unit units[] = {{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}};
    append_in_units(text, duration_ns, units, COUNT_OF(units));
}

void
screen_table_begin(ScreenTable *table, Arena *arena, const char *const *titles, size_t column_count)
{
    assert(arena != NULL && column_count > 0 && column_count <= SCREEN_COLUMN_MAX);
    *table = (ScreenTable){.arena = arena, .column_count = column_count};
    for (size_t column = 0; column < column_count; column++) {
        screen_table_cell(table, slice_from_string(titles[column]));
    }
}

static bool
table_room(ScreenTable *table)
{
    enum { FIRST = 64 };
    if (table->cell_count < table->cell_capacity) {
        return true;
    }
    size_t capacity = table->cell_capacity == 0 ? FIRST : table->cell_capacity * 2;
    Slice *cells = arena_alloc(table->arena, capacity * sizeof *cells);
    if (cells == NULL) {
        table->has_failed = true;
        return false;
    }
    if (table->cell_count > 0) {
        memcpy(cells, table->cells, table->cell_count * sizeof *cells);
    }
    table->cells = cells;
    table->cell_capacity = capacity;
    return true;
}

void
screen_table_cell(ScreenTable *table, Slice foreign)
{
    const char *text = text_copy(table->arena, foreign);
    table->has_failed |= text == NULL;
    if (text != NULL && table_room(table)) {
        table->cells[table->cell_count++] = slice_of(text, foreign.size);
    }
}

void
screen_table_number(ScreenTable *table, int64_t number)
{
    AUTO_BUFFER text = {0};
    buffer_append_int64(&text, number);
    screen_table_cell(table, buffer_slice(&text));
}

void
screen_table_bytes(ScreenTable *table, uint64_t bytes)
{
    AUTO_BUFFER text = {0};
    screen_append_bytes(&text, bytes);
    screen_table_cell(table, buffer_slice(&text));
}

bool
screen_table_end(const ScreenTable *table, Buffer *text)
{
    size_t widths[SCREEN_COLUMN_MAX] = {0};
    for (size_t index = 0; index < table->cell_count; index++) {
        size_t *width = &widths[index % table->column_count];
        *width = table->cells[index].size > *width ? table->cells[index].size : *width;
    }
    for (size_t index = 0; index < table->cell_count; index++) {
        size_t column = index % table->column_count;
        bool is_last = column + 1 == table->column_count;
        screen_append(text, table->cells[index]);
        buffer_append_format(text, "%*s%s", is_last ? 0 : (int)(widths[column] - table->cells[index].size),
            "", is_last ? "\n" : "  ");
    }
    return !table->has_failed && buffer_is_ok(text);
}
