#include "gateway/steps/step_json.h"

#include <stdio.h>

#include "gateway/resources/resource.h"
#include "shared/json/scanner.h"

void
step_write_request(Buffer *buffer, const StepBody *body, const char *graph)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_string(&writer, "graph", graph);
    json_member_slices(&writer, "fetches", body->fetches, body->fetch_count);
    if (body->target_count > 0) {
        json_member_slices(&writer, "targets", body->targets, body->target_count);
    }
    json_write_name(&writer, "options");
    json_write_object_begin(&writer);
    json_member_uint64(&writer, "timeout_ms", body->timeout_ms);
    json_member_int64(&writer, "priority", body->priority);
    if (body->trace != STEP_TRACE_NONE) {
        json_member_string(&writer, "trace", body->trace == STEP_TRACE_NODE ? "node" : "partition");
    }
    if (body->is_idempotent) {
        json_member_boolean(&writer, "idempotent", true);
    }
    if (body->is_durable) {
        json_member_string(&writer, "record", "durable");
    }
    json_write_object_end(&writer);
    json_write_object_end(&writer);
}

void
step_write_report(JsonWriter *writer, const StepReport *report)
{
    json_member_uint64(writer, "elapsed_us", report->elapsed_us);
    json_member_uint64(writer, "waited_us", report->waited_us);
    json_write_name(writer, "partitions");
    json_write_array_begin(writer);
    for (size_t slot = 0; slot < report->slot_count; slot++) {
        json_write_object_begin(writer);
        json_member_uint64(writer, "slot", slot);
        json_member_int64(writer, "task", report->slots[slot].task);
        json_member_int64(writer, "elapsed_us", report->slots[slot].stats.elapsed_us);
        json_member_int64(writer, "computed_us", report->slots[slot].stats.computed_us);
        json_member_int64(writer, "nodes", report->slots[slot].stats.node_count);
        json_member_int64(writer, "planned_bytes", report->slots[slot].stats.planned_bytes);
        json_member_int64(writer, "peak_bytes", report->slots[slot].stats.peak_bytes);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

void
step_write_stats(Buffer *buffer, const StepReport *report)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    step_write_report(&writer, report);
    json_write_object_end(&writer);
}

static void
member_id(JsonWriter *writer, const char *name, const char *prefix, Uuid id)
{
    char text[ID_TEXT_SIZE];
    id_to_text(prefix, id, text);
    json_member_string(writer, name, text);
}

static void
member_time(JsonWriter *writer, const char *name, uint64_t wall_us)
{
    if (wall_us != 0) {
        json_member_time(writer, name, wall_us);
    }
}

static void
write_error(JsonWriter *writer, const StepRecord *step)
{
    if (step->error_code[0] == '\0') {
        return;
    }
    json_write_name(writer, "error");
    json_write_object_begin(writer);
    json_member_string(writer, "code", step->error_code);
    json_member_string(writer, "message", step->error_message);
    if (step->error_node[0] != '\0') {
        json_member_string(writer, "node", step->error_node);
    }
    json_write_object_end(writer);
}

/* Writes the members that step_write_stats() has stored in the database. */
static void
write_stats(JsonWriter *writer, const char *stats)
{
    JsonScanner scanner;
    Slice name;
    Slice value;
    json_scan_begin(&scanner, slice_from_string(stats), JSON_DEPTH_MAX);
    if (!json_object_begin(&scanner)) {
        return;
    }
    while (json_object_next(&scanner, &name) && json_skip(&scanner, &value)) {
        json_write_name_slice(writer, name);
        json_write_raw(writer, value);
    }
}

static void
write_members(JsonWriter *writer, const StepRecord *step)
{
    member_id(writer, "id", "stp", step->id.value);
    member_id(writer, "session", "ses", step->session.value);
    member_id(writer, "graph", "grf", step->graph.value);
    json_member_string(writer, "state", step_state_name(step->state));
    json_member_boolean(writer, "async", step->is_async);
    json_member_int64(writer, "priority", step->priority);
    json_member_int64(writer, "attempts", step->attempts);
    if (step->is_cancel_requested && !step_state_is_ended(step->state)) {
        json_member_boolean(writer, "cancel_requested", true);
    }
    member_time(writer, "created_at", step->created_us);
    member_time(writer, "started_at", step->started_us);
    member_time(writer, "ended_at", step->ended_us);
    member_time(writer, "deadline_at", step->deadline_us);
    write_error(writer, step);
    write_stats(writer, step->stats);
}

void
step_write_item(JsonWriter *writer, const StepRecord *step)
{
    json_write_object_begin(writer);
    write_members(writer, step);
    json_write_object_end(writer);
}

void
step_path(SessionId session, StepId step, char ret_path[STEP_PATH_SIZE])
{
    char session_text[ID_TEXT_SIZE];
    char step_text[ID_TEXT_SIZE];
    id_to_text("ses", session.value, session_text);
    id_to_text("stp", step.value, step_text);
    (void)snprintf(ret_path, STEP_PATH_SIZE, "/api/v1/sessions/%s/steps/%s", session_text, step_text);
}

static void
write_output(JsonWriter *writer, const char *path, const StepTensor *output)
{
    AUTO_BUFFER href = {0};
    buffer_append_format(&href, "%s/outputs/%s", path, output->name);
    json_write_name(writer, output->name);
    json_write_object_begin(writer);
    json_member_string(writer, "dtype", output->dtype);
    json_write_name(writer, "shape");
    json_write_array_begin(writer);
    for (size_t index = 0; index < output->rank; index++) {
        json_write_int64(writer, output->dims[index]);
    }
    json_write_array_end(writer);
    json_member_slice(writer, "href", buffer_slice(&href));
    json_write_object_end(writer);
}

void
step_write_document(Response *response, const StepRecord *step, const StepTensors *outputs)
{
    char path[STEP_PATH_SIZE];
    char tag[64];
    step_path(step->session, step->id, path);
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    write_members(&writer, step);
    if (outputs != NULL && outputs->count > 0) {
        json_write_name(&writer, "outputs");
        json_write_object_begin(&writer);
        for (size_t index = 0; index < outputs->count; index++) {
            write_output(&writer, path, &outputs->items[index]);
        }
        json_write_object_end(&writer);
    }
    json_write_object_end(&writer);
    (void)snprintf(tag, sizeof tag, "%s-%lld%s", step_state_name(step->state), (long long)step->attempts,
        step->is_cancel_requested ? "-c" : "");
    response_etag(response, tag);
}
