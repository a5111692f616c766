#include "gateway/sessions/session_json.h"

#include "gateway/resources/resource.h"

/* Writes where the session's variables are kept. Their class is "checkpoint" as long as state does not
 * outlive its worker: it may be lost with the worker, but never silently. */
static void
write_state(JsonWriter *writer, const SessionPlaces *places)
{
    json_write_name(writer, "state");
    json_write_object_begin(writer);
    json_member_string(writer, "class", "checkpoint");
    json_write_name(writer, "places");
    json_write_array_begin(writer);
    for (size_t index = 0; index < places->count; index++) {
        const SessionPlace *place = &places->items[index];
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
