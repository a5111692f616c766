/* Happy path: step_reply_choose() before the run → step_reply_output() keeps outputs or streams them →
 * step_reply_end() writes what is left to say.
 *
 * Lifetime: a streamed reply ends its exchange with the first output, while the step still runs. From then
 * until step_reply_end() the exchange is kept by a reference, for its client may hang up in between: the
 * stream tells (closed), the step is cancelled, and its end comes as ever. */
#include "gateway/steps/step_reply.h"

#include <stdio.h>

#include "gateway/domain/step_state.h"
#include "gateway/http/headers.h"
#include "gateway/steps/step_call.h"
#include "gateway/steps/step_json.h"
#include "shared/json/writer.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"

enum {
    ELEMENTS_COPIED_MAX = 4096,       /* below, a copy is cheaper than a piece of its own */
    LOOP_OUTPUT_SIZE_MAX = 64 * 1024, /* more is written as text on a job thread */
};

void
step_reply_write_outputs(JsonWriter *writer, const StepCall *step)
{
    json_write_name(writer, "outputs");
    json_write_object_begin(writer);
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        json_write_name_slice(writer, step->body.fetches[index]);
        tensor_json_write(writer, &step->outputs[step->reply.fetches[index]]);
    }
    json_write_object_end(writer);
}

static void
write_error(JsonWriter *writer, const Failure *failure)
{
    json_write_name(writer, "error");
    json_write_object_begin(writer);
    json_member_string(writer, "code", status_name(failure->code));
    json_member_string(writer, "message", failure->message);
    if (failure->node[0] != '\0') {
        json_member_string(writer, "node", failure->node);
    }
    json_member_boolean(writer, "retryable", status_is_retryable(failure->code));
    json_write_object_end(writer);
}

