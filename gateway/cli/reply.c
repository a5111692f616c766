#include "gateway/cli/reply.h"

static Status
end_check(Call *call, JsonScanner *scanner)
{
    if (json_scan_end(call, scanner) == STATUS_OK) {
        return STATUS_OK;
    }
    call->error.code = STATUS_DATA_LOSS;
    return call_wrap(call, "the gateway's answer");
}

static void
member_read(JsonScanner *scanner, Arena *arena, const ReplyMember *member, void *ret_struct)
{
    void *const target = (char *)ret_struct + member->offset;
    const JsonKind kind = json_peek(scanner);
    Slice ignored;
    if (member->kind == REPLY_TEXT && kind == JSON_STRING) {
        (void)json_string(scanner, arena, target);
    } else if (member->kind == REPLY_NUMBER && kind == JSON_NUMBER) {
        (void)json_int64(scanner, target);
    } else if (member->kind == REPLY_RAW && kind != JSON_NULL) {
        (void)json_skip(scanner, target);
    } else {
        (void)json_skip(scanner, &ignored);
    }
}

Status
reply_read(Call *call, Slice json, const ReplyMember *members, size_t member_count, void *ret_struct)
{
    JsonScanner scanner;
    Slice name;
    json_scan_begin(&scanner, json, JSON_DEPTH_MAX);
    for (bool has_more = json_object_begin(&scanner); has_more && json_object_next(&scanner, &name);) {
        size_t index = 0;
        while (index < member_count && !slice_equals_string(name, members[index].name)) {
            index++;
        }
        Slice ignored;
        if (index < member_count) {
            member_read(&scanner, call->arena, &members[index], ret_struct);
        } else {
            has_more = json_skip(&scanner, &ignored);
        }
    }
    return end_check(call, &scanner);
}

Status
reply_text(Call *call, Slice json, const char *name, Slice *ret_text)
{
    const ReplyMember member = {.name = name, .kind = REPLY_TEXT};
    *ret_text = (Slice){0};
    return reply_read(call, json, &member, 1, ret_text);
}

Status
reply_each(Call *call, Slice json, const char *name, ReplyEach each, void *context)
{
    Slice array = name == NULL ? json : (Slice){0};
    if (name != NULL) {
        const ReplyMember member = {.name = name, .kind = REPLY_RAW};
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
    return end_check(call, &scanner);
}
