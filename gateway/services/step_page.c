#include "gateway/services/step_page.h"

#include <string.h>

#include "gateway/http/page.h"
#include "gateway/services/step_json.h"

static Status
read_state(Call *call, const Request *request, const char **ret_state)
{
    StepState state;
    const Slice text = request_query(request, "state");
    if (text.data == NULL) {
        return STATUS_OK;
    }
    if (!step_state_from_name(text, &state)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "state '%.*s' is none: expected queued, leased, running, succeeded, failed, cancelled, expired "
            "or "
            "dead",
            SLICE_PRINT(slice_part(text, 0, 32)));
    }
    *ret_state = step_state_name(state);
    return STATUS_OK;
}

static Status
read_page(Call *call, const Request *request, Page *ret_page)
{
    PageQuery query;
    TRY(page_parse(call, request, &query));
    if (query.after.size != 0 && query.after.size != sizeof ret_page->before.bytes) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "page_token cannot be read");
    }
    *ret_page = (Page){.size = query.size};
    if (query.after.size != 0) {
        memcpy(ret_page->before.bytes, query.after.data, query.after.size);
    }
    return STATUS_OK;
}

Status
step_page_answer(Call *call, const Request *request, Response *response, SessionId session)
{
    Store *store = NULL;
    StepFilter filter = {.session = session};
    StepPage page;
    TRY(read_state(call, request, &filter.state));
    TRY(read_page(call, request, &filter.page));
    TRY(request_store(call, request, &store));
    TRY(steps_list(call, store, request->principal.tenant, &filter, &page));
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_write_name(&writer, "steps");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < page.count; index++) {
        step_write_item(&writer, &page.items[index]);
    }
    json_write_array_end(&writer);
    if (page.has_more) {
        const Uuid last = page.items[page.count - 1].id.value;
        const char *const token =
            page_token(call, request, response, slice_of(last.bytes, sizeof last.bytes));
        if (token == NULL) {
            return call_fail_memory(call, "the token of the next page");
        }
        json_member_string(&writer, "next_page_token", token);
    }
    json_write_object_end(&writer);
    return STATUS_OK;
}
