/* Arrays of the API as tables: a row an object, a column a member.
 *
 * Errors: DATA_LOSS when it is no JSON of the expected form. */
#pragma once

#include "gateway/cli/cli.h"

typedef enum SheetKind {
    SHEET_TEXT,
    SHEET_NUMBER,
    SHEET_BYTES,
    SHEET_MICROSECONDS,
    SHEET_NANOSECONDS,
    SHEET_JSON, /* as it stands there */
} SheetKind;

typedef struct SheetColumn {
    const char *title;
    const char *member;
    SheetKind kind;
} SheetColumn;

typedef struct Sheet {
    const char *member; /* of the document: the array */
    const SheetColumn *columns;
    size_t column_count; /* at most SCREEN_COLUMN_MAX */
} Sheet;

/* Appends the table, and an empty line in front of it when there is text already; nothing when the array is
 * absent or empty. What an item does not say is "-". */
MUST_USE Status sheet_append(Call *call, const Sheet *sheet, Slice json, Buffer *text);
