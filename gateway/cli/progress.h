/* One line on standard error that shows that something goes on: a bar while bytes go up, a clock while an
 * answer is waited for. Only on a terminal, and only after a moment, so that what is quick shows nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/httpclient/http_client.h"

typedef struct Progress {
    const char *label; /* NULL: nothing is shown */
    uint64_t begin_ns;
    uint64_t drawn_ns; /* when the line was last drawn; 0: never */
} Progress;

Progress progress_begin(const char *label);

/* An HttpClientEvents.on_progress whose context is the Progress. */
void progress_show(void *context, const HttpClientProgress *transferred);

/* Takes the line away. */
void progress_end(const Progress *progress);

/* The line as it would be drawn, without the terminal's codes. */
void progress_write(
    const Progress *progress, const HttpClientProgress *transferred, uint64_t now_ns, Buffer *line);
