/* The Call: one unit of work on its way down the stack, a request in the gateway or a step in the worker.
 *
 * A function that can fail for a reason worth explaining takes the Call first and returns a Status. It
 * explains itself once, where the cause is known, with call_fail(); callers pass the Status on with TRY()
 * and may add what they were doing with call_wrap(). Nothing below main() logs an error: the top of the
 * stack logs the Call's error once.
 *
 * Ownership: a Call borrows its arena; the texts of its details live there.
 * Threads:   one at a time, but any may set `is_cancelled` with call_cancel(), and ask call_is_over().
 * Errors:    the last failure of the call is in `error`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/arena.h"
#include "shared/base/status.h"

enum { ERROR_MESSAGE_SIZE = 512, ERROR_NODE_SIZE = 128, ERROR_DETAILS_MAX = 20, REQUEST_ID_SIZE = 33 };

/* One of several faults of one document; `pointer` is a JSON pointer (RFC 6901) into it. */
typedef struct ErrorDetail {
    const char *pointer;
    const char *detail;
} ErrorDetail;

typedef struct Error {
    Status code;
    const char *file;
    int line;
    char message[ERROR_MESSAGE_SIZE];
    char node[ERROR_NODE_SIZE]; /* the graph's node that failed; "": the caller knows which */
    ErrorDetail details[ERROR_DETAILS_MAX];
    int detail_count;
} Error;

typedef struct Call {
    Arena *arena;
    uint64_t deadline_ns; /* monotonic; 0 means none */
    char request_id[REQUEST_ID_SIZE];
    bool is_cancelled;
    const bool *has_ended; /* atomic: the call's whole has ended otherwise; NULL: it is part of none */
    Error error;
} Call;

/* Records why the work fails and returns `code`. */
#define call_fail(call, code, ...) call_failure(call_fail_at(call, code, __FILE__, __LINE__, __VA_ARGS__))

/* Puts what was being done in front of the message: "loading model m7" makes "loading model m7: file not
 * found" of "file not found". Returns the code that the failure has. */
#define call_wrap(call, ...) call_failure(call_wrap_with(call, __VA_ARGS__))

/* Fails with RESOURCE_EXHAUSTED: the call's arena, or the machine, has no room for `what`. */
#define call_fail_memory(call, what) call_fail(call, STATUS_RESOURCE_EXHAUSTED, "no memory left for %s", what)

MUST_USE Status call_fail_at(Call *call, Status code, const char *file, int line, const char *format, ...)
    PRINTF_LIKE(5, 6);
MUST_USE Status call_wrap_with(Call *call, const char *format, ...) PRINTF_LIKE(2, 3);

/* Returns `status`, and tells compilers and analyzers, which see one function at a time, that it is not
 * STATUS_OK. */
MUST_USE static inline Status
call_failure(Status status)
{
    if (status == STATUS_OK) {
        __builtin_unreachable(); /* asserted by call_fail_at() and call_wrap_with() */
    }
    return status;
}

/* Names the node of a graph to which the call's failure belongs, when it is not the one that the caller
 * thinks of. A longer name is cut; an empty one takes the blame back. */
void call_blame(Call *call, Slice node);

/* Adds one fault to the list that a later call_fail() sums up. The first ERROR_DETAILS_MAX are kept. */
void call_note(Call *call, const char *pointer, const char *format, ...) PRINTF_LIKE(3, 4);

/* Asks the work to stop at its next call_check(). */
void call_cancel(Call *call);

/* Fails with CANCELLED when somebody asked for it or nobody waits for it any more, with DEADLINE_EXCEEDED
 * when `now_ns` is past the deadline. */
MUST_USE Status call_check(Call *call, uint64_t now_ns);

/* Returns whether call_check() would fail. Any thread may ask. */
bool call_is_over(const Call *call, uint64_t now_ns);

/* Adds units of work, of about a nanosecond each, to *work, which begins as 0, and asks call_is_over() once
 * in a millisecond of it. Once it has returned true it goes on to. */
bool call_ends_after(const Call *call, uint64_t units, uint64_t *work);

/* Returns the nanoseconds left, 0 when there are none, UINT64_MAX without a deadline. */
uint64_t call_time_left_ns(const Call *call, uint64_t now_ns);

#define TRY(expression)                                                                                      \
    do {                                                                                                     \
        Status try_status_ = (expression);                                                                   \
        if (try_status_ != STATUS_OK) {                                                                      \
            return try_status_;                                                                              \
        }                                                                                                    \
    } while (0)