void
step_reply_write_step(Buffer *buffer, const StepCall *step, const StepReport *report, bool has_outputs)
{
    char id[ID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    id_to_text("stp", step->id.value, id);
    id_to_text("ses", step->session_id.value, session);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_string(&writer, "id", id);
    json_member_string(&writer, "session", session);
    json_member_string(&writer, "graph", step->graph->id_text);
    json_member_string(&writer, "state", step_state_name(step_state_of(report->failure.code)));
    json_member_int64(&writer, "attempts", report->attempt);
    step_write_report(&writer, report);
    if (report->failure.code != STATUS_OK) {
        write_error(&writer, &report->failure);
    }
    if (has_outputs) {
        step_reply_write_outputs(&writer, step);
    }
    json_write_object_end(&writer);
}

static Status
json_write(Call *call, JobContext *job_context, void *owner)
{
    (void)call;
    (void)job_context;
    StepCall *const step = owner;
    step_reply_write_step(response_json(exchange_response(step->exchange)), step, &step->reply.report, true);
    return STATUS_OK;
}

static void
json_written(Exchange *exchange, Status status, void *owner)
{
    (void)status;
    (void)owner;
    exchange_finish(exchange);
}

size_t
step_reply_outputs_size(const StepCall *step)
{
    size_t size = 0;
    for (size_t fetch = 0; step->outputs != NULL && fetch < step->plan->fetch_count; fetch++) {
        size += tensor_byte_size(&step->outputs[fetch]);
    }
    return size;
}

static void
json_end(StepCall *step, const StepReport *report)
{
    step->reply.report = *report; /* of a success: nobody reads its texts */
    if (step_reply_outputs_size(step) <= LOOP_OUTPUT_SIZE_MAX ||
        !exchange_offload(step->exchange, json_write, json_written, step)) {
        json_written(step->exchange, json_write(step->call, NULL, step), step);
    }
}

/* libmicrohttpd sends a body of known size slowly when it has many pieces: 0.1 GB/s, chunked 1.3 GB/s,
 * measured on 256 MiB over loopback. */
static uint64_t
announced_size(const Buffer *header, const Tensor *tensor)
{
    const uint64_t size = header->size + tensor_byte_size(tensor);
    return size <= HTTP_STREAM_LOW ? size : 0;
}

static void
npy_end(StepCall *step, const StepReport *report)
{
    (void)report;
    AUTO_BUFFER header = {0};
    const Tensor *const tensor = &step->outputs[step->reply.fetches[0]];
    if (dtype_npy(tensor->dtype)[0] == '\0') {
        exchange_fail(step->exchange,
            response_fail(step->call, exchange_response(step->exchange), 406,
                "a .npy file cannot hold %s elements: accept application/json or multipart/mixed",
                dtype_name(tensor->dtype)));
        return;
    }
    const Status status = npy_write_header(step->call, tensor, &header);
    if (status != STATUS_OK) {
        exchange_fail(step->exchange, status);
    } else if (step_reply_begin(step, step->reply.form->media_type, announced_size(&header, tensor))) {
        (void)http_stream_copy(step->reply.stream, buffer_slice(&header));
        step_reply_send_elements(step, tensor);
        http_stream_end(step->reply.stream);
    }
}

static const StepForm form_json = {.media_type = "application/json", .end = json_end};
static const StepForm form_npy = {.media_type = "application/x-npy", .end = npy_end};
static const StepForm *const forms[] = {&form_json, &step_form_multipart, &step_form_frames, &form_npy};

static Status
fetches_find(StepCall *step)
{
    uint32_t *const fetches = arena_alloc(step->call->arena, (step->body.fetch_count + 1) * sizeof *fetches);
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
    const char *offers[COUNT_OF(forms)];
    const bool is_single = step->body.fetch_count == 1;
    const int offer_count = (int)COUNT_OF(forms) - (is_single ? 0 : 1);
    for (int index = 0; index < offer_count; index++) {
        offers[index] = forms[index]->media_type;
    }
    Response *const response = exchange_response(step->exchange);
    const Slice accept = request_header(exchange_request(step->exchange), "Accept");
    const int choice = accept_choose(accept, offers, offer_count);
    response_vary(response, "Accept");
    if (choice < 0) {
        return response_fail(step->call, response, 406,
            "none of the accepted forms '%.*s' can be given: application/json, multipart/mixed and "
            "application/vnd.sluice.frames can, and application/x-npy of one fetch",
            SLICE_PRINT(slice_part(accept, 0, 128)));
    }
    /* The answer to an idempotency key must be one that can be kept. */
    step->reply.form = step->promise.key.text == NULL ? forms[choice] : &form_json;
    return fetches_find(step);
}

static void
stream_drained(HttpStream *stream, void *owner)
{
    (void)stream;
    StepCall *const step = owner;
    if (step->running.run != NULL) {
        step_resume(step->running.run);
    }
}

static void
stream_closed(void *owner, bool is_complete)
{
    (void)is_complete;
    StepCall *const step = owner;
    step->reply.stream = NULL;
    if (step->running.run != NULL) {
        step_cancel(step->running.run, "the client went away");
    }
}

bool
step_reply_begin(StepCall *step, const char *content_type, uint64_t size)
{
    static const HttpStreamEvents events = {.drained = stream_drained, .closed = stream_closed};
    if (step->reply.has_begun) {
        return step->reply.stream != NULL;
    }
    step->reply.stream = exchange_stream(step->exchange, content_type, &events, step);
    if (step->reply.stream == NULL) {
        stream_closed(step, false);
        return false;
    }
    step->reply.has_begun = true;
    if (size > 0) {
        http_stream_size(step->reply.stream, size);
    }
    exchange_ref(step->exchange);
    exchange_finish(step->exchange);
    return true;
}

static void
elements_release(void *buffer)
{
    tensor_buffer_unref(buffer);
}

void
step_reply_send_elements(StepCall *step, const Tensor *tensor)
{
    const Slice elements = slice_of(tensor->data, tensor_byte_size(tensor));
    if (elements.size <= ELEMENTS_COPIED_MAX) {
        (void)http_stream_copy(step->reply.stream, elements);
    } else {
        (void)http_stream_write(
            step->reply.stream, elements, elements_release, tensor_buffer_ref(tensor->buffer));
    }
}

void
step_reply_output(StepCall *step, uint32_t fetch, const Tensor *tensor)
{
    StepReply *const reply = &step->reply;
    if (reply->form->output == NULL) {
        step->outputs[fetch] = tensor_ref(tensor);
        return;
    }
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        const bool is_open = !reply->has_begun || reply->stream != NULL;
        if (is_open && reply->fetches[index] == fetch) {
            reply->form->output(step, step->body.fetches[index], tensor);
        }
    }
    if (reply->stream != NULL && http_stream_queued(reply->stream) > HTTP_STREAM_LOW) {
        step_pause(step->running.run);
    }
}

/* Of a late step: what each slot was at. */
static void
note_slots(Call *call, const StepReport *report)
{
    for (size_t index = 0; index < report->slot_count; index++) {
        const Slice words = report->slots[index].last_words;
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
    StepReply *const reply = &step->reply;
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
