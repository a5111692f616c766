/* Translation of PostgreSQL's five-character error codes. */
#pragma once

#include "shared/base/status.h"

typedef enum SqlKind {
    SQL_ODD,   /* an operator should know */
    SQL_USUAL, /* happens without anything being wrong */
    SQL_FULL,  /* the server has no room to write */
} SqlKind;

typedef struct SqlMeaning {
    Status status;
    SqlKind kind;
    const char *text; /* for clients; NULL: PostgreSQL's own words are about their request */
} SqlMeaning;

/* Returns the canonical code. NULL, which libpq gives for errors of its own, is UNAVAILABLE: the
 * connection is gone. */
Status sqlstate_status(const char *sqlstate);
SqlMeaning sqlstate_meaning(const char *sqlstate);
