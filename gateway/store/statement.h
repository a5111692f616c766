/* A named, prepared SQL statement. Its text is the .sql file of that name in this directory; the build
 * collects them. A file that uses one says STATEMENT(name): a missing file is a link error with its name. */
#pragma once

#include <stddef.h>

typedef struct Statement {
    const char *name;
    size_t index; /* in sql_table */
    int parameter_count;
    const char *text;
} Statement;

extern const Statement *const sql_table[];
extern const size_t sql_table_count;

#define STATEMENT(name) extern const Statement sql_##name
