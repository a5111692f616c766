#include "shared/base/call.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

Status
call_fail_at(Call *call, Status code, const char *file, int line, const char *format, ...)
{
    assert(call != NULL);
    assert(code != STATUS_OK);

    call->error.code = code;
    call->error.file = file;
    call->error.line = line;
    call->error.node[0] = '\0';

    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(call->error.message, sizeof call->error.message, format, arguments);
    va_end(arguments);
    return code;
}

Status
call_wrap_with(Call *call, const char *format, ...)
{
    assert(call != NULL);
    assert(call->error.code != STATUS_OK);

    char cause[ERROR_MESSAGE_SIZE];
    memcpy(cause, call->error.message, sizeof cause);

    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(call->error.message, ERROR_MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    if (written >= 0 && written < ERROR_MESSAGE_SIZE) {
        int room = ERROR_MESSAGE_SIZE - written;
        (void)snprintf(call->error.message + written, (size_t)room, ": %.*s", room, cause);
    }
    return call->error.code;
}

void
call_blame(Call *call, Slice node)
{
    assert(call != NULL);
    assert(call->error.code != STATUS_OK);

    (void)snprintf(call->error.node, sizeof call->error.node, "%.*s", SLICE_PRINT(node));
}

void
call_note(Call *call, const char *pointer, const char *format, ...)
{
    assert(call != NULL && call->arena != NULL);

    if (call->error.detail_count == ERROR_DETAILS_MAX) {
        return;
    }
    char detail[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    ErrorDetail noted = {
        .pointer = text_copy(call->arena, slice_from_string(pointer)),
        .detail = text_copy(call->arena, slice_from_string(detail)),
    };
    if (noted.pointer != NULL && noted.detail != NULL) {
        call->error.details[call->error.detail_count++] = noted;
    }
}

void
call_cancel(Call *call)
{
    atomic_store_release(&call->is_cancelled, true);
}

static bool
is_given_up(const Call *call)
{
    return atomic_load_acquire(&call->is_cancelled) ||
           (call->has_ended != NULL && atomic_load_acquire(call->has_ended));
}

bool
call_is_over(const Call *call, uint64_t now_ns)
{
    return is_given_up(call) || call_time_left_ns(call, now_ns) == 0;
}

bool
call_ends_after(const Call *call, uint64_t units, uint64_t *work)
{
    enum { ASKED_AFTER = 1000000 };
    *work += units;
    if (*work < ASKED_AFTER) {
        return false;
    }
    bool is_over = call_is_over(call, clock_monotonic_ns());
    *work = is_over ? ASKED_AFTER : 0;
    return is_over;
}

Status
call_check(Call *call, uint64_t now_ns)
{
    assert(call != NULL);

    if (is_given_up(call)) {
        return call_fail(call, STATUS_CANCELLED, "the caller gave up");
    }
    if (call_time_left_ns(call, now_ns) == 0) {
        return call_fail(call, STATUS_DEADLINE_EXCEEDED, "the deadline has passed");
    }
    return STATUS_OK;
}

uint64_t
call_time_left_ns(const Call *call, uint64_t now_ns)
{
    if (call->deadline_ns == 0) {
        return UINT64_MAX;
    }
    return call->deadline_ns > now_ns ? call->deadline_ns - now_ns : 0;
}
