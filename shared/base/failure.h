/* Why a piece of work failed, as one value that travels whole: made from the Call where the cause was known,
 * kept by a run, written to the wire and read from it, kept by the gateway's step, reported to the client.
 *
 * Ownership: a plain value; its texts are inside.
 * Threads:   whoever has it. */
#pragma once

#include "shared/base/call.h"

typedef struct Failure {
    Status code;                      /* STATUS_OK: nothing failed, and both texts are empty */
    char message[ERROR_MESSAGE_SIZE]; /* the cause, as its function said it */
    char node[ERROR_NODE_SIZE];       /* the graph's node that failed; "": none, or not known */
} Failure;

/* Longer texts are cut. `node` may be empty. */
Failure failure_of(Status code, Slice node, const char *format, ...) PRINTF_LIKE(3, 4);

/* Returns the call's failure; UNKNOWN when none was ever said. `node` is told unless the call blames another
 * one (call_blame()). */
Failure failure_of_call(const Call *call, Slice node);

/* Fails the call with all of it; STATUS_OK when there is nothing. */
MUST_USE Status failure_raise(Call *call, const Failure *failure);

/* "node 'x': message", or the message alone. */
void failure_text(const Failure *failure, char ret_text[ERROR_MESSAGE_SIZE]);
