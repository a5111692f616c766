#include "gateway/cli/reply.h"

#include <assert.h>

static Status
refuse_answer(Call *call)
{
    call->error.code = STATUS_DATA_LOSS;
    return call_wrap(call, "the gateway's answer");
}

Status
reply_read(Call *call, Slice json, const JsonMember *members, size_t member_count, void *ret_struct)
{
    assert(members != NULL && member_count > 0 && ret_struct != NULL);
    static const JsonDialect dialect = {
        .unknown = JSON_UNKNOWN_IS_SKIPPED, .null_is_absent = true, .skips_other_kinds = true};
    JsonTable table = {.name = "an answer", .members = members, .member_count = member_count};
    return json_stream_read(call, json, &dialect, &table, ret_struct) == STATUS_OK ? STATUS_OK
                                                                                   : refuse_answer(call);
}

Status
reply_text(Call *call, Slice json, const char *name, Slice *ret_text)
{
    JsonMember member = {.name = name, .type = JSON_SLICE};
    *ret_text = (Slice){0};
    return reply_read(call, json, &member, 1, ret_text);
}

Status
reply_each(Call *call, Slice json, const char *name, ReplyEach each, void *context)
{
    assert(each != NULL);
    Slice array = name == NULL ? json : (Slice){0};
    if (name != NULL) {
        JsonMember member = {.name = name, .type = JSON_TEXT};
        TRY(reply_read(call, json, &member, 1, &array));
    }
    if (array.size == 0) {
        return STATUS_OK;
    }
    JsonScanner scanner;
    Slice item;
    json_scan_begin(&scanner, array, JSON_DEPTH_MAX);
    for (bool has_more = json_array_begin(&scanner); has_more && json_array_next(&scanner);) {
        has_more = json_skip(&scanner, &item);
        if (has_more) {
            TRY(each(call, context, item));
        }
    }
    return json_scan_end(call, &scanner) == STATUS_OK ? STATUS_OK : refuse_answer(call);
}
