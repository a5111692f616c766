#include "gateway/partials/partial_view.h"

#include <stdio.h>

#include "gateway/resources/resource.h"
#include "shared/base/text.h"

static const char *
state_name(const PartialRun *run)
{
    if (run->has_ended && run->status != STATUS_OK) {
        return "failed";
    }
    return partial_run_is_complete(run) ? "complete" : "open";
}

Status
partial_run_view(Call *call, const PartialRun *run, PartialView *ret_view)
{
    const Plan *plan = run->step.plan;
    Slice *feeds = arena_alloc(call->arena, (plan->feed_count + 1) * sizeof *feeds);
    Slice *fetches = arena_alloc(call->arena, (plan->fetch_count + 1) * sizeof *fetches);
    const char *message = text_copy(call->arena, slice_from_string(run->message));
    PartialView view = {
        .key = run->facts.key,
        .graph = run->step.graph->id_text,
        .state = state_name(run),
        .expires_us = run->expires_us,
        .feeds = feeds,
        .fetches = fetches,
        .status = run->status,
        .message = message,
    };
    if (feeds == NULL || fetches == NULL || message == NULL) {
        return call_fail_memory(call, "a partial run");
    }
    for (size_t feed = 0; feed < plan->feed_count; feed++) {
        if (!run->is_fed[feed]) {
            feeds[view.feed_count++] = plan->feeds[feed];
        }
    }
    for (size_t fetch = 0; fetch < plan->fetch_count; fetch++) {
        if (!run->fetches[fetch].is_taken) {
            fetches[view.fetch_count++] = plan->fetches[fetch];
        }
    }
    *ret_view = view;
    return STATUS_OK;
}

static void
write_error(JsonWriter *writer, const PartialView *view)
{
    json_write_name(writer, "error");
    json_write_object_begin(writer);
    json_member_string(writer, "code", status_name(view->status));
    json_member_string(writer, "message", view->message);
    json_write_object_end(writer);
}

void
partial_view_write(JsonWriter *writer, const PartialView *view)
{
    char id[ID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    id_to_text("prt", view->key.id.value, id);
    id_to_text("ses", view->key.session.value, session);
    json_member_string(writer, "id", id);
    json_member_string(writer, "session", session);
    json_member_string(writer, "graph", view->graph);
    json_member_string(writer, "state", view->state);
    json_member_time(writer, "expires_at", view->expires_us);
    json_member_slices(writer, "feeds", view->feeds, view->feed_count);
    json_member_slices(writer, "fetches", view->fetches, view->fetch_count);
    if (view->status != STATUS_OK) {
        write_error(writer, view);
    }
}

void
partial_run_path(const PartialKey *key, char ret_path[PARTIAL_RUN_PATH_SIZE])
{
    char id[ID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    id_to_text("prt", key->id.value, id);
    id_to_text("ses", key->session.value, session);
    (void)snprintf(ret_path, PARTIAL_RUN_PATH_SIZE, "/api/v1/sessions/%s/partial-runs/%s", session, id);
}
