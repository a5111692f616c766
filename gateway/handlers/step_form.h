/* Bodies that createStep and continuePartialRun take: JSON, or a form whose parts are read as they arrive
 * (steps/step_upload.h). This is a header alone, since every .c file here is a handler. */
#pragma once

#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/steps/step_upload.h"

static const char *const step_form_types[] = {"application/json", "multipart/form-data", NULL};

static inline Status
step_form_begin(Exchange *exchange, void **ret_form)
{
    const Request *request = exchange_request(exchange);
    return step_upload_begin(exchange_call(exchange), request, request->parts->limits, ret_form);
}

/* Returns the sink of a form, or NULL for JSON, which is buffered. For Handler.sink. */
static inline const BodySink *
step_form_sink(const Request *request)
{
    static const BodySink form = {
        .size_max = STEP_UPLOAD_SIZE_MAX,
        .begin = step_form_begin,
        .write = step_upload_write,
    };
    return slice_equals_string(request->media_type, step_form_types[1]) ? &form : NULL;
}
