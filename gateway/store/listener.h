/* Hears that steps were queued or asked to be cancelled, by any gateway. A hint: who waits looks at the
 * database from time to time anyway.
 *
 * Threads: the one of the store, which is used for nothing else. */
#pragma once

#include "gateway/store/connection.h"

/* Begins, or begins again after UNAVAILABLE. */
MUST_USE Status listener_begin(Call *call, Store *store);

/* Waits at most `time_ms`; *ret_is_woken says whether something was heard, once for any number of hints.
 * UNAVAILABLE when the connection ended. */
MUST_USE Status listener_wait(Call *call, Store *store, uint64_t time_ms, bool *ret_is_woken);
