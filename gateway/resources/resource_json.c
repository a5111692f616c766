#include "gateway/resources/resource_json.h"

#include <stdio.h>

#include "gateway/http/headers.h"
#include "shared/base/clock.h"

enum { VERSION_TAG_SIZE = 24 };

/* --- Ids ------------------------------------------------------------------------------------------------ */

static Status
id_read(Call *call, const Request *request, const char *kind, const char *prefix, Uuid *ret_uuid)
{
    const Slice text = request_parameter(request, kind);
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

static void
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

/* --- Documents ------------------------------------------------------------------------------------------ */

void
json_member_time(JsonWriter *writer, const char *name, uint64_t wall_us)
{
    char stamp[CLOCK_STAMP_SIZE];
    clock_stamp(wall_us, stamp);
    json_member_string(writer, name, stamp);
}

static void
json_member_id(JsonWriter *writer, const char *name, const char *prefix, Uuid id)
{
    char text[ID_TEXT_SIZE];
    id_to_text(prefix, id, text);
    json_member_string(writer, name, text);
}

/* Until state outlives a worker, its class is "checkpoint": lost with the worker, never silently. */
static void
write_state(JsonWriter *writer, const SessionPlaces *places)
{
    json_write_name(writer, "state");
    json_write_object_begin(writer);
    json_member_string(writer, "class", "checkpoint");
    json_write_name(writer, "places");
    json_write_array_begin(writer);
    for (size_t index = 0; index < places->count; index++) {
        const SessionPlace *const place = &places->items[index];
        json_write_object_begin(writer);
        if (place->task != PLACE_TASK_NONE) {
            json_member_int64(writer, "task", place->task);
        }
        json_member_string(writer, "worker", place->worker);
        json_member_int64(writer, "epoch", place->epoch);
        json_member_time(writer, "bound_at", place->bound_us);
        if (place->lost_worker[0] != '\0') {
            json_member_string(writer, "lost_worker", place->lost_worker);
        }
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
    json_write_object_end(writer);
}

static void
write_session(JsonWriter *writer, const Session *session)
{
    json_member_id(writer, "id", "ses", session->id.value);
    json_member_string(writer, "name", session->name);
    json_write_name(writer, "options");
    json_write_raw(writer, slice_from_string(session->options));
    json_member_time(writer, "created_at", session->created_us);
    json_member_time(writer, "updated_at", session->updated_us);
}

void
session_write_item(JsonWriter *writer, const Session *session)
{
    json_write_object_begin(writer);
    write_session(writer, session);
    json_write_object_end(writer);
}

void
session_write(Response *response, const Session *session, const SessionPlaces *places)
{
    char tag[VERSION_TAG_SIZE];
    version_tag(session->version, tag);
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    write_session(&writer, session);
    write_state(&writer, places);
    json_write_object_end(&writer);
    response_etag(response, tag);
}

void
graph_write_item(JsonWriter *writer, const StoredGraph *graph)
{
    char digest[SHA256_HEX_SIZE];
    sha256_to_hex(&graph->digest, digest);
    json_write_object_begin(writer);
    json_member_id(writer, "id", "grf", graph->id.value);
    json_member_id(writer, "session", "ses", graph->session.value);
    json_member_int64(writer, "version", graph->version);
    if (!uuid_is_zero(graph->parent.value)) {
        json_member_id(writer, "parent", "grf", graph->parent.value);
    }
    json_member_string(writer, "media_type", graph->media_type);
    json_member_string(writer, "digest", digest);
    json_write_name(writer, "summary");
    json_write_raw(writer, slice_from_string(graph->summary));
    json_member_time(writer, "created_at", graph->created_us);
    json_write_object_end(writer);
}

void
graph_write(Response *response, const StoredGraph *graph)
{
    char digest[SHA256_HEX_SIZE];
    sha256_to_hex(&graph->digest, digest);
    JsonWriter writer = json_writer(response_json(response));
    graph_write_item(&writer, graph);
    response_etag(response, digest);
}

void
graph_write_location(Response *response, const StoredGraph *graph)
{
    char session[ID_TEXT_SIZE];
    char id[ID_TEXT_SIZE];
    id_to_text("ses", graph->session.value, session);
    id_to_text("grf", graph->id.value, id);
    response_header_format(response, "Location", "/api/v1/sessions/%s/graphs/%s", session, id);
}
