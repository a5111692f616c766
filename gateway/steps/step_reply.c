/* Happy path: step_reply_choose() before the run → step_reply_output() keeps outputs or streams them →
 * step_reply_end() writes what is left to say. */
#include "gateway/steps/step_reply.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/http/headers.h"
#include "gateway/steps/step_forms.h"

static Status
fetches_find(StepCall *step)
{
    uint32_t *fetches = arena_alloc(step->call->arena, (step->body.fetch_count + 1) * sizeof *fetches);
    if (fetches == NULL) {
        return call_fail_memory(step->call, "the fetches of a step");
    }
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        size_t fetch = 0;
        if (!signature_find_fetch(&step->signature, step->body.fetches[index], &fetch)) {
            return call_fail(step->call, STATUS_INTERNAL, "a fetch is missing from its own signature");
        }
        fetches[index] = (uint32_t)fetch;
    }
    step->reply.fetches = fetches;
    return STATUS_OK;
}

Status
step_reply_choose(StepCall *step)
{
    assert(step->exchange != NULL && step->plan != NULL);

    const char *offers[STEP_FORM_COUNT];
    bool is_single = step->body.fetch_count == 1;
    int offer_count = is_single ? STEP_FORM_COUNT : STEP_FORM_NPY;
    for (int index = 0; index < offer_count; index++) {
        offers[index] = step_forms[index]->media_type;
    }
    Response *response = exchange_response(step->exchange);
    Slice accept = request_header(exchange_request(step->exchange), "Accept");
    int choice = accept_choose(accept, offers, offer_count);
    response_vary(response, "Accept");
    if (choice < 0) {
        return response_fail(step->call, response, 406,
            "none of the accepted forms '%.*s' can be given: application/json, multipart/mixed and "
            "application/vnd.sluice.frames can, and application/x-npy of one fetch",
            SLICE_PRINT(slice_part(accept, 0, 128)));
    }
    /* An idempotency key needs an answer that can be kept: JSON. */
    step->reply.form = step->promise.key.text == NULL ? step_forms[choice] : step_forms[STEP_FORM_JSON];
    return fetches_find(step);
}

void
step_reply_output(StepCall *step, uint32_t fetch, const Tensor *tensor)
{
    assert(step->reply.form != NULL && fetch < step->plan->fetch_count);

    StepReply *reply = &step->reply;
    if (reply->form->output == NULL) {
        step->outputs[fetch] = tensor_ref(tensor);
        return;
    }
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        bool is_open = !reply->has_begun || reply->stream != NULL;
        if (is_open && reply->fetches[index] == fetch) {
            reply->form->output(step, step->body.fetches[index], tensor);
        }
    }
    if (reply->stream != NULL && http_stream_queued(reply->stream) > HTTP_STREAM_LOW) {
        step_pause(step->running.run);
    }
}

/* Notes for each slot of a late step the node that it was at. */
static void
note_slots(Call *call, const StepReport *report)
{
    for (size_t index = 0; index < report->slot_count; index++) {
        Slice words = report->slots[index].last_words;
        char pointer[32];
        (void)snprintf(pointer, sizeof pointer, "/slots/%zu", index);
        if (words.size > 0) {
            call_note(call, pointer, "%.*s", SLICE_PRINT(words));
        }
    }
}

static Status
report_fail(Call *call, const StepReport *report)
{
    note_slots(call, report);
    char text[ERROR_MESSAGE_SIZE];
    failure_text(&report->failure, text);
    return call_fail(call, report->failure.code, "%s", text);
}

void
step_reply_end(StepCall *step, const StepReport *report)
{
    assert(step->exchange != NULL && step->running.run == NULL);

    StepReply *reply = &step->reply;
    if (reply->has_begun && reply->stream == NULL) {
        exchange_unref(step->exchange); /* the client has gone */
        return;
    }
    if (!reply->has_begun && report->failure.code != STATUS_OK) {
        exchange_fail(step->exchange, report_fail(step->call, report));
        return;
    }
    reply->form->end(step, report);
    if (reply->has_begun) {
        exchange_unref(step->exchange);
    }
}
