#include "shared/base/failure.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

Failure
failure_of(Status code, Slice node, const char *format, ...)
{
    Failure failure;
    assert(code != STATUS_OK);
    failure.code = code;
    (void)snprintf(failure.node, sizeof failure.node, "%.*s", SLICE_PRINT(node));
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(failure.message, sizeof failure.message, format, arguments);
    va_end(arguments);
    return failure;
}

Failure
failure_of_call(const Call *call, Slice node)
{
    const Error *error = &call->error;
    Slice culprit = error->node[0] == '\0' ? node : slice_from_string(error->node);
    Status code = error->code == STATUS_OK ? STATUS_UNKNOWN : error->code;
    return failure_of(code, culprit, "%s", error->message);
}

Status
failure_raise(Call *call, const Failure *failure)
{
    if (failure->code == STATUS_OK) {
        return STATUS_OK;
    }
    Status status = call_fail(call, failure->code, "%s", failure->message);
    call_blame(call, slice_from_string(failure->node));
    return status;
}

void
failure_text(const Failure *failure, char ret_text[ERROR_MESSAGE_SIZE])
{
    if (failure->node[0] == '\0') {
        (void)snprintf(ret_text, ERROR_MESSAGE_SIZE, "%s", failure->message);
    } else {
        (void)snprintf(ret_text, ERROR_MESSAGE_SIZE, "node '%s': %.*s", failure->node,
            SLICE_PRINT(slice_from_string(failure->message)));
    }
}
