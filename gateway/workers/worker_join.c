#include "gateway/workers/worker_join.h"

#include <string.h>

#include "gateway/domain/worker_address.h"
#include "shared/base/text.h"
#include "shared/json/reader.h"

typedef struct JoinBody {
    Slice address;
    Slice incarnation;
    Slice state;
} JoinBody;

static const JsonMember members[] = {
    {"address", JSON_SLICE, .offset = offsetof(JoinBody, address), .is_required = true},
    {"incarnation", JSON_SLICE, .offset = offsetof(JoinBody, incarnation), .is_required = true},
    {"state", JSON_SLICE, .offset = offsetof(JoinBody, state)},
};
static const JsonTable table = JSON_TABLE("a worker that joins", members);

bool
worker_incarnation_is_ok(Slice text)
{
    bool is_ok = text.size == INCARNATION_TEXT_SIZE - 1;
    for (size_t index = 0; is_ok && index < text.size; index++) {
        is_ok = text.data[index] != '\0' && strchr("0123456789abcdef", text.data[index]) != NULL;
    }
    return is_ok;
}

static bool
is_alphanumeric(char letter)
{
    return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= 'a' && letter <= 'z');
}

bool
worker_name_is_ok(Slice text)
{
    bool is_ok = text.size > 0 && text.size < WORKER_NAME_SIZE && is_alphanumeric(text.data[0]);
    for (size_t index = 1; is_ok && index < text.size; index++) {
        char letter = text.data[index];
        is_ok = is_alphanumeric(letter) || letter == '.' || letter == '_' || letter == '-';
    }
    return is_ok;
}

const char *
worker_name_read(Call *call, const Request *request)
{
    return text_copy(call->arena, request_parameter(request, "worker"));
}

static void
note_faults(Call *call, const JoinBody *body, Slice name)
{
    if (!worker_name_is_ok(name)) {
        call_note(call, "",
            "a worker that joins is named by 1 to %d letters, digits, '.', '_' and '-', not '%.*s'",
            WORKER_NAME_SIZE - 1, SLICE_PRINT(slice_part(name, 0, WORKER_NAME_SIZE)));
    }
    if (!worker_address_is_ok(body->address)) {
        call_note(call, "/address",
            "'%.*s' is none that a gateway can dial: '10.0.0.7:8471' is, and '[fd00::7]:8471'",
            SLICE_PRINT(slice_part(body->address, 0, 64)));
    }
    if (!worker_incarnation_is_ok(body->incarnation)) {
        call_note(call, "/incarnation", "16 hexadecimal digits are expected");
    }
    if (!slice_equals_string(body->state, "serving") && !slice_equals_string(body->state, "draining")) {
        call_note(call, "/state", "'%.*s' is neither 'serving' nor 'draining'",
            SLICE_PRINT(slice_part(body->state, 0, 64)));
    }
}

Status
worker_join_read(Call *call, const Request *request, WorkerJoin *ret_join)
{
    JoinBody body = {.state = SLICE("serving")};
    TRY(json_document_read(call, request->body, &table, &body));
    note_faults(call, &body, request_parameter(request, "worker"));
    if (call->error.detail_count > 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the worker cannot join as it says");
    }
    WorkerJoin join = {.is_leaving = slice_equals_string(body.state, "draining")};
    join.lease.name = worker_name_read(call, request);
    join.lease.address = text_copy(call->arena, body.address);
    join.lease.incarnation = text_copy(call->arena, body.incarnation);
    if (join.lease.name == NULL || join.lease.address == NULL || join.lease.incarnation == NULL) {
        return call_fail_memory(call, "a worker that joins");
    }
    *ret_join = join;
    return STATUS_OK;
}
