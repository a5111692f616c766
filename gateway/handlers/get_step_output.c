/* getStepOutput: returns one output of a queued step, as JSON or, by Accept, as .npy. A large one is sent,
 * and its text written, while it is read; strings, whose sizes lie in front of them all, are read whole. */
#include <stdio.h>
#include <string.h>

#include "gateway/blobs/blob_send.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/http/headers.h"
#include "gateway/replicas/step_lookup.h"
#include "gateway/resources/resource.h"
#include "gateway/steps/step_json.h"
#include "gateway/tensors/tensor_store.h"
#include "shared/base/text.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"

enum { WHOLE_SIZE_MAX = 64 * 1024 };
enum { OFFER_JSON, OFFER_NPY };
static const char *const offers[] = {"application/json", "application/x-npy"};
static const char *const suffixes[] = {"-json", ""}; /* tell the forms' ETags apart */

/* Returns whether both name the same output: "y" and "y:0" do. */
static bool
is_named(const char *stored, Slice name)
{
    Slice full = slice_from_string(stored);
    Slice zero = SLICE(":0");
    Slice left = slice_ends_with(full, zero) ? slice_part(full, 0, full.size - zero.size) : full;
    Slice right = slice_ends_with(name, zero) ? slice_part(name, 0, name.size - zero.size) : name;
    return slice_equal(left, right);
}

static Status
find_output(Call *call, Store *store, const StepRecord *step, Slice name, const StepTensor **ret_output)
{
    StepTensors outputs;
    if (!step->is_async) {
        return call_fail(call, STATUS_NOT_FOUND, "the outputs of a synchronous step are in its answer only");
    }
    TRY(steps_outputs(call, store, step->tenant, step->id, &outputs));
    for (size_t index = 0; index < outputs.count; index++) {
        if (is_named(outputs.items[index].name, name)) {
            *ret_output = outputs.items + index;
            return STATUS_OK;
        }
    }
    if (!step_state_is_ended(step->state)) {
        return call_fail(
            call, STATUS_NOT_FOUND, "the step is %s: it has no outputs yet", step_state_name(step->state));
    }
    return call_fail(
        call, STATUS_NOT_FOUND, "the step has no output '%.*s'", SLICE_PRINT(slice_part(name, 0, 128)));
}

static Status
refuse_npy(Call *call, Response *response, Dtype dtype)
{
    return response_fail(call, response, 406, "a .npy file cannot hold %s elements: accept application/json",
        dtype_name(dtype));
}

static Status
write_tensor(Call *call, Response *response, const Tensor *tensor, int offer)
{
    if (offer == OFFER_JSON) {
        JsonWriter writer = json_writer(response_json(response));
        tensor_json_write(&writer, tensor);
        return STATUS_OK;
    }
    if (dtype_npy(tensor->dtype)[0] == '\0') {
        return refuse_npy(call, response, tensor->dtype);
    }
    Buffer *body = response_body(response, offers[OFFER_NPY]);
    TRY(npy_write_header(call, tensor, body));
    buffer_append(body, tensor->data, tensor_byte_size(tensor));
    return STATUS_OK;
}

/* An output that is sent while it is read. */
typedef struct SentOutput {
    Response *response;
    int offer;
    BlobSend send;
    Tensor described; /* no elements */
    JsonWriter writer;
    bool has_begun;
} SentOutput;

/* Writes elements as JSON; a BlobWrite. The pieces of a blob end between elements. */
static void
write_elements(void *writer, Slice bytes, Buffer *text)
{
    SentOutput *output = writer;
    if (!output->has_begun) {
        output->has_begun = true;
        output->writer = json_writer(text);
        tensor_json_write_begin(&output->writer, &output->described);
    }
    tensor_json_write_elements(&output->writer, output->described.dtype, bytes);
    if (bytes.size == 0) {
        tensor_json_write_end(&output->writer);
    }
}

/* Describes the stored output; *ret_size gets the bytes of its elements, unless they are strings. */
static Status
describe_output(Call *call, const StepTensor *stored, Tensor *ret_described, size_t *ret_size)
{
    Tensor described = {.dtype = dtype_from_name(slice_from_string(stored->dtype))};
    described.shape = shape_of_rank((int)stored->rank);
    memcpy(described.shape.dims, stored->dims, stored->rank * sizeof *stored->dims);
    *ret_described = described;
    return described.dtype == DTYPE_STRING || shape_byte_size(&described.shape, described.dtype, ret_size)
               ? STATUS_OK
               : call_fail(call, STATUS_DATA_LOSS, "the stored shape of output '%s' is none", stored->name);
}

