/* Translation of PostgreSQL's five-character error codes. */
#pragma once

#include "shared/base/status.h"

/* Returns the canonical code. NULL, which libpq gives for errors of its own, is UNAVAILABLE: the
 * connection is gone. */
Status sqlstate_status(const char *sqlstate);
