/* Steps as the API shows them, for the commands that start, read, await and cancel them.
 *
 * Ownership: slices point into the JSON or live in call->arena. */
#pragma once

#include "gateway/cli/command.h"

typedef struct Step {
    Slice id;
    Slice session;
    Slice graph;
    Slice state; /* "queued", "running", "succeeded", … */
    int64_t attempts;
    int64_t elapsed_us; /* -1: unknown */
    Slice partitions;   /* JSON */
    Slice outputs;      /* JSON */
    Slice error;        /* JSON: a text, or an object with "detail" */
} Step;

MUST_USE Status cli_step_read(Call *call, Slice json, Step *ret_step);

/* Makes the path "/api/v1/sessions/…/steps/…" and `suffix`, of the id that is the command's first
 * argument. */
MUST_USE Status cli_step_path(Cli *cli, const char *suffix, const char **ret_path);

bool step_has_ended(const Step *step);

/* Appends "stp_… succeeded in 1.2 ms" and what each task ran. */
MUST_USE Status step_append_line(Call *call, const Step *step, Buffer *text);

/* Reads the document and prints it: as that line, or as the JSON that came. */
MUST_USE Status step_show(Cli *cli, Slice json, Step *ret_step);

/* Returns OK when the step has succeeded or goes on, otherwise the failure that it ended with. */
MUST_USE Status step_check(Cli *cli, const Step *step);
