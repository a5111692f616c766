#include "gateway/steps/step_page.h"

#include "gateway/resources/paging.h"
#include "gateway/resources/resource.h"
#include "gateway/steps/step_json.h"

static Status
read_state(Call *call, const Request *request, const char **ret_state)
{
    StepState state;
    Slice text = request_query(request, "state");
    if (text.data == NULL) {
        return STATUS_OK;
    }
    if (!step_state_from_name(text, &state)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "state '%.*s' is none: "
            "expected queued, leased, running, succeeded, failed, cancelled, expired or dead",
            SLICE_PRINT(slice_part(text, 0, 32)));
    }
    *ret_state = step_state_name(state);
    return STATUS_OK;
}

Status
step_page_answer(
    Call *call, const Request *request, const Limits *limits, Response *response, SessionId session)
{
    Store *store = NULL;
    StepFilter filter = {.session = session};
    StepPage page;
    TRY(read_state(call, request, &filter.state));
    TRY(paging_read_filtered(call, request, limits, &filter.page));
    TRY(request_store(call, request, &store));
    TRY(steps_list(call, store, request->principal.tenant, &filter, &page));
    JsonWriter writer = paging_begin(response, "steps");
    for (size_t index = 0; index < page.count; index++) {
        step_write_item(&writer, &page.items[index]);
    }
    const Uuid *last = page.has_more ? &page.items[page.count - 1].id.value : NULL;
    paging_end(call, request, response, &writer, last);
    return STATUS_OK;
}
