/* HTTP status codes that mean more than a canonical code can say: a body too large, a lost race on an ETag.
 * One table gives each its title (RFC 9110 15) and the canonical code that goes into the problem document. */
#pragma once

#include "shared/base/status.h"

const char *http_status_title(int http_status); /* "Error" for a code that is not in the table */

/* The canonical code that says it best; INTERNAL for a code that is not in the table. */
Status http_status_code(int http_status);
