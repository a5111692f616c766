#include "shared/h2/codes.h"

#include <nghttp2/nghttp2.h>

#include "shared/base/compiler.h"

Status
h2_status_of_code(uint32_t error_code)
{
    static const Status statuses[] = {
        [NGHTTP2_NO_ERROR] = STATUS_CANCELLED,
        [NGHTTP2_PROTOCOL_ERROR] = STATUS_INTERNAL,
        [NGHTTP2_INTERNAL_ERROR] = STATUS_INTERNAL,
        [NGHTTP2_FLOW_CONTROL_ERROR] = STATUS_INTERNAL,
        [NGHTTP2_SETTINGS_TIMEOUT] = STATUS_INTERNAL,
        [NGHTTP2_STREAM_CLOSED] = STATUS_INTERNAL,
        [NGHTTP2_FRAME_SIZE_ERROR] = STATUS_INTERNAL,
        [NGHTTP2_REFUSED_STREAM] = STATUS_UNAVAILABLE,
        [NGHTTP2_CANCEL] = STATUS_CANCELLED,
        [NGHTTP2_COMPRESSION_ERROR] = STATUS_INTERNAL,
        [NGHTTP2_CONNECT_ERROR] = STATUS_INTERNAL,
        [NGHTTP2_ENHANCE_YOUR_CALM] = STATUS_RESOURCE_EXHAUSTED,
        [NGHTTP2_INADEQUATE_SECURITY] = STATUS_INTERNAL,
        [NGHTTP2_HTTP_1_1_REQUIRED] = STATUS_INTERNAL,
    };
    return error_code < COUNT_OF(statuses) ? statuses[error_code] : STATUS_INTERNAL;
}

typedef struct StatusCode {
    Status status;
    uint32_t error_code;
} StatusCode;

uint32_t
h2_code_of_status(Status status)
{
    static const StatusCode codes[] = {
        {STATUS_CANCELLED, NGHTTP2_CANCEL},
        {STATUS_DEADLINE_EXCEEDED, NGHTTP2_CANCEL},
        {STATUS_UNAVAILABLE, NGHTTP2_REFUSED_STREAM},
        {STATUS_RESOURCE_EXHAUSTED, NGHTTP2_ENHANCE_YOUR_CALM},
    };
    for (size_t index = 0; index < COUNT_OF(codes); index++) {
        if (codes[index].status == status) {
            return codes[index].error_code;
        }
    }
    return NGHTTP2_INTERNAL_ERROR;
}

typedef struct Failure {
    int library_error;
    uint32_t error_code;
    Status status;
} Failure;

static const Failure *
find_failure(int library_error)
{
    static const Failure failures[] = {
        {NGHTTP2_ERR_NOMEM, NGHTTP2_INTERNAL_ERROR, STATUS_RESOURCE_EXHAUSTED},
        {NGHTTP2_ERR_FLOODED, NGHTTP2_ENHANCE_YOUR_CALM, STATUS_RESOURCE_EXHAUSTED},
        {NGHTTP2_ERR_TOO_MANY_CONTINUATIONS, NGHTTP2_ENHANCE_YOUR_CALM, STATUS_RESOURCE_EXHAUSTED},
        {NGHTTP2_ERR_CALLBACK_FAILURE, NGHTTP2_INTERNAL_ERROR, STATUS_RESOURCE_EXHAUSTED},
        {0, NGHTTP2_PROTOCOL_ERROR, STATUS_INTERNAL}, /* every other error: bytes that are not HTTP/2 */
    };
    size_t index = 0;
    while (failures[index].library_error != library_error && failures[index].library_error != 0) {
        index++;
    }
    return &failures[index];
}

uint32_t
h2_code_of_failure(int library_error)
{
    return find_failure(library_error)->error_code;
}

Status
h2_status_of_failure(int library_error)
{
    return find_failure(library_error)->status;
}