static Status
write_npy_head(Call *call, SentOutput *output)
{
    AUTO_BUFFER header = {0};
    if (dtype_npy(output->described.dtype)[0] == '\0') {
        return refuse_npy(call, output->response, output->described.dtype);
    }
    TRY(npy_write_header(call, &output->described, &header));
    const char *copy = text_copy(call->arena, buffer_slice(&header));
    output->send.head = slice_of(copy, header.size);
    return copy == NULL ? call_fail_memory(call, "a .npy header") : STATUS_OK;
}

/* Prepares the sending of an output, whose blob is there with all its bytes. */
static Status
prepare_output(Call *call, Store *store, const StepTensor *stored, SentOutput *output)
{
    uint64_t size = 0;
    BlobSend *send = &output->send;
    TRY(blobs_find(call, store, send->tenant, &stored->sha256, &size));
    if (size != send->range.size) {
        return call_fail(call, STATUS_DATA_LOSS, "the stored bytes of output '%s' are not those of its shape",
            stored->name);
    }
    send->digest = stored->sha256;
    send->content_type = offers[output->offer];
    if (output->offer == OFFER_NPY) {
        return write_npy_head(call, output);
    }
    send->write = write_elements;
    send->writer = output;
    return STATUS_OK;
}

/* Chooses the form that the request accepts; 406. */
static Status
choose_offer(Exchange *exchange, int *ret_offer)
{
    Slice accept = request_header(exchange_request(exchange), "Accept");
    int offer = accept_choose(accept, offers, COUNT_OF(offers));
    if (offer < 0) {
        return response_fail(exchange_call(exchange), exchange_response(exchange), 406,
            "expected to accept %s or %s", offers[OFFER_JSON], offers[OFFER_NPY]);
    }
    *ret_offer = offer;
    return STATUS_OK;
}

static void
send_output(StepLookup *lookup)
{
    const SentOutput *output = lookup->answered;
    blob_send(lookup->exchange, &output->send);
}

/* Has an output sent while it is read, when the look-up has ended. */
static Status
answer_in_pieces(
    Call *call, Store *store, StepLookup *lookup, const StepTensor *stored, const SentOutput *made)
{
    SentOutput *output = arena_alloc(call->arena, sizeof *output);
    if (output == NULL) {
        return call_fail_memory(call, "an output");
    }
    *output = *made;
    TRY(prepare_output(call, store, stored, output));
    lookup->answered = output;
    lookup->next = send_output;
    return STATUS_OK;
}

static Status
answer_whole(Call *call, Store *store, const SentOutput *made, const StepTensor *stored)
{
    AUTO_TENSOR tensor = {0};
    TRY(tensor_get(call, store, made->send.tenant, stored, &tensor));
    return write_tensor(call, made->response, &tensor, made->offer);
}

static Status
answer_output(Call *call, Store *store, StepLookup *lookup, const StepRecord *step)
{
    const Request *request = exchange_request(lookup->exchange);
    Response *response = exchange_response(lookup->exchange);
    const StepTensor *stored = NULL;
    SentOutput made = {
        .response = response, .send = {.tenant = step->tenant, .memory = request->parts->outputs}};
    char tag[SHA256_HEX_SIZE + 8];
    size_t size = 0;
    TRY(choose_offer(lookup->exchange, &made.offer));
    TRY(find_output(call, store, step, request_parameter(request, "name"), &stored));
    TRY(describe_output(call, stored, &made.described, &size));
    made.send.range.size = size;
    response_vary(response, "Accept");
    TRY(size > WHOLE_SIZE_MAX ? answer_in_pieces(call, store, lookup, stored, &made)
                              : answer_whole(call, store, &made, stored));
    sha256_to_hex(&stored->sha256, tag);
    (void)snprintf(tag + SHA256_HEX_SIZE - 1, sizeof tag - SHA256_HEX_SIZE + 1, "%s", suffixes[made.offer]);
    response_etag(response, tag);
    return STATUS_OK;
}

static void
start_get_step_output(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    int offer = OFFER_JSON;
    Status status = choose_offer(exchange, &offer);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else {
        step_look_up(exchange, parts->mail, parts->steps, false, answer_output);
    }
}

HANDLER(get_step_output) = {
    .operation_id = "getStepOutput",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}/outputs/{name}",
    .access = ACCESS_TENANT,
    .start = start_get_step_output,
};
