/* getStepOutput: returns one output of a queued step, as JSON or, by Accept, as .npy. */
#include <stdio.h>

#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/http/headers.h"
#include "gateway/replicas/step_lookup.h"
#include "gateway/resources/resource.h"
#include "gateway/steps/step_json.h"
#include "gateway/tensors/tensor_store.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"

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
write_tensor(Call *call, Response *response, const Tensor *tensor, int offer)
{
    if (offer == OFFER_JSON) {
        JsonWriter writer = json_writer(response_json(response));
        tensor_json_write(&writer, tensor);
        return STATUS_OK;
    }
    if (dtype_npy(tensor->dtype)[0] == '\0') {
        return response_fail(call, response, 406,
            "a .npy file cannot hold %s elements: accept application/json", dtype_name(tensor->dtype));
    }
    Buffer *body = response_body(response, offers[OFFER_NPY]);
    TRY(npy_write_header(call, tensor, body));
    buffer_append(body, tensor->data, tensor_byte_size(tensor));
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

static Status
answer_output(Call *call, Store *store, StepLookup *lookup, const StepRecord *step)
{
    Response *response = exchange_response(lookup->exchange);
    Slice name = request_parameter(exchange_request(lookup->exchange), "name");
    const StepTensor *output = NULL;
    int offer = OFFER_JSON;
    AUTO_TENSOR tensor = {0};
    char tag[SHA256_HEX_SIZE + 8];
    TRY(choose_offer(lookup->exchange, &offer));
    TRY(find_output(call, store, step, name, &output));
    TRY(tensor_get(call, store, step->tenant, output, &tensor));
    response_vary(response, "Accept");
    TRY(write_tensor(call, response, &tensor, offer));
    sha256_to_hex(&output->sha256, tag);
    (void)snprintf(tag + SHA256_HEX_SIZE - 1, sizeof tag - SHA256_HEX_SIZE + 1, "%s", suffixes[offer]);
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
