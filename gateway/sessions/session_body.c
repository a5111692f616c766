#include "gateway/sessions/session_body.h"

#include <string.h>

#include "gateway/sessions/session_options.h"
#include "shared/base/text.h"
#include "shared/json/reader.h"

typedef struct Document {
    const char *name;
    Slice options;
} Document;

static Status
check_options(Call *call, Slice json, const Limits *limits)
{
    SessionOptions options;
    TRY(session_options_read(call, json, &options));
    if (options.plan.slot_count > limits->session_slots) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "'slots' is %u, the limit session_slots is %llu",
            options.plan.slot_count, (unsigned long long)limits->session_slots);
    }
    return STATUS_OK;
}

Status
session_body_read(Call *call, Slice json, const Limits *limits, SessionBody *ret_body)
{
    static const JsonMember members[] = {
        {"name", JSON_STRING_COPY, .offset = offsetof(Document, name)},
        {"options", JSON_TEXT, .offset = offsetof(Document, options)},
    };
    static const JsonTable table = JSON_TABLE("a session", members);
    Document document = {0};
    if (json.size > 0) {
        TRY(json_document_read(call, json, &table, &document));
    }
    SessionBody body = {.name = document.name};
    if (body.name != NULL && strlen(body.name) > limits->name_bytes) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "'name' has %zu bytes, the limit name_bytes is %llu",
            strlen(body.name), (unsigned long long)limits->name_bytes);
    }
    if (document.options.data != NULL) {
        TRY(check_options(call, document.options, limits));
        body.options = text_copy(call->arena, document.options);
        if (body.options == NULL) {
            return call_fail_memory(call, "a session's options");
        }
    }
    *ret_body = body;
    return STATUS_OK;
}
