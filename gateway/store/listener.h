/* Hears that steps were queued or asked to be cancelled, by any gateway, and what gateways tell each other. A
 * hint: who waits looks at the database from time to time anyway. A message that nobody hears is lost.
 *
 * Threads: the one of the store, which is used for nothing else; mail_send() that of its store. */
#pragma once

#include "gateway/store/connection.h"

/* Begins, or begins again after UNAVAILABLE. */
MUST_USE Status listener_begin(Call *call, Store *store);

/* Who gets the messages; the text is gone when `receive` returns. */
typedef struct MailBox {
    void (*receive)(void *context, const char *text);
    void *context;
} MailBox;

/* Waits at most `time_ms`; *ret_is_woken says whether a hint was heard, once for any number of them. Messages
 * go into the box; NULL: they are dropped. UNAVAILABLE when the connection ended. */
MUST_USE Status listener_wait(
    Call *call, Store *store, uint64_t time_ms, const MailBox *box, bool *ret_is_woken);

/* Tells all gateways, this one too. The text has less than 8000 bytes. */
MUST_USE Status mail_send(Call *call, Store *store, const char *text);
