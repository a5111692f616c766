/* Notifications of PostgreSQL: steps were queued or are to be cancelled, and messages between gateways.
 * They are hints: listeners look at the database from time to time anyway, and a message without a
 * listener is lost.
 *
 * Threads: one, with a store that is used for nothing else; mail_send() uses the thread of its own store.
 * Errors:  UNAVAILABLE when the connection has ended. */
#pragma once

#include "gateway/store/connection.h"

/* Subscribes; again after UNAVAILABLE. `name` is this gateway's, and no other has it. */
MUST_USE Status listener_begin(Call *call, Store *store, const char *name);

/* Tells whether any gateway but the one of this name listens now. */
MUST_USE Status listener_has_others(Call *call, Store *store, const char *name, bool *ret_has_others);

/* A receiver of messages; `text` lives until `receive` returns. */
typedef struct MailBox {
    void (*receive)(void *context, const char *text);
    void *context;
} MailBox;

/* Waits at most `time_ms`; *ret_is_woken tells whether a hint came, once for any number of them. Messages
 * go into the box; NULL drops them. */
MUST_USE Status listener_wait(
    Call *call, Store *store, uint64_t time_ms, const MailBox *box, bool *ret_is_woken);

/* Sends a message to all gateways, this one too. The text has less than 8000 bytes. */
MUST_USE Status mail_send(Call *call, Store *store, const char *text);
