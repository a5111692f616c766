/* getStepOutput: returns one output of a queued step, as JSON or, by Accept, as .npy. */
#include <stdio.h>

#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
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
find_output(
    Call *call, const StepRecord *step, const StepTensors *outputs, Slice name, const StepTensor **ret_output)
{
    for (size_t index = 0; index < outputs->count; index++) {
        if (is_named(outputs->items[index].name, name)) {
            *ret_output = &outputs->items[index];
            return STATUS_OK;
        }
    }
    if (!step->is_async) {
        return call_fail(call, STATUS_NOT_FOUND, "the outputs of a synchronous step are in its answer only");
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

static Status
run_get_step_output(Call *call, const Request *request, Response *response)
{
    int offer = accept_choose(request_header(request, "Accept"), offers, COUNT_OF(offers));
    const StepTensor *output = NULL;
    Store *store = NULL;
    StepLookup lookup;
    StepRecord step;
    StepTensors outputs;
    AUTO_TENSOR tensor = {0};
    char tag[SHA256_HEX_SIZE + 8];
    if (offer < 0) {
        return response_fail(
            call, response, 406, "expected to accept %s or %s", offers[OFFER_JSON], offers[OFFER_NPY]);
    }
    TRY(step_lookup_read(call, request, request->parts->mail, request->parts->steps, &lookup));
    TRY(request_store(call, request, &store));
    TRY(step_lookup_stored(call, store, &lookup, &step));
    TRY(steps_outputs(call, store, step.tenant, step.id, &outputs));
    TRY(find_output(call, &step, &outputs, request_parameter(request, "name"), &output));
    TRY(tensor_get(call, store, step.tenant, output, &tensor));
    response_vary(response, "Accept");
    TRY(write_tensor(call, response, &tensor, offer));
    sha256_to_hex(&output->sha256, tag);
    (void)snprintf(tag + SHA256_HEX_SIZE - 1, sizeof tag - SHA256_HEX_SIZE + 1, "%s", suffixes[offer]);
    response_etag(response, tag);
    return STATUS_OK;
}

HANDLER(get_step_output) = {
    .operation_id = "getStepOutput",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}/outputs/{name}",
    .access = ACCESS_TENANT,
    .run = run_get_step_output,
};
