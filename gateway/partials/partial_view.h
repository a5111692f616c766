/* Views of partial runs for the REST API: taken on the run's loop, written on the request's.
 *
 * Ownership: lists and texts live in the call's arena, names as long as the run's plan and graph. */
#pragma once

#include "gateway/partials/partial_run.h"

typedef struct PartialView {
    PartialKey key;
    const char *graph;   /* the graph's id */
    const char *state;   /* "open", "complete", "failed" */
    uint64_t expires_us; /* wall clock */
    const Slice *feeds;  /* not given yet */
    size_t feed_count;
    const Slice *fetches; /* not asked for yet */
    size_t fetch_count;
    Status status; /* with `message`, of a failed run */
    const char *message;
} PartialView;

/* Takes a view, with lists in the call's arena. */
MUST_USE Status partial_run_view(Call *call, const PartialRun *run, PartialView *ret_view);

/* Writes the view as members of an open object. */
void partial_view_write(JsonWriter *writer, const PartialView *view);

/* Writes "/api/v1/sessions/ses_…/partial-runs/prt_…". */
enum { PARTIAL_RUN_PATH_SIZE = sizeof "/api/v1/sessions//partial-runs/" + (size_t)2 * ID_TEXT_SIZE };
void partial_run_path(const PartialKey *key, char ret_path[PARTIAL_RUN_PATH_SIZE]);
