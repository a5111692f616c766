/* Partial runs as the API shows them: taken on the run's loop, written wherever the request lives.
 *
 * Ownership: lists and texts live in the call's arena, names as long as the run's plan and graph. */
#pragma once

#include "gateway/partials/partial_run.h"

typedef struct PartialView {
    PartialKey key;
    const char *graph;   /* its id */
    const char *state;   /* "open", "complete", "failed" */
    uint64_t expires_us; /* wall clock */
    const Slice *feeds;  /* that have not been given */
    size_t feed_count;
    const Slice *fetches; /* that nobody has asked for */
    size_t fetch_count;
    Status status; /* of a failed one */
    const char *message;
} PartialView;

/* Lists in the call's arena. */
MUST_USE Status partial_run_view(Call *call, const PartialRun *run, PartialView *ret_view);

/* The members of an object that is open. */
void partial_view_write(JsonWriter *writer, const PartialView *view);

/* "/api/v1/sessions/ses_…/partial-runs/prt_…" */
enum { PARTIAL_RUN_PATH_SIZE = sizeof "/api/v1/sessions//partial-runs/" + (size_t)2 * ID_TEXT_SIZE };
void partial_run_path(const PartialKey *key, char ret_path[PARTIAL_RUN_PATH_SIZE]);
