/* Shows on one line of standard error that a request runs: a bar while bytes are sent, a clock while an
 * answer is awaited. It appears only on a terminal and only after a moment, so that quick requests show
 * nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/httpclient/http_client.h"

typedef struct Progress {
    const char *label; /* NULL: nothing is shown */
    uint64_t begin_ns;
    uint64_t drawn_ns;    /* time of the last drawing; 0: never */
    uint64_t sent_before; /* by earlier requests, when several send one thing */
    uint64_t send_total;  /* of that thing; 0: a request is all */
} Progress;

Progress progress_begin(const char *label);

/* Draws the line: an HttpClientEvents.on_progress whose context is the Progress. */
void progress_show(void *context, const HttpClientProgress *transferred);

/* Clears the line. */
void progress_end(const Progress *progress);

/* Appends the line as it would be drawn, without the terminal's codes. */
void progress_write(
    const Progress *progress, const HttpClientProgress *transferred, uint64_t now_ns, Buffer *line);
