/* What PostgreSQL's five-character error codes mean to a caller. */
#pragma once

#include "shared/base/status.h"

/* NULL, which libpq gives for an error of its own, is UNAVAILABLE: the connection is gone. */
Status sqlstate_status(const char *sqlstate);
