#include "gateway/resources/resource.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/http/headers.h"
#include "gateway/jobs/job_context.h"
#include "shared/base/clock.h"

Status
request_store(Call *call, const Request *request, Store **ret_store)
{
    assert(request->job_context != NULL);

    return job_store(call, request->job_context, STORE_ROLE_APP, ret_store);
}

static Status
id_read(Call *call, const Request *request, const char *kind, const char *prefix, Uuid *ret_uuid)
{
    Slice text = request_parameter(request, kind);
    if (!id_from_text(prefix, text, ret_uuid)) {
        return call_fail(
            call, STATUS_NOT_FOUND, "%s '%.*s' does not exist", kind, SLICE_PRINT(slice_part(text, 0, 64)));
    }
    return STATUS_OK;
}

Status
session_id_read(Call *call, const Request *request, SessionId *ret_id)
{
    return id_read(call, request, "session", "ses", &ret_id->value);
}

Status
graph_id_read(Call *call, const Request *request, GraphId *ret_id)
{
    return id_read(call, request, "graph", "grf", &ret_id->value);
}

Status
step_id_read(Call *call, const Request *request, StepId *ret_id)
{
    return id_read(call, request, "step", "stp", &ret_id->value);
}

void
version_tag(int64_t version, char ret_tag[VERSION_TAG_SIZE])
{
    (void)snprintf(ret_tag, VERSION_TAG_SIZE, "%lld", (long long)version);
}

Status
version_match(Call *call, const Request *request, Response *response, int64_t version, bool is_required)
{
    char tag[VERSION_TAG_SIZE];
    version_tag(version, tag);
    return request_match(call, request, response, tag, is_required);
}

Status
version_lost(Response *response, Status status)
{
    if (status == STATUS_ABORTED) {
        response_status(response, 412);
    }
    return status;
}

void
json_member_time(JsonWriter *writer, const char *name, uint64_t wall_us)
{
    char stamp[CLOCK_STAMP_SIZE];
    clock_stamp(wall_us, stamp);
    json_member_string(writer, name, stamp);
}

void
json_member_id(JsonWriter *writer, const char *name, const char *prefix, Uuid id)
{
    char text[ID_TEXT_SIZE];
    id_to_text(prefix, id, text);
    json_member_string(writer, name, text);
}
