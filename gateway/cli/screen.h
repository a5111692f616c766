/* Prints text for people. A text from a server is shown without its control characters: a name must not
 * move the cursor or change a terminal's title. */
#pragma once

#include "gateway/cli/command.h"

/* Appends a text from outside, with every control character as '?'. */
void screen_append(Buffer *text, Slice foreign);

/* Writes to standard output. Fails when that is closed or full. */
MUST_USE Status screen_write(Cli *cli, const Buffer *text);

/* Writes JSON as it came, and a line end. */
MUST_USE Status screen_write_json(Cli *cli, Slice json);

/* Writes one line to standard error: the message, its details, the code and the request id. */
void screen_error(const Call *call);

/* Append "1.5 MiB"; "812 us", "2.4 s"; "95 ns", "1.5 us". */
void screen_append_bytes(Buffer *text, uint64_t bytes);
void screen_append_duration(Buffer *text, uint64_t duration_us);
void screen_append_duration_ns(Buffer *text, uint64_t duration_ns);

enum { SCREEN_COLUMN_MAX = 8 };

/* Rows of cells; each column becomes as wide as its widest cell. */
typedef struct ScreenTable {
    Arena *arena;
    size_t column_count;
    Slice *cells;
    size_t cell_count;
    size_t cell_capacity;
    bool has_failed;
} ScreenTable;

void screen_table_begin(ScreenTable *table, Arena *arena, const char *const *titles, size_t column_count);
void screen_table_cell(ScreenTable *table, Slice foreign); /* copies the cell */
void screen_table_number(ScreenTable *table, int64_t number);
void screen_table_bytes(ScreenTable *table, uint64_t bytes);

/* Appends the table. Returns false when it ran out of memory before. */
MUST_USE bool screen_table_end(const ScreenTable *table, Buffer *text);
